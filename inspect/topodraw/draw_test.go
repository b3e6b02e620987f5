package topodraw

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sstool/internal/topology"
)

func parse(t testing.TB, file string) []topology.Topology {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := topology.ParseText(string(b), topology.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Topologies
}

// TestGolden draws a real application in every format. UPDATE_GOLDEN=1 rewrites
// what is expected.
func TestGolden(t *testing.T) {
	of := parse(t, "../../testdata/fixtures/4.4.0/mini-opt-alos/describe.txt")
	app := Options{App: "orders"}
	for name, got := range map[string]string{
		"tree.txt":       Tree(of, app),
		"tree-ascii.txt": Tree(of, Options{ASCII: true}),
		"optimized.txt":  Tree(of, Options{App: "orders", Optimized: true}),
		"graph.mmd":      Mermaid(of, app),
		"graph.dot":      DOT(of, app),
	} {
		path := filepath.Join("testdata", name)
		if os.Getenv("UPDATE_GOLDEN") != "" && flag.Lookup("test.fuzz").Value.String() == "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestEveryNodeOnce: the tree has a line for each node, and all names are in
// every format.
func TestEveryNodeOnce(t *testing.T) {
	files, err := filepath.Glob("../../testdata/fixtures/*/*/describe.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		of := parse(t, f)
		tree, mermaid, dot := Tree(of, Options{}), Mermaid(of, Options{}), DOT(of, Options{})
		for _, n := range of[0].All() {
			lines := 0
			for l := range strings.Lines(tree) {
				name := strings.TrimLeft(strings.TrimSpace(l), "↓├└─│ ")
				if (name + " ")[:min(len(n.Name)+1, len(name)+1)] == n.Name+" " && !strings.HasSuffix(name, " (above)") {
					lines++
				}
			}
			if lines != 1 {
				t.Errorf("%s: %s is on %d lines of\n%s", f, n.Name, lines, tree)
			}
			if !strings.Contains(mermaid, `"`+n.Name+`"`) || !strings.Contains(dot, `"`+n.Name+`"`) {
				t.Errorf("%s: %s is missing in a graph", f, n.Name)
			}
		}
	}
}

// TestEscaped: names cannot break out of where they stand.
func TestEscaped(t *testing.T) {
	evil := `a"] --> b; "#<script>&` + "`" + `%%{init}\" \N`
	of := []topology.Topology{{Subtopologies: []topology.Subtopology{{Nodes: []topology.Node{
		{Kind: topology.Source, Name: evil, Pattern: evil, Next: []string{"p"}},
		{Kind: topology.Processor, Name: "p", Stores: []string{evil}, Prev: []string{evil}},
	}}}}}
	checkMermaid(t, Mermaid(of, Options{App: "x"}))
	checkDOT(t, DOT(of, Options{App: "x"}))
	if got := Tree(of, Options{Printable: func(s string) string { return strings.ReplaceAll(s, "a", "?") }}); strings.Contains(got, "a\"]") {
		t.Errorf("not escaped: %s", got)
	}
}

// TestDeep: many branches below each other, and long chains, stay small.
func TestDeep(t *testing.T) {
	var nodes []topology.Node
	for i := range 3000 {
		n := topology.Node{Kind: topology.Processor, Name: "p" + strconv.Itoa(i), Next: []string{"p" + strconv.Itoa(i+1), "leaf" + strconv.Itoa(i)}}
		if i > 0 {
			n.Prev = []string{"p" + strconv.Itoa(i-1)}
		}
		nodes = append(nodes, n, topology.Node{Kind: topology.Processor, Name: "leaf" + strconv.Itoa(i), Prev: []string{n.Name}})
	}
	got := Tree([]topology.Topology{{Subtopologies: []topology.Subtopology{{Nodes: nodes}}}}, Options{})
	if len(got) > 1<<20 || strings.Count(got, "leaf") < 3000 {
		t.Errorf("%d bytes, %d leaves", len(got), strings.Count(got, "leaf"))
	}
}

var (
	mermaidLine  = regexp.MustCompile(`^(flowchart TD|  subgraph g\d+\["L"\]|    n\d+(\["L"\]|\(\["L"\]\))|    s\d+\[\("L(<br/>L)?"\)\]:::store|  end|  t\d+\[/"L"/\]:::(topic|internal)|  [nt]\d+ --> [nt]\d+|  n\d+ -\.- s\d+|  classDef .*)$`)
	mermaidText_ = regexp.MustCompile(`([A-Za-z0-9 ._:,/()-]|#\d+;)+`)
	dotLine      = regexp.MustCompile(`^(digraph topology \{|  node \[shape=box\]|  subgraph cluster_\d+ \{|    label=S|    [ns]\d+ \[label=S(, shape=(oval|cylinder))?\]|  t\d+ \[label=S, shape=cds(, style=dashed)?\]|  [nt]\d+ -> [nt]\d+|  n\d+ -> s\d+ \[dir=none, style=dotted\]|(  )?\})$`)
	dotString    = regexp.MustCompile(`"([^"\\]|\\[\\"n])*"`)
	quoted       = regexp.MustCompile(`"[^"]*"`)
)

// checkMermaid holds every line to what a flowchart may have.
func checkMermaid(t *testing.T, text string) {
	t.Helper()
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		plain := quoted.ReplaceAllStringFunc(l, func(s string) string {
			return `"` + strings.Join(strings.Split(mermaidText_.ReplaceAllString(strings.ReplaceAll(strings.Trim(s, `"`), "<br/>", "\x00"), "L"), "\x00"), "<br/>") + `"`
		})
		if !mermaidLine.MatchString(strings.ReplaceAll(plain, `""`, `"L"`)) {
			t.Errorf("not Mermaid: %q", l)
		}
	}
}

// checkDOT does so for DOT.
func checkDOT(t *testing.T, text string) {
	t.Helper()
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if !dotLine.MatchString(dotString.ReplaceAllString(l, "S")) {
			t.Errorf("not DOT: %q", l)
		}
	}
}

func FuzzDraw(f *testing.F) {
	files, _ := filepath.Glob("../../testdata/fixtures/4.4.0/*/describe.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		m, err := topology.ParseText(text, topology.Options{})
		if err != nil {
			return
		}
		o := Options{App: "orders", Printable: strconv.QuoteToASCII}
		checkMermaid(t, Mermaid(m.Topologies, o))
		checkDOT(t, DOT(m.Topologies, o))
		if Tree(m.Topologies, o) == "" {
			t.Error("no tree")
		}
	})
}
