package topodiff

import (
	"cmp"
	"fmt"
	"slices"
)

// nodes lists what is in one version only: the change itself, as far as
// matching tells.
func (d *differ) nodes() {
	list := func(g *graph, to []int32, c Change) {
		start := len(d.r.Nodes)
		for i := range g.v {
			if v := &g.v[i]; v.isNode() && to[i] < 0 {
				d.r.Nodes = append(d.r.Nodes, Node{c, v.kind.String(), v.name, v.sub, v.line})
			}
		}
		slices.SortStableFunc(d.r.Nodes[start:], func(a, b Node) int {
			return cmp.Or(cmp.Compare(a.Subtopology, b.Subtopology), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
		})
	}
	list(d.old, d.toNew, Removed)
	list(d.new, d.toOld, Added)
}

// String is the kind in JSON.
func (k kind) String() string {
	return [...]string{"processor", "source", "sink", "store", "topic", "topic"}[k]
}

// subtopologies pairs sub-topologies by their stores, or else by most nodes in
// common.
func (d *differ) subtopologies() {
	votes := map[[2]int]int{}
	for i := range d.old.v {
		v := &d.old.v[i]
		if j := d.toNew[i]; j >= 0 && (v.isNode() || v.kind == store) {
			weight := 1
			if v.kind == store {
				weight = len(d.old.v) + 1
			}
			votes[[2]int{v.sub, d.new.v[j].sub}] += weight
		}
	}
	pairs := make([][2]int, 0, len(votes))
	for p := range votes {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	usedOld, usedNew := map[int]bool{}, map[int]bool{}
	add := func(old, new *int) { d.r.Subtopologies = append(d.r.Subtopologies, SubChange{old, new}) }
	for _, p := range pairs {
		if !usedOld[p[0]] && !usedNew[p[1]] {
			usedOld[p[0]], usedNew[p[1]] = true, true
			add(&p[0], &p[1])
		}
	}
	for i := range d.old.t.Subtopologies {
		if id := d.old.t.Subtopologies[i].ID; !usedOld[id] {
			add(&id, nil)
		}
	}
	for i := range d.new.t.Subtopologies {
		if id := d.new.t.Subtopologies[i].ID; !usedNew[id] {
			add(nil, &id)
		}
	}
	slices.SortStableFunc(d.r.Subtopologies, func(a, b SubChange) int {
		switch {
		case a.Old != nil && b.Old != nil:
			return cmp.Compare(*a.Old, *b.Old)
		case a.Old == nil && b.Old == nil:
			return cmp.Compare(*a.New, *b.New)
		case a.Old == nil:
			return 1
		}
		return -1
	})
}

// notes are what concerns the comparison as a whole.
func (d *differ) notes() {
	note := func(format string, args ...any) { d.r.Notes = append(d.r.Notes, fmt.Sprintf(format, args...)) }
	if d.old.t.Edgeless || d.new.t.Edgeless {
		note("a text has no arrows: stores are matched by their names and processors only")
	}
	if d.oldNames != d.newNames {
		note("the application id or the topology's name changes: it is in the name of every internal topic, so all state is left behind")
	}
	if d.toggled() {
		note("only repartitioning changed: was topology.optimization switched on or off?")
	}
	drains := func(it Item) bool {
		return slices.ContainsFunc(it.Fixes, func(f Fix) bool { return f.Kind == "drain" })
	}
	if slices.ContainsFunc(d.r.Topics, drains) {
		note(howToDrain)
	}
	d.shiftNotes(note)
}

// toggled says whether the two differ in repartition topics and what belongs to
// them, and in nothing else.
func (d *differ) toggled() bool {
	changed := false
	for i := range d.r.Topics {
		changed = changed || d.r.Topics[i].Change == Added || d.r.Topics[i].Change == Removed
	}
	for i := range d.r.Stores {
		if c := d.r.Stores[i].Change; c == Added || c == Removed {
			return false
		}
	}
	check := func(g *graph, to []int32) bool {
		for i := range g.v {
			if v := &g.v[i]; v.isNode() && to[i] < 0 && !g.repartitions(v) {
				return false
			}
		}
		return true
	}
	return changed && check(d.old, d.toNew) && check(d.new, d.toOld)
}

// repartitions says whether a node is there for a repartition topic only: its
// sink, its source, the filter of null keys before it.
func (g *graph) repartitions(v *vertex) bool {
	near := func(of []int32) bool {
		return len(of) > 0 && !slices.ContainsFunc(of, func(i int32) bool { return g.v[i].kind != internal })
	}
	switch v.kind {
	case sink:
		return near(v.out)
	case source:
		return near(v.in)
	}
	return (v.role == "KSTREAM-FILTER" || keepsForm(v)) && len(v.out) > 0 &&
		!slices.ContainsFunc(v.out, func(i int32) bool { return g.v[i].kind != sink || !g.repartitions(&g.v[i]) })
}
