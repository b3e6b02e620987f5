package topodiff

import "slices"

// reached is what is known of the topics that lead to vertices.
type reached struct {
	from map[int32][]string // see origins
	fed  [][]string         // see feed; nil before
	seen []int32            // see reach
	walk int32
}

// maxFed is how many topics are kept for each vertex: all vertices together
// keep no more than a few times the text.
const maxFed = 64

// feed notes for every vertex the topics of others that lead to it, sorted,
// where they are few: else a walk for every store takes the square of a long
// chain. What is not known is nil.
func (g *graph) feed() {
	g.fed = make([][]string, len(g.v))
	for i := range g.v {
		if g.v[i].kind == external {
			g.fed[i] = []string{g.v[i].name}
		}
	}
	for _, i := range g.order {
		g.fed[i] = g.union(g.v[i].in)
	}
}

// union is what leads to any of the vertices; nil when that is not known, or
// too much. Most have one that has it all, and share its list.
func (g *graph) union(of []int32) []string {
	all := []string{}
	for _, i := range of {
		more := g.fed[i]
		switch {
		case more == nil:
			return nil
		case len(more) == 0 || same(all, more):
		case len(all) == 0:
			all = more
		default:
			if all = merge(all, more); len(all) > maxFed {
				return nil
			}
		}
	}
	return all
}

// same says whether two lists are one.
func same(a, b []string) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// merge puts two sorted lists together; it is one of them where that has all.
func merge(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	switch out = slices.Compact(out); len(out) {
	case len(a):
		return a
	case len(b):
		return b
	}
	return out
}

// upstream are the topics of others that records on their way to any of the
// vertices come from, sorted.
func (g *graph) upstream(from []int32) []string {
	if g.fed == nil {
		g.feed()
	}
	if len(from) == 1 && g.fed[from[0]] != nil {
		return g.fed[from[0]]
	}
	return g.reach(from, func(v *vertex) []int32 { return v.in }, g.fed)
}

// downstream are the topics of others that records get to from any of the
// vertices, sorted.
func (g *graph) downstream(from []int32) []string {
	return g.reach(from, func(v *vertex) []int32 { return v.out }, nil)
}

// reach walks to the topics of others; behind a vertex of which they are known
// it goes no further.
func (g *graph) reach(from []int32, next func(*vertex) []int32, known [][]string) []string {
	if g.seen == nil {
		g.seen = make([]int32, len(g.v))
	}
	g.walk++
	var out []string
	todo := slices.Clone(from)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range next(&g.v[i]) {
			if g.seen[j] == g.walk {
				continue
			}
			g.seen[j] = g.walk
			switch {
			case g.v[j].kind == external:
				out = append(out, g.v[j].name)
			case known != nil && known[j] != nil:
				out = append(out, known[j]...)
			default:
				todo = append(todo, j)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// origins are the topics of others that fill a store or an internal topic.
func (g *graph) origins(i int32) []string {
	out, ok := g.from[i]
	if !ok {
		out = g.upstream(g.writers(i))
		g.from[i] = out
	}
	return out
}

// writers are the processors that fill a store, as far as names tell which only
// read it; of other vertices, the vertex itself.
func (g *graph) writers(i int32) []int32 {
	v := &g.v[i]
	if v.kind != store {
		return []int32{i}
	}
	var out []int32
	for _, p := range v.stores {
		if !readsOnly(g.v[p].role) && !joins(g.v[p].name) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return v.stores
	}
	return out
}
