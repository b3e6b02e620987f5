package lint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/topology"
)

// input parses a text of an application.
func input(t testing.TB, appID, text string) Input {
	t.Helper()
	m, err := topology.ParseText(text, topology.Options{ApplicationID: appID, All: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file := "topology.txt"
	if appID != "" {
		file = appID + ".txt"
	}
	return Input{AppID: appID, File: file, Topologies: m.Topologies, Problems: m.Problems}
}

func lint(t testing.TB, o Options) *Result {
	t.Helper()
	res, err := Lint(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// of are the findings of one rule, as "severity subject".
func of(res *Result, rule string) []string {
	var out []string
	for _, f := range res.Findings {
		if f.Rule == rule {
			out = append(out, string(f.Severity)+" "+f.Subject)
		}
	}
	return out
}

// chain is the text of sub-topologies of nodes in a row: "in > NAME[store] >
// (out)". A source is a topic, a sink a topic in parentheses.
func chain(subs ...string) string {
	var b strings.Builder
	b.WriteString("Topologies:\n")
	n := 0
	for id, sub := range subs {
		head, global := strings.CutPrefix(sub, "global ")
		b.WriteString(fmt.Sprintf("   Sub-topology: %d", id))
		if global {
			b.WriteString(" for global store (will not generate tasks)")
		}
		b.WriteString("\n")
		parts := strings.Split(head, " > ")
		names := make([]string, len(parts))
		for i, p := range parts {
			name, _, _ := strings.Cut(p, "[")
			if i == 0 || strings.HasPrefix(p, "(") {
				name = fmt.Sprintf("node-%d", n)
				n++
			}
			names[i] = name
		}
		for i, p := range parts {
			_, stores, _ := strings.Cut(strings.TrimSuffix(p, "]"), "[")
			next, prev := "none", ""
			if i+1 < len(names) {
				next = names[i+1]
			}
			if i > 0 {
				prev = "\n      <-- " + names[i-1]
			}
			switch {
			case i == 0:
				fmt.Fprintf(&b, "    Source: %s (topics: [%s])\n      --> %s\n", names[i], p, next)
			case strings.HasPrefix(p, "("):
				fmt.Fprintf(&b, "    Sink: %s (topic: %s)%s\n", names[i], strings.Trim(p, "()"), prev)
			default:
				fmt.Fprintf(&b, "    Processor: %s (stores: [%s])\n      --> %s%s\n", names[i], stores, next, prev)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestRuleTable(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	for i, r := range Rules() {
		if ids[r.ID] || names[r.Name] {
			t.Errorf("%s %s is there twice", r.ID, r.Name)
		}
		ids[r.ID], names[r.Name] = true, true
		if r.Title == "" || r.Why == "" || r.Fix == "" || r.Bad == "" || r.Severity == "" || r.Name != strings.ToLower(r.Name) {
			t.Errorf("%s is not complete: %+v", r.ID, r)
		}
		if i > 0 && compareIDs(Rules()[i-1].ID, r.ID) >= 0 {
			t.Errorf("%s is out of order", r.ID)
		}
		for _, s := range []string{r.ID, strings.ToLower(r.ID), r.Name} {
			if got, ok := FindRule(s); !ok || got.ID != r.ID {
				t.Errorf("FindRule(%q) = %q", s, got.ID)
			}
		}
	}
	for n := 1; n <= 12; n++ {
		if !ids[fmt.Sprintf("C%d", n)] {
			t.Errorf("no rule C%d", n)
		}
	}
	if _, ok := FindRule("C99"); ok {
		t.Error("found C99")
	}
}

// rulesCovered keeps the tests of rules whole: every rule has a text that it
// finds something in, and one in which it finds nothing.
func TestEveryRuleHasBothTests(t *testing.T) {
	positive, negative := map[string]bool{}, map[string]bool{}
	for _, c := range ruleCases(t) {
		if len(c.want) > 0 {
			positive[c.rule] = true
		} else {
			negative[c.rule] = true
		}
	}
	for _, r := range Rules() {
		if !positive[r.ID] || !negative[r.ID] {
			t.Errorf("%s: has a text that it finds something in: %v, one that it does not: %v", r.ID, positive[r.ID], negative[r.ID])
		}
	}
}

func TestRuleCases(t *testing.T) {
	for _, c := range ruleCases(t) {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			res := lint(t, c.o)
			got := of(res, c.rule)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q\n%v", got, c.want, res.Findings)
			}
			for _, f := range res.Findings {
				if f.Rule != c.rule || c.message == "" {
					continue
				}
				if !strings.Contains(f.Message+"\n"+f.Fix, c.message) {
					t.Errorf("%q\n%q\nlack %q", f.Message, f.Fix, c.message)
				}
				break
			}
		})
	}
}

func TestSettle(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	in := input(t, "orders", chain("in > KSTREAM-AGGREGATE-0000000002[KSTREAM-AGGREGATE-STATE-STORE-0000000001] > p[store1] > (out)"))
	conf := func(c Config) Options {
		c.File = "lint.yaml"
		x := in
		x.Config = &c
		return Options{Inputs: []Input{x}, Now: day("2026-06-10")}
	}
	ids := func(res *Result) (out []string) {
		for _, f := range res.Findings {
			out = append(out, f.Rule+"/"+string(f.Severity))
		}
		return out
	}
	for _, c := range []struct {
		name       string
		o          Options
		want       []string
		suppressed int
	}{
		{"defaults", Options{Inputs: []Input{in}}, []string{"C8/error", "W1/warning"}, 0},
		{"severities", conf(Config{Severities: map[string]Severity{"C8": Info, "W1": Off}}), []string{"C8/info"}, 0},
		{"only", Options{Inputs: []Input{in}, Only: []string{"W1"}}, []string{"W1/warning"}, 0},
		{"ignored", conf(Config{Ignores: []Ignore{{Rule: "C8", Name: "KSTREAM-AGGREGATE-*", Reason: "soon", Expires: day("2026-06-10")}}}), []string{"W1/warning"}, 1},
		{"expired", conf(Config{Ignores: []Ignore{{Rule: "C8", Reason: "soon", Expires: day("2026-06-09"), Line: 3}}}), []string{"I3/warning", "C8/error", "W1/warning"}, 0},
		{"of another application", conf(Config{Ignores: []Ignore{{Rule: "C8", AppID: "billing", Reason: "x"}}}), []string{"C8/error", "W1/warning"}, 0},
		{"of nothing", conf(Config{Ignores: []Ignore{{Rule: "N1", Reason: "x"}}}), []string{"I3/warning", "C8/error", "W1/warning"}, 0},
		{"of a rule that could not run", conf(Config{Ignores: []Ignore{{Rule: "P1", Reason: "x"}}}), []string{"C8/error", "W1/warning"}, 0},
	} {
		res := lint(t, c.o)
		if got := ids(res); !slices.Equal(got, c.want) || len(res.Suppressed) != c.suppressed {
			t.Errorf("%s: got %v and %d suppressed, want %v and %d", c.name, got, len(res.Suppressed), c.want, c.suppressed)
		}
	}
	if res := lint(t, conf(Config{Severities: map[string]Severity{"C8": Off}})); res.Counts != (Counts{Warnings: 1}) {
		t.Errorf("counts %+v", res.Counts)
	}
}

func TestBaseline(t *testing.T) {
	text := chain("in > KSTREAM-AGGREGATE-0000000002[KSTREAM-AGGREGATE-STATE-STORE-0000000001] > p[store1] > (out)")
	before := lint(t, Options{Inputs: []Input{input(t, "orders", text)}})
	b := NewBaseline(before)
	var out strings.Builder
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	read, err := ReadBaseline("b.json", strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	// Lines move, and the same is accepted.
	moved := input(t, "orders", "a log line\n\n"+text)
	moved.Problems = nil
	res := lint(t, Options{Inputs: []Input{moved}, Baseline: read})
	if len(res.Findings) != 0 || len(res.Suppressed) != 2 || len(res.Gone) != 0 {
		t.Errorf("findings %v, suppressed %d, gone %v", res.Findings, len(res.Suppressed), res.Gone)
	}
	// A number shifts: that is a new finding, and the old one is gone.
	res = lint(t, Options{Inputs: []Input{input(t, "orders", strings.ReplaceAll(text, "STORE-0000000001", "STORE-0000000003"))}, Baseline: read})
	if len(res.Findings) != 1 || res.Findings[0].Rule != "C8" || len(res.Gone) != 1 {
		t.Errorf("findings %v, gone %v", res.Findings, res.Gone)
	}
	// Written again it keeps what is still there.
	if again := NewBaseline(res); len(again.Findings) != 2 {
		t.Errorf("%d findings in the new baseline", len(again.Findings))
	}
	for _, bad := range []string{"", "[]", `{"kind":"lint","version":1,"findings":[]}`, `{"kind":"lint.baseline","version":2,"findings":[]}`,
		`{"kind":"lint.baseline","version":1,"findings":[{"rule":"C8"}]}`, `{"kind":"lint.baseline","version":1,"results":[]}`} {
		if _, err := ReadBaseline("b.json", strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "b.json") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFingerprintsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, file := range texts(t) {
		res := lint(t, Options{Inputs: []Input{readInput(t, file)}})
		for _, f := range res.Findings {
			if old, again := seen[file+f.Fingerprint]; again {
				t.Errorf("%s: %s and %s have one fingerprint", file, old, f.Message)
			}
			seen[file+f.Fingerprint] = f.Message
		}
	}
	if len(seen) < 20 {
		t.Fatalf("only %d findings", len(seen))
	}
}

func texts(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/topologies/*.txt")
	if err != nil || len(files) < 19 {
		t.Fatalf("%d texts, %v", len(files), err)
	}
	return files
}

func readInput(t testing.TB, file string) Input {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := topology.ParseText(string(b), topology.Options{File: filepath.Base(file)})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return Input{AppID: "A", File: filepath.Base(file), Topologies: m.Topologies, Problems: m.Problems}
}

// TestSpeed is the bound of the issue: 5,000 nodes in a tenth of a JVM's start.
func TestSpeed(t *testing.T) {
	lasts := func(nodes, findings int) time.Duration {
		in := input(t, "orders", big(nodes))
		start := time.Now()
		res := lint(t, Options{Inputs: []Input{in}, Facts: &Facts{Topics: map[string]Topic{"in": {Partitions: 3}}}})
		took := time.Since(start)
		if len(res.Findings) < findings {
			t.Fatalf("%d findings", len(res.Findings))
		}
		return took
	}
	linear(t, func() time.Duration { return lasts(5000, 1000) }, func() time.Duration { return lasts(500, 100) }, 2*time.Second)
}

// linear fails when what takes ten times as much work takes longer than limit,
// and longer than that explains. Tens of ms would be common; but tests share
// the machine, which may be slow, or stand still for a while.
func linear(t *testing.T, much, little func() time.Duration, limit time.Duration) {
	t.Helper()
	for try := 1; ; try++ {
		m, l := much(), little()
		t.Logf("%s, a tenth of it %s", m, l)
		if m <= limit || m <= 40*l {
			return
		}
		if try == 4 {
			t.Fatalf("it took %s, a tenth of it %s", m, l)
		}
	}
}

// big is a topology of so many nodes: counts by another key, each with a
// repartition, and a table joined to each.
func big(nodes int) string {
	var subs []string
	for n := 0; n < nodes; n += 7 {
		store := fmt.Sprintf("KSTREAM-AGGREGATE-STATE-STORE-%010d", n+2)
		subs = append(subs,
			fmt.Sprintf("in-%d > KSTREAM-KEY-SELECT-%010d > KSTREAM-FILTER-%010d > (%s-repartition)", n, n+1, n+5, store),
			fmt.Sprintf("%s-repartition > KSTREAM-AGGREGATE-%010d[%s] > (out-%d)", store, n+3, store, n))
	}
	return chain(subs...)
}

func BenchmarkLint5000(b *testing.B) {
	in := input(b, "orders", big(5000))
	for b.Loop() {
		lint(b, Options{Inputs: []Input{in}})
	}
}

// TestManyGenerated: thousands of generated stores behind one topic, one behind
// the other; to name them all took time by the square of their number.
func TestManyGenerated(t *testing.T) {
	lasts := func(stores int) time.Duration {
		var text strings.Builder
		text.WriteString("Topologies:\n   Sub-topology: 0\n    Source: p0 (topics: [in])\n      --> p1\n")
		for i := 1; i <= stores; i++ {
			next := fmt.Sprintf("p%d", i+1)
			if i == stores {
				next = "none"
			}
			fmt.Fprintf(&text, "    Processor: p%d (stores: [KSTREAM-AGGREGATE-STATE-STORE-%010d])\n      --> %s\n      <-- p%d\n", i, i, next, i-1)
		}
		start := time.Now()
		res := lint(t, Options{Inputs: []Input{input(t, "app", text.String())}})
		took := time.Since(start)
		names := map[string]bool{}
		for _, p := range res.Fixes[0].Pins {
			names[p.NewName] = true
		}
		if len(names) != stores {
			t.Errorf("%d names for %d stores", len(names), stores)
		}
		return took
	}
	linear(t, func() time.Duration { return lasts(20_000) }, func() time.Duration { return lasts(2000) }, 20*time.Second)
}
