package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"sstool/internal/op"
)

// readAt fills b or says why not; a file that ends early is corrupt.
func (t *Table) readAt(b []byte, off int64) error {
	if from := t.size - int64(len(t.tail)); off >= from && off+int64(len(b)) <= t.size {
		copy(b, t.tail[off-from:])
		return nil
	}
	n, err := t.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt(t.name, off+int64(n), "the file ends here, expected %d more bytes", len(b)-n)
	}
	return ioError(t.name, fmt.Errorf("read at offset %d: %w", off, err))
}

// maxStored caps the stored size of any block. Filters and indexes of files of
// many gigabytes need that much.
const maxStored = 1 << 30

// inBounds checks a handle against the file before anything is allocated. The
// error is a cause without the place.
func (t *Table) inBounds(kind string, h handle) error {
	limit := uint64(maxStored)
	if kind == "data" {
		limit = maxBlock
	}
	if h.size > limit {
		return fmt.Errorf("%s block of %d bytes, expected at most %d", kind, h.size, limit)
	}
	if h.end() > uint64(t.foot.offset) {
		return fmt.Errorf("%s block at %d of %d bytes, expected it to end before the footer at %d", kind, h.off, h.size, t.foot.offset)
	}
	return nil
}

// check verifies the checksum of raw, a block with its trailer.
func (t *Table) check(kind string, h handle, raw []byte) error {
	if t.trust {
		return nil
	}
	return t.compare(kind, h, t.foot.sum.sum(raw[:h.size+1]), raw[h.size+1:])
}

// compare checks a block's checksum against the one that is stored behind it.
func (t *Table) compare(kind string, h handle, sum uint32, trailer []byte) error {
	stored := binary.LittleEndian.Uint32(trailer) - contextModifier(t.foot.base, h.off)
	if sum != stored && !t.trust {
		return corrupt(t.name, int64(h.off), "%s block of %d bytes: %s checksum %#08x, expected %#08x", kind, h.size, t.foot.sum, sum, stored)
	}
	return nil
}

// raw reads and verifies a block; the result includes the trailer.
func (t *Table) raw(kind string, h handle, buf []byte) ([]byte, error) {
	if err := t.inBounds(kind, h); err != nil {
		return nil, corrupt(t.name, int64(h.off), "%w", err)
	}
	n := int(h.size) + blockTrailer
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if err := t.readAt(buf, int64(h.off)); err != nil {
		return nil, err
	}
	return buf, t.check(kind, h, buf)
}

// verifyBlock verifies a block that nobody reads, piece by piece: filters of
// large files are large.
func (t *Table) verifyBlock(kind string, h handle, buf []byte) error {
	if h.size+blockTrailer <= uint64(len(buf)) || t.foot.sum == sumXXHash {
		_, err := t.raw(kind, h, buf)
		return err
	}
	if err := t.inBounds(kind, h); err != nil {
		return corrupt(t.name, int64(h.off), "%w", err)
	}
	sum := t.foot.sum.stream()
	off, left := int64(h.off), h.size
	for left > 0 {
		piece := buf[:min(left, uint64(len(buf)))]
		if err := t.readAt(piece, off); err != nil {
			return err
		}
		sum.add(piece)
		off, left = off+int64(len(piece)), left-uint64(len(piece))
	}
	var trailer [blockTrailer]byte
	if err := t.readAt(trailer[:], off); err != nil {
		return err
	}
	return t.compare(kind, h, sum.finish(trailer[0]), trailer[1:])
}

// block reads, verifies and inflates a meta or index block.
func (t *Table) block(kind string, h handle) ([]byte, error) {
	raw, err := t.raw(kind, h, nil)
	if err != nil {
		return nil, err
	}
	return t.inflate(kind, h, raw)
}

// inflate returns the bytes of a meta or index block; the result is the
// caller's.
func (t *Table) inflate(kind string, h handle, raw []byte) ([]byte, error) {
	if raw[h.size] == rawBlock {
		return raw[:h.size], nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b, err := t.inf.inflate(raw[h.size], raw[:h.size])
	if err != nil {
		return nil, t.undecoded(kind, h, err)
	}
	return slices.Clone(b), nil
}

// undecoded says why a block with the right checksum cannot be inflated: an
// algorithm that is not ours is no damage.
func (t *Table) undecoded(kind string, h handle, err error) error {
	e := corrupt(t.name, int64(h.off), "%s block: %w", kind, err)
	if errors.Is(err, errCompression) {
		e.Kind = op.Failed
	}
	return e
}

// eachEntry walks a plain block that is not a data block.
func (t *Table) eachEntry(kind string, h handle, b []byte, fn func(key, value []byte) error) error {
	var e entries
	err := e.reset(b)
	for err == nil && e.next() {
		err = fn(e.key, e.value)
	}
	if err = errors.Join(err, e.err); err != nil {
		return corrupt(t.name, int64(h.off), "%s block: %w", kind, err)
	}
	return nil
}
