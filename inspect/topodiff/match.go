package topodiff

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
)

// How two vertices were found to be one.
type matchedBy string

const (
	byName        matchedBy = "name"        // a person gave it, or nothing contradicts it
	byStructure   matchedBy = "structure"   // nothing else is like it
	byOrder       matchedBy = "order"       // several are alike; they are taken in their order
	byResemblance matchedBy = "resemblance" // the most alike of what was left
)

// matcher finds which vertex of the old topology is which of the new one.
type matcher struct {
	ctx      context.Context
	old, new *graph
	oldPaint *painter
	newPaint *painter
	toNew    []int32 // -1: none
	toOld    []int32
	how      []matchedBy       // by old vertex
	unsure   [2]map[int32]bool // old and new ones of which more, or fewer, look the same than before
	pairs    uint64
	now      matchedBy // how pairs are found at present
}

// match compares two graphs.
func match(ctx context.Context, old, new *graph) (*matcher, error) {
	seed := maphash.MakeSeed()
	m := &matcher{
		ctx: ctx, old: old, new: new, oldPaint: newPainter(old, seed), newPaint: newPainter(new, seed),
		toNew: slices.Repeat([]int32{-1}, len(old.v)), toOld: slices.Repeat([]int32{-1}, len(new.v)),
		how: make([]matchedBy, len(old.v)), unsure: [2]map[int32]bool{{}, {}},
	}
	m.now = byName
	m.names()
	m.now = byStructure
	m.unique()
	m.now = byOrder
	m.alike()
	m.now = byResemblance
	m.resembling()
	m.unique()
	m.now = byName
	m.sameNames()
	m.now = byOrder
	m.unique()
	m.alike()
	return m, ctx.Err()
}

// pair notes that two vertices are one.
func (m *matcher) pair(o, n int32) {
	m.pairs++
	m.toNew[o], m.toOld[n], m.how[o] = n, o, m.now
	c := mix(0x5bd1e995, m.pairs)
	m.oldPaint.fixed[o], m.newPaint.fixed[n] = c, c
}

// free says whether two vertices may still become one.
func (m *matcher) free(o, n int32) bool {
	return m.toNew[o] < 0 && m.toOld[n] < 0 && m.old.v[o].kind == m.new.v[n].kind
}

// names pairs what a person named the same in both, and the topics of others.
func (m *matcher) names() {
	for i := range m.old.v {
		v := &m.old.v[i]
		key := nameKey{v.kind, v.name}
		old, new := m.old.names[key], m.new.names[key]
		if len(old) == 1 && len(new) == 1 && (v.given() || v.kind == external) {
			m.pair(old[0], new[0])
		}
	}
}

// unique pairs vertices that are alike under a look, and like no other.
func (m *matcher) unique() {
	for at := 0; at < len(looks) && m.ctx.Err() == nil; {
		if m.uniqueUnder(looks[at]) && at > 0 {
			at = 0 // what is known now may tell more under a stricter look
		} else {
			at++
		}
	}
}

func (m *matcher) uniqueUnder(l look) bool {
	progress := false
	for more := true; more && m.ctx.Err() == nil; progress = progress || more {
		more = false
		for _, c := range m.classes(l) {
			if len(c.old) == 1 && len(c.new) == 1 && m.plausible(c.old[0], c.new[0]) {
				m.pair(c.old[0], c.new[0])
				more = true
			}
		}
	}
	return progress
}

// class is the unmatched vertices of one colour.
type class struct{ old, new []int32 }

// classes are those that both graphs have vertices in, stores first, then
// topics, then nodes, each by the first old vertex.
func (m *matcher) classes(l look) []class {
	if !slices.Contains(m.toNew, -1) || !slices.Contains(m.toOld, -1) {
		return nil
	}
	m.oldPaint.paint(l)
	m.newPaint.paint(l)
	at := map[uint64]int{}
	var out []class
	for i, c := range m.oldPaint.colour {
		if m.toNew[i] >= 0 {
			continue
		}
		k, ok := at[c]
		if !ok {
			k = len(out)
			at[c] = k
			out = append(out, class{})
		}
		out[k].old = append(out[k].old, int32(i))
	}
	for i, c := range m.newPaint.colour {
		if k, ok := at[c]; ok && m.toOld[i] < 0 {
			out[k].new = append(out[k].new, int32(i))
		}
	}
	out = slices.DeleteFunc(out, func(c class) bool { return len(c.new) == 0 || !m.free(c.old[0], c.new[0]) })
	slices.SortStableFunc(out, func(a, b class) int {
		return cmp.Compare(m.old.v[a.old[0]].kind.rank(), m.old.v[b.old[0]].kind.rank())
	})
	return out
}

func (k kind) rank() int {
	switch k {
	case store:
		return 0
	case internal:
		return 1
	}
	return 2
}

// plausible keeps a look from making one thing out of two: what holds state
// must have the same role and rows of a common origin, what reads or writes a
// topic must have one in common.
func (m *matcher) plausible(o, n int32) bool {
	a, b := &m.old.v[o], &m.new.v[n]
	switch a.kind {
	case processor, external:
		return true
	case source:
		return m.commonTopic(a.in, b.in)
	case sink:
		return m.commonTopic(a.out, b.out)
	}
	return (a.role == b.role || a.role == "" || b.role == "") && m.commonOrigin(o, n)
}

// commonTopic says whether two nodes have a topic in common, or may have one:
// internal topics are told apart by their nodes.
func (m *matcher) commonTopic(a, b []int32) bool {
	return len(a) == 0 || slices.ContainsFunc(a, func(i int32) bool {
		return slices.Contains(b, m.toNew[i]) || m.old.v[i].kind == internal && m.toNew[i] < 0
	})
}

// commonOrigin says whether a topic of others that leads to the one leads to
// the other, too, or none leads to either.
func (m *matcher) commonOrigin(o, n int32) bool {
	a, b := m.old.origins(o), m.new.origins(n)
	return len(a) == 0 && len(b) == 0 || overlap(a, b) > 0
}

// alike pairs vertices of which several look the same, in the order of their
// generated numbers: what is built first has the lower one. As many in both
// versions come first: where they are not, a looser look may tell which one
// changed.
func (m *matcher) alike() {
	for _, balanced := range []bool{true, false} {
		for _, l := range looks {
			for m.alikeUnder(l, balanced) && m.ctx.Err() == nil {
				m.unique()
			}
		}
	}
}

func (m *matcher) alikeUnder(l look, balanced bool) bool {
	progress := false
	for _, c := range m.classes(l) {
		old := slices.DeleteFunc(c.old, func(i int32) bool { return m.toNew[i] >= 0 })
		new := slices.DeleteFunc(c.new, func(i int32) bool { return m.toOld[i] >= 0 })
		if len(old) == 0 || len(new) == 0 || balanced && len(old) != len(new) {
			continue
		}
		m.old.byNumber(old)
		m.new.byNumber(new)
		if len(old) != len(new) {
			m.doubt(old, new)
		}
		for k := range min(len(old), len(new)) {
			if m.free(old[k], new[k]) && m.plausible(old[k], new[k]) {
				m.pair(old[k], new[k])
				m.neighbours(old[k], new[k])
				progress = true
			}
		}
	}
	return progress
}

// doubt notes that nobody can tell which of the vertices is which.
func (m *matcher) doubt(old, new []int32) {
	for _, i := range old {
		m.unsure[0][i] = true
	}
	for _, i := range new {
		m.unsure[1][i] = true
	}
}

// byNumber sorts vertices as the application built them, as far as their
// names tell.
func (g *graph) byNumber(of []int32) {
	slices.SortFunc(of, func(i, j int32) int {
		a, b := &g.v[i], &g.v[j]
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name), cmp.Compare(a.sub, b.sub))
	})
}

// neighbours pairs what surrounds a pair and has one counterpart there.
func (m *matcher) neighbours(o, n int32) {
	type pair struct{ o, n int32 }
	todo := []pair{{o, n}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		a, b := &m.old.v[p.o], &m.new.v[p.n]
		for _, side := range [3][2][]int32{{a.in, b.in}, {a.out, b.out}, {a.stores, b.stores}} {
			for _, x := range side[0] {
				if m.toNew[x] >= 0 || m.old.v[x].kind == external {
					continue
				}
				y, only := int32(-1), true
				for _, c := range side[1] {
					if m.free(x, c) && m.newPaint.colour[c] == m.oldPaint.colour[x] && m.plausible(x, c) {
						y, only = c, y < 0
					}
				}
				twins := 0
				for _, c := range side[0] {
					if m.toNew[c] < 0 && m.oldPaint.colour[c] == m.oldPaint.colour[x] {
						twins++
					}
				}
				if y >= 0 && only && twins == 1 {
					m.pair(x, y)
					todo = append(todo, pair{x, y})
				}
			}
		}
	}
}

// sameNames pairs what is left of stores and internal topics and has the same
// name: whatever else changed, Kafka Streams will take it for the same.
func (m *matcher) sameNames() {
	for i := range m.old.v {
		v := &m.old.v[i]
		if v.kind != store && v.kind != internal {
			continue
		}
		for _, n := range m.new.names[nameKey{v.kind, v.name}] {
			if m.free(int32(i), n) {
				m.pair(int32(i), n)
			}
		}
	}
}
