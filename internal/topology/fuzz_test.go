package topology

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sstool/internal/op"
)

var tame = regexp.MustCompile(`^[\w.-]*$`)

// FuzzParse says that any text is a model or a usage error, that what a model
// points at is in it, and that it is printed as it is.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"../../testdata/topologies/*.txt", "../../testdata/fixtures/*/*/describe.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b), false, false)
			f.Add(string(b)+"noise\n"+string(b[:len(b)/2]), true, true)
		}
	}
	f.Fuzz(func(t *testing.T, text string, all, log bool) {
		m, err := Parse(strings.NewReader(text), Options{All: all, Log: log})
		if err != nil {
			if op.KindOf(err) != op.Usage {
				t.Errorf("%v, want a usage error", err)
			}
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, p := range m.Problems {
			if p.Line < 0 || p.Line > lines || p.Message == "" {
				t.Errorf("problem %+v in a text of %d lines", p, lines)
			}
		}
		for i := range m.Topologies {
			holds(t, &m.Topologies[i], lines)
		}
	})
}

func holds(t *testing.T, top *Topology, lines int) {
	index := top.Index()
	plain := tame.MatchString(top.Name)
	for _, n := range top.All() {
		if n.Line < 1 || n.Line > lines || n.NextLine > lines || n.PrevLine > lines {
			t.Errorf("%+v in a text of %d lines", n, lines)
		}
		for _, to := range n.Next {
			if next := index[to]; next == nil || !slices.Contains(next.Prev, n.Name) {
				t.Errorf("%q --> %q, which is %+v", n.Name, to, next)
			}
		}
		for _, s := range slices.Concat([]string{n.Name, n.Pattern, n.Extractor}, n.Topics, n.Stores) {
			plain = plain && tame.MatchString(s) && s != "none"
		}
	}
	for _, s := range top.Stores() {
		if _, ok := top.StoreSubtopology(s.Name); !ok {
			t.Errorf("store %q has no sub-topology", s.Name)
		}
	}
	top.InternalTopics("app")
	if !plain {
		return
	}
	m, err := ParseText(Print(top), Options{})
	if err != nil || len(m.Topologies) != 1 || !reflect.DeepEqual(unplaced(&m.Topologies[0]), unplaced(top)) {
		t.Errorf("%v: printed\n%s", err, Print(top))
	}
}

// TestMemory reads texts made to be expensive.
func TestMemory(t *testing.T) {
	const size = 256 << 10
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	head := "Topologies:\nSub-topology: 0\nSource: s (topics: [t])\n--> none\n"
	for name, text := range map[string]string{
		"noise":          repeat("x\n"),
		"empty lines":    repeat("\n"),
		"noise behind":   head + repeat("x\n"),
		"nodes":          head + repeat("Sink: a (topic: b)\n"),
		"stores":         head + "Processor: p (stores: [" + repeat("a,") + "])\n--> none\n<-- none\n",
		"topics":         head + "Source: p (topics: [" + repeat("a,") + "])\n--> none\n",
		"arrows":         head + "--> " + repeat("a,") + "s\n",
		"arrow lines":    head + repeat("--> s\n"),
		"arrows in line": head + repeat("--> s "),
		"headers":        repeat("Topologies:\n"),
		"topologies":     repeat(head),
		"subtopologies":  head + repeat("Sub-topology: 1\n"),
		"named":          repeat("Topology: n:\n"),
		"brackets":       head + "Source: p (topics: " + repeat("[") + ")\n",
		"parentheses":    head + "Source: " + repeat("(") + "\n",
		"escapes":        head + repeat("\x1b[0m"),
		"json":           repeat("[") + "Sub-topology",
		"json strings":   "[" + repeat(`"Sub-topology: 0",`) + "1]",
		"json text":      `["` + repeat(`Sub-topology: 0\n`) + `"]`,
	} {
		for _, log := range []bool{false, true} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := Parse(strings.NewReader(text), Options{Log: log, All: true})
			runtime.ReadMemStats(&after)
			// The race detector doubles what is allocated.
			if got := after.TotalAlloc - before.TotalAlloc; got > 500*size {
				t.Errorf("%s: %d bytes for %d of text", name, got, size)
			}
			if err == nil && m.Topologies == nil {
				t.Errorf("%s: no topology and no error", name)
			}
		}
	}
}
