package table

// writeBuffer is what a runWriter holds.
func (s *Sorter) writeBuffer() int64 { return min(s.t.share/16, 256<<10) }

// run is a sorted piece of a bucket in the sorter's file.
type run struct {
	off, n int64
	maxKey int
}

// runWriter appends a run to the sorter's file.
type runWriter struct {
	s    *Sorter
	buf  []byte
	n    int
	last place
	r    run
}

func (w *runWriter) add(ref Ref, key, value []byte) error {
	if err := w.room(maxHeader); err != nil {
		return err
	}
	w.r.maxKey = max(w.r.maxKey, len(key))
	at := place{ref.Group, ref.Order >> 1}
	w.n += putHeader(w.buf[w.n:], ref.KeyLen, ref.ValLen, ref.Tombstone(), w.s.t.o.KeepAll, &w.last, at)
	if err := w.write(key); err != nil {
		return err
	}
	if ref.Tombstone() && !w.s.t.o.KeepAll {
		return nil
	}
	return w.write(value)
}

func (w *runWriter) write(b []byte) error {
	if err := w.room(len(b)); err != nil {
		return err
	}
	if len(b) > len(w.buf)-w.n { // larger than the buffer, which is empty now
		return w.flush(b)
	}
	w.n += copy(w.buf[w.n:], b)
	return nil
}

// copy adds a reader's current row.
func (w *runWriter) copy(r *reader) error {
	if err := w.room(maxHeader); err != nil {
		return err
	}
	w.r.maxKey = max(w.r.maxKey, len(r.key))
	w.n += putHeader(w.buf[w.n:], uint32(len(r.key)), r.vlen, r.tombstone, w.s.t.o.KeepAll, &w.last, r.at)
	if err := w.write(r.key); err != nil {
		return err
	}
	for off := 0; off < int(r.vlen); {
		if err := w.room(1); err != nil {
			return err
		}
		n := min(len(w.buf)-w.n, int(r.vlen)-off)
		if err := r.value(w.buf[w.n:w.n+n], off); err != nil {
			return err
		}
		w.n += n
		off += n
	}
	return nil
}

// room empties the buffer unless it has room for n bytes.
func (w *runWriter) room(n int) error {
	if w.buf == nil {
		b, err := w.s.t.mem.get(int(w.s.writeBuffer()))
		if err != nil {
			return err
		}
		w.buf = b
	}
	if w.n == 0 || len(w.buf)-w.n >= n {
		return nil
	}
	err := w.flush(w.buf[:w.n])
	w.n = 0
	return err
}

func (w *runWriter) flush(b []byte) error {
	align := int64(1)
	if w.r.n == 0 {
		align = diskBlock // so that what is read of a run can be freed without touching another
	}
	off, err := w.s.runs.append(align, b)
	if w.r.n == 0 {
		w.r.off = off
	}
	w.r.n += int64(len(b))
	return err
}

// finish completes the run.
func (w *runWriter) finish() (run, error) {
	if w.buf == nil {
		return w.r, nil
	}
	err := w.room(len(w.buf) + 1)
	if e := w.s.t.mem.put(w.buf); err == nil {
		err = e
	}
	w.buf = nil
	return w.r, err
}
