package lsm

import "io"

// window reads a table's blocks with few preads into one buffer: alone at
// first, with more and more around them while they are asked for in turn.
type window struct {
	t        *Table
	buf      []byte // the file from lo to hi
	lo, hi   uint64
	span     uint64 // how much the last read asked for
	min, max uint64 // bounds of span
}

// block returns a verified block with its trailer, valid until the next call.
// dir says on which side of it the next one is wanted.
func (w *window) block(kind string, h handle, dir direction) ([]byte, error) {
	if h.off < w.lo || h.end() > w.hi {
		if err := w.fill(h, dir); err != nil {
			return nil, err
		}
	}
	raw := w.buf[h.off-w.lo : h.end()-w.lo]
	return raw, w.t.check(kind, h, raw)
}

// fill reads the block and what follows or precedes it. When that fails, the
// block alone may still be readable.
func (w *window) fill(h handle, dir direction) error {
	if near := w.hi > 0 && h.off <= w.hi && h.end() >= w.lo; near {
		w.span = min(max(2*w.span, 16<<10), w.max)
	} else {
		w.span = w.min
	}
	n := max(w.span, h.end()-h.off)
	lo := h.off
	if dir == backward {
		lo = h.end() - min(n, h.end())
	}
	hi := min(lo+n, uint64(w.t.foot.offset))
	err := w.read(lo, hi)
	if err != nil && hi-lo > h.end()-h.off {
		err = w.read(h.off, h.end())
	}
	return err
}

func (w *window) read(lo, hi uint64) error {
	n := int(hi - lo)
	if cap(w.buf) < n {
		w.buf = make([]byte, n)
	}
	w.buf, w.lo, w.hi = w.buf[:n], lo, hi
	err := w.t.readAt(w.buf, int64(lo))
	if err != nil {
		w.lo, w.hi = 0, 0
	}
	return err
}

// blockStream reads data blocks one after the other, verifies each and
// inflates it. A block is valid until the next.
type blockStream struct {
	w        window
	x        *indexIter
	begun    bool
	from, to uint64 // only blocks that begin there
	end      uint64 // of the block before
	inf      inflator
	squeezed int64 // blocks that were compressed
	stored   int64 // bytes of the blocks as they are in the file, without trailers
}

// streamBuffer is read at once: large enough for the disk, small enough to
// stay in the cache while the blocks are walked.
const streamBuffer = 512 << 10

// newStream starts on the table's data blocks; buf is grown when a block does
// not fit it.
func (t *Table) newStream(buf []byte) (*blockStream, error) {
	x, err := t.newIndex()
	if err != nil {
		return nil, err
	}
	dict, err := t.dictionary()
	if err != nil {
		return nil, err
	}
	w := window{t: t, buf: buf, min: streamBuffer, max: streamBuffer}
	return &blockStream{w: w, x: x, to: uint64(t.size), inf: inflator{version: t.foot.version, dict: dict}}, nil
}

func (s *blockStream) close() { s.inf.close() }

// next returns the next block's bytes and where it is; io.EOF after the last.
// After any other error it goes on with the block behind.
func (s *blockStream) next() ([]byte, handle, error) {
	if s.x.lost {
		return nil, handle{}, io.EOF
	}
	t := s.w.t
	var h handle
	for skip := true; skip; skip = h.off < s.from {
		ok := false
		if s.begun {
			ok = s.x.move(forward)
		} else {
			ok, s.begun = s.x.begin(forward), true
		}
		h = s.x.at()
		switch {
		case s.x.err != nil:
			return nil, h, s.x.err
		case !ok || h.off >= s.to:
			return nil, handle{}, io.EOF
		case h.off < s.end:
			return nil, h, corrupt(t.name, int64(h.off), "index block: data block at %d, expected it after the one that ends at %d", h.off, s.end)
		}
		s.end = h.end()
	}
	raw, err := s.w.block("data", h, forward)
	if err != nil {
		return nil, h, err
	}
	s.stored += int64(h.size)
	if raw[h.size] == rawBlock {
		return raw[:h.size], h, nil
	}
	s.squeezed++
	b, err := s.inf.inflate(raw[h.size], raw[:h.size])
	if err != nil {
		return nil, h, t.undecoded("data", h, err)
	}
	return b, h, nil
}
