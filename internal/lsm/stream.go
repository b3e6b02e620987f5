package lsm

import "io"

// blockStream reads data blocks one after the other with few large preads into
// one buffer, verifies each and inflates it. A block is valid until the next.
type blockStream struct {
	t        *table
	blocks   []handle
	i        int
	buf      []byte
	lo, hi   uint64 // file range that buf holds
	inf      inflator
	span     int   // how much to read at once
	squeezed int64 // blocks that were compressed
}

// streamBuffer is read at once: large enough for the disk, small enough to
// stay in the cache while the blocks are walked.
const streamBuffer = 512 << 10

// newStream starts on the table's data blocks; buf is grown when a block does
// not fit it.
func (t *table) newStream(blocks []handle, buf []byte) (*blockStream, error) {
	dict, err := t.dictionary()
	if err != nil {
		return nil, err
	}
	return &blockStream{t: t, blocks: blocks, buf: buf, span: streamBuffer, inf: inflator{version: t.foot.version, dict: dict}}, nil
}

func (s *blockStream) close() { s.inf.close() }

// next returns the next block's bytes and where it is; io.EOF after the last.
func (s *blockStream) next() ([]byte, handle, error) {
	if s.i >= len(s.blocks) {
		return nil, handle{}, io.EOF
	}
	h := s.blocks[s.i]
	if h.off < s.lo || h.end() > s.hi {
		if err := s.fill(); err != nil {
			return nil, h, err
		}
	}
	s.i++
	raw := s.buf[h.off-s.lo : h.end()-s.lo]
	if err := s.t.check("data", h, raw); err != nil {
		return nil, h, err
	}
	ctype := raw[h.size]
	if ctype == rawBlock {
		return raw[:h.size], h, nil
	}
	s.squeezed++
	b, err := s.inf.inflate(ctype, raw[:h.size])
	if err != nil {
		return nil, h, corrupt(s.t.name, int64(h.off), "data block: %w", err)
	}
	return b, h, nil
}

// fill reads from the next block on as many blocks as fit, gaps included.
func (s *blockStream) fill() error {
	lo, hi := s.blocks[s.i].off, s.blocks[s.i].end()
	for _, h := range s.blocks[s.i+1:] {
		if h.end()-lo > uint64(max(cap(s.buf), s.span)) {
			break
		}
		hi = h.end()
	}
	n := int(hi - lo)
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	s.buf = s.buf[:n]
	s.lo, s.hi = lo, hi
	return s.t.readAt(s.buf, int64(lo))
}
