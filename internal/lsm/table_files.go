package lsm

import (
	"sync"
	"sync/atomic"
)

// ScanFiles verifies many SST files (Table.Verify), parallel of them at a
// time, at least one, with one read buffer each. done, which is called by one
// goroutine at a time, gets the result of every file in any order: its number
// in paths, and an error in place of the rest when it could not be opened.
// When done returns false no further file is begun.
func ScanFiles(paths []string, parallel int, o ScanOptions, done func(i int, info SSTInfo, errs []error) (goOn bool)) {
	var (
		next atomic.Int64
		mu   sync.Mutex
		wg   sync.WaitGroup
	)
	for range max(1, min(parallel, len(paths))) {
		wg.Go(func() {
			o := o
			o.Buffer = make([]byte, streamBuffer)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					return
				}
				info, errs := scanFile(paths[i], o)
				mu.Lock()
				if !done(i, info, errs) {
					next.Store(int64(len(paths)))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func scanFile(path string, o ScanOptions) (SSTInfo, []error) {
	t, err := OpenTableFile(path)
	if err != nil {
		return SSTInfo{Path: path}, []error{err}
	}
	info, errs := t.Verify(o, nil)
	if err := t.Close(); err != nil {
		errs = append(errs, err)
	}
	return info, errs
}
