package table

import (
	"bytes"
	"math/bits"
	"slices"
)

// spread turns samples of a few places of a changelog into about want samples
// of the whole: between two places it assumes that the distribution of keys
// moves evenly from that of the one to that of the other. Keys that arrive in
// random order have the same distribution everywhere, and this only smoothes;
// keys that grow with time fill the gaps between places, where no sample fell.
func spread(places [][]Sample, want int) []Sample {
	var sorted [][]Sample
	var alphabet [256]bool
	n := 0
	for _, p := range places {
		if len(p) > 0 {
			s := slices.Clone(p)
			slices.SortStableFunc(s, compareSample)
			sorted = append(sorted, s)
			n += len(s)
			for _, x := range s {
				for _, c := range x.Key[:min(len(x.Key), 256)] {
					alphabet[c] = true
				}
			}
		}
	}
	if len(sorted) < 2 {
		return slices.Concat(sorted...)
	}
	digits := newAlphabet(&alphabet)
	var out []Sample
	for i := range len(sorted) - 1 {
		a, b := sorted[i], sorted[i+1]
		m := max(want/(len(sorted)-1), (len(a)+len(b))/2)
		for j := range m {
			// Low-discrepancy fractions (golden ratio) over all quantiles.
			q := (float64(j) + 0.5) / float64(m)
			f := frac(float64(j) * 0.6180339887498949)
			out = append(out, digits.between(a[int(q*float64(len(a)))], b[int(q*float64(len(b)))], f))
		}
	}
	return out
}

func frac(x float64) float64 { return x - float64(int64(x)) }

// alphabet numbers the bytes that occur in keys, so that keys of decimal digits
// or letters are evenly spaced as numbers.
type alphabet struct {
	bytes []byte
	rank  [256]uint8
	width int // digits that fit a number
}

func newAlphabet(seen *[256]bool) *alphabet {
	a := &alphabet{}
	for c := range seen {
		a.rank[c] = uint8(max(len(a.bytes)-1, 0)) // an unseen byte counts as the one before
		if seen[c] {
			a.rank[c] = uint8(len(a.bytes))
			a.bytes = append(a.bytes, byte(c))
		}
	}
	a.width = 52 / max(bits.Len(uint(len(a.bytes))), 1)
	return a
}

// between returns the sample at fraction f of the way from a to b.
func (al *alphabet) between(a, b Sample, f float64) Sample {
	if a.Group != b.Group {
		x := a
		if f >= 0.5 {
			x = b
		}
		x.Group = uint32(float64(a.Group) + (float64(b.Group)-float64(a.Group))*f)
		return x
	}
	if bytes.Equal(a.Key, b.Key) {
		return a
	}
	p := commonPrefix(a.Key, b.Key)
	x, y := al.number(a.Key[len(p):]), al.number(b.Key[len(p):])
	v := uint64(x + (y-x)*f)
	key := make([]byte, len(p)+al.width)
	copy(key, p)
	base := uint64(max(len(al.bytes), 1))
	for i := len(key) - 1; i >= len(p); i-- {
		key[i] = al.bytes[v%base]
		v /= base
	}
	return Sample{Group: a.Group, Key: key}
}

// number reads the first digits of a key suffix.
func (al *alphabet) number(s []byte) float64 {
	x, base := 0.0, float64(max(len(al.bytes), 1))
	for i := range al.width {
		x *= base
		if i < len(s) {
			x += float64(al.rank[s[i]])
		}
	}
	return x
}
