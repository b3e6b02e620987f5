package lint

import (
	"cmp"
	"slices"
	"strings"

	"sstool/internal/streams"
	"sstool/internal/topology"
)

const (
	changelogSuffix   = "-changelog"
	repartitionSuffix = "-repartition"
	registerSuffix    = "-subscription-registration-topic"
	respondSuffix     = "-subscription-response-topic"
)

// view is one topology with what the rules ask it.
type view struct {
	in       *Input
	t        *topology.Topology
	id       string            // application id; "" when nobody told it
	stores   []*store          // by sub-topology, then name
	byName   map[string]*store // a local one, if there are two
	topics   []*flow           // by the line that has them first
	flows    map[string]*flow
	index    map[string]*topology.Node
	subs     map[string]*topology.Subtopology // see subOf
	stateful map[string]*topology.Node        // see findStateful; nil without generated repartition topics
	ksql     bool
	causes   []*cause
}

// store is a store of the topology.
type store struct {
	topology.Store
	gen       generated
	made      bool // it looks generated
	generated bool
	name      topology.StoreName
	source    string // of table(topic): with the optimisation its changelog
	changelog string // the topic, without the application when nobody told it
	first     *store // of that name, if another came before
}

// flow is a topic of the topology, as the text has it.
type flow struct {
	name      string
	kind      string // kindTopic, kindRepartition or kindFK
	gen       generated
	generated bool
	sinks     []*topology.Node
	sources   []*topology.Node
	global    bool // read by a global store
	line      int
}

func (f *flow) internal() bool { return f.kind != kindTopic }

func newView(in *Input, t *topology.Topology) *view {
	nodes := t.Nodes()
	v := &view{in: in, t: t, id: cmp.Or(in.AppID, t.ApplicationID),
		flows: make(map[string]*flow, nodes/4), index: make(map[string]*topology.Node, nodes)}
	touch := func(name string, line int) *flow {
		f := v.flows[name]
		if f == nil {
			f = &flow{name: name, kind: kindTopic, line: line}
			f.gen, f.generated = parseGenerated(name)
			v.flows[name] = f
			v.topics = append(v.topics, f)
		}
		f.line = min(f.line, line)
		return f
	}
	for s, n := range t.All() {
		v.index[n.Name] = n
		for _, name := range n.Topics {
			f := touch(name, n.Line)
			if n.Kind == topology.Sink {
				f.sinks = append(f.sinks, n)
			} else {
				f.sources = append(f.sources, n)
				f.global = f.global || s.Global
			}
		}
		v.ksql = v.ksql || ksqlNode(n)
	}
	v.ksql = v.ksql || strings.HasPrefix(v.id, "_") && strings.Contains(v.id, "ksql")
	for _, t := range t.Between("") {
		f := v.flows[t.Bare]
		f.kind = kindFK
		if t.Kind == topology.Repartition {
			f.kind = kindRepartition
		}
	}
	slices.SortFunc(v.topics, func(a, b *flow) int {
		if a.line != b.line {
			return cmp.Compare(a.line, b.line)
		}
		return strings.Compare(a.name, b.name)
	})
	sources := t.SourceTables()
	all := t.Stores()
	stores := make([]store, len(all))
	v.stores, v.byName = make([]*store, len(all)), make(map[string]*store, len(all))
	for i, s := range all {
		st := &stores[i]
		st.Store = s
		st.gen, st.made = parseGenerated(s.Name)
		st.name = topology.ParseStoreName(s.Name, s.Processors)
		st.generated, st.source, st.changelog = st.name.Generated, sources[s.Name], v.changelog(s.Name)
		v.stores[i] = st
		old := v.byName[s.Name]
		if old == nil || old.Global {
			v.byName[s.Name] = st
		}
		if old != nil {
			st.first = cmp.Or(old.first, old)
		}
	}
	if slices.ContainsFunc(v.topics, func(f *flow) bool { return f.generated && f.kind == kindRepartition }) {
		v.findStateful()
	}
	v.causes = v.findCauses()
	return v
}

// ksqlNode knows nodes and stores that ksqlDB names (its query plans).
func ksqlNode(n *topology.Node) bool {
	for _, s := range n.Stores {
		if s == "KsqlTopic-Reduce" || strings.HasPrefix(s, "KafkaTopic_") || s == "Aggregate-Aggregate-Materialize" {
			return true
		}
	}
	return n.Name == "Aggregate-groupby" || strings.HasPrefix(n.Name, "PrependAlias")
}

// prefix is what internal topics begin with, "" without an application id.
func (v *view) prefix() string {
	switch {
	case v.id == "":
		return ""
	case v.t.Name != "":
		return v.id + "-" + v.t.Name + "-"
	}
	return v.id + "-"
}

// changelog is the changelog of a store, without the application when nobody
// told it.
func (v *view) changelog(store string) string {
	if v.id == "" {
		return store + changelogSuffix
	}
	return streams.NamedChangelogTopic(v.id, v.t.Name, store)
}

// topic is a topic's name in Kafka.
func (v *view) topic(f *flow) string {
	if f.internal() {
		return v.prefix() + f.name
	}
	return f.name
}

// group tells applications apart, those without an id too.
func (v *view) group() string {
	if v.id != "" {
		return "id " + v.id
	}
	return "file " + v.in.File
}

// appName is the application in messages.
func (v *view) appName() string {
	switch {
	case v.id == "":
		return v.in.File
	case v.t.Name != "":
		return v.id + " (topology " + v.t.Name + ")"
	}
	return v.id
}

// storeOf finds a store by name, a local one first.
func (v *view) storeOf(name string) *store { return v.byName[name] }

// subOf is the sub-topology of a node; checkPartitions asks, and nothing beside it.
func (v *view) subOf(node string) *topology.Subtopology {
	if v.subs == nil { // only what asks a cluster needs them
		v.subs = make(map[string]*topology.Subtopology, len(v.index))
		for s, n := range v.t.All() {
			v.subs[n.Name] = s
		}
	}
	return v.subs[node]
}

// forward visits the nodes behind n in the same sub-topology that are not seen
// yet, breadth first.
func (v *view) forward(n *topology.Node, seen map[string]bool, fn func(*topology.Node)) {
	if seen[n.Name] {
		return
	}
	seen[n.Name] = true
	for queue := []*topology.Node{n}; len(queue) > 0; queue = queue[1:] {
		for _, name := range queue[0].Next {
			if next := v.index[name]; next != nil && !seen[name] {
				seen[name] = true
				fn(next)
				queue = append(queue, next)
			}
		}
	}
}

// upstream are the user's topics, at most want, whose records reach the node,
// the nearest first. What is far gives no name that says anything.
func (v *view) upstream(n *topology.Node, want int) []string {
	const far = 200
	var out []string
	seen := map[string]bool{n.Name: true}
	queue := []*topology.Node{n}
	visit := func(names ...string) {
		for _, name := range names {
			if len(seen) == far {
				return
			}
			if p := v.index[name]; p != nil && !seen[name] {
				seen[name] = true
				queue = append(queue, p)
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		visit(at.Prev...)
		if at.Kind != topology.Source {
			continue
		}
		for _, name := range at.Topics[:min(far, len(at.Topics))] {
			switch f := v.flows[name]; {
			case !f.internal() && !slices.Contains(out, name):
				if out = append(out, name); len(out) == want {
					return out
				}
			case f.internal():
				for _, sink := range f.sinks[:min(far, len(f.sinks))] {
					visit(sink.Name)
				}
			}
		}
	}
	return out
}
