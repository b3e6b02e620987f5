package table

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Digest is an order-independent checksum of rows: the same rows give the same
// digest in whatever order, or in how many pieces, they are added. Digests are
// compared with ==. It depends on nothing but the rows, so digests of different
// machines and versions compare.
type Digest struct {
	Rows   int64
	lo, hi uint64
}

// Add adds a row. Group keeps apart what is stored apart (a column family, a
// segment).
func (d *Digest) Add(group uint32, key, value []byte) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(len(key))<<32|uint64(group))
	k, v := xxhash.Sum64(key)^xxhash.Sum64(b[:]), xxhash.Sum64(value)
	// The two halves are different mixtures of both hashes. They are summed,
	// not xored, so that a row twice is not a row never.
	h1, l1 := bits.Mul64(k^0x9e3779b97f4a7c15, v^0xc2b2ae3d27d4eb4f)
	h2, l2 := bits.Mul64(k^0x165667b19e3779f9, bits.RotateLeft64(v, 29)^0x27d4eb2f165667c5)
	d.Rows++
	d.lo += h1 ^ l1 ^ k
	d.hi += h2 ^ l2 ^ v
}

// AddBucket adds all rows of a bucket.
func (d *Digest) AddBucket(b *Bucket) {
	for _, r := range b.Rows {
		d.Add(r.Group, b.Key(r), b.Value(r))
	}
}

// Merge adds the rows of another digest.
func (d *Digest) Merge(o Digest) {
	d.Rows += o.Rows
	d.lo += o.lo
	d.hi += o.hi
}

// String is the number of rows and 128 bits in hexadecimal.
func (d Digest) String() string { return fmt.Sprintf("%d-%016x%016x", d.Rows, d.hi, d.lo) }

// MarshalText is String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what String writes.
func (d *Digest) UnmarshalText(b []byte) error {
	var o Digest
	if n, err := fmt.Sscanf(string(b), "%d-%16x%16x", &o.Rows, &o.hi, &o.lo); err != nil || n != 3 || o.String() != string(b) {
		return fmt.Errorf("%q is not a digest", b)
	}
	*d = o
	return nil
}
