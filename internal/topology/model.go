package topology

import (
	"iter"
	"slices"
	"strings"
)

// Model is a parsed text. It has more than one topology when an application
// uses named topologies, when several applications were printed, or, with
// Options.All, when one was printed in several versions.
type Model struct {
	File       string // as given in Options, for messages
	Topologies []Topology
	Problems   []Problem // by line; none of them made the text unusable
	Around     int       // lines of a log (Options.Log) outside of topologies
	Earlier    int       // distinct topologies printed before, left out without Options.All
}

// ProblemKind says what is wrong with a line.
type ProblemKind string

const (
	UnparsedLine  ProblemKind = "unparsed-line"       // neither topology nor decoration
	Contradiction ProblemKind = "contradicting-edges" // "-->" and "<--" disagree; "-->" is in the model
	NoEdges       ProblemKind = "no-edges"            // the text has nodes but no arrows
	Loose         ProblemKind = "loose-topic"         // a repartition topic with a writer only, or a reader only
	NoNodes       ProblemKind = "no-nodes"            // brokers hold only what they need (Topology.Partial)
	Incomplete    ProblemKind = "incomplete"          // an earlier topology of a log is cut off; it is not in the model
)

// Problem is something a person should know about a text that was read.
type Problem struct {
	Kind    ProblemKind `json:"kind"`
	Line    int         `json:"line"`
	Text    string      `json:"text,omitempty"` // of an unparsed line, trimmed
	Message string      `json:"message"`
}

// Unparsed are the problems that are lines not understood.
func (m *Model) Unparsed() []Problem {
	return slices.DeleteFunc(slices.Clone(m.Problems), func(p Problem) bool { return p.Kind != UnparsedLine })
}

// Topology is one described topology.
type Topology struct {
	Name          string // of a named topology, else ""
	ApplicationID string // as given in Options, or told by the wrapping JSON; else ""
	File          string // as given in Options
	Line          int    // of "Topologies:", or of what stands there instead
	Print         int    // topologies with the same number came out of one describe(), or one JSON array
	Edgeless      bool   // the text had no arrows: Next and Prev are unknown
	Partial       bool   // nodes stand for what brokers do not hold: only topics, and stores with a changelog, are real
	Subtopologies []Subtopology
}

// Subtopology is a group of connected nodes. A global one keeps a global store
// and makes no tasks, but takes a number.
type Subtopology struct {
	ID     int
	Global bool
	Line   int
	Nodes  []Node // in Kafka's order: larger sub-trees first, then by name
}

// NodeKind is what a node does with records.
type NodeKind string

const (
	Source    NodeKind = "source"
	Processor NodeKind = "processor"
	Sink      NodeKind = "sink"
)

// Node is a source, processor or sink. Names of repartition topics lack the
// application id. All lists of names are sorted, empty ones nil. Lines are
// those of the file; 0 where the text has no such line.
type Node struct {
	Kind      NodeKind
	Name      string   // unique in a topology
	Topics    []string // a source's, unless it has a pattern; a sink's one, unless it is dynamic
	Pattern   string   // a source's regular expression
	Extractor string   // a dynamic sink's toString(), anything; Stable makes it comparable
	Stores    []string // connected to a processor; several may name one store: that is sharing
	Next      []string // in the same sub-topology; none for a sink
	Prev      []string // the same arrows backwards; none for a source
	Line      int
	NextLine  int // of "-->"
	PrevLine  int // of "<--"
}

// Dynamic says whether a sink finds its topic per record.
func (n *Node) Dynamic() bool { return n.Kind == Sink && len(n.Topics) == 0 }

// All yields every node with its sub-topology.
func (t *Topology) All() iter.Seq2[*Subtopology, *Node] {
	return func(yield func(*Subtopology, *Node) bool) {
		for i := range t.Subtopologies {
			s := &t.Subtopologies[i]
			for j := range s.Nodes {
				if !yield(s, &s.Nodes[j]) {
					return
				}
			}
		}
	}
}

// Of yields the nodes of one kind.
func (s *Subtopology) Of(kind NodeKind) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for i := range s.Nodes {
			if s.Nodes[i].Kind == kind && !yield(&s.Nodes[i]) {
				return
			}
		}
	}
}

// Index finds nodes by name.
func (t *Topology) Index() map[string]*Node {
	out := make(map[string]*Node, t.Nodes())
	for _, n := range t.All() {
		out[n.Name] = n
	}
	return out
}

// Nodes is how many nodes the topology has.
func (t *Topology) Nodes() int {
	n := 0
	for i := range t.Subtopologies {
		n += len(t.Subtopologies[i].Nodes)
	}
	return n
}

// Store is a store with where it is used.
type Store struct {
	Name        string
	Subtopology int
	Global      bool
	Processors  []string // in the order of the nodes
	Topics      []string // of a global store: what its source reads
	Line        int      // where it is named first
}

// Stores lists the topology's stores by sub-topology, then name. A name that
// two sub-topologies have is two stores.
func (t *Topology) Stores() []Store {
	count := 0
	for _, n := range t.All() {
		count += len(n.Stores)
	}
	out := make([]Store, 0, count)
	at := make(map[string]int, count) // in the sub-topology that has the name last
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		start := len(out)
		for n := range s.Of(Processor) {
			for _, name := range n.Stores {
				k, ok := at[name]
				if !ok || k < start {
					k = len(out)
					at[name] = k
					out = append(out, Store{Name: name, Subtopology: s.ID, Global: s.Global, Line: n.Line})
				}
				out[k].Processors = append(out[k].Processors, n.Name)
				out[k].Line = min(out[k].Line, n.Line)
			}
		}
		if s.Global {
			for n := range s.Of(Source) {
				for k := start; k < len(out); k++ {
					out[k].Topics = append(out[k].Topics, n.Topics...)
				}
			}
		}
		slices.SortStableFunc(out[start:], func(a, b Store) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// StoreSubtopology is the number of the sub-topology that has the store.
func (t *Topology) StoreSubtopology(name string) (id int, ok bool) {
	for s, n := range t.All() {
		if slices.Contains(n.Stores, name) {
			return s.ID, true
		}
	}
	return 0, false
}

// StoreSubtopology is the store's sub-topology; not ok when no topology has
// it, or several disagree.
func (m *Model) StoreSubtopology(name string) (id int, ok bool) {
	for i := range m.Topologies {
		n, has := m.Topologies[i].StoreSubtopology(name)
		if !has {
			continue
		}
		if ok && n != id {
			return 0, false
		}
		id, ok = n, true
	}
	return id, ok
}
