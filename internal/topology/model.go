package topology

import (
	"reflect"
	"slices"
	"strings"
)

// Model is a parsed text. There is more than one topology when an application
// uses named topologies, or when several applications were printed.
type Model struct {
	Topologies []Topology
	Unparsed   []Unparsed // lines that are neither topology nor decoration
}

// Unparsed is a line that was not understood.
type Unparsed struct {
	Line int
	Text string
}

// Topology is one described topology.
type Topology struct {
	Name          string // of a named topology, else ""
	ApplicationID string // when the wrapping JSON told it, else ""
	Subtopologies []Subtopology
}

// Subtopology is a group of connected nodes. A global one keeps a global store
// and makes no tasks, but takes a number.
type Subtopology struct {
	ID         int
	Global     bool
	Line       int
	Sources    []Source
	Processors []Processor
	Sinks      []Sink
}

// Source reads topics: a list, or those that match a pattern. Names of
// repartition topics lack the application id.
type Source struct {
	Name    string
	Topics  []string // sorted
	Pattern string
	Next    []string
	Line    int
}

// Processor is a node with the stores connected to it. Several processors may
// name the same store: that is sharing.
type Processor struct {
	Name       string
	Stores     []string // sorted
	Next, Prev []string
	Line       int
}

// Sink writes to a topic, or to whatever an extractor says per record.
type Sink struct {
	Name      string
	Topic     string
	Extractor string // its toString(), anything
	Prev      []string
	Line      int
}

// Store is a store with where it is used.
type Store struct {
	Name        string
	Subtopology int
	Global      bool
	Processors  []string // in the order of the text
	Topics      []string // of a global store: what its source reads
}

// Stores lists the topology's stores by sub-topology, then name.
func (t *Topology) Stores() []Store {
	var out []Store
	for _, s := range t.Subtopologies {
		start := len(out)
		for _, p := range s.Processors {
			for _, name := range p.Stores {
				i := slices.IndexFunc(out[start:], func(o Store) bool { return o.Name == name })
				if i < 0 {
					o := Store{Name: name, Subtopology: s.ID, Global: s.Global}
					if s.Global {
						for _, src := range s.Sources {
							o.Topics = append(o.Topics, src.Topics...)
						}
					}
					out, i = append(out, o), len(out)-start
				}
				out[start+i].Processors = append(out[start+i].Processors, p.Name)
			}
		}
		slices.SortStableFunc(out[start:], func(a, b Store) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// StoreSubtopology is the number of the sub-topology that has the store.
func (t *Topology) StoreSubtopology(name string) (id int, ok bool) {
	for _, s := range t.Subtopologies {
		for _, p := range s.Processors {
			if slices.Contains(p.Stores, name) {
				return s.ID, true
			}
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

// Nodes is how many nodes the topology has.
func (t *Topology) Nodes() int {
	n := 0
	for _, s := range t.Subtopologies {
		n += len(s.Sources) + len(s.Processors) + len(s.Sinks)
	}
	return n
}

// same says whether two topologies are one, printed twice.
func same(a, b Topology) bool { return reflect.DeepEqual(a.unplaced(), b.unplaced()) }

// unplaced is a copy without line numbers.
func (t Topology) unplaced() Topology {
	t.Subtopologies = slices.Clone(t.Subtopologies)
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		s.Line = 0
		s.Sources, s.Processors, s.Sinks = slices.Clone(s.Sources), slices.Clone(s.Processors), slices.Clone(s.Sinks)
		for j := range s.Sources {
			s.Sources[j].Line = 0
		}
		for j := range s.Processors {
			s.Processors[j].Line = 0
		}
		for j := range s.Sinks {
			s.Sinks[j].Line = 0
		}
	}
	return t
}
