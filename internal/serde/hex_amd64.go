package serde

// hexBlocks writes the digits of b, which dst has room for, and says of how
// many of its bytes: all, unless they are less than sixteen.
func hexBlocks(dst, b []byte) int {
	n := len(b) &^ 15
	if n == 0 {
		return 0
	}
	dst = dst[:2*len(b)]
	hex16(&dst[0], &b[0], n)
	if n < len(b) { // the last sixteen, some of them once more
		hex16(&dst[len(dst)-32], &b[len(b)-16], 16)
	}
	return len(b)
}

// hex16 writes the digits of n bytes, sixteen at a time. A scan of a store
// spends more on them than on anything else that is its own.
//
//go:noescape
func hex16(dst, src *byte, n int)
