package lsm

import (
	"bytes"

	"sstool/internal/op"
)

// Skips lets reads go past what is corrupt, and notes it: rows in it are
// missing then, and older or deleted ones may show where it held what replaced
// or deleted them. The zero value is ready for use; it belongs to one
// goroutine. Errors of the file system and what is not understood end a read
// all the same.
type Skips struct {
	List []Skip // each once, in the order in which they were met, maxSkips at most
	More bool   // there were more
	// Limit, when it is not 0, is how many are gone past; the next is an error.
	Limit int

	seen map[skipAt]bool
}

// Skip is what was gone past.
type Skip struct {
	File    string
	What    SkipKind
	Offset  int64  // where it is in the file
	LastKey []byte // the last good key that was read of the file before it; nil when there was none
	Err     error
}

// SkipKind says how much was lost.
type SkipKind string

const (
	SkipBlock     SkipKind = "data block"       // its entries, or those behind the corrupt one
	SkipIndex     SkipKind = "index"            // the data blocks that a part of the index points at
	SkipDeletions SkipKind = "range tombstones" // all of the file
	SkipFile      SkipKind = "file"             // all that is in it
	SkipValue     SkipKind = "value"            // of the key
)

type skipAt struct {
	file string
	what SkipKind
	off  int64
	key  string // of a value
}

// maxSkips bounds the list: a large file may be nothing but zeros.
const maxSkips = 1000

// past notes a part and says whether to go past it.
func (s *Skips) past(k Skip) bool {
	if s == nil || op.KindOf(k.Err) != op.Corrupt {
		return false
	}
	at := skipAt{file: k.File, what: k.What, off: k.Offset}
	if k.What == SkipValue {
		at.key = string(k.LastKey)
	}
	switch {
	case s.seen[at]:
	case s.Limit > 0 && len(s.List) >= s.Limit:
		return false
	case len(s.List) == maxSkips:
		s.More = true
	default:
		if s.seen == nil {
			s.seen = map[skipAt]bool{}
		}
		s.seen[at] = true
		k.LastKey = bytes.Clone(k.LastKey)
		s.List = append(s.List, k)
	}
	return true
}

// Skip lets the iterator go past corrupt blocks to the next ones.
func (it *TableIter) Skip(s *Skips) { it.skips = s }

// remember keeps the last good key: the block that holds it is left.
func (it *TableIter) remember() {
	if it.skips != nil {
		it.last = append(it.last[:0], it.entry.Key...)
		it.hasLast = true
	}
}

// past says whether to go past what it.err is about.
func (it *TableIter) past(what SkipKind, off uint64) bool {
	if it.skips == nil {
		return false
	}
	k := Skip{File: it.t.name, What: what, Offset: int64(off), Err: afterKey(it.err, it.last, it.hasLast)}
	if it.hasLast {
		k.LastKey = append([]byte{}, it.last...)
	}
	if !it.skips.past(k) {
		return false
	}
	it.err = nil
	return true
}

// pastIndex says whether to go past a part of the index at which a step failed.
func (it *TableIter) pastIndex() bool {
	x := it.x
	if it.err = x.err; it.err == nil {
		return false
	}
	off := it.t.foot.index.off
	if x.twoLevel && !x.lost {
		off = x.top.at().off
	}
	if !it.past(SkipIndex, off) {
		return false
	}
	x.err = nil
	return !x.lost
}
