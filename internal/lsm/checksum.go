package lsm

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// checksumType is the footer's choice for every block of a table
// (RocksDB include/rocksdb/table.h, enum ChecksumType).
type checksumType byte

const (
	sumNone checksumType = iota
	sumCRC32C
	sumXXHash
	sumXXHash64
	sumXXH3
)

// String is RocksDB's name of the type, as in OPTIONS files.
func (c checksumType) String() string {
	switch c {
	case sumNone:
		return "kNoChecksum"
	case sumCRC32C:
		return "kCRC32c"
	case sumXXHash:
		return "kxxHash"
	case sumXXHash64:
		return "kxxHash64"
	case sumXXH3:
		return "kXXH3"
	}
	return "unknown(" + strconv.Itoa(int(c)) + ")"
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is util/crc32c.h:Mask over the Castagnoli CRC: a rotation and an
// addition that keep a CRC of data holding CRCs from being trivial.
func maskedCRC(b []byte) uint32 { return mask(crc32.Checksum(b, castagnoli)) }

func mask(crc uint32) uint32 { return bits.RotateLeft32(crc, -15) + 0xa282ead8 }

// xxh3LastByte is what the last byte is multiplied with, which XXH3 leaves out.
const xxh3LastByte = 0x6b9083d9

// sum is table/format.cc:ComputeBuiltinChecksum over a block's payload and its
// compression type byte.
func (c checksumType) sum(b []byte) uint32 {
	switch c {
	case sumCRC32C:
		return maskedCRC(b)
	case sumXXHash:
		return xxh32(b)
	case sumXXHash64:
		return uint32(xxhash.Sum64(b))
	case sumXXH3:
		if len(b) == 0 {
			return 0
		}
		last := len(b) - 1
		return uint32(xxh3.Hash(b[:last])) ^ uint32(b[last])*xxh3LastByte
	}
	return 0
}

// streamSum is sum over a payload that comes in pieces. XXH32 has none.
type streamSum struct {
	kind checksumType
	crc  uint32
	xx64 *xxhash.Digest
	xx3  *xxh3.Hasher
}

func (c checksumType) stream() *streamSum {
	return &streamSum{kind: c, xx64: xxhash.New(), xx3: xxh3.New()}
}

func (s *streamSum) add(b []byte) {
	switch s.kind {
	case sumCRC32C:
		s.crc = crc32.Update(s.crc, castagnoli, b)
	case sumXXHash64:
		_, _ = s.xx64.Write(b)
	case sumXXH3:
		_, _ = s.xx3.Write(b)
	}
}

// finish adds the compression type, which ends what is summed.
func (s *streamSum) finish(ctype byte) uint32 {
	if s.kind == sumXXH3 {
		return uint32(s.xx3.Sum64()) ^ uint32(ctype)*xxh3LastByte
	}
	s.add([]byte{ctype})
	switch s.kind {
	case sumCRC32C:
		return mask(s.crc)
	case sumXXHash64:
		return uint32(s.xx64.Sum64())
	}
	return 0
}

// contextModifier is table/format.h:ChecksumModifierForContext: from format
// version 6 on a checksum also says where in which file the block belongs.
func contextModifier(base uint32, offset uint64) uint32 {
	if base == 0 {
		return 0
	}
	return base ^ (uint32(offset) + uint32(offset>>32))
}

// xxh32 is XXH32 with seed 0; no module of ours exports it.
func xxh32(b []byte) uint32 {
	const p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	n := uint32(len(b))
	var h uint32
	if len(b) >= 16 {
		v := [4]uint32{0: 0x24234428 /* p1+p2 mod 2^32 */, 1: p2, 2: 0, 3: 0x61c8864f /* -p1 mod 2^32 */}
		for ; len(b) >= 16; b = b[16:] {
			for i := range v {
				v[i] = bits.RotateLeft32(v[i]+binary.LittleEndian.Uint32(b[4*i:])*p2, 13) * p1
			}
		}
		h = bits.RotateLeft32(v[0], 1) + bits.RotateLeft32(v[1], 7) + bits.RotateLeft32(v[2], 12) + bits.RotateLeft32(v[3], 18)
	} else {
		h = p5
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*p3, 17) * p4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
}
