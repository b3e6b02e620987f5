package kafka

import "encoding/binary"

// The record format's integers are zigzag varints
// (org.apache.kafka.common.utils.ByteUtils). These functions return the raw
// number, before zigzag, and the index behind it; an index of -1 means that
// the input ends within the number or that it has more than 64 bits. An index
// of -1 may be passed on: it stays -1, so that a run of numbers needs one check.

func uvarint(p []byte, i int) (uint64, int) {
	if i < 0 {
		return 0, -1
	}
	if i < len(p)-2 {
		b := p[i : i+3 : i+3]
		if b[0] < 0x80 {
			return uint64(b[0]), i + 1
		}
		if b[1] < 0x80 {
			return uint64(b[0]&0x7f) | uint64(b[1])<<7, i + 2
		}
		if b[2] < 0x80 {
			return uint64(b[0]&0x7f) | uint64(b[1]&0x7f)<<7 | uint64(b[2])<<14, i + 3
		}
	}
	var u uint64
	for n := 0; i < len(p) && n < 10; n++ {
		c := p[i]
		i++
		if n == 9 && c > 1 {
			break
		}
		u |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

// deltas reads the beginning of a record: attributes (unused), timestamp delta
// and offset delta. Eight bytes hold all of it for a record whose deltas are
// below 2^20 and 2^13, so that the usual case is one load and shifts.
func deltas(r []byte) (dt, do uint64, i int) {
	if len(r) >= 8 {
		x := binary.LittleEndian.Uint64(r) >> 8
		switch {
		case x&0x80 == 0:
			dt, x, i = x&0x7f, x>>8, 2
		case x&0x8000 == 0:
			dt, x, i = x&0x7f|x>>1&0x3f80, x>>16, 3
		case x&0x800000 == 0:
			dt, x, i = x&0x7f|x>>1&0x3f80|x>>2&0x1fc000, x>>24, 4
		}
		if i > 0 {
			if x&0x80 == 0 {
				return dt, x & 0x7f, i + 1
			}
			if x&0x8000 == 0 {
				return dt, x&0x7f | x>>1&0x3f80, i + 2
			}
		}
	}
	dt, i = uvarint(r, 1)
	do, i = uvarint(r, i)
	return dt, do, i
}

func zigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// nullable reads a length and that many bytes; length -1 is null.
func nullable(p []byte, i int) ([]byte, int) {
	u, i := uvarint(p, i)
	if i < 0 {
		return nil, -1
	}
	if u == 1 { // -1
		return nil, i
	}
	n := u >> 1
	if u&1 != 0 || n > uint64(len(p)-i) {
		return nil, -1
	}
	j := i + int(n)
	return p[i:j:j], j
}

// skipHeaders returns the index behind n record headers.
func skipHeaders(p []byte, i int, n int64) int {
	if n < 0 || i < 0 || n > int64(len(p)-i) {
		return -1
	}
	for ; n > 0 && i >= 0; n-- {
		var key []byte
		key, i = nullable(p, i)
		if key == nil { // a header's key is never null
			return -1
		}
		_, i = nullable(p, i)
	}
	return i
}
