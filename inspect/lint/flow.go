package lint

import (
	"iter"
	"math/bits"

	"sstool/internal/topology"
)

// ordered are the nodes of a sub-topology with the flow. Those on a cycle,
// which Kafka Streams cannot build, come last.
func (v *view) ordered(s *topology.Subtopology) []*topology.Node {
	waits := make(map[string]int, len(s.Nodes))
	out := make([]*topology.Node, 0, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if waits[n.Name] = len(n.Prev); len(n.Prev) == 0 {
			out = append(out, n)
		}
	}
	for k := 0; k < len(out); k++ {
		for _, name := range out[k].Next {
			if waits[name]--; waits[name] == 0 && v.index[name] != nil {
				out = append(out, v.index[name])
			}
		}
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; waits[n.Name] > 0 {
			out = append(out, n)
		}
	}
	return out
}

// findStateful notes, of every node, the nearest node behind it that has
// stores: the first one that a search by breadth would find.
func (v *view) findStateful() {
	type found struct {
		n    *topology.Node
		away int
	}
	near := make(map[string]found, len(v.index))
	v.stateful = make(map[string]*topology.Node, len(v.index))
	for i := range v.t.Subtopologies {
		order := v.ordered(&v.t.Subtopologies[i])
		for k := len(order) - 1; k >= 0; k-- {
			var best found
			for _, name := range order[k].Next {
				f := found{v.index[name], 1}
				if f.n != nil && len(f.n.Stores) == 0 {
					f = near[name]
					f.away++
				}
				if f.n != nil && (best.n == nil || f.away < best.away) {
					best = f
				}
			}
			near[order[k].Name], v.stateful[order[k].Name] = best, best.n
		}
	}
}

// reach is, of every node of a sub-topology, which sources' records get there.
func reach(v *view, s *topology.Subtopology) (sources []*topology.Node, by map[string]set) {
	by = make(map[string]set, len(s.Nodes))
	for src := range s.Of(topology.Source) {
		by[src.Name] = set(nil).with(len(sources))
		sources = append(sources, src)
	}
	order := v.ordered(s)
	for more := true; more; { // more than twice only where there is a cycle
		more = false
		for _, n := range order {
			all := by[n.Name]
			for _, p := range n.Prev {
				all = all.or(by[p])
			}
			more = more || all.size() > by[n.Name].size()
			by[n.Name] = all
		}
	}
	return sources, by
}

// set is a set of small numbers. It does not change: many share one.
type set []uint64

func (s set) with(i int) set {
	out := make(set, max(len(s), i/64+1))
	copy(out, s)
	out[i/64] |= 1 << (i % 64)
	return out
}

// or is both; it is one of them where that has all.
func (s set) or(o set) set {
	switch {
	case o.within(s):
		return s
	case s.within(o):
		return o
	}
	out := make(set, max(len(s), len(o)))
	copy(out, s)
	for i, w := range o {
		out[i] |= w
	}
	return out
}

func (s set) within(o set) bool {
	for i, w := range s {
		if i >= len(o) && w != 0 || i < len(o) && w&^o[i] != 0 {
			return false
		}
	}
	return true
}

func (s set) size() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// all yields the numbers in the set, the smallest first.
func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(64*i + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
