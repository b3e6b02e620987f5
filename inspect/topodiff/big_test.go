package topodiff

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// big is the text of an application with many operators, the counts of which
// have no names: streams of five nodes, each behind a repartition topic, all of
// them or every tenth over a topic of its own.
func big(streams, topics int) string {
	var first, second strings.Builder
	number := 0
	name := func(op string) string {
		number++
		return fmt.Sprintf("%s-%010d", op, number-1)
	}
	sources := make([]string, topics)
	children := make([][]string, topics)
	for i := range sources {
		sources[i] = name("KSTREAM-SOURCE")
	}
	for i := range streams {
		t := i % topics
		key, filter, out := name("KSTREAM-KEY-SELECT"), name("KSTREAM-FILTER"), name("KSTREAM-SINK")
		in, state, agg := name("KSTREAM-SOURCE"), name("KSTREAM-AGGREGATE-STATE-STORE"), name("KSTREAM-AGGREGATE")
		children[t] = append(children[t], key)
		fmt.Fprintf(&first, "    Processor: %s (stores: [])\n      --> %s\n      <-- %s\n", key, filter, sources[t])
		fmt.Fprintf(&first, "    Processor: %s (stores: [])\n      --> %s\n      <-- %s\n", filter, out, key)
		fmt.Fprintf(&first, "    Sink: %s (topic: %s-repartition)\n      <-- %s\n", out, state, filter)
		fmt.Fprintf(&second, "  Sub-topology: %d\n    Source: %s (topics: [%s-repartition])\n      --> %s\n", i+1, in, state, agg)
		fmt.Fprintf(&second, "    Processor: %s (stores: [%s])\n      --> none\n      <-- %s\n\n", agg, state, in)
	}
	var b strings.Builder
	b.WriteString("Topologies:\n   Sub-topology: 0\n")
	for i, s := range sources {
		fmt.Fprintf(&b, "    Source: %s (topics: [topic-%d])\n      --> %s\n", s, i, strings.Join(children[i], ", "))
	}
	return b.String() + first.String() + "\n" + second.String()
}

// TestBig compares topologies of 5,000 nodes, renumbered throughout. Tens of ms
// would be common; but tests share the machine, which may be slow, or stand
// still for a while: then it is held against a tenth of the nodes.
func TestBig(t *testing.T) {
	renumbered := func(streams, topics int) time.Duration {
		text := big(streams, topics)
		new := renumber(text, func(n int) int { return n + 7 })
		start := time.Now()
		r := diff(t, text, new, Options{OldApp: "app"})
		took := time.Since(start)
		t.Logf("%d nodes, %d topics: %v", r.Old.Nodes, topics, took)
		if len(r.Nodes) > 0 || r.Losses != 2*streams {
			t.Errorf("%d topics: %d nodes differ, %d losses", topics, len(r.Nodes), r.Losses)
		}
		for i := range r.Stores {
			it := &r.Stores[i]
			if want := renumber(it.Old.Name, func(n int) int { return n + 7 }); it.New == nil || it.New.Name != want {
				t.Fatalf("%d topics: %s is not %s but %v", topics, it.Old.Name, want, it.New)
			}
		}
		return took
	}
	for _, topics := range []int{1, 100, 1000} {
		for try := 1; ; try++ {
			took := renumbered(1000, topics)
			if took <= 20*time.Second || took <= 40*renumbered(100, max(1, topics/10)) {
				break
			}
			if try == 3 {
				t.Fatalf("%d topics: %v", topics, took)
			}
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	text := big(1000, 100)
	old, new := parse(b, text), parse(b, renumber(text, func(n int) int { return n + 7 }))
	for b.Loop() {
		if _, err := Diff(b.Context(), old, new, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
