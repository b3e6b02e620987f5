package table

// reader reads a run through a window. A value larger than the window is read
// only when someone asks for it, and not through the window.
type reader struct {
	s     *Sorter
	win   []byte
	pos   int   // in win: where the current value starts
	end   int   // of what is in win
	off   int64 // of what comes after win, in the file
	rest  int64 // bytes there
	freed int64 // everything before it was given back
	step  int64 // bytes to give back at a time
	index int
	depth int

	at        place
	key       []byte // valid until next
	head      uint64
	vlen      uint32
	tombstone bool
}

func newReader(s *Sorter, from run, index, depth int) *reader {
	return &reader{s: s, off: from.off, rest: from.n, freed: from.off, step: min(max(from.n/32, 16<<10), 1<<20), index: index, depth: depth}
}

func (r *reader) order() uint32 {
	if r.tombstone {
		return r.at.seq<<1 | 1
	}
	return r.at.seq << 1
}

// next moves to the next row; false at the end.
func (r *reader) next() (bool, error) {
	if !r.skip(int64(r.vlen)) {
		return false, errSpill()
	}
	r.vlen = 0
	if r.pos == r.end && r.rest == 0 {
		r.s.runs.free(r.freed, r.off-r.freed)
		return false, nil
	}
	keepAll := r.s.t.o.KeepAll
	was := r.at
	h, n, err := parseHeader(r.win[r.pos:r.end], keepAll, &r.at)
	if err == nil && (n == 0 || r.end-r.pos-n < int(h.klen)) {
		r.at = was
		if err = r.fill(maxHeader); err != nil {
			return false, err
		}
		if h, n, err = parseHeader(r.win[r.pos:r.end], keepAll, &r.at); err == nil && n > 0 {
			r.at = was
			if err = r.fill(n + int(h.klen)); err != nil {
				return false, err
			}
			h, n, err = parseHeader(r.win[r.pos:r.end], keepAll, &r.at)
		}
	}
	if err != nil {
		return false, err
	}
	if n == 0 || r.end-r.pos-n < int(h.klen) {
		return false, errSpill()
	}
	r.key = r.win[r.pos+n : r.pos+n+int(h.klen)]
	r.head = head(r.key, r.depth)
	r.pos += n + int(h.klen)
	r.vlen, r.tombstone = h.vlen, h.tombstone
	return true, nil
}

// fill brings at least n bytes (or all there are) into the window from pos on.
func (r *reader) fill(n int) error {
	if r.end-r.pos >= n || r.rest == 0 {
		return nil
	}
	if n > len(r.win) {
		w, err := r.s.t.mem.get(n)
		if err != nil {
			return err
		}
		r.end = copy(w, r.win[r.pos:r.end])
		r.pos = 0
		old := r.win
		r.win = w
		if err := r.s.t.mem.put(old); err != nil {
			return err
		}
	} else {
		r.end = copy(r.win, r.win[r.pos:r.end])
		r.pos = 0
	}
	m := int(min(int64(len(r.win)-r.end), r.rest))
	if err := r.s.runs.readAt(r.win[r.end:r.end+m], r.off); err != nil {
		return err
	}
	r.end += m
	r.off += int64(m)
	r.rest -= int64(m)
	// Give back the disk space of what was read, in steps worth the call.
	if to := (r.off - int64(r.end)) &^ (diskBlock - 1); to-r.freed >= r.step {
		r.s.runs.free(r.freed, to-r.freed)
		r.freed = to
	}
	return nil
}

// skip passes over n bytes, if there are so many.
func (r *reader) skip(n int64) bool {
	in := int64(r.end - r.pos)
	if n <= in {
		r.pos += int(n)
		return true
	}
	r.off += n - in
	r.rest -= n - in
	r.pos = r.end
	return r.rest >= 0
}

// value reads a piece of the current value, from off on, into b.
func (r *reader) value(b []byte, off int) error {
	in := r.end - r.pos
	if off < in {
		n := copy(b, r.win[r.pos+off:r.end])
		b, off = b[n:], off+n
	}
	if len(b) == 0 {
		return nil
	}
	at := int64(off - in)
	if int64(len(b)) > r.rest-at {
		return errSpill()
	}
	return r.s.runs.readAt(b, r.off+at)
}

func (r *reader) close() error {
	w := r.win
	r.win, r.key = nil, nil
	return r.s.t.mem.put(w)
}
