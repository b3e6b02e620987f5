package lsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// blockTrailer is the compression type byte and the checksum after a block.
const blockTrailer = 5

const (
	magicBlockBased = 0x88e241b785f4cff7
	magicLegacy     = 0xdb4775248b80fb57 // format version 0, and LevelDB
	footerSize      = 53
	legacyFooter    = 48
	maxFormat       = 7
	extendedMagic   = 0x007a003e // "3e 00 7a 00", format version 6 and up
)

// handle is where a block is; size leaves out the trailer.
type handle struct{ off, size uint64 }

func (h handle) end() uint64 { return h.off + h.size + blockTrailer }

// footer is the fixed tail of a table (table/format.cc:Footer::DecodeFrom).
type footer struct {
	version   uint32
	sum       checksumType
	base      uint32 // base of the context checksums; 0 before version 6
	metaIndex handle
	index     handle // from version 6 on it is in the metaindex instead
	offset    int64  // of the footer itself
}

// otherTables names table formats that are not block based.
func otherTables(magic uint64) string {
	switch magic {
	case 0x8242229663bf9564, 0x4f3418eb7a8f13b8:
		return "a plain table"
	case 0x926789d0c5f17873:
		return "a cuckoo table"
	}
	return ""
}

// parseFooter reads the footer from tail, the last bytes of a file of the
// given size. The error is a cause without the place.
func parseFooter(tail []byte, size int64) (footer, error) {
	le := binary.LittleEndian
	if len(tail) < legacyFooter {
		return footer{}, fmt.Errorf("the file has %d bytes, expected at least the %d of a footer", size, legacyFooter)
	}
	magic := le.Uint64(tail[len(tail)-8:])
	if name := otherTables(magic); name != "" {
		return footer{}, fmt.Errorf("%s, expected a block-based table", name)
	}
	if magic == magicLegacy {
		b := tail[len(tail)-legacyFooter:]
		f := footer{sum: sumCRC32C, offset: size - legacyFooter}
		return f, f.parseHandles(b[:40])
	}
	if magic != magicBlockBased {
		return footer{}, fmt.Errorf("magic number %#016x, expected %#016x of an SST file", magic, uint64(magicBlockBased))
	}
	if len(tail) < footerSize {
		return footer{}, fmt.Errorf("the file has %d bytes, expected at least the %d of a footer", size, footerSize)
	}
	b := tail[len(tail)-footerSize:]
	f := footer{version: le.Uint32(b[41:]), sum: checksumType(b[0]), offset: size - footerSize}
	if f.sum > sumXXH3 {
		return f, fmt.Errorf("checksum type %d, expected 0 to %d", b[0], sumXXH3)
	}
	if f.version == 0 || f.version > maxFormat {
		return f, fmt.Errorf("format version %d, expected 1 to %d", f.version, maxFormat)
	}
	if f.version < 6 {
		return f, f.parseHandles(b[1:41])
	}
	return f, f.parseContext(b)
}

// parseHandles reads the two handles of format versions 0 to 5. RocksDB does
// not look at the padding and takes numbers longer than need be; no version
// writes such, so it is damage.
func (f *footer) parseHandles(b []byte) error {
	rest := b
	var err error
	if f.metaIndex, rest, err = takeHandle(rest); err != nil {
		return fmt.Errorf("footer: metaindex %w", err)
	}
	if f.index, _, err = takeHandle(rest); err != nil {
		return fmt.Errorf("footer: index %w", err)
	}
	want := make([]byte, 0, len(b))
	for _, n := range []uint64{f.metaIndex.off, f.metaIndex.size, f.index.off, f.index.size} {
		want = binary.AppendUvarint(want, n)
	}
	if !bytes.Equal(b, append(want, make([]byte, max(0, len(b)-len(want)))...)) {
		return fmt.Errorf("footer: handles %x, expected them to be followed by zeros", b)
	}
	return nil
}

// parseContext reads the footer of format versions 6 and 7.
func (f *footer) parseContext(b []byte) error {
	le := binary.LittleEndian
	if m := le.Uint32(b[1:]); m != extendedMagic {
		return fmt.Errorf("footer: extended magic %#08x, expected %#08x", m, extendedMagic)
	}
	stored := le.Uint32(b[5:])
	f.base = le.Uint32(b[9:])
	if f.base == 0 {
		return fmt.Errorf("footer: base of context checksums is 0, expected another number")
	}
	var z [footerSize]byte
	copy(z[:], b)
	clear(z[5:9])
	if sum := f.sum.sum(z[:]) + contextModifier(f.base, uint64(f.offset)); sum != stored {
		return fmt.Errorf("footer: checksum %#08x, expected %#08x", sum, stored)
	}
	if le.Uint64(b[33:]) != 0 {
		return fmt.Errorf("footer: reserved bytes are used: a newer format than version %d", maxFormat)
	}
	size := uint64(le.Uint32(b[13:]))
	if int64(size)+blockTrailer > f.offset {
		return fmt.Errorf("footer: metaindex of %d bytes, expected it to fit before offset %d", size, f.offset)
	}
	f.metaIndex = handle{uint64(f.offset) - blockTrailer - size, size}
	return nil
}

// takeHandle reads a block handle (two varints) from the front of b.
func takeHandle(b []byte) (handle, []byte, error) {
	off, n := binary.Uvarint(b)
	if n <= 0 {
		return handle{}, b, fmt.Errorf("handle: malformed offset")
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return handle{}, b, fmt.Errorf("handle: malformed size")
	}
	if off > math.MaxInt64/4 || size > math.MaxInt64/4 {
		return handle{}, b, fmt.Errorf("handle: offset %d, size %d, expected numbers within the file", off, size)
	}
	return handle{off, size}, b[n+m:], nil
}
