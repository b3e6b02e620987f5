package table

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// plan maps (group, key) to a bucket: the number of splitters that are not
// greater. It is exact, so equal keys never part and buckets never overlap.
type plan struct {
	groups []groupPlan // by group; groups without splitters have none
	n      int         // splitters in all
}

// groupPlan holds the splitters of one group, or those of a group that share
// their beginning.
type groupPlan struct {
	group  uint32
	base   int      // splitters below
	split  [][]byte // ascending
	prefix []byte   // common to all splitters; the 8 key bytes after it are looked up
	heads  []uint64 // those of the splitters, and the highest number to end with
	min    uint64
	shift  int
	cells  []uint16     // by (head - min) >> shift: splitters in lower cells
	alike  []*groupPlan // by splitter: where several begin that share the head, those

	// The first and the last 8 bytes of the prefix, to compare numbers instead
	// of bytes; the mask has the bytes of the first that are the prefix's.
	first, mask, last uint64
}

// newPlan chooses at most buckets-1 splitters as quantiles of the samples.
func newPlan(samples [][]Sample, buckets int) *plan {
	const perBucket = 16 // more samples do not make it more even
	all := spread(samples, buckets*perBucket)
	slices.SortFunc(all, compareSample)
	p := &plan{}
	var last *Sample
	for i := 1; i < buckets && len(all) > 0; i++ {
		s := &all[i*len(all)/buckets]
		if (last != nil && compareSample(*last, *s) == 0) || compareSample(all[0], *s) == 0 {
			continue // a hot key, or nothing would be below
		}
		last = s
		if n := len(p.groups); n == 0 || p.groups[n-1].group != s.Group {
			p.groups = append(p.groups, groupPlan{group: s.Group, base: p.n})
		}
		g := &p.groups[len(p.groups)-1]
		g.split = append(g.split, bytes.Clone(s.Key))
		p.n++
	}
	for i := range p.groups {
		p.groups[i].index(max(16-bits.Len(uint(len(p.groups)-1)), 6))
	}
	return p
}

func compareSample(a, b Sample) int {
	if a.Group != b.Group {
		if a.Group < b.Group {
			return -1
		}
		return 1
	}
	return bytes.Compare(a.Key, b.Key)
}

// index builds the lookup, with at most 2^(width+1) cells.
func (g *groupPlan) index(width int) {
	n := len(g.split)
	g.prefix = commonPrefix(g.split[0], g.split[n-1])
	l := len(g.prefix)
	g.first, g.mask = head(g.prefix, 0), ^uint64(0)
	if l < 8 {
		g.mask = ^(g.mask >> (8 * l))
	} else {
		g.last = head(g.prefix, l-8)
	}
	for _, k := range g.split {
		g.heads = append(g.heads, head(k, l))
	}
	g.min = g.heads[0]
	span := g.heads[n-1] - g.min
	g.shift = max(bits.Len64(span)-width, 0)
	g.cells = make([]uint16, span>>g.shift+1)
	i := 0
	for c := range g.cells {
		for (g.heads[i]-g.min)>>g.shift < uint64(c) {
			i++
		}
		g.cells[c] = uint16(i)
	}
	g.alike = make([]*groupPlan, n)
	for i := 0; i < n; {
		j := i + 1
		for j < n && g.heads[j] == g.heads[i] {
			j++
		}
		// Those that end within the head come first, eight at most.
		for i < j && len(g.split[i]) < l+8 {
			i++
		}
		if j-i > 1 {
			g.alike[i] = &groupPlan{base: g.base + i, split: g.split[i:j]}
			g.alike[i].index(max(width-4, 6))
		}
		i = j
	}
	g.heads = append(g.heads, ^uint64(0))
}

func (p *plan) buckets() int { return p.n + 1 }

// find returns the plan of a group, or the bucket that holds the whole group.
func (p *plan) find(group uint32) (*groupPlan, int) {
	i, ok := slices.BinarySearchFunc(p.groups, group, func(g groupPlan, x uint32) int {
		return int(int64(g.group) - int64(x))
	})
	if ok {
		return &p.groups[i], 0
	}
	if i < len(p.groups) {
		return nil, p.groups[i].base
	}
	return nil, p.n
}

// bucket returns the bucket of a key of this group.
func (g *groupPlan) bucket(key []byte) int {
	l := len(g.prefix)
	if len(key) < max(l, 8) || (binary.BigEndian.Uint64(key)^g.first)&g.mask != 0 ||
		l > 8 && (binary.BigEndian.Uint64(key[l-8:]) != g.last || l > 16 && string(key[8:l-8]) != string(g.prefix[8:l-8])) {
		return g.unusual(key)
	}
	if len(key) >= l+8 {
		return g.lookup(key, binary.BigEndian.Uint64(key[l:]))
	}
	return g.lookup(key, binary.BigEndian.Uint64(key[len(key)-8:])<<(64-8*(len(key)-l)))
}

// unusual is for short keys and those without the prefix.
func (g *groupPlan) unusual(key []byte) int {
	if !bytes.HasPrefix(key, g.prefix) {
		if bytes.Compare(key, g.prefix) < 0 {
			return g.base
		}
		return g.base + len(g.split)
	}
	return g.lookup(key, head(key, len(g.prefix)))
}

func (g *groupPlan) lookup(key []byte, h uint64) int {
	if h < g.min {
		return g.base
	}
	c := (h - g.min) >> g.shift
	if c >= uint64(len(g.cells)) {
		return g.base + len(g.split)
	}
	i := int(g.cells[c])
	for g.heads[i] < h {
		i++
	}
	for i < len(g.split) && g.heads[i] == h {
		if a := g.alike[i]; a != nil {
			return a.bucket(key)
		}
		if bytes.Compare(g.split[i], key) > 0 {
			break
		}
		i++
	}
	return g.base + i
}

// known is what the splitters say about all rows of a bucket: the length of the
// prefix their keys share, and the highest group they may have.
func (p *plan) known(bucket int) (prefix int, maxGroup uint32) {
	maxGroup = 1<<32 - 1
	for i := range p.groups {
		g := &p.groups[i]
		at := bucket - g.base
		if at < 0 || at > len(g.split) {
			continue
		}
		if at < len(g.split) {
			maxGroup = min(maxGroup, g.group)
		}
		if at > 0 && at < len(g.split) {
			prefix = len(commonPrefix(g.split[at-1], g.split[at]))
		}
	}
	return prefix, maxGroup
}

// head is the 8 bytes of key from offset at on, zero-padded, as a number that
// orders like them.
func head(key []byte, at int) uint64 {
	if len(key)-at >= 8 {
		return binary.BigEndian.Uint64(key[at:])
	}
	return shortHead(key, at)
}

func shortHead(key []byte, at int) uint64 {
	if n := len(key); n >= 8 {
		return binary.BigEndian.Uint64(key[n-8:]) << (64 - 8*(n-at))
	}
	var x uint64
	for i := at; i < at+8; i++ {
		x <<= 8
		if i < len(key) {
			x |= uint64(key[i])
		}
	}
	return x
}

func commonPrefix(a, b []byte) []byte {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return a[:i+bits.TrailingZeros64(d)/8]
		}
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return a[:i]
}
