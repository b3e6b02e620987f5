package topology

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"sstool/internal/op"
)

// tiny has one of everything; %s is the topic that tells versions apart.
const tiny = `Topologies:
   Sub-topology: 0
    Source: src (topics: [%s, b])
      --> agg, cut
    Processor: agg (stores: [counts])
      --> none
      <-- src
    Processor: cut (stores: [])
      --> out
      <-- src
    Sink: out (topic: c)
      <-- cut

  Sub-topology: 1 for global store (will not generate tasks)
    Source: gsrc (topics: [g])
      --> gproc
    Processor: gproc (stores: [gs])
      --> none
      <-- gsrc
`

func version(topic string) string { return fmt.Sprintf(tiny, topic) }

// unplaced is the topology without what only its text has.
func unplaced(t *Topology) *Topology {
	c := t.clone()
	c.File, c.ApplicationID, c.Line, c.Print = "", "", 0, 0
	for i := range c.Subtopologies {
		c.Subtopologies[i].Line = 0
	}
	for _, n := range c.All() {
		n.Line, n.NextLine, n.PrevLine = 0, 0, 0
	}
	return c
}

// TestWrappings says the same topology in many ways.
func TestWrappings(t *testing.T) {
	plain := version("a")
	each := func(fn func(string) string) string {
		var b strings.Builder
		for _, l := range strings.Split(strings.TrimSuffix(plain, "\n"), "\n") {
			b.WriteString(fn(l) + "\n")
		}
		return b.String()
	}
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	m, err := ParseText(plain, Options{})
	if err != nil || len(m.Problems) > 0 {
		t.Fatalf("%v, %+v", err, m)
	}
	want := unplaced(&m.Topologies[0])
	for name, text := range map[string]string{
		"CRLF":            strings.ReplaceAll(plain, "\n", "\r\n"),
		"tabs":            strings.ReplaceAll(plain, "    ", "\t"),
		"no indentation":  each(strings.TrimSpace),
		"no blank lines":  strings.ReplaceAll(plain, "\n\n", "\n"),
		"blank lines":     strings.ReplaceAll(plain, "\n", "\n\n"),
		"trailing spaces": each(func(s string) string { return s + "   " }),
		"no header":       strings.TrimPrefix(plain, "Topologies:\n"),
		"byte order mark": "\ufeff" + plain,
		"ANSI": each(func(s string) string {
			return "\x1b[32m" + strings.ReplaceAll(s, "-->", "\x1b[1m-->\x1b[0m") + "\x1b[0m"
		}),
		"log prefix":      each(func(s string) string { return "2026-11-29 09:41:00.948 [main] INFO  com.acme.App - " + s }),
		"first line log":  "09:41:00.948 [main] INFO com.acme.App - " + plain,
		"compose":         each(func(s string) string { return "word-count_1  | " + s }),
		"kubectl":         each(func(s string) string { return "[pod/orders-0/app] " + s }),
		"comment":         "/*\n" + each(func(s string) string { return " * " + s }) + " */\n",
		"line comment":    each(func(s string) string { return "        // " + s }),
		"quote":           each(func(s string) string { return "> " + s }),
		"fence":           "```\n" + plain + "```\n",
		"java strings":    each(func(s string) string { return "            \"" + s + "\\n\" +" }),
		"java assignment": "String expected = \"" + strings.ReplaceAll(strings.TrimSuffix(plain, "\n"), "\n", "\\n\" +\n    \"") + "\";\n",
		"java one line":   "assertEquals(\"" + strings.ReplaceAll(plain, "\n", "\\n") + "\");",
		"kotlin margin":   "\"\"\"\n" + each(func(s string) string { return "    |" + s }) + "\"\"\".trimMargin()\n",
		"html":            strings.NewReplacer("-->", "--&gt;", "<--", "&lt;--").Replace(plain),
		"typography":      strings.NewReplacer("-->", "–>", "<--", "<–", "    ", "\u00a0\u00a0\u00a0 ").Replace(plain),
		"one line nodes":  strings.NewReplacer("\n      -->", " -->", "\n      <--", " <--").Replace(plain),
		"kafka 1.0":       strings.NewReplacer("\n      -->", " -->", "\n      <--", " <--", " (topics: [a, b])", "(topics: a, b)", "Topologies", "Sub-topologies").Replace(plain),
		"viz":             "Topology\nSub-topologies:\n" + strings.TrimPrefix(each(strings.TrimSpace), "Topologies:\n"),
		"broker":          strings.NewReplacer("  Sub-topology: 1", "   Sub-topology: 1", "[a, b]", "[b, a]").Replace(plain) + "\n",
		"json string":     quoted(plain),
		"json array":      "[" + quoted(plain) + "]",
		"json marked":     "\ufeff[" + quoted(plain) + "]",
		"json object":     `{"status": "ok", "nested": {"topology": ` + quoted(plain) + `}, "more": [1, null]}`,
		"json lines":      `{"level":"INFO","message":"starting"}` + "\n" + `{"level":"INFO","message":` + quoted(plain) + "}\n",
		"json log":        "starting\n" + `{"level":"INFO","message":` + quoted(plain) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ParseText(text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			noise := map[string]int{"kotlin margin": 1, "json log": 1}[name]
			if len(m.Problems) != noise || len(m.Topologies) != 1 {
				t.Errorf("%d topologies, problems %+v", len(m.Topologies), m.Problems)
			}
			if got := unplaced(&m.Topologies[0]); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s", Print(got))
			}
		})
	}
}

// TestUTF16 reads what PowerShell's > writes.
func TestUTF16(t *testing.T) {
	text := strings.ReplaceAll(version("a"), "gproc", "größe😀")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := order.AppendUint16(nil, 0xfeff)
		for _, u := range utf16.Encode([]rune(strings.ReplaceAll(text, "\n", "\r\n"))) {
			b = order.AppendUint16(b, u)
		}
		for _, log := range []bool{false, true} {
			m, err := Parse(bytes.NewReader(b), Options{Log: log})
			if err != nil || len(m.Problems) > 0 || topics(m) != "1:a" || m.Topologies[0].Index()["größe😀"] == nil {
				t.Errorf("%v: %v, %+v", order, err, m)
			}
		}
	}
}

func TestBrokerDescription(t *testing.T) {
	m, err := ParseText(`Topologies:
   Sub-topology: 0
    Source: s (topics: [orders.*])
      --> k
    Sink: k (topic: null)
      <-- s

   Sub-topology: 1 for global store (will not generate tasks)
    Source: g (topics: [t])
      --> p
    Processor: p (stores: [st])
      --> none
      <-- g

`, Options{})
	if err != nil || len(m.Problems) > 0 {
		t.Fatalf("%v, %+v", err, m)
	}
	nodes := m.Topologies[0].Index()
	if s := nodes["s"]; s.Pattern != "orders.*" || s.Topics != nil {
		t.Errorf("source %+v", s)
	}
	if k := nodes["k"]; !k.Dynamic() {
		t.Errorf("sink %+v", k)
	}
}

// TestLines holds the lines of everything.
func TestLines(t *testing.T) {
	m, err := ParseText("starting\n"+version("a"), Options{File: "t.txt"})
	if err != nil {
		t.Fatal(err)
	}
	top := m.Topologies[0]
	nodes := top.Index()
	if n := nodes["agg"]; top.File != "t.txt" || top.Line != 2 || top.Subtopologies[1].Line != 15 || n.Line != 6 || n.NextLine != 7 || n.PrevLine != 8 {
		t.Errorf("%+v, %+v", top, n)
	}
	if s := top.Stores(); s[0].Line != 6 || s[1].Line != 18 {
		t.Errorf("stores %+v", s)
	}
	if u := m.Unparsed(); len(u) != 1 || u[0].Line != 1 || u[0].Text != "starting" {
		t.Errorf("unparsed %+v", u)
	}
	quoted, _ := json.Marshal(version("a"))
	m, err = ParseText("[\n\n"+string(quoted)+",\n "+string(quoted)+"]", Options{})
	if err != nil || len(m.Topologies) != 2 || m.Topologies[0].Line != 3 || m.Topologies[1].Line != 4 {
		t.Errorf("%v, %+v, want two applications in lines 3 and 4", err, m)
	}
}

func topics(m *Model) string {
	var out []string
	for _, t := range m.Topologies {
		out = append(out, fmt.Sprintf("%d:%s%s", t.Print, t.Name, t.Index()["src"].Topics[0]))
	}
	return strings.Join(out, " ")
}

// TestRestarts reads logs with a topology per start.
func TestRestarts(t *testing.T) {
	noise := "INFO ready in 5 ms\n[main] WARN Sink: closed\n"
	a, b := noise+version("a")+noise, noise+version("aa")+noise
	lambda := func(hash string) string {
		return strings.Replace(version("a"), "(topic: c)", "(extractor class: com.acme.App$$Lambda$"+hash+"/0x0000000800c143a0@70ed52"+hash+")", 1)
	}
	named := func(name, topic string) string {
		return strings.Replace(version(topic), "Topologies:", "Topology: "+name+":", 1)
	}
	half := version("x")[:150]
	for _, c := range []struct {
		name, text string
		all        bool
		want       string
		earlier    int
		problems   string
	}{
		{"once", a, false, "1:a", 0, ""},
		{"twice", a + a, false, "2:a", 0, ""},
		{"twice, all", a + a, true, "2:a", 0, ""},
		{"changed", a + b, false, "2:aa", 1, ""},
		{"changed, all", a + b, true, "1:a 2:aa", 0, ""},
		{"and back", a + b + a, false, "3:a", 1, ""},
		{"and back, all", a + b + a, true, "2:aa 3:a", 0, ""},
		{"lambdas", lambda("41") + lambda("42"), false, "2:a", 0, ""},
		{"lambdas, all", lambda("41") + lambda("42"), true, "2:a", 0, ""},
		{"first cut", half + a, false, "2:a", 0, "incomplete"},
		{"named", named("n1", "a") + named("n2", "b"), false, "1:n1a 1:n2b", 0, ""},
		{"named restart", named("n1", "a") + named("n2", "a") + named("n1", "a") + named("n2", "aa"), false, "2:n1a 2:n2aa", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(strings.NewReader(c.text), Options{All: c.all, Log: true})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, p := range m.Problems {
				kinds = append(kinds, string(p.Kind))
			}
			if got := topics(m); got != c.want || m.Earlier != c.earlier || strings.Join(kinds, " ") != c.problems {
				t.Errorf("topologies %s, %d earlier, problems %+v", got, m.Earlier, m.Problems)
			}
		})
	}
	if _, err := Parse(strings.NewReader(half+a), Options{All: true, Log: true}); op.KindOf(err) != op.Usage {
		t.Errorf("%v, want an error: all are wanted and the first is cut", err)
	}
	if m, err := Parse(strings.NewReader(a+half), Options{Log: true}); op.KindOf(err) != op.Usage {
		t.Errorf("%+v, %v, want an error: the last one is cut", m, err)
	}
	m, err := Parse(strings.NewReader(a), Options{Log: true})
	if err != nil || m.Around != 4 {
		t.Errorf("%v, %d lines around, want 4", err, m.Around)
	}
	// A line of another thread in the middle is not around it.
	m, err = Parse(strings.NewReader(strings.Replace(a, "  Sub-topology: 1", "INFO tick\n  Sub-topology: 1", 1)), Options{Log: true})
	if err != nil || len(m.Unparsed()) != 1 || m.Unparsed()[0].Text != "INFO tick" {
		t.Errorf("%v, %+v", err, m)
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		kind     ProblemKind
		line     int
		message  string
	}{
		"arrow back too much": {"      <-- cut\n", "      <-- cut, agg\n", Contradiction, 11, `"out" <-- "agg", but line 6 has no "agg" --> "out": there is none`},
		"arrow back missing":  {"--> out", "--> out, agg", Contradiction, 9, `"cut" --> "agg", but line 7 has no "agg" <-- "cut": there is one`},
		"repartition topic":   {"(topic: c)", "(topic: by-user-repartition)", Loose, 11, `written but never read`},
		"not understood":      {"  Sub-topology: 1", "What is this?\n  Sub-topology: 1", UnparsedLine, 13, `not understood: "What is this?"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := version("a")
			if !strings.Contains(text, c.from) {
				t.Fatalf("no %q", c.from)
			}
			if name == "arrow back too much" || name == "not understood" {
				c.line = strings.Count(text[:strings.Index(text, c.from)], "\n") + 1
			}
			m, err := ParseText(strings.Replace(text, c.from, c.to, 1), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Problems) != 1 || m.Problems[0].Kind != c.kind || !strings.Contains(m.Problems[0].Message, c.message) {
				t.Errorf("%+v", m.Problems)
			}
			if m.Problems[0].Line == 0 || c.kind == UnparsedLine && m.Problems[0].Line != c.line {
				t.Errorf("line %d, want %d", m.Problems[0].Line, c.line)
			}
		})
	}
	// "-->" is right.
	m, err := ParseText(strings.Replace(version("a"), "--> out", "--> out, agg", 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Topologies[0].Index()["agg"].Prev; !reflect.DeepEqual(got, []string{"cut", "src"}) {
		t.Errorf("agg <-- %v", got)
	}
	// No arrows at all.
	m, err = ParseText("Sub-topology: 0\nSource: s (topics: [a])\nProcessor: p (stores: [b])\n", Options{})
	if err != nil || !m.Topologies[0].Edgeless || len(m.Problems) != 1 || m.Problems[0].Kind != NoEdges {
		t.Errorf("%v, %+v", err, m)
	}
	// The number of problems told is bounded.
	m, err = ParseText(version("a")+strings.Repeat("noise\n", 5000), Options{})
	if err != nil || len(m.Problems) != maxProblems+1 || m.Problems[maxProblems].Message != "4000 more lines like these" {
		t.Errorf("%v, %d problems", err, len(m.Problems))
	}
}
