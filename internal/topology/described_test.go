package topology

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// described is testdata/topologies/described.json: what Java's
// TopologyDescription says of a topology beside what it prints.
type described struct {
	Name, Text string
	Objects    []struct {
		ID     int
		Global bool
		Nodes  []Node
	}
}

func readDescribed(t *testing.T) []described {
	t.Helper()
	var out []described
	unmarshal(t, "../../testdata/topologies/described.json", &out)
	return out
}

// TestObjects compares models with Java's objects: every sub-topology, node,
// topic, store and arrow.
func TestObjects(t *testing.T) {
	for _, d := range readDescribed(t) {
		t.Run(d.Name, func(t *testing.T) {
			m, err := ParseText(d.Text, Options{})
			if err != nil || len(m.Problems) > 0 || len(m.Topologies) != 1 {
				t.Fatalf("%v, %+v", err, m)
			}
			got := unplaced(&m.Topologies[0])
			want := &Topology{}
			for _, s := range d.Objects {
				want.Subtopologies = append(want.Subtopologies, Subtopology{ID: s.ID, Global: s.Global, Nodes: s.Nodes})
			}
			want.sort()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", Print(got), Print(want))
			}
			if text := Print(got); sets(text) != sets(d.Text) {
				t.Errorf("printed\n%s\nof\n%s", text, d.Text)
			}
		})
	}
}

// TestNamesOfEveryOperator says that every name that Kafka Streams made is
// known as such, and that none of the application's is.
func TestNamesOfEveryOperator(t *testing.T) {
	for _, d := range readDescribed(t) {
		m, err := ParseText(d.Text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		top := &m.Topologies[0]
		for _, n := range top.All() {
			_, generated := ParseGenerated(n.Name)
			_, known := OperatorOf(n.Name)
			if generated != known || generated != strings.Contains(n.Name, "-00000") {
				t.Errorf("%s: node %q generated %v, operator known %v", d.Name, n.Name, generated, known)
			}
		}
		for _, s := range top.Stores() {
			name := ParseStoreName(s.Name, s.Processors)
			if name.Generated != strings.Contains(s.Name, "-00000") {
				t.Errorf("%s: store %q: %+v", d.Name, s.Name, name)
			}
			if name.Generated && name.Role == Unknown {
				t.Errorf("%s: store %q has no role", d.Name, s.Name)
			}
		}
	}
}

// TestRoles holds the roles of the stores of all joins and suppressions.
func TestRoles(t *testing.T) {
	want := map[string][]string{
		"stream-joins-named": {
			"KSTREAM-JOINOTHER-0000000027-store join-other", "KSTREAM-JOINTHIS-0000000026-store join-this",
			"both-left-shared-join-store join-shared both", "both-outer-other-join-store join-other both", "both-this-join-store join-this both",
			"inner-other-join-store join-other inner", "inner-this-join-store join-this inner",
			"left-left-shared-join-store join-shared left", "left-outer-other-join-store join-other left", "left-this-join-store join-this left",
			"outer-outer-other-join-store join-other outer", "outer-outer-shared-join-store join-shared outer", "outer-outer-this-join-store join-this outer",
			"right-outer-other-join-store join-other right", "right-outer-shared-join-store join-shared right", "right-outer-this-join-store join-this right",
			"self-other-join-store join-other self", "self-this-join-store join-this self",
		},
	}
	for _, d := range readDescribed(t) {
		if want[d.Name] == nil {
			continue
		}
		m, err := ParseText(d.Text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range m.Topologies[0].Stores() {
			n := ParseStoreName(s.Name, s.Processors)
			got = append(got, strings.TrimSpace(s.Name+" "+string(n.Role)+" "+n.Base))
		}
		slices.Sort(got)
		if !slices.Equal(got, want[d.Name]) {
			t.Errorf("%s: got\n%s\nwant\n%s", d.Name, strings.Join(got, "\n"), strings.Join(want[d.Name], "\n"))
		}
	}
}
