package topology

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
		b.WriteString("    Source: " + n.Name + " (topics: " + n.Pattern + ")\n")
	case n.Kind == Source:
		b.WriteString("    Source: " + n.Name + " (topics: [" + strings.Join(n.Topics, ", ") + "])\n")
	case n.Kind == Processor:
		b.WriteString("    Processor: " + n.Name + " (stores: [" + strings.Join(n.Stores, ", ") + "])\n")
	case len(n.Topics) > 0:
		b.WriteString("    Sink: " + n.Name + " (topic: " + n.Topics[0] + ")\n")
	case n.Extractor != "":
		b.WriteString("    Sink: " + n.Name + " (extractor class: " + extractor(n.Extractor) + ")\n")
	default:
		b.WriteString("    Sink: " + n.Name + " (topic: null)\n")
	}
	if edgeless {
		return
	}
	if n.Kind != Sink {
		b.WriteString("      --> " + names(n.Next) + "\n")
	}
	if n.Kind != Source {
		b.WriteString("      <-- " + names(n.Prev) + "\n")
	}
}

func names(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
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
	slices.SortStableFunc(t.Subtopologies, func(a, b Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		for j := range s.Nodes {
			n := &s.Nodes[j]
			n.Topics, n.Stores, n.Next, n.Prev = set(n.Topics), set(n.Stores), set(n.Next), set(n.Prev)
		}
		sizes := s.sizes()
		slices.SortStableFunc(s.Nodes, func(a, b Node) int {
			return cmp.Or(cmp.Compare(sizes[b.Name], sizes[a.Name]), strings.Compare(a.Name, b.Name))
		})
	}
}

// set sorts names, each once; none gives nil.
func set(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// sizes is the size of every node's sub-tree: one, and that of each node it
// points at. Only a damaged text has a cycle; it counts once.
func (s *Subtopology) sizes() map[string]int {
	index := make(map[string]*Node, len(s.Nodes))
	for i := range s.Nodes {
		index[s.Nodes[i].Name] = &s.Nodes[i]
	}
	sizes := make(map[string]int, len(s.Nodes))
	var open []string // nodes whose size is being found; a stack, as chains are long
	for i := range s.Nodes {
		open = append(open[:0], s.Nodes[i].Name)
		for len(open) > 0 {
			name := open[len(open)-1]
			if sizes[name] > 0 {
				open = open[:len(open)-1]
				continue
			}
			_, begun := sizes[name]
			sizes[name] = 0
			size, waiting := 1, false
			for _, to := range index[name].Next {
				got, known := sizes[to]
				switch {
				case !known && !begun:
					open, waiting = append(open, to), true
				case size > math.MaxInt-got:
					size = math.MaxInt
				default:
					size += got
				}
			}
			if !waiting {
				sizes[name] = size
				open = open[:len(open)-1]
			}
		}
	}
	return sizes
}

var (
	lambda   = regexp.MustCompile(`(\$\$Lambda)[$/]?[0-9a-fA-Fx/$.]*`)
	identity = regexp.MustCompile(`@[0-9a-f]{1,8}\b`)
)

// Stable is the text of an extractor without what differs from run to run:
// numbers of lambda classes and identity hashes.
func Stable(extractor string) string {
	return identity.ReplaceAllString(lambda.ReplaceAllString(extractor, "$1"), "@…")
}
