package lsm

import (
	"sync"
	"sync/atomic"
)

// partBytes is what a goroutine should at least get of a file: less is not
// worth another copy of the index.
const partBytes int64 = 16 << 20

// stretch is the data blocks that begin in [from, to) of the file.
type stretch struct {
	from, to    uint64 // to 0: all
	first, last []byte // internal keys that a walk found; nil: there are none
}

// inParts walks the data blocks by several goroutines, each through a part of
// the file. It says false, and leaves the scan as it was, when the file is
// small or anything in it is wrong: reading in turn tells what.
func (s *scan) inParts() bool {
	least := s.o.least
	if least == 0 {
		least = partBytes
	}
	n := min(s.o.Parallel, int(s.t.size/least))
	if n < 2 || s.fn != nil {
		return false
	}
	parts := make([]scan, n)
	var failed atomic.Bool
	var wg sync.WaitGroup
	for i := range parts {
		p, size := &parts[i], uint64(s.t.size)
		*p = scan{t: s.t, info: SSTInfo{OrderChecked: s.info.OrderChecked}}
		if p.part = (stretch{from: size / uint64(n) * uint64(i), to: size / uint64(n) * uint64(i+1)}); i == n-1 {
			p.part.to = size
		}
		wg.Go(func() {
			if s.o.Turns != nil {
				s.o.Turns <- struct{}{}
				defer func() { <-s.o.Turns }()
			}
			if failed.Load() || !p.walk() || len(p.errs) > 0 {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	if failed.Load() {
		return false
	}
	sum := s.info
	var last []byte // of the parts before
	for i := range parts {
		p := &parts[i]
		if p.part.first != nil {
			if sum.OrderChecked && last != nil && compareInternal(last, p.part.first) >= 0 {
				return false
			}
			last = p.part.last
		}
		sum.merge(&p.info)
	}
	s.info = sum
	return true
}

// merge adds what was found in the part of the file behind.
func (i *SSTInfo) merge(p *SSTInfo) {
	if p.Entries > 0 {
		if i.Entries == 0 {
			i.SmallestKey, i.SmallestSeq = p.SmallestKey, p.SmallestSeq
		}
		i.LargestKey = p.LargestKey
		i.SmallestSeq, i.LargestSeq = min(i.SmallestSeq, p.SmallestSeq), max(i.LargestSeq, p.LargestSeq)
	}
	i.Entries += p.Entries
	i.Deletes += p.Deletes
	i.KeyBytes += p.KeyBytes
	i.ValueBytes += p.ValueBytes
	for k := range i.Kinds {
		i.Kinds[k] += p.Kinds[k]
		i.KindBytes[k] += p.KindBytes[k]
	}
	i.DataBlocks += p.DataBlocks
	i.Compressed += p.Compressed
	i.StoredBytes += p.StoredBytes
	i.BlockBytes += p.BlockBytes
}
