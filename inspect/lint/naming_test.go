package lint

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestNamingAsKafkaDoes compares the fix list with Kafka Streams: for each call
// that names something, testdata/naming has the topology without it and with
// it. What the call makes of the generated names, and what it makes of all
// later ones, is what Kafka Streams printed (TestRealNaming: each version).
func TestNamingAsKafkaDoes(t *testing.T) {
	b, err := os.ReadFile("testdata/naming/naming.txt")
	if err != nil {
		t.Fatal(err)
	}
	pairs := strings.Split(string(b), "### ")[1:]
	if len(pairs) < 20 {
		t.Fatalf("%d pairs", len(pairs))
	}
	for _, p := range pairs {
		head, texts, _ := strings.Cut(p, "\n")
		title, generated, _ := strings.Cut(head, " | ")
		without, with, _ := strings.Cut(texts, "--- named\n")
		t.Run(title, func(t *testing.T) {
			before, after := viewOf(t, without), viewOf(t, with)
			want := stateNames(after)
			if got := named(t, before, generated, "x"); !slices.Equal(got, want) {
				t.Errorf("predicted\n  %s\nKafka Streams made\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
}

func viewOf(t *testing.T, text string) *view {
	t.Helper()
	in := input(t, "app", text)
	return newView(&in, &in.Topologies[0])
}

// stateNames are the stores and internal topics.
func stateNames(v *view) []string {
	var out []string
	for _, s := range v.stores {
		out = append(out, s.Name)
	}
	for _, f := range v.topics {
		if f.internal() {
			out = append(out, f.name)
		}
	}
	slices.Sort(out)
	return out
}

// named is what stateNames become when the cause of a generated name is named.
func named(t *testing.T, v *view, generated, name string) []string {
	t.Helper()
	becomes := map[string]string{}
	var frees []int // numbers that are not drawn any more
	for _, c := range v.causes {
		if !slices.ContainsFunc(c.items, func(it item) bool { return it.name == generated }) {
			continue
		}
		for _, it := range c.items {
			becomes[it.name] = c.newName(it, name)
			for range it.gen.frees() {
				frees = append(frees, it.gen.Number)
			}
		}
	}
	if len(becomes) == 0 {
		t.Fatalf("%s is not among %v", generated, stateNames(v))
	}
	var out []string
	for _, s := range stateNames(v) {
		switch g, ok := parseGenerated(s); {
		case becomes[s] != "":
			s = becomes[s]
		case ok:
			shift := 0
			for _, f := range frees {
				if f < g.Number {
					shift++
				}
			}
			s = g.Named(g.Number - shift)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}
