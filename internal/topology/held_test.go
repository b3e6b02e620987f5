package topology

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestHeldNodes makes of what brokers hold, nodes with their next ones, what
// Java's TopologyDescription says: previous ones, order, numbers of global
// stores, which the wire does not tell.
func TestHeldNodes(t *testing.T) {
	for _, d := range readDescribed(t) {
		h := Held{ApplicationID: "a"}
		want := Topology{ApplicationID: "a", File: "group a", Print: 1}
		for _, s := range d.Objects {
			want.Subtopologies = append(want.Subtopologies, Subtopology{ID: s.ID, Global: s.Global, Nodes: s.Nodes})
			var wire []Node
			for _, n := range s.Nodes {
				n.Prev, n.Pattern, n.Extractor = nil, "", ""
				wire = append(wire, n)
			}
			if s.Global {
				h.Globals = append(h.Globals, wire)
			} else {
				h.Subtopologies = append(h.Subtopologies, HeldSubtopology{ID: strconv.Itoa(s.ID), Nodes: wire})
			}
		}
		m, err := h.Model()
		if err != nil || len(m.Problems) > 0 {
			t.Fatalf("%s: %v, %v", d.Name, err, m)
		}
		want.sort()
		for _, n := range want.All() {
			n.Pattern, n.Extractor = "", ""
		}
		if !reflect.DeepEqual(m.Topologies[0], want) {
			t.Errorf("%s: got\n%s\nwant\n%s", d.Name, Print(&m.Topologies[0]), Print(&want))
		}
	}
}

func TestHeldTopics(t *testing.T) {
	m, err := Held{ApplicationID: "orders", Partial: "no plugin", Subtopologies: []HeldSubtopology{
		{ID: "0", Sources: []string{"clicks"}, Sinks: []string{"orders-by-user-repartition"}},
		{ID: "1", Sources: []string{"users"}, Repartitions: []string{"orders-by-user-repartition"}, Changelogs: []string{"orders-totals-changelog", "orders-a-b-changelog"}},
	}}.Model()
	if err != nil {
		t.Fatal(err)
	}
	top := &m.Topologies[0]
	if !top.Partial || !top.Edgeless || len(m.Problems) != 1 || m.Problems[0].Kind != NoNodes || !strings.Contains(m.Problems[0].Message, "no plugin") {
		t.Errorf("%+v", m)
	}
	var topics []string
	for _, x := range top.InternalTopics("orders") {
		topics = append(topics, x.Name)
	}
	if got := strings.Join(topics, " "); got != "orders-a-b-changelog orders-by-user-repartition orders-totals-changelog" {
		t.Error(got)
	}
	if s, ok := top.StoreSubtopology("totals"); !ok || s != 1 {
		t.Error(s, ok)
	}
}

func TestHeldIsWrong(t *testing.T) {
	node := func(name string, next ...string) Node { return Node{Kind: Processor, Name: name, Next: next} }
	for name, h := range map[string]Held{
		"no number":    {Subtopologies: []HeldSubtopology{{ID: "x", Nodes: []Node{node("a")}}}},
		"same name":    {Subtopologies: []HeldSubtopology{{ID: "0", Nodes: []Node{node("a"), node("a")}}}},
		"no such node": {Subtopologies: []HeldSubtopology{{ID: "0", Nodes: []Node{node("a", "b")}}}},
	} {
		if m, err := h.Model(); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
