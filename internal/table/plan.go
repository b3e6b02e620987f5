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

// groupPlan holds the splitters of one group.
type groupPlan struct {
	group  uint32
	base   int    // splitters of lower groups
	prefix []byte // common to all splitters; key bytes after it are looked up
	min    uint64
	shift  int
	cells  []uint16   // splitters (of this group) in lower cells
	split  []splitter // ascending
}

// splitter is a boundary; head are its 8 bytes after the prefix.
type splitter struct {
	head uint64
	key  []byte
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
		g.split = append(g.split, splitter{key: bytes.Clone(s.Key)})
		p.n++
	}
	for i := range p.groups {
		p.groups[i].index(len(p.groups))
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

// index builds the lookup of a group; groups share the cache.
func (g *groupPlan) index(groups int) {
	g.prefix = commonPrefix(g.split[0].key, g.split[len(g.split)-1].key)
	for i := range g.split {
		g.split[i].head = head(g.split[i].key, len(g.prefix))
	}
	g.min = g.split[0].head
	span := g.split[len(g.split)-1].head - g.min
	width := max(16-bits.Len(uint(groups-1)), 6)
	g.shift = max(bits.Len64(span)-width, 0)
	g.cells = make([]uint16, span>>g.shift+1)
	i := 0
	for c := range g.cells {
		for (g.split[i].head-g.min)>>g.shift < uint64(c) {
			i++
		}
		g.cells[c] = uint16(i)
	}
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
	if l > 0 && (len(key) < l || string(key[:l]) != string(g.prefix)) {
		if bytes.Compare(key, g.prefix) < 0 {
			return g.base
		}
		return g.base + len(g.split)
	}
	h := head(key, l)
	if h < g.min {
		return g.base
	}
	c := (h - g.min) >> g.shift
	if c >= uint64(len(g.cells)) {
		return g.base + len(g.split)
	}
	i := int(g.cells[c])
	for i < len(g.split) && g.split[i].head < h {
		i++
	}
	for i < len(g.split) && g.split[i].head == h && bytes.Compare(g.split[i].key, key) <= 0 {
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
			prefix = len(commonPrefix(g.split[at-1].key, g.split[at].key))
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
