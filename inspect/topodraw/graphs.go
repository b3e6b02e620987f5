package topodraw

import (
	"fmt"
	"strings"

	"sstool/internal/topology"
)

// Mermaid draws topologies as one flowchart.
func Mermaid(of []topology.Topology, o Options) string {
	m := &mermaid{}
	m.b.WriteString("flowchart TD\n")
	drawGraphs(m, of, o)
	m.b.WriteString("  classDef store fill:#fff3cd,stroke:#a67c00\n  classDef internal fill:#e2e3e5,stroke:#6c757d\n  classDef topic fill:#d1e7dd,stroke:#2f6f4f\n")
	return m.b.String()
}

// DOT draws topologies as one graph of Graphviz.
func DOT(of []topology.Topology, o Options) string {
	d := &dot{}
	d.b.WriteString("digraph topology {\n  node [shape=box]\n")
	drawGraphs(d, of, o)
	d.b.WriteString("}\n")
	return d.b.String()
}

// graphWriter writes the elements of one format. Labels come as they are.
type graphWriter interface {
	begin(number int, label string) // of a sub-topology
	node(id string, kind topology.NodeKind, label string)
	store(id, label, changelog string)
	end()
	topic(id, label string, internal bool)
	flow(from, to string)
	uses(node, store string)
}

// drawGraphs writes all elements: sub-topologies with their nodes and stores,
// then topics, then arrows. Ids are made of numbers only.
func drawGraphs(w graphWriter, of []topology.Topology, o Options) {
	nodes, stores, topics, subs := 0, 0, 0, 0
	for i := range of {
		p := newPicture(&of[i], o)
		ids, storeIDs := map[string]string{}, map[string]map[string]string{}
		for j := range of[i].Subtopologies {
			s := &of[i].Subtopologies[j]
			w.begin(subs, o.clean(p.title(s)))
			subs++
			for k := range s.Nodes {
				ids[s.Nodes[k].Name] = fmt.Sprintf("n%d", nodes)
				w.node(ids[s.Nodes[k].Name], s.Nodes[k].Kind, o.clean(s.Nodes[k].Name))
				nodes++
			}
			own := map[string]string{}
			for _, name := range storesOf(s) {
				own[name] = fmt.Sprintf("s%d", stores)
				log := ""
				if !s.Global {
					log = o.clean(p.logs[name])
				}
				w.store(own[name], o.clean(name), log)
				stores++
			}
			for k := range s.Nodes {
				storeIDs[s.Nodes[k].Name] = own
			}
			w.end()
		}
		for k := range p.topics {
			t := &p.topics[k]
			id := fmt.Sprintf("t%d", topics)
			topics++
			w.topic(id, o.clean(t.name), t.internal)
			for _, n := range t.writers {
				w.flow(ids[n.Name], id)
			}
			for _, n := range t.readers {
				w.flow(id, ids[n.Name])
			}
		}
		for _, n := range of[i].All() {
			for _, next := range n.Next {
				if to, ok := ids[next]; ok {
					w.flow(ids[n.Name], to)
				}
			}
			for _, s := range n.Stores {
				w.uses(ids[n.Name], storeIDs[n.Name][s])
			}
		}
	}
}

type mermaid struct{ b strings.Builder }

func (m *mermaid) begin(number int, label string) {
	fmt.Fprintf(&m.b, "  subgraph g%d[\"%s\"]\n", number, mermaidText(label))
}

func (m *mermaid) node(id string, kind topology.NodeKind, label string) {
	shape := `[%s]`
	if kind != topology.Processor {
		shape = `([%s])`
	}
	fmt.Fprintf(&m.b, "    %s"+shape+"\n", id, `"`+mermaidText(label)+`"`)
}

func (m *mermaid) store(id, label, changelog string) {
	text := mermaidText(label)
	if changelog != "" {
		text += "<br/>" + mermaidText(changelog)
	}
	fmt.Fprintf(&m.b, "    %s[(\"%s\")]:::store\n", id, text)
}

func (m *mermaid) end() { m.b.WriteString("  end\n") }

func (m *mermaid) topic(id, label string, internal bool) {
	class := "topic"
	if internal {
		class = "internal"
	}
	fmt.Fprintf(&m.b, "  %s[/\"%s\"/]:::%s\n", id, mermaidText(label), class)
}

func (m *mermaid) flow(from, to string)    { fmt.Fprintf(&m.b, "  %s --> %s\n", from, to) }
func (m *mermaid) uses(node, store string) { fmt.Fprintf(&m.b, "  %s -.- %s\n", node, store) }

// mermaidText is a label inside quotes: whatever may mean something there is
// written as an entity, "#35;".
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ._-:,/()", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

type dot struct{ b strings.Builder }

func (d *dot) begin(number int, label string) {
	fmt.Fprintf(&d.b, "  subgraph cluster_%d {\n    label=%s\n", number, dotText(label))
}

func (d *dot) node(id string, kind topology.NodeKind, label string) {
	shape := ""
	if kind != topology.Processor {
		shape = ", shape=oval"
	}
	fmt.Fprintf(&d.b, "    %s [label=%s%s]\n", id, dotText(label), shape)
}

func (d *dot) store(id, label, changelog string) {
	text := dotText(label)
	if changelog != "" {
		text = strings.TrimSuffix(text, `"`) + `\n` + strings.TrimPrefix(dotText(changelog), `"`)
	}
	fmt.Fprintf(&d.b, "    %s [label=%s, shape=cylinder]\n", id, text)
}

func (d *dot) end() { d.b.WriteString("  }\n") }

func (d *dot) topic(id, label string, internal bool) {
	style := ""
	if internal {
		style = ", style=dashed"
	}
	fmt.Fprintf(&d.b, "  %s [label=%s, shape=cds%s]\n", id, dotText(label), style)
}

func (d *dot) flow(from, to string) { fmt.Fprintf(&d.b, "  %s -> %s\n", from, to) }
func (d *dot) uses(node, store string) {
	fmt.Fprintf(&d.b, "  %s -> %s [dir=none, style=dotted]\n", node, store)
}

// dotText is a quoted string: a backslash would begin an escape of labels.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
