package table

import (
	"encoding/binary"

	"sstool/internal/op"
)

// The encoding of a row in chunks, spill files and runs:
//
//	uvarint  length of the key × 2, + 1 when group or block differ from the row before (at first: 0, 0)
//	uvarint  block × 2, + 1 when the group differs      only then
//	uvarint  group                                      only then
//	uvarint  length of the value + 1; 0 is a tombstone
//	uvarint  length of the value                        only of a tombstone in a table that keeps all rows
//	key, value
//
// The usual row spends two bytes on it.

// maxHeader is the most a header can take.
const maxHeader = 5 * binary.MaxVarintLen32

// place is the part of a row's header that is inherited from the row before.
type place struct{ group, seq uint32 }

// header is a decoded row header.
type header struct {
	klen, vlen uint32
	tombstone  bool
}

// putHeader writes a header to b, which has room for it, and returns its
// length. Row lengths are below 2^31: Kafka's records are.
func putHeader(b []byte, klen, vlen uint32, tombstone, keepAll bool, last *place, at place) int {
	n := 0
	if *last == at {
		n = binary.PutUvarint(b, uint64(klen)<<1)
	} else {
		n = binary.PutUvarint(b, uint64(klen)<<1|1)
		if last.group == at.group {
			n += binary.PutUvarint(b[n:], uint64(at.seq)<<1)
		} else {
			n += binary.PutUvarint(b[n:], uint64(at.seq)<<1|1)
			n += binary.PutUvarint(b[n:], uint64(at.group))
		}
		*last = at
	}
	if !tombstone {
		return n + binary.PutUvarint(b[n:], uint64(vlen)+1)
	}
	n += binary.PutUvarint(b[n:], 0)
	if keepAll {
		n += binary.PutUvarint(b[n:], uint64(vlen))
	}
	return n
}

// parseHeader reads a header from the front of b and updates at. n is its
// length; 0 when b ends inside it.
func parseHeader(b []byte, keepAll bool, at *place) (h header, n int, err error) {
	f := fields{b: b}
	x := f.next(1<<32 - 1)
	p := *at
	if x&1 != 0 {
		q := f.next(maxSeq<<1 | 1)
		if p.seq = uint32(q >> 1); q&1 != 0 {
			p.group = uint32(f.next(1<<32 - 1))
		}
	}
	v := f.next(1 << 31)
	h = header{klen: uint32(x >> 1), tombstone: v == 0}
	switch {
	case v > 0:
		h.vlen = uint32(v - 1)
	case keepAll:
		h.vlen = uint32(f.next(1<<31 - 1))
	}
	if f.bad {
		return header{}, 0, errSpill()
	}
	if f.short {
		return header{}, 0, nil
	}
	*at = p
	return h, f.n, nil
}

// fields reads uvarints one after the other; after the first failure nothing more.
type fields struct {
	b          []byte
	n          int
	short, bad bool
}

func (f *fields) next(limit uint64) uint64 {
	if f.short || f.bad {
		return 0
	}
	x, w := binary.Uvarint(f.b[f.n:])
	f.short = w == 0
	f.bad = w < 0 || x > limit
	f.n += w
	return x
}

func errSpill() error {
	return op.Errorf(op.Corrupt, "read back spilled rows: the temporary file is damaged").WithTry("check the disk, then run again")
}
