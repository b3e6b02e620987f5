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
	Changelogs   []string // not those that are sources, too
}

// HeldBy is the File of a topology that brokers hold.
func HeldBy(group string) string { return "group " + group }

// Model makes a model of it. Where nodes are missing, one source, one processor
// and the sinks stand for those of a sub-topology: Topology.Partial.
func (h Held) Model() (*Model, error) {
	t := Topology{ApplicationID: h.ApplicationID, File: HeldBy(h.ApplicationID), Print: 1, Partial: h.Partial != "", Edgeless: h.Partial != ""}
	m := &Model{File: t.File}
	for _, s := range h.Subtopologies {
		id, err := strconv.Atoi(s.ID)
		if err != nil {
			return nil, op.Errorf(op.Failed, "%s: sub-topology %q has no number", t.File, s.ID)
		}
		nodes := s.Nodes
		if t.Partial {
			nodes = s.standIns(h.ApplicationID + "-")
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
		m.Problems = append(m.Problems, Problem{Kind: NoNodes,
			Message: fmt.Sprintf("brokers hold the topics and changelogs of %s, no processors and arrows, no stores without a changelog of their own, no global stores: %s", t.File, h.Partial)})
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
	for _, c := range bare(s.Changelogs) {
		nodes[1].Stores = append(nodes[1].Stores, strings.TrimSuffix(c, "-changelog"))
	}
	for _, t := range bare(s.Sinks) {
		nodes = append(nodes, Node{Kind: Sink, Name: fmt.Sprintf("sink of sub-topology %s to %s", s.ID, t), Topics: []string{t}})
	}
	return nodes
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
	t.sort()
	return nil
}
