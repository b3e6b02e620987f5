package lint

import (
	"slices"
	"strings"

	"sstool/internal/topology"
)

// checkWriters is C7: an internal topic has one writer and one reader, unless
// two things made its name.
func (r *run) checkWriters(v *view) {
	for _, f := range v.topics {
		if f.kind == kindRepartition && (len(f.sinks) > 1 || len(f.sources) > 1) {
			n, what := f.sinks, "written"
			if len(n) < 2 {
				n, what = f.sources, "read"
			}
			r.report(v, "C7", n[1].Line, kindRepartition, f.name, "repartition topic %s is %s by %s and by %s: two operators made its name",
				f.name, what, n[0].Name, n[1].Name).with(v, n[0].Line, n[0].Name)
		}
	}
	r.checkOwners(v)
}

// checkOwners is C7 for a store that is called after one of its processors, as
// that of a suppression is: the others are connected to it.
func (r *run) checkOwners(v *view) {
	owned := map[int][]*store{} // by sub-topology
	for _, s := range v.stores {
		owner, ok := strings.CutSuffix(s.Name, "-store")
		if ok && !s.generated && !v.t.Edgeless && len(s.Processors) > 1 && slices.Contains(s.Processors, owner) {
			owned[s.Subtopology] = append(owned[s.Subtopology], s)
		}
	}
	for i := range v.t.Subtopologies {
		sub := &v.t.Subtopologies[i]
		if len(owned[sub.ID]) == 0 {
			continue
		}
		order := v.ordered(sub)
		back := slices.Clone(order)
		slices.Reverse(back)
		for some := range slices.Chunk(owned[sub.ID], 64) { // a walk for all of them
			down, up := map[string]uint64{}, map[string]uint64{}
			for k, s := range some {
				owner := strings.TrimSuffix(s.Name, "-store")
				down[owner] |= 1 << k
				up[owner] |= 1 << k
			}
			spread(order, down, func(n *topology.Node) []string { return n.Prev })
			spread(back, up, func(n *topology.Node) []string { return n.Next })
			for k, s := range some {
				apart := func(p string) bool { return (down[p]|up[p])&(1<<k) == 0 }
				if at := slices.IndexFunc(s.Processors, apart); at >= 0 {
					owner, p := v.index[strings.TrimSuffix(s.Name, "-store")], v.index[s.Processors[at]]
					r.report(v, "C7", p.Line, kindStore, s.Name, "store %s belongs to %s (its name and -store), but %s has it too and is not connected to it: two stores of one name, made in two ways",
						s.Name, owner.Name, p.Name).with(v, owner.Line, owner.Name)
				}
			}
		}
	}
}

// spread carries marks from node to node, in order.
func spread(order []*topology.Node, marks map[string]uint64, from func(*topology.Node) []string) {
	for more := true; more; { // more than twice only where there is a cycle
		more = false
		for _, n := range order {
			all := marks[n.Name]
			for _, name := range from(n) {
				all |= marks[name]
			}
			if all != marks[n.Name] {
				marks[n.Name], more = all, true
			}
		}
	}
}
