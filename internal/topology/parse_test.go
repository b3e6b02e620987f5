package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sstool/internal/op"
)

// read is a text as people paste them.
func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testdata/topologies", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// summary is one line per topology: name, sub-topologies (g: global), nodes,
// stores with their sub-topologies.
func summary(m *Model) []string {
	var out []string
	for _, t := range m.Topologies {
		var ids, stores []string
		for _, s := range t.Subtopologies {
			id := fmt.Sprint(s.ID)
			if s.Global {
				id += "g"
			}
			ids = append(ids, id)
		}
		for _, s := range t.Stores() {
			stores = append(stores, fmt.Sprintf("%d:%s", s.Subtopology, s.Name))
		}
		out = append(out, fmt.Sprintf("%s[%s] %d nodes %s", t.Name, strings.Join(ids, " "), t.Nodes(), strings.Join(stores, " ")))
	}
	return out
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file     string
		want     []string
		unparsed []int
	}{
		{"01.txt", []string{"[0 1] 11 nodes 1:machine-1m-count-store"}, nil},
		{"02.txt", []string{"[0 1] 11 nodes 1:KSTREAM-AGGREGATE-STATE-STORE-0000000004"}, nil},
		{"03.txt", []string{"[0 1 2g 3] 19 nodes 1:players-STATE-STORE-0000000002 2:games-STATE-STORE-0000000005 3:leader-boards"}, []int{63}},
		{"05.txt", []string{"[0 1g 2] 14 nodes 1:positions-STATE-STORE-0000000002 2:prices-table"}, nil},
		{"06.txt", []string{"[0 1 2 3 4] 12 nodes "}, nil},
		{"08.txt", []string{"[0] 5 nodes "}, nil},
		{"10.txt", []string{"[0] 7 nodes 0:KsqlTopic-Reduce"}, nil},
		{"11.txt", []string{"[0g 1] 5 nodes 0:test-STATE-STORE-0000000000"}, nil},
		{"12.txt", []string{"[0 1 2g] 20 nodes 0:ACME-LINKS-STATE-STORE-0000000000 0:KSTREAM-JOINOTHER-0000000017-store 0:KSTREAM-JOINTHIS-0000000016-store 2:ACME-STORE-COUPON"}, nil},
		{"14.txt", []string{"[0 1 2g] 18 nodes 1:KSTREAM-AGGREGATE-STATE-STORE-0000000004 2:c"}, nil},
		{"15.txt", []string{"[0 1] 9 nodes 1:counts-store"}, []int{1, 2}},
		{"17.txt", []string{"[0 1 2] 12 nodes 0:conversation-state 1:KSTREAM-AGGREGATE-STATE-STORE-0000000004 2:assignment-state"}, nil},
		{"18.txt", []string{"[0 1] 9 nodes 0:conversation-meta-state 1:count-resolved"}, nil},
		{"19.txt", []string{"topology-1[0 1] 4 nodes ", "topology-2[0 1] 4 nodes ", "topology-3[0 1] 4 nodes "}, nil},
		{"20.txt", []string{"[0 1] 16 nodes 0:KSTREAM-TOTABLE-STATE-STORE-0000000002 1:KSTREAM-TOTABLE-STATE-STORE-0000000005 1:KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010"}, nil},
		{"21.txt", []string{"[0] 2 nodes "}, nil},
		{"23.txt", []string{"[0 1] 14 nodes 1:KSTREAM-AGGREGATE-STATE-STORE-0000000006"}, nil},
		{"24.txt", []string{"[0 1] 4 nodes "}, nil},
		{"25.txt", []string{"[0] 10 nodes 0:KSTREAM-JOINTHIS-0000000005-store 0:KSTREAM-OUTEROTHER-0000000006-store"}, []int{1}},
		{"kafka-1.0-globals.txt", []string{"[0 1g 2g 3 4] 11 nodes 1:gSTATE-STORE-0000000001 2:named 3:KSTREAM-AGGREGATE-STATE-STORE-0000000009 4:tSTATE-STORE-0000000011"}, nil},
		{"pairs/P1-before.txt", []string{"[0] 4 nodes 0:KSTREAM-AGGREGATE-STATE-STORE-0000000001"}, nil},
		{"pairs/P1-named.txt", []string{"[0] 5 nodes 0:Purchase_count_store"}, nil},
		{"pairs/P8-after.txt", []string{"[0 1] 26 nodes 1:aggregate-store 1:count-store 1:join-store 1:other-join-store 1:reduce-store"}, nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			m, err := ParseText(read(t, c.file), Options{All: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(m); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			var lines []int
			for _, u := range m.Unparsed() {
				lines = append(lines, u.Line)
			}
			if !reflect.DeepEqual(lines, c.unparsed) {
				t.Errorf("unparsed %+v, want lines %v", m.Unparsed(), c.unparsed)
			}
		})
	}
}

func TestNodes(t *testing.T) {
	m, err := ParseText(read(t, "24.txt"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	subs := m.Topologies[0].Subtopologies
	if p := subs[0].Nodes[0]; p.Pattern != "topic[0-9]" || p.Topics != nil {
		t.Errorf("source %+v, want the pattern topic[0-9]", p)
	}
	if p := subs[1].Nodes[0].Pattern; p != `^dbserver1\.(inventory|sales)\.[a-z_]{2,}$` {
		t.Errorf("pattern %q", p)
	}
	m, err = ParseText(read(t, "21.txt"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	want := Node{Kind: Sink, Name: "KSTREAM-SINK-0000000001", Extractor: "anonymous topic name extractor. topic is [recordContext.topic()]-[key]", Prev: []string{"KSTREAM-SOURCE-0000000000"}, Line: 5, PrevLine: 6}
	if got := *m.Topologies[0].Index()["KSTREAM-SINK-0000000001"]; !reflect.DeepEqual(got, want) {
		t.Errorf("sink %+v, want %+v", got, want)
	}
	m, err = ParseText(read(t, "05.txt"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	src := m.Topologies[0].Subtopologies[0].Nodes[0]
	next := []string{"KSTREAM-LEFTJOIN-0000000005", "KSTREAM-MAP-0000000008", "KSTREAM-MAPVALUES-0000000007", "KSTREAM-SINK-0000000001"}
	if !reflect.DeepEqual(src.Topics, []string{"trades"}) || !reflect.DeepEqual(src.Next, next) {
		t.Errorf("source %+v", src)
	}
	if e := m.Topologies[0].Index()["KSTREAM-SINK-0000000001"].Extractor; e != "com.acme.streams.App$$Lambda$4/0x0000000800c143a0@70ed52de" {
		t.Errorf("extractor %q", e)
	}
	stores := m.Topologies[0].Stores()
	if !stores[0].Global || !reflect.DeepEqual(stores[0].Topics, []string{"positions"}) {
		t.Errorf("global store %+v", stores[0])
	}
	m, err = ParseText(read(t, "10.txt"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if id := m.Topologies[0].ApplicationID; !strings.HasPrefix(id, "_acme-ksql-") {
		t.Errorf("application id %q, want the id beside the text", id)
	}
}

func TestStoreSubtopology(t *testing.T) {
	m, err := ParseText(read(t, "03.txt"), Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"players-STATE-STORE-0000000002": 1, "games-STATE-STORE-0000000005": 2, "leader-boards": 3, "nope": -1} {
		id, ok := m.StoreSubtopology(name)
		if !ok {
			id = -1
		}
		if id != want {
			t.Errorf("%s: sub-topology %d, want %d", name, id, want)
		}
	}
	// Two topologies that put a store in different places give no answer.
	two := read(t, "pairs/P8-before.txt") + "\n" + read(t, "pairs/P8-after.txt")
	if m, err = ParseText(two, Options{All: true}); err != nil || len(m.Topologies) != 2 {
		t.Fatalf("%v, %v; want two topologies", m, err)
	}
	if id, ok := m.StoreSubtopology("aggregate-store"); ok {
		t.Errorf("aggregate-store is in sub-topology %d of one and another of the other", id)
	}
	// The same one printed twice is one.
	once := read(t, "03.txt")
	if m, err = ParseText(once+"\n"+once, Options{All: true}); err != nil || len(m.Topologies) != 1 {
		t.Errorf("%d topologies, %v; want one printed twice", len(m.Topologies), err)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {" \n", "the text is empty"},
		"something else": {"<!DOCTYPE html>\n<p>hello", "no topology in the text that begins \"<!DOCTYPE html>\""},
		"no header":      {"    Source: a (topics: [t])\n      --> none\n", "no \"Sub-topology: N\" line"},
		"json without":   {`{"error": "application not found"}`, "no topology in the text"},
		"no node":        {"Topologies:\n   Sub-topology: 0\n", "line 2: sub-topology 0 has no node"},
		"half a node":    {"Topologies:\n   Sub-topology: 0\n    Source: a (topics: [t, u", "line 3: source \"a\" has no closing parenthesis"},
		"half a name":    {"Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOU", "line 3: the source has no closing parenthesis"},
		"no arrow":       {"Topologies:\n   Sub-topology: 0\n    Source: a (topics: [t])\n      --> b\n    Processor: b (stores: [s])\n      --", "line 5: \"b\" has no --> line"},
		"half an arrow":  {"Topologies:\n   Sub-topology: 0\n    Source: a (topics: [t])\n      --> b,", "line 4: \"--> b,\" names no node"},
		"end missing":    {"Topologies:\n   Sub-topology: 0\n    Source: a (topics: [t])\n      --> b", "line 4: \"a\" --> \"b\", and no line says what \"b\" is"},
		"no arrow back":  {"Sub-topology: 0\nSource: a (topics: [t])\n--> b, c\nProcessor: b (stores: [])\n--> none\n<-- a\nProcessor: c (stores: [])\n--> none\n", "line 7: \"c\" has no <-- line"},
		"behind a sink":  {"Sub-topology: 0\nSource: a (topics: [t])\n--> b, c\nSink: b (topic: u)\n<-- a\n--> c\n", "line 6: sink \"b\" has \"--> c\""},
		"above a source": {"Sub-topology: 0\nSource: a (topics: [t])\n--> none\n<-- b\n", "line 4: source \"a\" has \"<-- b\""},
		"arrow alone":    {"Sub-topology: 0\n--> b\n", "line 2: an arrow below no node"},
		"other place":    {"Sub-topology: 0\nSource: a (topics: [t])\n--> b\nSub-topology: 1\nSource: b (topics: [u])\n--> none\n", "line 3: \"a\" of sub-topology 0 --> \"b\", which is in sub-topology 1"},
		"node twice":     {"Sub-topology: 0\nSource: a (topics: [t])\n--> none\nSource: a (topics: [u])\n--> none\n", "line 4: \"a\" is there already, in line 2"},
		"reader missing": {"Sub-topology: 0\nSource: a (topics: [t])\n--> b\nSink: b (topic: KSTREAM-TOTABLE-0000000009-repartition)\n<-- a\n", "line 4: repartition topic \"KSTREAM-TOTABLE-0000000009-repartition\" is written but never read"},
		"writer missing": {"Sub-topology: 0\nSource: a (topics: [KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000029-topic])\n--> none\n", "is read but never written"},
		"next begins":    {"Sub-topology: 0\nSource: a (topics: [t])\n--> none\nTopologies:\n", "line 4: no sub-topology below \"Topologies:\""},
		"header only":    {"Topologies:\n ", "no \"Sub-topology: N\" line"},
		"no store":       {"Sub-topologies:\nGlobal Stores:\n  GlobalStore: a (topic: t)\n      --> b (st", "line 4: global store \"a\" has no store"},
		"start missing":  {"  Sub-topology: 1\n    Source: a (topics: [t])\n      --> none", "sub-topology 0 is missing"},
		"wrong pair":     {"Sub-topology: 0\nSource: a (stores: [t])", "line 2: a source with \"stores\""},
		"huge number":    {"Sub-topology: 99999999999\nSource: a (topics: [t])", "line 1: sub-topology number 99999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseText(c.text, Options{All: true})
			if err == nil || op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a usage error with %q", err, c.want)
			}
		})
	}
}

// TestCutAnywhere cuts a text at every line and at many places inside: what
// parses has lost no node of a sub-topology it shows.
func TestCutAnywhere(t *testing.T) {
	text := read(t, "03.txt")
	whole, err := ParseText(text, Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	full := map[int]int{}
	for _, s := range whole.Topologies[0].Subtopologies {
		full[s.ID] = len(s.Nodes)
	}
	for cut := range text {
		if cut%7 != 0 && text[cut] != '\n' {
			continue
		}
		m, err := ParseText(text[:cut], Options{All: true})
		if err != nil {
			if op.KindOf(err) != op.Usage {
				t.Fatalf("cut at %d: %v, want a usage error", cut, err)
			}
			continue
		}
		for _, s := range m.Topologies[0].Subtopologies {
			if n := len(s.Nodes); n != full[s.ID] {
				t.Errorf("cut at %d: sub-topology %d has %d nodes, want an error or %d", cut, s.ID, n, full[s.ID])
			}
		}
	}
}

func TestPlaceAndApplicationID(t *testing.T) {
	_, err := ParseText("Sub-topology: 0\nSource: a (topics: [t", Options{File: "orders.txt"})
	if err == nil || !strings.HasPrefix(err.Error(), "orders.txt:2: source \"a\" has no closing parenthesis") {
		t.Errorf("%v", err)
	}
	_, err = ParseText("hello", Options{File: "orders.txt"})
	if err == nil || !strings.HasPrefix(err.Error(), "orders.txt: no topology in the text that begins") {
		t.Errorf("%v", err)
	}
	m, err := ParseText(read(t, "10.txt"), Options{ApplicationID: "mine"})
	if err != nil || m.Topologies[0].ApplicationID != "mine" {
		t.Errorf("%v, %+v: what is given goes before what the JSON says", err, m)
	}
	_, err = Parse(strings.NewReader(strings.Repeat("x", maxText+1)), Options{})
	if op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("%v", err)
	}
}
