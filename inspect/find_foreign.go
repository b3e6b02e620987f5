package inspect

import (
	"os"
	"path/filepath"
	"slices"

	"sstool/internal/lsm"
)

// Where no name tells of a store, SST files may have names of another system:
// a Flink checkpoint has uuids. Only their content tells them then.
const (
	sniffFiles = 16   // looked at in a directory
	sniffDirs  = 1000 // looked at in all
)

// foreign looks for databases below a directory by the content of a few files
// of each.
func (w *walk) foreign(dir string, depth int) {
	if w.sniffed++; w.sniffed > sniffDirs || w.ctx.Err() != nil {
		return
	}
	list := w.list(dir)
	looked := 0
	for _, e := range list {
		if e.isDir {
			continue
		}
		if looked++; looked > sniffFiles {
			break
		}
		if isTableFile(filepath.Join(dir, e.name)) {
			t := w.taskAt("")
			w.add(t, &Store{Name: filepath.Base(dir), Dir: dir, Databases: []Database{{Dir: dir}}})
			if depth == 0 {
				w.tree.Is = IsDatabase
			}
			break
		}
	}
	st, err := os.Stat(dir)
	if err != nil || depth > searchDepth || slices.ContainsFunc(w.seen, func(o os.FileInfo) bool { return os.SameFile(o, st) }) {
		return
	}
	w.seen = append(w.seen, st)
	defer func() { w.seen = w.seen[:len(w.seen)-1] }()
	for _, e := range list {
		if e.isDir && e.name != ownDir {
			w.foreign(filepath.Join(dir, e.name), depth+1)
		}
	}
}

// isTableFile says whether a file is an SST file by what is in it.
func isTableFile(path string) bool {
	t, err := lsm.OpenTableFile(path)
	if err != nil {
		return false
	}
	_ = t.Close()
	return true
}
