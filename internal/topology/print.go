package topology

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Print is the canonical text: what Kafka Streams 2.0 and newer prints, with
// topics, stores and arrows sorted. Parsed again it gives the same model, but
// for lines; two topologies that differ only in order give the same text.
func Print(t *Topology) string {
	c := t.clone()
	c.sort()
	return c.text(func(s string) string { return s })
}

// stable is the text without what differs from run to run.
func (t *Topology) stable() string { return t.text(Stable) }

func (t *Topology) text(extractor func(string) string) string {
	var b strings.Builder
	b.Grow(160 * t.Nodes())
	if t.Name == "" {
		b.WriteString("Topologies:\n ")
	} else {
		b.WriteString("Topology: " + t.Name + ":\n ")
	}
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		b.WriteString("  Sub-topology: " + strconv.Itoa(s.ID))
		if s.Global {
			b.WriteString(" for global store (will not generate tasks)")
		}
		b.WriteByte('\n')
		for j := range s.Nodes {
			s.Nodes[j].print(&b, t.Edgeless, extractor)
		}
		if !s.Global {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (n *Node) print(b *strings.Builder, edgeless bool, extractor func(string) string) {
	switch {
	case n.Kind == Source && n.Pattern != "":
		write(b, "    Source: ", n.Name, " (topics: ", n.Pattern)
	case n.Kind == Source:
		write(b, "    Source: ", n.Name, " (topics: [")
		list(b, n.Topics)
		write(b, "]")
	case n.Kind == Processor:
		write(b, "    Processor: ", n.Name, " (stores: [")
		list(b, n.Stores)
		write(b, "]")
	case len(n.Topics) > 0:
		write(b, "    Sink: ", n.Name, " (topic: ", n.Topics[0])
	case n.Extractor != "":
		write(b, "    Sink: ", n.Name, " (extractor class: ", extractor(n.Extractor))
	default:
		write(b, "    Sink: ", n.Name, " (topic: null")
	}
	write(b, ")\n")
	if edgeless {
		return
	}
	if n.Kind != Sink {
		arrow(b, "      --> ", n.Next)
	}
	if n.Kind != Source {
		arrow(b, "      <-- ", n.Prev)
	}
}

func write(b *strings.Builder, parts ...string) {
	for _, p := range parts {
		b.WriteString(p)
	}
}

func list(b *strings.Builder, names []string) {
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
}

func arrow(b *strings.Builder, arrow string, names []string) {
	b.WriteString(arrow)
	if len(names) == 0 {
		b.WriteString("none")
	}
	list(b, names)
	b.WriteByte('\n')
}

// clone is a copy down to the lists.
func (t *Topology) clone() *Topology {
	c := *t
	c.Subtopologies = slices.Clone(t.Subtopologies)
	for i := range c.Subtopologies {
		s := &c.Subtopologies[i]
		s.Nodes = slices.Clone(s.Nodes)
		for j := range s.Nodes {
			n := &s.Nodes[j]
			n.Topics, n.Stores = slices.Clone(n.Topics), slices.Clone(n.Stores)
			n.Next, n.Prev = slices.Clone(n.Next), slices.Clone(n.Prev)
		}
	}
	return &c
}

// sort puts everything in Kafka's order (InternalTopologyBuilder's
// SUBTOPOLOGY_COMPARATOR and NodeComparator); sets, which Java prints in any
// order, by name.
func (t *Topology) sort() {
	t.sortNames()
	t.arrange()
}

// arrange is sort but for lists of names.
func (t *Topology) arrange() {
	slices.SortStableFunc(t.Subtopologies, func(a, b Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	var z sizer
	var order []int
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		sizes := z.measure(s.Nodes)
		order = order[:0]
		for j := range s.Nodes {
			order = append(order, j)
		}
		slices.SortFunc(order, func(a, b int) int { // no two have one name
			if sizes[a] != sizes[b] {
				return cmp.Compare(sizes[b], sizes[a])
			}
			return strings.Compare(s.Nodes[a].Name, s.Nodes[b].Name)
		})
		permute(s.Nodes, order)
	}
}

// permute puts at each place the node that order names, in place: there are
// many.
func permute(nodes []Node, order []int) {
	for i := range order {
		at, first := i, nodes[i]
		for order[at] != i { // along the ring that i is in
			from := order[at]
			nodes[at], order[at] = nodes[from], at
			at = from
		}
		nodes[at], order[at] = first, at
	}
}

func (t *Topology) sortNames() {
	for _, n := range t.All() {
		n.Topics, n.Stores, n.Next, n.Prev = set(n.Topics), set(n.Stores), set(n.Next), set(n.Prev)
	}
}

// set sorts names, each once; none gives nil.
func set(s []string) []string {
	switch len(s) {
	case 0:
		return nil
	case 1:
		return s
	}
	slices.Sort(s)
	return slices.Compact(s)
}

var (
	lambda   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\$\$Lambda)[$/]?[0-9a-fA-Fx/$.]*`) })
	identity = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@[0-9a-f]{1,8}\b`) })
)

// Stable is the text of an extractor without what differs from run to run:
// numbers of lambda classes and identity hashes.
func Stable(extractor string) string {
	return identity().ReplaceAllString(lambda().ReplaceAllString(extractor, "$1"), "@…")
}
