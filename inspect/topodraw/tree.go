package topodraw

import (
	"fmt"
	"strings"

	"sstool/internal/topology"
)

// maxDepth is how many branches deep a tree is drawn; what is below starts at
// the margin again.
const maxDepth = 24

// Tree draws topologies as text. What one node feeds goes on below it, what
// several feed is drawn below the first and named below the others.
func Tree(of []topology.Topology, o Options) string {
	d := &treeDrawer{o: &o, lines: unicodeLines}
	if o.ASCII {
		d.lines = asciiLines
	}
	for i := range of {
		d.p = newPicture(&of[i], o)
		for j := range of[i].Subtopologies {
			if i+j > 0 {
				d.b.WriteByte('\n')
			}
			d.subtopology(&of[i].Subtopologies[j])
		}
	}
	return d.b.String()
}

type treeLines struct{ down, branch, last, bar, from, to string }

var (
	unicodeLines = treeLines{"↓ ", "├─ ", "└─ ", "│  ", "←", "→"}
	asciiLines   = treeLines{"v ", "|- ", "`- ", "|  ", "<-", "->"}
)

type treeDrawer struct {
	o     *Options
	p     *picture
	lines treeLines
	b     strings.Builder
	nodes map[string]*topology.Node // of the sub-topology
	drawn map[string]bool
	later []*topology.Node
}

func (d *treeDrawer) subtopology(s *topology.Subtopology) {
	fmt.Fprintf(&d.b, "%s\n", d.o.clean(d.p.title(s)))
	d.nodes, d.drawn, d.later = map[string]*topology.Node{}, map[string]bool{}, nil
	for i := range s.Nodes {
		d.nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	root := func(n *topology.Node) {
		for d.later = []*topology.Node{n}; len(d.later) > 0; {
			n, d.later = d.later[0], d.later[1:]
			if !d.drawn[n.Name] {
				d.node(n, "", "", 0)
			}
		}
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; len(n.Prev) == 0 {
			root(n)
		}
	}
	for i := range s.Nodes { // on a circle, which only a wrong text has
		root(&s.Nodes[i])
	}
	for _, name := range storesOf(s) {
		if log, ok := d.p.logs[name]; ok && !s.Global {
			fmt.Fprintf(&d.b, "[%s] changelog %s\n", d.o.clean(name), d.o.clean(log))
		}
	}
}

// node draws a node and what is below it. first stands before its own line,
// rest before the others.
func (d *treeDrawer) node(n *topology.Node, first, rest string, depth int) {
	for {
		d.line(n, first)
		d.drawn[n.Name] = true
		switch {
		case len(n.Next) == 0:
			return
		case len(n.Next) > 1:
			d.branches(n, rest, depth)
			return
		}
		next := d.nodes[n.Next[0]]
		if next == nil {
			return
		}
		first = rest + d.lines.down
		if d.drawn[next.Name] {
			d.seen(next, first)
			return
		}
		n = next
	}
}

func (d *treeDrawer) branches(n *topology.Node, rest string, depth int) {
	for i, name := range n.Next {
		next := d.nodes[name]
		if next == nil {
			continue
		}
		first, below := rest+d.lines.branch, rest+d.lines.bar
		if i == len(n.Next)-1 {
			first, below = rest+d.lines.last, rest+"   "
		}
		switch {
		case d.drawn[name]:
			d.seen(next, first)
		case depth >= maxDepth:
			d.b.WriteString(first + d.o.clean(name) + " (below)\n")
			d.later = append(d.later, next)
		default:
			d.node(next, first, below, depth+1)
		}
	}
}

// seen names a node that is drawn elsewhere.
func (d *treeDrawer) seen(n *topology.Node, first string) {
	d.b.WriteString(first + d.o.clean(n.Name) + " (above)\n")
}

func (d *treeDrawer) line(n *topology.Node, first string) {
	d.b.WriteString(first + d.o.clean(n.Name))
	for _, s := range n.Stores {
		d.b.WriteString(" [" + d.o.clean(s) + "]")
	}
	arrow := " " + d.lines.from + " "
	if n.Kind == topology.Sink {
		arrow = " " + d.lines.to + " "
	}
	for i, t := range d.p.of(n) {
		if i > 0 {
			arrow = ", "
		}
		d.b.WriteString(arrow + d.o.clean(t.name))
		if t.internal {
			d.b.WriteString(" (internal)")
		}
	}
	d.b.WriteByte('\n')
}
