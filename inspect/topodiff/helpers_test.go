package topodiff

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sstool/internal/topology"
)

// texts are real descriptions: of the fixtures' applications, and of people.
func texts(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../../testdata/fixtures/*/*/describe.txt", "../../testdata/topologies/*.txt", "testdata/pairs/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := topology.ParseText(string(b), topology.Options{}); err == nil && len(m.Topologies) == 1 {
				out[f] = topology.Print(&m.Topologies[0])
				out[f+" without names"] = unnamed(&m.Topologies[0])
			}
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d texts", len(out))
	}
	return out
}

// unnamed is the text of a topology in which no person gave a name to a
// processor or a store: as little as there can be to go by.
func unnamed(t *topology.Topology) string {
	text := topology.Print(t)
	next := top(text)
	names := map[string]string{}
	name := func(given, prefix string) {
		if _, ok := topology.ParseGenerated(given); !ok && names[given] == "" {
			names[given] = fmt.Sprintf("%s-%010d", prefix, next)
			next++
		}
	}
	for _, n := range t.All() {
		if n.Kind == topology.Processor {
			name(n.Name, "KSTREAM-PROCESSOR")
		}
		for _, s := range n.Stores {
			name(s, "KSTREAM-AGGREGATE-STATE-STORE")
		}
	}
	text = strings.ReplaceAll(text, ",", " ,")
	for given, generated := range names {
		for _, end := range []string{" ", "\n", "]"} {
			for _, start := range []string{" ", "["} {
				text = strings.ReplaceAll(text, start+given+end, start+generated+end)
			}
		}
	}
	return strings.ReplaceAll(text, " ,", ",")
}

func parse(t testing.TB, text string) *topology.Topology {
	t.Helper()
	m, err := topology.ParseText(text, topology.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return &m.Topologies[0]
}

func diff(t testing.TB, old, new string, o Options) *Result {
	t.Helper()
	r, err := Diff(t.Context(), parse(t, old), parse(t, new), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var counter = regexp.MustCompile(`-\d{10}`)

// renumber changes every generated number of a text.
func renumber(text string, to func(int) int) string {
	return counter.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.Atoi(s[1:])
		return fmt.Sprintf("-%010d", to(n))
	})
}

// top is one more than the highest number of a text.
func top(text string) int {
	n := 0
	for _, s := range counter.FindAllString(text, -1) {
		i, _ := strconv.Atoi(s[1:])
		n = max(n, i+1)
	}
	return n
}

// short says what became of every store and internal topic, a line each.
func short(r *Result) string {
	var b strings.Builder
	for _, items := range [][]Item{r.Stores, r.Topics} {
		for i := range items {
			it := &items[i]
			fmt.Fprintf(&b, "%s %s", it.Change, it.Name())
			if it.Change == Renamed {
				fmt.Fprintf(&b, " -> %s", it.New.Name)
			}
			for _, e := range it.Effects {
				fmt.Fprintf(&b, " %s", e.Code)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
