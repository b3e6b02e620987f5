package serde

import (
	"encoding/binary"
	"slices"
)

// AppendHex appends the hexadecimal digits of b.
func AppendHex(dst, b []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 2*len(b))[:at+2*len(b)]
	out := dst[at:]
	n := hexBlocks(out, b)
	for i, c := range b[n:] {
		binary.BigEndian.PutUint16(out[2*(n+i):], hexPairs[c])
	}
	return dst
}

// hexPairs are the two digits of every byte.
var hexPairs = func() (pairs [256]uint16) {
	const digits = "0123456789abcdef"
	for c := range pairs {
		pairs[c] = uint16(digits[c>>4])<<8 | uint16(digits[c&15])
	}
	return pairs
}()
