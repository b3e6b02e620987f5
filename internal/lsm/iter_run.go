package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
)

// A part is one live file as an iterator reads it: its entries, or its range
// tombstones when they are to be shown as entries. It is opened when the
// iterator reaches it and closed when it leaves.
type part struct {
	file File
	path string
	tomb bool     // shows the range tombstones
	pin  *os.File // opened beforehand; nil: opened by path when reached
	h    *os.File
	t    *Table
	src  source
	dels *deletions // what its range tombstones delete; nil when there are none
}

// source is what a part reads: a TableIter or a tombIter.
type source interface {
	First() bool
	Last() bool
	SeekGE(key []byte) bool
	SeekLT(key []byte) bool
	Next() bool
	Prev() bool
	current() *Entry // valid until the next step
	Err() error
	Close()
}

// errVanished says that a live file is gone: a compaction replaced it.
var errVanished = errors.New("a live file does not exist")

// open opens the part for reading with the given readahead in bytes; live says
// that its range tombstones are wanted as deletions. With skips a file that is
// corrupt as a whole is one without entries.
func (p *part) open(readahead int, live bool, skips *Skips) error {
	if p.src != nil {
		return nil
	}
	err := p.openFile(readahead, live, skips)
	if err != nil && skips.past(Skip{File: p.path, What: SkipFile, Err: err}) {
		p.src, err = &tombIter{}, nil
	}
	return err
}

func (p *part) openFile(readahead int, live bool, skips *Skips) error {
	h := p.pin
	if h == nil {
		f, _, err := openFile(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", errVanished, err)
		}
		if err != nil {
			return ioError("read SST file", err)
		}
		h = f
	}
	t, dels, err := openLive(h, p.file, skips)
	if err != nil {
		if p.pin == nil {
			_ = h.Close()
		}
		return err
	}
	p.h, p.t = h, t
	switch {
	case p.tomb:
		p.src = newTombIter(dels, p.file)
	default:
		it := t.Iter()
		it.Readahead(readahead)
		it.Skip(skips)
		p.src = it
		if live && len(dels) > 0 && p.dels == nil {
			p.dels = cut(dels, p.file)
		}
	}
	return nil
}

// openLive opens a live file's table with the sequence number the MANIFEST
// gives it, and reads its range tombstones.
func openLive(h *os.File, f File, skips *Skips) (*Table, []RangeDelete, error) {
	st, err := h.Stat()
	if err != nil {
		return nil, nil, ioError("read SST file", err)
	}
	if st.Size() != f.Size {
		return nil, nil, corrupt(h.Name(), min(st.Size(), f.Size), "%d bytes, expected %d as the MANIFEST says", st.Size(), f.Size).WithTry("%s", cureRestore)
	}
	t, err := OpenTable(h.Name(), h, st.Size())
	if err != nil {
		return nil, nil, err
	}
	if err := t.AssumeSeq(f.LargestSeq); err != nil {
		_ = t.Close()
		return nil, nil, err
	}
	dels, err := t.RangeDeletes()
	if err != nil && !skips.past(Skip{File: h.Name(), What: SkipDeletions, Err: err}) {
		_ = t.Close()
		return nil, nil, err
	}
	return t, dels, nil
}

// cut makes deletions of a file's range tombstones.
func cut(list []RangeDelete, f File) *deletions {
	d := &deletions{}
	for _, r := range list {
		d.add(truncate(r, f))
	}
	d.build()
	return d
}

// close lets go of the file, but for a handle opened beforehand.
func (p *part) close() {
	if p.src == nil {
		return
	}
	p.src.Close()
	if p.t != nil { // else nothing of it could be read
		_ = p.t.Close()
		if p.pin == nil {
			_ = p.h.Close()
		}
	}
	p.src, p.t, p.h = nil, nil, nil
}

// run reads files whose key ranges do not overlap as one sorted sequence, with
// one of them open at a time.
type run struct {
	it    *Iter
	parts []*part // in key order
	at    int     // the open part
	e     *Entry  // borrowed until the next step
	head  uint64  // of e's key, see Iter.headOf
	ok    bool    // stands on an entry
}

// enter opens part i and closes the one that was open.
func (r *run) enter(i int) (*part, error) {
	if i != r.at {
		r.parts[r.at].close()
	}
	r.at = i
	p := r.parts[i]
	if err := p.open(r.it.readahead, !r.it.concat, r.it.db.Skips); err != nil {
		return nil, err
	}
	if p.dels != nil {
		r.it.activate(p)
	}
	return p, nil
}

// set takes over the entry of the source after a step.
func (r *run) set(ok bool) bool {
	if r.ok = ok; ok {
		r.e = r.parts[r.at].src.current()
		r.head = r.it.headOf(r.e.Key)
	}
	return ok
}

// next steps forward; an error ends the iteration.
func (r *run) next() error {
	p := r.parts[r.at]
	if r.set(p.src.Next()) {
		return nil
	}
	if err := p.src.Err(); err != nil {
		return err
	}
	return r.firstFrom(r.at + 1)
}

func (r *run) prev() error {
	p := r.parts[r.at]
	if r.set(p.src.Prev()) {
		return nil
	}
	if err := p.src.Err(); err != nil {
		return err
	}
	return r.lastFrom(r.at - 1)
}

// firstFrom goes to the first entry of part i or of those after it.
func (r *run) firstFrom(i int) error {
	r.ok = false
	for ; i < len(r.parts); i++ {
		p, err := r.enter(i)
		if err != nil {
			return err
		}
		if r.set(p.src.First()) {
			return nil
		}
		if err := p.src.Err(); err != nil {
			return err
		}
	}
	return nil
}

// lastFrom goes to the last entry of part i or of those before it.
func (r *run) lastFrom(i int) error {
	r.ok = false
	for ; i >= 0; i-- {
		p, err := r.enter(i)
		if err != nil {
			return err
		}
		if r.set(p.src.Last()) {
			return nil
		}
		if err := p.src.Err(); err != nil {
			return err
		}
	}
	return nil
}

// seekGE goes to the first entry whose key is not before key.
func (r *run) seekGE(key []byte) error {
	i := sort.Search(len(r.parts), func(i int) bool { return !r.parts[i].file.endsBefore(key) })
	r.ok = false
	if i == len(r.parts) {
		return nil
	}
	p, err := r.enter(i)
	if err != nil {
		return err
	}
	if r.set(p.src.SeekGE(key)) {
		return nil
	}
	if err := p.src.Err(); err != nil {
		return err
	}
	return r.firstFrom(i + 1)
}

// seekLT goes to the last entry whose key is before key.
func (r *run) seekLT(key []byte) error {
	i := sort.Search(len(r.parts), func(i int) bool { return bytes.Compare(r.parts[i].file.Smallest, key) >= 0 }) - 1
	r.ok = false
	if i < 0 {
		return nil
	}
	p, err := r.enter(i)
	if err != nil {
		return err
	}
	if r.set(p.src.SeekLT(key)) {
		return nil
	}
	if err := p.src.Err(); err != nil {
		return err
	}
	return r.lastFrom(i - 1)
}

// endsBefore says whether all keys of the file are before key.
func (f *File) endsBefore(key []byte) bool {
	c := bytes.Compare(f.Largest, key)
	return c < 0 || c == 0 && f.LargestExclusive
}

// covers says whether key lies in the file's range.
func (f *File) covers(key []byte) bool {
	return bytes.Compare(f.Smallest, key) <= 0 && !f.endsBefore(key)
}
