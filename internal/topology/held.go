package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sstool/internal/op"
)

// Held is what brokers hold of the topology of an application with
// group.protocol=streams.
type Held struct {
	ApplicationID string
	Subtopologies []HeldSubtopology
	Globals       [][]Node // source and processor of each global store
	Partial       string   // why there are no nodes; "" when there are
}

// HeldSubtopology has Nodes, or else topics by their names in Kafka.
type HeldSubtopology struct {
	ID           string
	Nodes        []Node   // with Next, without Prev
	Sources      []string // topics of others
	Repartitions []string // internal topics that are read
	Sinks        []string // internal topics that are written
	Changelogs   []string // with the source topics that are one (topology.optimization)
}

// HeldBy is the File of a topology that brokers hold.
func HeldBy(group string) string { return "group " + group }

// Model makes a model of it. Where nodes are missing, one source, one processor
// and the sinks stand for those of a sub-topology: Topology.Partial.
func (h Held) Model() (*Model, error) {
	t := Topology{ApplicationID: h.ApplicationID, File: HeldBy(h.ApplicationID), Print: 1, Partial: h.Partial != "", Edgeless: h.Partial != ""}
	m := &Model{File: t.File}
	var tables []string
	for _, s := range h.Subtopologies {
		id, err := strconv.Atoi(s.ID)
		if err != nil {
			return nil, op.Errorf(op.Failed, "%s: sub-topology %q has no number", t.File, s.ID)
		}
		nodes := s.Nodes
		if t.Partial {
			nodes = s.standIns(h.ApplicationID + "-")
			for _, c := range s.Changelogs {
				if slices.Contains(s.Sources, c) {
					tables = append(tables, c)
				}
			}
		}
		t.Subtopologies = append(t.Subtopologies, Subtopology{ID: id, Nodes: nodes})
	}
	for _, nodes := range h.Globals {
		t.Subtopologies = append(t.Subtopologies, Subtopology{ID: -1, Global: true, Nodes: nodes})
	}
	numberGlobals(&t) // theirs are missing on the wire, and in the numbers of the others
	if err := t.link(); err != nil {
		return nil, err
	}
	if t.Partial {
		what := "no stores without a changelog"
		if len(tables) > 0 {
			what += " of their own (those of tables that are restored from " + strings.Join(set(tables), ", ") + ")"
		}
		m.Problems = append(m.Problems, Problem{Kind: NoNodes,
			Message: fmt.Sprintf("brokers hold the topics and changelogs of %s, no processors and arrows, %s, no global stores: %s", t.File, what, h.Partial)})
	}
	m.Topologies = []Topology{t}
	return m, nil
}

// standIns are nodes for the topics of a sub-topology. Internal topics lose the
// application's prefix, changelogs become their stores.
func (s HeldSubtopology) standIns(prefix string) []Node {
	bare := func(topics []string) []string {
		var out []string
		for _, t := range topics {
			out = append(out, strings.TrimPrefix(t, prefix))
		}
		return out
	}
	nodes := []Node{
		{Kind: Source, Name: "sources of sub-topology " + s.ID, Topics: append(slices.Clone(s.Sources), bare(s.Repartitions)...)},
		{Kind: Processor, Name: "processors of sub-topology " + s.ID},
	}
	for _, c := range s.Changelogs {
		if !slices.Contains(s.Sources, c) {
			nodes[1].Stores = append(nodes[1].Stores, strings.TrimSuffix(strings.TrimPrefix(c, prefix), "-changelog"))
		}
	}
	for _, t := range bare(s.Sinks) {
		nodes = append(nodes, Node{Kind: Sink, Name: fmt.Sprintf("sink of sub-topology %s to %s", s.ID, t), Topics: []string{t}})
	}
	return nodes
}

// Reduce is the topology as brokers without descriptions hold it, to be
// compared with one. With the optimisation, tables have no changelog.
func (t *Topology) Reduce(optimized bool) (*Topology, error) {
	tables := map[string]string{}
	if optimized {
		tables = t.SourceTables()
	}
	made := map[string]bool{}
	for _, x := range t.InternalTopics("") {
		made[x.Bare] = x.Kind != Changelog
	}
	out := &Topology{Name: t.Name, ApplicationID: t.ApplicationID, File: t.File, Line: t.Line, Print: t.Print, Partial: true, Edgeless: true}
	for i := range t.Subtopologies {
		from := &t.Subtopologies[i]
		if from.Global {
			continue
		}
		h := HeldSubtopology{ID: strconv.Itoa(from.ID)}
		for j := range from.Nodes {
			n := &from.Nodes[j]
			for _, s := range n.Stores {
				if tables[s] == "" && !slices.Contains(h.Changelogs, s) {
					h.Changelogs = append(h.Changelogs, s)
				}
			}
			for _, topic := range n.Topics {
				if n.Kind == Source {
					h.Sources = append(h.Sources, topic)
				} else if made[topic] {
					h.Sinks = append(h.Sinks, topic)
				}
			}
		}
		s := Subtopology{ID: from.ID, Line: from.Line, Nodes: h.standIns("")}
		for j := range s.Nodes {
			s.Nodes[j].Line = from.Line
		}
		out.Subtopologies = append(out.Subtopologies, s)
	}
	return out, out.link()
}

// link fills Prev by Next and puts all in order.
func (t *Topology) link() error {
	index := t.Index()
	if len(index) != t.Nodes() {
		return op.Errorf(op.Failed, "%s: two nodes have one name", t.File)
	}
	for _, n := range t.All() {
		for _, name := range n.Next {
			to := index[name]
			if to == nil {
				return op.Errorf(op.Failed, "%s: %q --> %q, and there is no such node", t.File, n.Name, name)
			}
			to.Prev = append(to.Prev, n.Name)
		}
	}
	t.takeOffPrefix()
	t.sort()
	return nil
}
