package table

// external sorts a bucket that is larger than the sorter's memory: sorted runs
// of what fits, deduplicated, are written aside and merged. It needs no
// knowledge of the data, so whatever made the bucket large (misleading samples,
// hot keys, keys alike in all but the end) is no worse than anything else.
func (s *Sorter) external(src []source, depth int, fn func(*Bucket) error) error {
	if err := s.release(); err != nil {
		return err
	}
	half := s.t.share / 2
	maxRows := half / perRowBytes
	if err := s.reserve(half-s.writeBuffer(), maxRows); err != nil {
		return err
	}
	in := feed{s: s, src: src}
	var runs []run
	s.start(depth, int(maxRows))
	used := 0
	for {
		full, err := in.fill(&used)
		if err != nil {
			return err
		}
		if full && s.compact(&used) {
			continue
		}
		if !full && len(runs) == 0 { // it fits after all
			if err := s.deliver(&Bucket{Arena: s.arena[:used], Rows: s.sorted(true)}, fn); err != nil {
				return err
			}
			return s.release() // a large row may have made the arena larger than its share
		}
		w := runWriter{s: s}
		for _, ref := range s.sorted(false) {
			b := Bucket{Arena: s.arena}
			if err := w.add(ref, b.Key(ref), b.Value(ref)); err != nil {
				return err
			}
		}
		r, err := w.finish()
		if err != nil {
			return err
		}
		if r.n > 0 {
			runs = append(runs, r)
		}
		if !full {
			break
		}
		used = 0
		s.start(depth, int(maxRows))
	}
	return s.merge(runs, depth, fn)
}

// compact moves the newest rows together at the front of the arena, if that
// frees enough of it to be worth going on without writing a run.
func (s *Sorter) compact(used *int) bool {
	if s.t.o.KeepAll || s.n > len(s.rows)/2 {
		return false
	}
	size := 0
	ents := s.ents[:s.n]
	for i := range ents {
		r := &s.rows[i]
		size += int(r.KeyLen + r.ValLen)
		ents[i] = ent{head: uint64(r.KeyOff), row: uint32(i)}
	}
	if size > *used/2 {
		return false
	}
	ents, _ = radix(ents, s.tmp[:s.n])
	to := 0
	for _, e := range ents {
		r := &s.rows[e.row]
		n := copy(s.arena[to:], s.arena[r.KeyOff:r.KeyOff+r.KeyLen+r.ValLen])
		r.KeyOff, r.ValOff = uint32(to), uint32(to)+r.KeyLen
		to += n
	}
	*used = to
	return true
}

// feed reads the segments of a bucket piece by piece.
type feed struct {
	s    *Sorter
	src  []source
	off  int64 // in src[0]
	at   place
	step int
}

// fill takes in rows after arena[:used] until the memory is full; false: all
// rows were taken in.
func (f *feed) fill(used *int) (full bool, err error) {
	const step = 256 << 10
	f.step = max(f.step, step)
	s := f.s
	for len(f.src) > 0 {
		src := &f.src[0]
		rest := src.n - f.off
		n := int(min(int64(f.step), rest, int64(len(s.arena)-*used)))
		if err := src.read(s.arena[*used:*used+n], f.off); err != nil {
			return false, err
		}
		took, err := s.scan(*used, n, &f.at)
		if err != nil {
			return false, err
		}
		f.off += int64(took)
		*used += took
		switch {
		case f.off == src.n:
			src.done()
			f.src, f.off, f.at = f.src[1:], 0, place{}
		case s.n == len(s.rows):
			return true, nil
		case took > 0:
		case int64(n) == rest: // the last row of a segment is never incomplete
			return false, errSpill()
		case n == f.step:
			f.step *= 2
		case *used > 0:
			return true, nil
		default:
			if err := f.grow(n); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// grow makes the arena as large as the row that did not fit into it; its first
// n bytes are there.
func (f *feed) grow(n int) error {
	s, at := f.s, f.at
	h, w, err := parseHeader(s.arena[:n], s.t.o.KeepAll, &at)
	size := int64(w) + int64(h.klen) + int64(h.vlen)
	if err != nil {
		return err
	}
	if w == 0 || size > f.src[0].n-f.off {
		return errSpill()
	}
	if err := s.t.mem.put(s.arena); err != nil {
		return err
	}
	s.arena, err = s.t.mem.get(int(size))
	f.step = int(max(int64(f.step), size))
	return err
}

// done gives back the disk space of a segment that was read.
func (src *source) done() {
	if src.mem == nil {
		src.file.free(src.off, src.n)
	}
}
