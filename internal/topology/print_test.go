package topology

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// random makes a topology as an application could have it: named by hand,
// by Kafka Streams, with anything that may stand in such a name.
func random(r *rand.Rand) *Topology {
	t := &Topology{Edgeless: r.IntN(10) == 0}
	if r.IntN(4) == 0 {
		t.Name = name(r)
	}
	names, written := map[string]bool{}, ""
	fresh := func() string {
		for {
			if n := name(r); !names[n] {
				names[n] = true
				return n
			}
		}
	}
	for id := range 1 + r.IntN(4) {
		s := Subtopology{ID: id, Global: r.IntN(5) == 0}
		count := 2 + r.IntN(8)
		for i := range count {
			n := Node{Name: fresh()}
			switch k := r.IntN(10); {
			case i == 0 || k < 2:
				n.Kind = Source
				if r.IntN(3) == 0 {
					n.Pattern = []string{"orders.*", `^db\.(a|b)\.[a-z_]{2,}$`, "[a-z]+[0-9]", "x|y"}[r.IntN(4)]
				} else {
					n.Topics = some(r, topic)
				}
				if written != "" && n.Topics != nil {
					n.Topics, written = append(n.Topics, written), ""
				}
			case k < 7:
				n.Kind, n.Stores = Processor, some(r, name)
			default:
				n.Kind = Sink
				switch r.IntN(4) {
				case 0:
					n.Extractor = []string{"com.acme.App$$Lambda$4/0x0000000800c143a0@70ed52de", "anonymous. topic is [ctx.topic()]-[key]"}[r.IntN(2)]
				case 1:
				default:
					n.Topics = []string{topic(r)}
				}
			}
			s.Nodes = append(s.Nodes, n)
		}
		if !t.Edgeless {
			connect(r, s.Nodes)
		}
		t.Subtopologies = append(t.Subtopologies, s)
	}
	return t
}

// connect draws arrows from nodes to later ones.
func connect(r *rand.Rand, nodes []Node) {
	for i := range nodes {
		for j := i + 1; j < len(nodes); j++ {
			if nodes[i].Kind != Sink && nodes[j].Kind != Source && r.IntN(3) == 0 {
				nodes[i].Next = append(nodes[i].Next, nodes[j].Name)
				nodes[j].Prev = append(nodes[j].Prev, nodes[i].Name)
			}
		}
	}
}

func some(r *rand.Rand, fn func(*rand.Rand) string) []string {
	var out []string
	for range r.IntN(4) {
		out = append(out, fn(r))
	}
	return out
}

func topic(r *rand.Rand) string { return fmt.Sprintf("t.%d_-%c", r.IntN(100), 'a'+rune(r.IntN(26))) }

// name is what a node, store or named topology may be called. Stores.* and
// Topology.addProcessor check nothing, so it is almost anything.
func name(r *rand.Rand) string {
	n := r.IntN(1000)
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("KSTREAM-AGGREGATE-%010d", n)
	case 1:
		return fmt.Sprintf("my store/%d", n)
	case 2:
		return fmt.Sprintf("größe (%d)", n)
	case 3:
		return fmt.Sprintf("Source: x%d", n)
	case 4:
		return fmt.Sprintf("Sub-topology: %d", n)
	case 5:
		return fmt.Sprintf("\"quoted%d\"", n)
	}
	return fmt.Sprintf("n%d", n)
}

// TestIdentity prints random topologies and parses them again.
func TestIdentity(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := random(r)
		before := fmt.Sprintf("%+v", want)
		text := Print(want)
		if fmt.Sprintf("%+v", want) != before {
			t.Fatalf("seed %d: Print changed its topology", seed)
		}
		m, err := ParseText(text, Options{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		want.sort()
		got := &m.Topologies[0]
		if len(m.Topologies) != 1 || len(m.Unparsed()) > 0 || !reflect.DeepEqual(unplaced(got), unplaced(want)) {
			t.Fatalf("seed %d: problems %+v, got\n%s\nof\n%s", seed, m.Problems, Print(got), text)
		}
		shuffle(r, want)
		if again := Print(want); again != text {
			t.Fatalf("seed %d: the order shows:\n%s\nbefore\n%s", seed, again, text)
		}
	}
}

// shuffle changes the order of everything that has none.
func shuffle(r *rand.Rand, t *Topology) {
	mix := func(s []string) { r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] }) }
	r.Shuffle(len(t.Subtopologies), reflect.Swapper(t.Subtopologies))
	for i := range t.Subtopologies {
		r.Shuffle(len(t.Subtopologies[i].Nodes), reflect.Swapper(t.Subtopologies[i].Nodes))
	}
	for _, n := range t.All() {
		mix(n.Topics)
		mix(n.Stores)
		mix(n.Next)
		mix(n.Prev)
	}
}

func TestStable(t *testing.T) {
	for in, want := range map[string]string{
		"com.acme.App$$Lambda$4/0x0000000800c143a0@70ed52de": "com.acme.App$$Lambda@…",
		"com.acme.App$$Lambda$123/1234567@1f":                "com.acme.App$$Lambda@…",
		"com.acme.App$$Lambda/0x00007f3c4c1b6c58@3b9a45b3":   "com.acme.App$$Lambda@…",
		"com.acme.Extractor@5e9f23b4":                        "com.acme.Extractor@…",
		"anonymous. topic is [recordContext.topic()]-[key]":  "anonymous. topic is [recordContext.topic()]-[key]",
	} {
		if got := Stable(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestSizesOfWideGraphs has more paths than an int counts.
func TestSizesOfWideGraphs(t *testing.T) {
	top := &Topology{Subtopologies: []Subtopology{{}}}
	s := &top.Subtopologies[0]
	for layer := range 100 {
		for side := range 4 {
			n := Node{Kind: Processor, Name: fmt.Sprintf("n%03d-%d", layer, side)}
			if layer < 99 {
				for next := range 4 {
					n.Next = append(n.Next, fmt.Sprintf("n%03d-%d", layer+1, next))
				}
			}
			s.Nodes = append(s.Nodes, n)
		}
	}
	text := Print(top)
	if !strings.HasPrefix(text[strings.Index(text, "Processor: "):], "Processor: n000-0 ") || !strings.HasSuffix(text, "n099-3 (stores: [])\n      --> none\n      <-- none\n\n") {
		t.Errorf("%.200s", text)
	}
	// A cycle is no application's, but it ends.
	s.Nodes[len(s.Nodes)-1].Next = []string{"n000-0"}
	if Print(top) == "" {
		t.Error("empty")
	}
}

// big is a topology of so many nodes in chains of ten, twenty to a
// sub-topology.
func big(nodes int) string {
	t := &Topology{}
	for at := 0; at < nodes; {
		s := Subtopology{ID: len(t.Subtopologies)}
		for range 20 {
			for i := range 10 {
				n := Node{Kind: Processor, Name: fmt.Sprintf("KSTREAM-MAPVALUES-%010d", at)}
				switch i {
				case 0:
					n = Node{Kind: Source, Name: fmt.Sprintf("KSTREAM-SOURCE-%010d", at), Topics: []string{fmt.Sprintf("orders-%d", at)}}
				case 4:
					n.Stores = []string{fmt.Sprintf("store-%d", at)}
				case 9:
					n = Node{Kind: Sink, Name: fmt.Sprintf("KSTREAM-SINK-%010d", at), Topics: []string{fmt.Sprintf("out-%d", at)}}
				}
				if i > 0 {
					last := &s.Nodes[len(s.Nodes)-1]
					last.Next, n.Prev = []string{n.Name}, []string{last.Name}
				}
				s.Nodes = append(s.Nodes, n)
				at++
			}
		}
		t.Subtopologies = append(t.Subtopologies, s)
	}
	return Print(t)
}

func BenchmarkParse5000(b *testing.B) {
	text := big(5000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := ParseText(text, Options{})
		if err != nil || m.Topologies[0].Nodes() != 5000 || len(m.Problems) > 0 {
			b.Fatalf("%v, %+v", err, m)
		}
	}
}

func BenchmarkPrint5000(b *testing.B) {
	m, err := ParseText(big(5000), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Print(&m.Topologies[0])
	}
}
