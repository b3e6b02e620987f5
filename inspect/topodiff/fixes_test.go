package topodiff

import (
	"os"
	"strings"
	"testing"

	"sstool/internal/topology"
)

// TestKeeping: the call that gives a store the name it had, for every operator.
func TestKeeping(t *testing.T) {
	for _, c := range []struct{ name, role, call string }{
		{"KSTREAM-AGGREGATE-STATE-STORE-0000000003", "KSTREAM-AGGREGATE", `Materialized.as("KSTREAM-AGGREGATE-STATE-STORE-0000000003")`},
		{"t-STATE-STORE-0000000000", "KTABLE-SOURCE", `Materialized.as("t-STATE-STORE-0000000000")`},
		{"totals", "", `Materialized.as("totals")`},
		{"KSTREAM-JOINTHIS-0000000004-store", "join-this", `StreamJoined.withThisStoreSupplier(Stores.persistentWindowStore("KSTREAM-JOINTHIS-0000000004-store", …, true))`},
		{"KSTREAM-OUTEROTHER-0000000005-store", "join-other", `StreamJoined.withOtherStoreSupplier(Stores.persistentWindowStore("KSTREAM-OUTEROTHER-0000000005-store", …, true))`},
		{"KSTREAM-OUTERSHARED-0000000004-store", "join-shared", ""},
		{"pay-left-shared-join-store", "join-shared", `StreamJoined.withStoreName("pay")`},
		{"pay-outer-this-join-store", "join-this", `StreamJoined.withStoreName("pay")`},
		{"pay-other-join-store", "join-other", `StreamJoined.withStoreName("pay")`},
		{"KTABLE-SUPPRESS-STATE-STORE-0000000007", "suppression", ""},
		{"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010", "fk-subscription", ""},
		{"fk-subscription-store", "fk-subscription", `TableJoined.as("fk")`},
		{"gj-Buffer", "grace-buffer", `Joined.as("gj")`},
		{"KSTREAM-JOIN-0000000004-Buffer", "grace-buffer", `Joined.as("KSTREAM-JOIN-0000000004")`},
	} {
		g := &graph{names: map[nameKey][]int32{}}
		v := &g.v[g.add(vertex{kind: store, name: c.name})]
		if v.role = storeRole(c.name, "", []string{"gj", "KSTREAM-JOIN-0000000004"}, nil); v.role != c.role && c.role != "KTABLE-SOURCE" {
			t.Errorf("%s: role %q, want %q", c.name, v.role, c.role)
		}
		if call, text := keepingStore(v); call != c.call || text == "" {
			t.Errorf("%s: %s (%s)", c.name, call, text)
		}
	}
}

// TestCallsKeepNames: what Kafka Streams itself makes of the calls. The texts are
// its own, for one application as it is, with a filter in front, and with the
// calls that the comparison of these two told (testdata/dsl/Shapes.java).
func TestCallsKeepNames(t *testing.T) {
	text := func(name string) string {
		b, err := os.ReadFile("testdata/dsl/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	told := diff(t, text("base.txt"), text("shifted.txt"), Options{})
	done := diff(t, text("base.txt"), text("pinned.txt"), Options{})
	if told.Losses != 20 || len(told.Stores)+len(told.Topics) != 20 || len(done.Stores)+len(done.Topics) != 20 {
		t.Fatalf("%d losses of\n%s", told.Losses, short(told))
	}
	program := text("Shapes.java")
	now := map[string]Change{}
	for _, items := range [][]Item{done.Stores, done.Topics} {
		for i := range items {
			now[items[i].Name()] = items[i].Change
		}
	}
	for _, items := range [][]Item{told.Stores, told.Topics} {
		for i := range items {
			it := &items[i]
			call := it.Fixes[0].Call
			if kept := now[it.Name()] == Kept; kept != (call != "") {
				t.Errorf("%s: %q, and it is %s", it.Name(), call, now[it.Name()])
			}
			if name, _, _ := strings.Cut(strings.TrimSuffix(it.Name(), "-repartition"), "-store-"); call != "" && !strings.Contains(program, name) {
				t.Errorf("%s is not in the program", name)
			}
		}
	}
	// A processor takes a number with a name, too.
	if r := diff(t, text("base.txt"), text("named.txt"), Options{}); r.Losses != 20 {
		t.Errorf("with a named filter: %d losses", r.Losses)
	}
}

// TestKeepingTopics: the same for internal topics, in whole comparisons.
func TestKeepingTopics(t *testing.T) {
	text := func(sink, source, topic string) string {
		return "Topologies:\n   Sub-topology: 0\n    Source: KSTREAM-SOURCE-0000000000 (topics: [in])\n      --> KSTREAM-KEY-SELECT-0000000001\n" +
			"    Processor: KSTREAM-KEY-SELECT-0000000001 (stores: [])\n      --> " + sink + "\n      <-- KSTREAM-SOURCE-0000000000\n" +
			"    Sink: " + sink + " (topic: " + topic + ")\n      <-- KSTREAM-KEY-SELECT-0000000001\n\n" +
			"  Sub-topology: 1\n    Source: " + source + " (topics: [" + topic + "])\n      --> KSTREAM-AGGREGATE-0000000005\n" +
			"    Processor: KSTREAM-AGGREGATE-0000000005 (stores: [totals])\n      --> none\n      <-- " + source + "\n"
	}
	old := func(topic string) string { return text("KSTREAM-SINK-0000000002", "KSTREAM-SOURCE-0000000003", topic) }
	for _, c := range []struct{ topic, call string }{
		{"KSTREAM-AGGREGATE-STATE-STORE-0000000004-repartition", `Grouped.as("KSTREAM-AGGREGATE-STATE-STORE-0000000004")`},
		{"KSTREAM-KEY-SELECT-0000000001-repartition", `Named.as("KSTREAM-KEY-SELECT-0000000001")`},
		{"KSTREAM-REPARTITION-0000000004-repartition", `Repartitioned.as("KSTREAM-REPARTITION-0000000004")`},
		{"by-user-repartition", `Grouped.as("by-user"), Joined.as, or Repartitioned.as`},
		{"pay-left-repartition", `StreamJoined.withName("pay")`},
	} {
		r := diff(t, old(c.topic), old("other-repartition"), Options{OldApp: "app"})
		if len(r.Topics) != 1 || r.Topics[0].Change != Renamed || r.Losses != 1 {
			t.Errorf("%s: %s", c.topic, short(r))
			continue
		}
		fixes := r.Topics[0].Fixes
		if len(fixes) != 2 || fixes[0].Call != c.call || fixes[1].Kind != "drain" || !strings.Contains(fixes[1].Text, "app-"+c.topic) {
			t.Errorf("%s: %v", c.topic, fixes)
		}
	}
}

// TestRenameCommand: the command that carries the rows is whole, and never one
// that is refused.
func TestRenameCommand(t *testing.T) {
	one, two, three := state+"0000000001", state+"0000000002", state+"0000000003"
	second := strings.Replace(chains("in KSTREAM-SOURCE-0000000005 a["+two+"]"), "Topologies:\n   Sub-topology: 0", "  Sub-topology: 1", 1)
	for name, c := range map[string]struct{ old, new, want string }{
		"renamed":    {chains("in " + s0 + " a[" + one + "]"), chains("in " + s0 + " a[" + two + "]"), "sstool rename " + one + " " + two + " --application-id app"},
		"taken over": {chains("in "+s0+" a["+one+"]", "on "+s0+" b["+two+"]"), chains("in "+s0+" a["+two+"]", "on "+s0+" b["+three+"]"), ""},
		"moved":      {chains("in " + s0 + " a[" + one + "]"), chains("an "+s0+" c") + second, "sstool migrate topology OLD NEW --application-id app"},
		"odd name":   {chains("in " + s0 + " a[x;y]"), chains("in " + s0 + " a[" + two + "]"), ""},
	} {
		r := diff(t, c.old, c.new, Options{OldApp: "app"})
		got := ""
		for _, f := range r.Stores[0].Fixes {
			if f.Kind == "rename" {
				got = f.Call
			}
		}
		if r.Stores[0].Change != Renamed || got != c.want {
			t.Errorf("%s: %q, want %q\n%s", name, got, c.want, short(r))
		}
	}
}

// TestOptions: what only the options tell.
func TestOptions(t *testing.T) {
	table := func(store string) string { return chains("t " + s0 + " KTABLE-SOURCE-0000000002[" + store + "]") }
	a, b := "t-STATE-STORE-0000000001", "t-STATE-STORE-0000000003"
	count := chains("in " + s0 + " " + count + "0000000001[totals]")
	for _, c := range []struct {
		name, old, new, want string
		o                    Options
		losses, accepted     int
	}{
		{"a table", table(a), table(b), "renamed " + a + " -> " + b + " state_lost\n", Options{}, 1, 0},
		{"its topic is its changelog", table(a), table(b), "renamed " + a + " -> " + b + " refilled\n", Options{Optimized: true}, 0, 0},
		{"the loss is meant", table(a), table(b), "renamed " + a + " -> " + b + " state_lost\n", Options{Accept: []string{a}}, 0, 1},
		{"another application id", count, count, "kept totals state_lost\n", Options{OldApp: "a", NewApp: "b"}, 1, 0},
		{"the same partitions", count, count, "kept totals\n", Options{OldPartitions: map[string]int{"in": 4}, NewPartitions: map[string]int{"in": 4}}, 0, 0},
		{"more partitions", count, count, "kept totals partitions_change\n", Options{OldPartitions: map[string]int{"in": 4}, NewPartitions: map[string]int{"in": 6}}, 1, 0},
		{"its own changelog's are known", count, count, "kept totals partitions_change\n",
			Options{OldApp: "a", OldPartitions: map[string]int{"in": 6, "a-totals-changelog": 4}, NewPartitions: map[string]int{"in": 6}}, 1, 0},
	} {
		r := diff(t, c.old, c.new, c.o)
		if got := short(r); got != c.want || r.Losses != c.losses || r.Accepted != c.accepted {
			t.Errorf("%s: %d losses, %d accepted\n%s", c.name, r.Losses, r.Accepted, got)
		}
	}
}

// TestPartitionsThroughTopics: a repartition topic has as many partitions as its
// writers have tasks.
func TestPartitionsThroughTopics(t *testing.T) {
	text := texts(t)["testdata/pairs/P8-after.txt"]
	r := diff(t, text, text, Options{OldPartitions: map[string]int{"input": 4}, NewPartitions: map[string]int{"input": 8}})
	for _, items := range [][]Item{r.Stores, r.Topics} {
		for i := range items {
			if it := &items[i]; it.Old.Partitions == nil || *it.Old.Partitions != 4 || *it.New.Partitions != 8 || !it.Has(PartitionsChange) {
				t.Errorf("%s: %v", it.Name(), it.Effects)
			}
		}
	}
}

// TestCompare: several topologies are paired by application and name; one
// that is gone takes its state along.
func TestCompare(t *testing.T) {
	topo := func(app, name, store string) topology.Topology {
		x := parse(t, chains("in "+s0+" a["+store+"]"))
		x.ApplicationID, x.Name = app, name
		return *x
	}
	list := func(of ...topology.Topology) []topology.Topology { return of }
	for _, c := range []struct {
		name     string
		old, new []topology.Topology
		o        Options
		results  int
		losses   int
		fails    string
	}{
		{"one and one", list(topo("", "", "x")), list(topo("", "", "x")), Options{}, 1, 0, ""},
		{"by name", list(topo("a", "p", "x"), topo("a", "q", "y")), list(topo("a", "q", "y"), topo("a", "p", "x")), Options{}, 2, 0, ""},
		{"one is gone", list(topo("a", "p", "x"), topo("a", "q", "y")), list(topo("a", "q", "y")), Options{}, 2, 1, ""},
		{"one is new", list(topo("a", "q", "y")), list(topo("a", "p", "x"), topo("a", "q", "y")), Options{}, 2, 0, ""},
		{"of one application", list(topo("a", "", "x"), topo("b", "", "y")), list(topo("b", "", "y"), topo("a", "", "z")), Options{OldApp: "b"}, 1, 0, ""},
		{"not told apart", list(topo("", "", "x"), topo("", "", "y")), list(topo("", "", "x")), Options{}, 0, 0, "several topologies"},
	} {
		got, err := Compare(t.Context(), c.old, c.new, c.o)
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case len(got.Topologies) != c.results || got.Losses != c.losses:
			t.Errorf("%s: %d results, %d losses", c.name, len(got.Topologies), got.Losses)
		}
	}
}
