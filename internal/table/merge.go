package table

import (
	"bytes"
	"container/heap"
)

// merge hands out the rows of all runs in order. Runs are in the order of
// arrival, as far as one router's rows go.
func (s *Sorter) merge(runs []run, depth int, fn func(*Bucket) error) error {
	if err := s.release(); err != nil {
		return err
	}
	for s.together(runs) < len(runs) {
		// Too many to read side by side: neighbours become one, which keeps
		// the order of arrival.
		var next []run
		for len(runs) > 0 {
			n := s.together(runs)
			w := runWriter{s: s}
			err := s.mergeInto(runs[:n], depth, w.copy)
			if err != nil {
				return err
			}
			r, err := w.finish()
			if err != nil {
				return err
			}
			next, runs = append(next, r), runs[n:]
		}
		runs = next
	}
	b := builder{s: s, fn: fn}
	if err := b.open(); err != nil {
		return err
	}
	if err := s.mergeInto(runs, depth, b.add); err != nil {
		return err
	}
	if err := b.flush(false); err != nil {
		return err
	}
	return s.release()
}

// minWindow is the least that is worth reading of a run at a time.
const minWindow = 4 << 10

// together is how many of the runs can be read side by side within half of the
// sorter's memory; at least two.
func (s *Sorter) together(runs []run) int {
	least := max(min(s.t.share/64, 64<<10), minWindow)
	var sum int64
	for i := range runs {
		sum += max(least, int64(runs[i].maxKey+maxHeader))
		if sum > s.t.share/2 && i >= 2 {
			return i
		}
	}
	return len(runs)
}

// window is how much of each run to read at a time. Runs with larger keys take
// more.
func (s *Sorter) window(runs []run) int {
	n := max(min(s.t.share/2/int64(len(runs)), 1<<20), minWindow)
	for i := range runs {
		if int64(runs[i].maxKey+maxHeader) > n {
			return int(max(min(s.t.share/64, 64<<10), minWindow))
		}
	}
	return int(n)
}

// mergeInto calls emit for each row of the runs in order; unless all rows are
// kept, for the newest of each key.
func (s *Sorter) mergeInto(runs []run, depth int, emit func(*reader) error) (err error) {
	h := readers{newestFirst: !s.t.o.KeepAll}
	window := s.window(runs)
	all := make([]*reader, len(runs))
	defer func() {
		for _, r := range all {
			if r != nil {
				if e := r.close(); err == nil {
					err = e
				}
			}
		}
	}()
	for i := range runs {
		r := newReader(s, runs[i], i, depth)
		all[i] = r
		if r.win, err = s.t.mem.get(window); err != nil {
			return err
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			h.list = append(h.list, r)
		}
	}
	heap.Init(&h)
	var last []byte // key of the newest row handed out
	var group uint32
	some := false
	for len(h.list) > 0 {
		r := h.list[0]
		switch {
		case s.t.o.KeepAll:
			err = emit(r)
		case some && group == r.at.group && bytes.Equal(last, r.key):
			s.stats.Superseded++
		default:
			last, group, some = append(last[:0], r.key...), r.at.group, true
			err = emit(r)
		}
		if err != nil {
			return err
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	return nil
}

// readers is a heap of runs by their current row.
type readers struct {
	list        []*reader
	newestFirst bool
}

func (h *readers) Len() int      { return len(h.list) }
func (h *readers) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *readers) Push(x any)    { h.list = append(h.list, x.(*reader)) }
func (h *readers) Pop() any {
	n := len(h.list) - 1
	r := h.list[n]
	h.list = h.list[:n]
	return r
}

func (h *readers) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	if a.at.group != b.at.group {
		return a.at.group < b.at.group
	}
	if a.head != b.head {
		return a.head < b.head
	}
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	if a.at.seq != b.at.seq {
		return (a.at.seq > b.at.seq) == h.newestFirst
	}
	return (a.index > b.index) == h.newestFirst
}

// builder collects merged rows into buckets.
type builder struct {
	s    *Sorter
	fn   func(*Bucket) error
	n    int
	rows []Ref
}

func (b *builder) open() error {
	var err error
	if b.s.arena, err = b.s.t.mem.get(int(b.s.t.share * 3 / 8)); err != nil {
		return err
	}
	b.s.meta, err = b.s.t.mem.get(int(b.s.t.share / 8))
	b.rows = view[Ref](b.s.meta)[:0]
	return err
}

func (b *builder) add(r *reader) error {
	if r.tombstone && !b.s.t.o.KeepAll && !b.s.t.o.KeepTombstones {
		return nil
	}
	size := len(r.key) + int(r.vlen)
	if len(b.s.arena)-b.n < size || len(b.rows) == cap(b.rows) {
		if err := b.flush(b.same(r)); err != nil {
			return err
		}
		if len(b.s.arena) < size {
			if err := b.s.t.mem.put(b.s.arena); err != nil {
				return err
			}
			var err error
			if b.s.arena, err = b.s.t.mem.get(size); err != nil {
				return err
			}
		}
	}
	klen := copy(b.s.arena[b.n:], r.key)
	ref := Ref{uint32(b.n), uint32(klen), uint32(b.n + klen), r.vlen, r.at.group, r.order()}
	b.n += klen
	if err := r.value(b.s.arena[b.n:b.n+int(r.vlen)], 0); err != nil {
		return err
	}
	b.n += int(r.vlen)
	b.rows = append(b.rows, ref)
	return nil
}

// same says that r has the key of the last row collected.
func (b *builder) same(r *reader) bool {
	if len(b.rows) == 0 {
		return false
	}
	last := b.rows[len(b.rows)-1]
	return last.Group == r.at.group && bytes.Equal(b.s.arena[last.KeyOff:last.KeyOff+last.KeyLen], r.key)
}

func (b *builder) flush(more bool) error {
	if len(b.rows) == 0 {
		return nil
	}
	rows := b.rows
	n := b.n
	b.rows, b.n = rows[:0], 0
	return b.s.deliver(&Bucket{Arena: b.s.arena[:n], Rows: rows, More: more}, b.fn)
}
