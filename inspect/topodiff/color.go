package topodiff

import (
	"hash/maphash"
	"slices"
)

// look is a way of comparing: what of a vertex and of its surroundings counts.
type look struct {
	up, down bool // what flows in, what flows out
	skip     bool // nodes that keep nothing and are not matched yet are looked through
	through  bool // with skip: matched ones too
	topics   bool // with skip: internal topics too
	names    naming
}

// naming is how much of a name counts.
type naming uint8

const (
	labels naming = iota // all but the generated number
	roles                // the operator, or what a store or topic is for
	kinds                // nothing
)

// looks go from the strictest, which leaves no doubt, to the loosest.
var looks = []look{
	{up: true, down: true},
	{up: true, down: true, skip: true},
	{up: true, down: true, skip: true, through: true},
	{up: true, down: true, skip: true, through: true, topics: true, names: roles},
	{up: true, skip: true, through: true},
	{down: true, skip: true, through: true},
	{up: true, skip: true, through: true, topics: true, names: roles},
	{down: true, skip: true, through: true, topics: true, names: roles},
	{up: true, down: true, skip: true, through: true, topics: true, names: kinds},
}

// maxRounds bounds how often colours are passed on through shared stores.
const maxRounds = 6

// painter colours the vertices of a graph: two vertices have one colour when
// the look finds no difference between them and all that leads to them.
// Matched vertices have a colour of their own, the same in both graphs.
type painter struct {
	g     *graph
	seed  maphash.Seed
	fixed []uint64 // of matched vertices; else 0

	colour, base, up, down []uint64
	scratch                []uint64
}

func newPainter(g *graph, seed maphash.Seed) *painter {
	n := len(g.v)
	return &painter{g: g, seed: seed, fixed: make([]uint64, n), colour: make([]uint64, n), base: make([]uint64, n), up: make([]uint64, n), down: make([]uint64, n)}
}

// paint fills colour.
func (p *painter) paint(l look) {
	for i := range p.g.v {
		p.base[i] = p.basic(int32(i), l)
		p.colour[i] = p.base[i]
	}
	classes := 0
	for range maxRounds {
		p.pass(l)
		if n := distinct(p.colour); n > classes {
			classes = n
			continue
		}
		break
	}
}

// basic is the colour of a vertex alone.
func (p *painter) basic(i int32, l look) uint64 {
	v := &p.g.v[i]
	h := uint64(v.kind) + 1
	if v.global {
		h += 16
	}
	switch {
	case p.fixed[i] != 0:
		return p.fixed[i]
	case v.kind == external || l.names == labels:
		h = mix(h, maphash.String(p.seed, v.label))
		if v.given() {
			h++
		}
	case l.names == roles && (v.kind == processor || v.kind == store || v.kind == internal):
		h = mix(h, maphash.String(p.seed, v.role))
	}
	return h
}

// transparent says whether a vertex shows what is behind it.
func (p *painter) transparent(i int32, l look) bool {
	v := &p.g.v[i]
	switch {
	case !l.skip || p.fixed[i] != 0 && !l.through:
		return false
	case v.kind == internal:
		return l.topics
	}
	return v.stateless()
}

// pass carries colours once with the flow and once against it, then through
// the stores.
func (p *painter) pass(l look) {
	g := p.g
	own := func(i int32) uint64 {
		h := p.base[i]
		if len(g.v[i].stores) > 0 && p.fixed[i] == 0 {
			h = mix(h, p.combine(p.colour, g.v[i].stores, false))
		}
		return h
	}
	for i := range g.v {
		p.up[i], p.down[i] = p.base[i], p.base[i]
	}
	carry := func(i int32, side []uint64, from []int32) uint64 {
		switch {
		case p.transparent(i, l):
			return p.combine(side, from, true)
		case p.fixed[i] != 0:
			return p.fixed[i]
		}
		return mix(own(i), p.combine(side, from, l.skip))
	}
	if l.up {
		for _, i := range g.order {
			p.up[i] = carry(i, p.up, g.v[i].in)
		}
	}
	if l.down {
		for _, i := range slices.Backward(g.order) {
			p.down[i] = carry(i, p.down, g.v[i].out)
		}
	}
	for _, i := range g.order {
		if p.fixed[i] != 0 {
			continue
		}
		h := own(i)
		if l.up {
			h = mix(h, p.up[i])
		}
		if l.down {
			h = mix(h, p.down[i]+1)
		}
		p.colour[i] = h
	}
	for i := range g.v {
		if g.v[i].kind == store && p.fixed[i] == 0 {
			p.colour[i] = mix(p.base[i], p.combine(p.colour, g.v[i].stores, false))
		}
	}
}

// combine is one colour for several, in whatever order they come. As a set,
// one that comes twice counts once, and one alone stays what it is.
func (p *painter) combine(colours []uint64, of []int32, set bool) uint64 {
	if len(of) == 0 {
		return 0
	}
	if len(of) == 1 && set {
		return colours[of[0]]
	}
	s := p.scratch[:0]
	for _, i := range of {
		s = append(s, colours[i])
	}
	slices.Sort(s)
	p.scratch = s
	if set {
		if s = slices.Compact(s); len(s) == 1 {
			return s[0]
		}
	}
	h := uint64(len(s))
	for _, c := range s {
		h = mix(h, c)
	}
	return h
}

// mix folds x into h.
func mix(h, x uint64) uint64 {
	h ^= x + 0x9e3779b97f4a7c15 + h<<12 + h>>4
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32
}

func distinct(colours []uint64) int {
	seen := make(map[uint64]struct{}, len(colours))
	for _, c := range colours {
		seen[c] = struct{}{}
	}
	return len(seen)
}
