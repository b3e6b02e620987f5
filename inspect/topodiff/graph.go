package topodiff

import "sstool/internal/topology"

// kind is what a vertex stands for.
type kind uint8

const (
	processor kind = iota
	source
	sink
	store
	external // a topic of others, or a pattern or extractor that finds them
	internal // a topic that connects two sub-topologies
)

// vertex is a node, a store or a topic.
type vertex struct {
	kind   kind
	name   string
	label  string // the name without its generated number
	role   string // the operator, or what a store or internal topic is for; "" not known
	number int    // the generated number; -1: a person gave the name
	sub    int    // of a node or store
	line   int
	global bool

	in, out []int32 // the flow of records: node → node, sink → topic → source
	stores  []int32 // of a processor its stores; of a store its processors
}

func (v *vertex) given() bool { return v.number < 0 }

// isNode says whether the vertex is a line of the text.
func (v *vertex) isNode() bool { return v.kind <= sink }

// stateless says whether the vertex is a node that keeps nothing.
func (v *vertex) stateless() bool { return v.isNode() && len(v.stores) == 0 }

type nameKey struct {
	kind kind
	name string
}

// graph is a topology as vertices. Topics of others are where flows begin and
// end: nothing is followed through them.
type graph struct {
	v     []vertex
	order []int32 // with the flow, topics of others left out of it
	t     *topology.Topology

	tables map[string]string // of the store of a table that is read, its topic

	names map[nameKey][]int32
	reached
}

func newGraph(t *topology.Topology) *graph {
	g := &graph{t: t, names: map[nameKey][]int32{}, reached: reached{from: map[int32][]string{}}}
	nodes := map[string]int32{}
	for s, n := range t.All() {
		i := g.add(vertex{kind: kindOf(n.Kind), name: n.Name, sub: s.ID, line: n.Line, global: s.Global})
		nodes[n.Name] = i
	}
	type storeKey struct {
		name string
		sub  int
	}
	stores := map[storeKey]int32{}
	for s, n := range t.All() {
		i := nodes[n.Name]
		for _, next := range n.Next {
			if j, ok := nodes[next]; ok {
				g.connect(i, j)
			}
		}
		for _, name := range n.Stores {
			key := storeKey{name, s.ID}
			j, ok := stores[key]
			if !ok {
				j = g.add(vertex{kind: store, name: name, sub: s.ID, line: n.Line, global: s.Global})
				stores[key] = j
			}
			g.v[i].stores = append(g.v[i].stores, j)
			g.v[j].stores = append(g.v[j].stores, i)
			g.v[j].line = min(g.v[j].line, n.Line)
		}
	}
	g.addTopics(nodes)
	g.addRoles()
	g.sort()
	return g
}

// addRoles tells what stores are for.
func (g *graph) addRoles() {
	for i := range g.v {
		v := &g.v[i]
		if v.kind != store {
			continue
		}
		var names, operators []string
		for _, p := range v.stores {
			names = append(names, g.v[p].name)
			operators = append(operators, g.v[p].role)
		}
		v.role = storeRole(v.name, g.tables[v.name], names, operators)
	}
}

func kindOf(k topology.NodeKind) kind {
	switch k {
	case topology.Source:
		return source
	case topology.Sink:
		return sink
	}
	return processor
}

func (g *graph) add(v vertex) int32 {
	var operator string
	v.label, operator, v.number = splitName(v.name)
	if v.isNode() {
		v.role = operator
	}
	i := int32(len(g.v))
	g.v = append(g.v, v)
	key := nameKey{v.kind, v.name}
	g.names[key] = append(g.names[key], i)
	return i
}

func (g *graph) connect(from, to int32) {
	g.v[from].out = append(g.v[from].out, to)
	g.v[to].in = append(g.v[to].in, from)
}

// addTopics adds what sources read and sinks write.
func (g *graph) addTopics(nodes map[string]int32) {
	made := map[string]topology.TopicKind{}
	g.tables = map[string]string{}
	for _, t := range g.t.InternalTopics("") {
		if t.Kind.KeepsState() {
			g.tables[t.Bare] = t.Source
		} else {
			made[t.Bare] = t.Kind
		}
	}
	topics := map[string]int32{}
	topic := func(n *topology.Node, name string) int32 {
		i, ok := topics[name]
		if !ok {
			v := vertex{kind: external, name: name, line: n.Line}
			if k, ok := made[name]; ok {
				v.kind, v.role = internal, string(k)
			}
			i = g.add(v)
			topics[name] = i
		}
		return i
	}
	for _, n := range g.t.All() {
		i := nodes[n.Name]
		names := n.Topics
		switch {
		case n.Pattern != "":
			names = []string{"pattern " + n.Pattern}
		case n.Dynamic():
			names = []string{"extractor " + topology.Stable(n.Extractor)}
		}
		for _, name := range names {
			switch j := topic(n, name); n.Kind {
			case topology.Source:
				g.connect(j, i)
			case topology.Sink:
				g.connect(i, j)
			}
		}
	}
}

// sort orders the vertices with the flow. Topics of others have no order, as
// nothing flows through them; what is left on a cycle, which Kafka Streams
// cannot build, comes last.
func (g *graph) sort() {
	waits := make([]int, len(g.v))
	g.order = make([]int32, 0, len(g.v))
	for i := range g.v {
		for _, j := range g.v[i].in {
			if g.v[j].kind != external {
				waits[i]++
			}
		}
		if waits[i] == 0 && g.flows(int32(i)) {
			g.order = append(g.order, int32(i))
		}
	}
	for k := 0; k < len(g.order); k++ {
		for _, j := range g.v[g.order[k]].out {
			if waits[j]--; waits[j] == 0 && g.flows(j) {
				g.order = append(g.order, j)
			}
		}
	}
	for i := range g.v {
		if waits[i] > 0 && g.flows(int32(i)) {
			g.order = append(g.order, int32(i))
		}
	}
}

// flows says whether records pass through the vertex.
func (g *graph) flows(i int32) bool { return g.v[i].kind != external && g.v[i].kind != store }
