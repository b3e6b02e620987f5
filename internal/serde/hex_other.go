//go:build !amd64

package serde

import "encoding/binary"

// hexBlocks writes the digits of b, which dst has room for, and says of how
// many of its bytes: all but those that are no whole eight.
func hexBlocks(dst, b []byte) int {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		in, out := b[n:n+8], dst[2*n:2*n+16]
		for i, c := range in {
			binary.BigEndian.PutUint16(out[2*i:], hexPairs[c])
		}
	}
	return n
}
