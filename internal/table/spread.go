package table

import (
	"bytes"
	"slices"
)

// spread turns samples of a few places of a changelog into about want samples
// of the whole: between two places it assumes that the distribution of keys
// moves evenly from that of the one to that of the other. Keys that arrive in
// random order have the same distribution everywhere, and this only smoothes;
// keys that grow with time fill the gaps between places, where no sample fell.
func spread(places [][]Sample, want int) []Sample {
	var sorted [][]Sample
	for _, p := range places {
		if len(p) > 0 {
			s := slices.Clone(p)
			slices.SortStableFunc(s, compareSample)
			sorted = append(sorted, s)
		}
	}
	all := slices.Concat(sorted...)
	if len(sorted) < 2 {
		return all
	}
	digits := newNumerals(all)
	var out []Sample
	for i := range len(sorted) - 1 {
		a, b := sorted[i], sorted[i+1]
		m := max(want/(len(sorted)-1), (len(a)+len(b))/2)
		for j := range m {
			// Quantiles in turn, with golden-ratio fractions: both evenly covered.
			q := (float64(j) + 0.5) / float64(m)
			f := float64(j) * 0.6180339887498949
			f -= float64(int(f))
			out = append(out, digits.between(a[int(q*float64(len(a)))], b[int(q*float64(len(b)))], f))
		}
	}
	return out
}

// numerals reads keys as numbers whose digits are the bytes that occur at each
// position, so that keys of decimal digits, hexadecimal ones or raw bytes can
// be interpolated alike.
type numerals []position

// position holds the bytes that may occur at a position, ascending, and of each
// byte how many of them are smaller.
type position struct {
	bytes []byte
	rank  [256]uint16
}

func newNumerals(samples []Sample) numerals {
	out := make(numerals, 0, 64)
	for at := range cap(out) {
		var seen [256]bool
		n, text := 0, 0
		for _, s := range samples {
			if at < len(s.Key) {
				c := s.Key[at]
				seen[c] = true
				n++
				if class(c, true) > 0 {
					text++
				}
			}
		}
		if n == 0 {
			break
		}
		// A few odd keys do not make text binary.
		out = append(out, newPosition(&seen, text*20 >= n*19))
	}
	return out
}

// newPosition takes the bytes seen at a position and those between them (in
// text: of the same class), which can be expected as well.
func newPosition(seen *[256]bool, text bool) position {
	var low, high [4]int // by class; high is exclusive
	for c := 255; c >= 0; c-- {
		if k := class(byte(c), text); seen[c] && k >= 0 {
			if high[k] == 0 {
				high[k] = c + 1
			}
			low[k] = c
		}
	}
	var p position
	for c := range 256 {
		p.rank[c] = uint16(len(p.bytes))
		if k := class(byte(c), text); k >= 0 && low[k] <= c && c < high[k] {
			p.bytes = append(p.bytes, byte(c))
		}
	}
	return p
}

// class tells decimal digits and the two cases of letters apart, and other
// bytes from those by -1; without text all bytes are alike.
func class(c byte, text bool) int {
	switch {
	case !text:
		return 0
	case '0' <= c && c <= '9':
		return 1
	case 'A' <= c && c <= 'Z':
		return 2
	case 'a' <= c && c <= 'z':
		return 3
	}
	return -1
}

// between returns the sample at fraction f of the way from a to b.
func (nu numerals) between(a, b Sample, f float64) Sample {
	if a.Group != b.Group {
		g := uint32(float64(a.Group) + (float64(b.Group)-float64(a.Group))*f + 0.5)
		if g == a.Group || g != b.Group && f < 0.5 {
			return Sample{g, a.Key}
		}
		return Sample{g, b.Key}
	}
	p := len(commonPrefix(a.Key, b.Key))
	if bytes.Equal(a.Key, b.Key) || p >= len(nu) {
		return a
	}
	// As many digits as a float64 holds exactly.
	radix, n := uint64(1), p
	for n < len(nu) && radix*uint64(len(nu[n].bytes)) < 1<<52 {
		radix *= uint64(len(nu[n].bytes))
		n++
	}
	x, y := float64(nu.number(a.Key, p, n)), float64(nu.number(b.Key, p, n))
	v := uint64(x + (y-x)*f)
	key := make([]byte, n)
	copy(key, a.Key[:p])
	for i := n - 1; i >= p; i-- {
		d := nu[i].bytes
		key[i] = d[v%uint64(len(d))]
		v /= uint64(len(d))
	}
	return Sample{Group: a.Group, Key: key}
}

// number reads positions p to n of a key.
func (nu numerals) number(key []byte, p, n int) uint64 {
	x := uint64(0)
	for i := p; i < n; i++ {
		d := &nu[i]
		x *= uint64(len(d.bytes))
		if i < len(key) {
			x += min(uint64(d.rank[key[i]]), uint64(len(d.bytes)-1))
		}
	}
	return x
}
