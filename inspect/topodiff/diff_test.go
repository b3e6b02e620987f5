package topodiff

import (
	"os"
	"strings"
	"testing"

	"sstool/internal/topology"
)

// chains is a text of one sub-topology: each line a topic and the nodes its
// records go through, "topic source op[store] >sink=topic". What comes again is
// the same node.
func chains(lines ...string) string {
	t := &topology.Topology{Subtopologies: []topology.Subtopology{{}}}
	s := &t.Subtopologies[0]
	at := map[string]int{}
	for _, l := range lines {
		words := strings.Fields(l)
		before := ""
		for i, w := range words[1:] {
			name, stores, _ := strings.Cut(strings.TrimSuffix(w, "]"), "[")
			n := topology.Node{Kind: topology.Processor, Name: name}
			if stores != "" {
				n.Stores = strings.Split(stores, ",")
			}
			if sink, out, ok := strings.Cut(strings.TrimPrefix(name, ">"), "="); ok {
				n = topology.Node{Kind: topology.Sink, Name: sink, Topics: []string{out}}
			} else if i == 0 {
				n = topology.Node{Kind: topology.Source, Name: name, Topics: words[:1]}
			}
			if _, again := at[n.Name]; !again {
				at[n.Name] = len(s.Nodes)
				s.Nodes = append(s.Nodes, n)
			}
			if before != "" {
				s.Nodes[at[before]].Next = append(s.Nodes[at[before]].Next, n.Name)
				s.Nodes[at[n.Name]].Prev = append(s.Nodes[at[n.Name]].Prev, before)
			}
			before = n.Name
		}
	}
	return topology.Print(t)
}

const (
	s0, s2, s5 = "KSTREAM-SOURCE-0000000000", "KSTREAM-SOURCE-0000000002", "KSTREAM-SOURCE-0000000005"
	count      = "KSTREAM-AGGREGATE-"
	state      = "KSTREAM-AGGREGATE-STATE-STORE-"
)

func TestDiff(t *testing.T) {
	pair := func(name string) string {
		b, err := os.ReadFile("testdata/pairs/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	one := chains("orders " + s0 + " " + count + "0000000002[" + state + "0000000001]")
	const writer = "  Sub-topology: 1\n    Source: KSTREAM-SOURCE-0000000008 (topics: [input])\n      --> KSTREAM-SINK-0000000009\n" +
		"    Sink: KSTREAM-SINK-0000000009 (topic: by-key-repartition)\n      <-- KSTREAM-SOURCE-0000000008\n"
	for _, c := range []struct {
		name, old, new string
		want           string
	}{
		{"a filter shifts the store's number", pair("P1-before"), pair("P1-after"),
			"renamed " + state + "0000000001 -> " + state + "0000000002 state_lost\n"},
		{"a store gets a name", pair("P1-after"), pair("P1-named"),
			"renamed " + state + "0000000002 -> Purchase_count_store state_lost\n"},
		{"both at once", pair("P1-before"), pair("P1-named"),
			"renamed " + state + "0000000001 -> Purchase_count_store state_lost\n"},
		{"a repartition goes away", pair("P2-before"), pair("P2-after"),
			"renamed KSTREAM-JOINOTHER-0000000019-store -> KSTREAM-JOINOTHER-0000000013-store state_lost directories_orphaned\n" +
				"renamed KSTREAM-JOINTHIS-0000000018-store -> KSTREAM-JOINTHIS-0000000012-store state_lost directories_orphaned\n" +
				"removed Join-left-repartition in_flight_lost\n" +
				"kept Join-right-repartition in_flight_old_form reader_moves\n"},
		{"another operator keeps the store", pair("P3-before"), pair("P3-after"),
			"renamed KSTREAM-JOINOTHER-0000000017-store -> KSTREAM-JOINOTHER-0000000019-store state_lost\n" +
				"renamed KSTREAM-JOINTHIS-0000000016-store -> KSTREAM-JOINTHIS-0000000018-store state_lost\n" +
				"kept KafkaTopic_Right-Reduce content_may_differ content_may_differ\n" +
				"kept L_Join-left-repartition\n"},
		{"suppress goes away", pair("P4-before"), pair("P4-after"),
			"kept Aggregate-Aggregate-Materialize\nremoved Suppress-store state_dropped\n"},
		{"optimization", pair("P8-before"), pair("P8-after"),
			"kept count-store\nkept join-store\nkept other-join-store\nkept aggregate-store directories_orphaned\nkept reduce-store directories_orphaned\n" +
				"removed aggregate-groupByKey-repartition in_flight_lost\nkept count-groupByKey-repartition readers_change\n" +
				"removed join-left-repartition in_flight_lost\nremoved reduce-groupByKey-repartition in_flight_lost\n"},

		{"two counts change places", chains("a "+s0+" "+count+"0000000002["+state+"0000000001]", "b KSTREAM-SOURCE-0000000003 "+count+"0000000005["+state+"0000000004]"),
			chains("b "+s0+" "+count+"0000000002["+state+"0000000001]", "a KSTREAM-SOURCE-0000000003 "+count+"0000000005["+state+"0000000004]"),
			"renamed " + state + "0000000001 -> " + state + "0000000004 state_lost state_taken_over\n" +
				"renamed " + state + "0000000004 -> " + state + "0000000001 state_lost state_taken_over\n"},
		{"a removed count leaves its changelog to another", chains("a "+s0+" "+count+"0000000002["+state+"0000000001]", "b KSTREAM-SOURCE-0000000003 "+count+"0000000005["+state+"0000000004]"),
			chains("b " + s0 + " " + count + "0000000002[" + state + "0000000001]"),
			"removed " + state + "0000000001 state_dropped\nrenamed " + state + "0000000004 -> " + state + "0000000001 state_lost state_taken_over\n"},
		{"a name moves to another operator", one, chains("orders " + s0 + " KSTREAM-REDUCE-0000000002[" + state + "0000000001]"),
			"kept " + state + "0000000001 content_may_differ\n"},
		{"another input, the same name", one, chains("payments " + s0 + " " + count + "0000000002[" + state + "0000000001]"),
			"kept " + state + "0000000001 content_may_differ\n"},
		{"another input and another name", one, chains("payments " + s2 + " " + count + "0000000004[" + state + "0000000003]"),
			"removed " + state + "0000000001 state_dropped\nadded " + state + "0000000003 starts_empty\n"},
		{"one more that looks the same", one, chains("orders "+s0+" "+count+"0000000002["+state+"0000000001]", "orders "+s0+" "+count+"0000000004["+state+"0000000003]"),
			"kept " + state + "0000000001 ambiguous\nadded " + state + "0000000003 starts_empty ambiguous\n"},
		{"the processor gets a name, too", one, chains("orders " + s0 + " counter[totals]"),
			"renamed " + state + "0000000001 -> totals state_lost\n"},
		{"behind a repartition topic a filter goes away", strings.ReplaceAll(pair("P1-after"), "[input]", "[by-key-repartition]") + writer, strings.ReplaceAll(pair("P1-before"), "[input]", "[by-key-repartition]") + writer,
			"renamed " + state + "0000000002 -> " + state + "0000000001 state_lost\nkept by-key-repartition\n"},
		{"inputs, operators and output change at once",
			chains("orders " + s0 + " " + count + "0000000002[" + state + "0000000001] >KSTREAM-SINK-0000000003=out"),
			chains("orders "+s0+" KSTREAM-MERGE-0000000006 "+count+"0000000008["+state+"0000000007] KSTREAM-PEEK-0000000009 >KSTREAM-SINK-0000000010=out2", "returns "+s5+" KSTREAM-MERGE-0000000006"),
			"renamed " + state + "0000000001 -> " + state + "0000000007 state_lost content_may_differ\n"},
	} {
		if got := short(diff(t, c.old, c.new, Options{})); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}
