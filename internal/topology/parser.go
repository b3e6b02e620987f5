package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxNodes = 1 << 20 // of a topology; no application has that many
	maxLine  = 1 << 10 // bytes told of a line that was not understood
)

// parser puts lines together. A print is what one describe() printed: one
// topology, or all those of an application with named ones.
type parser struct {
	o        Options
	m        *Model
	appID    string
	together bool   // the next topology belongs to the print: an array held both
	first    string // the first line with something on it
	hinted   bool   // there were words of a topology
	prefix   string // before the last line that was understood

	print    []Topology // the last one is being read while open
	open     bool
	err      *fault // the first thing that makes the print unusable
	header   *header
	node     *Node        // arrows belong to it
	subs     map[int]bool // numbers of its sub-topologies
	nodes    int
	next     bool      // the topology has "-->"
	prev     bool      // it has "<--"
	globals  bool      // node is the source of a global store that still lacks its processor
	problems []Problem // of the print
	pending  []Problem // lines not understood since its last line; perhaps behind it
	around   int       // those of them that were not kept

	nodeRoom []Node   // for those of the next sub-topology
	nameRoom []string // see room

	results
}

// header is a "Topologies:" line that waits for its first sub-topology.
type header struct {
	line   int
	text   string
	name   string
	strong bool // nothing but a topology begins so
}

func newParser(o Options) *parser {
	return &parser{o: o, m: &Model{File: o.File}, appID: o.ApplicationID}
}

func (p *parser) topology() *Topology { return &p.print[len(p.print)-1] }

func (p *parser) sub() *Subtopology {
	subs := p.topology().Subtopologies
	return &subs[len(subs)-1]
}

// fault is why a print is unusable.
type fault struct {
	line int
	err  error
}

// fail notes a fault. Reading goes on: a later print may do.
func (p *parser) fail(line int, format string, args ...any) {
	if p.err == nil {
		p.err = &fault{line, fmt.Errorf(format, args...)}
	}
}

// cutOff notes a fault without which the text would be whole.
func (p *parser) cutOff(line int, format string, args ...any) {
	p.fail(line, format+": the text is cut off or lines are missing", args...)
}

func (p *parser) line(number int, s string) {
	if !p.hinted {
		p.hinted = hints(s)
	}
	r := recognise(s)
	switch {
	case r.kind == decoration, r.kind == noneLine && p.open, r.kind == otherLine && p.empty(s):
	case r.kind == headerLine:
		p.begin(number, s, r)
	case r.kind == subLine:
		p.subtopology(number, r)
	case r.kind == globalLine && (p.open || p.header != nil):
		p.globalStore(number, r)
	case r.kind == noneLine && p.header != nil:
	case !p.open || r.kind == otherLine || r.kind == noneLine:
		p.unparsed(number, s)
	default:
		p.noHeader()
		p.inside()
		p.part(number, r)
	}
	if r.at > 0 {
		p.prefix = s[:r.at]
	}
}

// empty says whether a line is nothing but the prefix that a log, or a
// container's name, puts before each.
func (p *parser) empty(s string) bool {
	return p.prefix != "" && sameShape(strings.TrimSpace(s), strings.TrimSpace(p.prefix))
}

// sameShape compares but for digits: times differ.
func sameShape(a, b string) bool {
	if len(a) != len(b) || a == "" {
		return false
	}
	for i := range len(a) {
		digits := a[i] >= '0' && a[i] <= '9' && b[i] >= '0' && b[i] <= '9'
		if a[i] != b[i] && !digits {
			return false
		}
	}
	return true
}

// part is a line of a sub-topology.
func (p *parser) part(number int, r recognised) {
	switch {
	case r.kind == cutNode && r.name != "":
		p.cutOff(number, "%s %q has no closing parenthesis", r.node, r.name)
	case r.kind == cutNode:
		p.cutOff(number, "the %s has no closing parenthesis", r.node)
	case r.kind == arrowLine && p.node == nil:
		p.cutOff(number, "an arrow below no node")
	case r.kind == arrowLine && p.globals:
		p.globalProcessor(number, r.arrows)
	case r.kind == arrowLine:
		p.edges(number, r.arrows)
	default:
		p.add(number, r)
	}
}

func (p *parser) unparsed(number int, s string) {
	if len(p.pending) == maxProblems {
		p.around++
		return
	}
	s = strings.TrimSpace(s)
	if len(s) > maxLine {
		s = strings.ToValidUTF8(s[:maxLine], "") + "…"
	}
	p.pending = append(p.pending, Problem{Kind: UnparsedLine, Line: number, Text: s, Message: fmt.Sprintf("not understood: %.200q", s)})
}

// inside says that the lines pending stand in the middle of the print.
func (p *parser) inside() {
	p.problems = append(p.problems, p.pending...)
	p.more += p.around
	p.pending, p.around = p.pending[:0], 0
}

// begin notes a header; only a sub-topology below it begins a topology.
func (p *parser) begin(number int, s string, r recognised) {
	h := &header{line: number, text: s, name: r.name, strong: r.strong}
	if p.header != nil { // "Topology", then "Sub-topologies:"
		h.line, h.text, h.strong = p.header.line, p.header.text, h.strong || p.header.strong
		if h.name == "" {
			h.name = p.header.name
		}
	}
	p.header = h
}

// noHeader drops a header that no sub-topology follows.
func (p *parser) noHeader() {
	h := p.header
	p.header = nil
	switch {
	case h == nil:
	case h.strong && p.open:
		p.cutOff(h.line, "no sub-topology below %q", strings.TrimSpace(h.text))
	default:
		p.unparsed(h.line, h.text)
	}
}

func (p *parser) subtopology(number int, r recognised) {
	id, err := strconv.ParseUint(r.id, 10, 31)
	h := p.header
	p.header = nil
	if !p.open || h != nil || err == nil && p.subs[int(id)] {
		if h == nil {
			h = &header{line: number}
		}
		p.start(h)
	}
	p.inside()
	if err != nil {
		p.fail(number, "sub-topology number %s is not one", r.id)
	}
	p.subs[int(id)] = true
	p.addSub(Subtopology{ID: int(id), Global: r.global, Line: number})
}

func (p *parser) addSub(s Subtopology) {
	t := p.topology()
	if len(t.Subtopologies) > 0 {
		p.endSub()
	}
	s.Nodes = p.nodeRoom
	t.Subtopologies = append(t.Subtopologies, s)
	p.node, p.globals = nil, false
}

// endSub leaves the room behind its nodes to those of the next one.
func (p *parser) endSub() {
	s := p.sub()
	s.Nodes = slices.Clip(s.Nodes)
}

// start begins a topology, and with it mostly a print.
func (p *parser) start(h *header) {
	p.endTopology()
	joins := p.together
	if h.name != "" && len(p.print) > 0 {
		clash := func(t Topology) bool { return t.Name == "" || t.Name == h.name }
		joins = joins || !slices.ContainsFunc(p.print, clash)
	}
	if !joins {
		p.endPrint()
	}
	p.together = false
	p.print = append(p.print, Topology{Name: h.name, ApplicationID: p.appID, File: p.o.File, Line: h.line})
	p.open, p.next, p.prev, p.nodes, p.subs = true, false, false, 0, map[int]bool{}
}

// endTopology checks what only a whole topology tells.
func (p *parser) endTopology() {
	if !p.open {
		return
	}
	p.open, p.node = false, nil
	p.endSub()
	p.check(p.topology())
}

// endPrint ends what one describe() printed.
func (p *parser) endPrint() {
	p.endTopology()
	if p.o.Log {
		p.m.Around += len(p.pending) + p.around
		p.pending, p.around = p.pending[:0], 0
	} else {
		p.inside()
	}
	if len(p.print) == 0 {
		p.tell(p.problems)
	} else {
		p.settle()
		p.last = result{p.print, p.problems, p.err}
	}
	p.print, p.problems, p.err = nil, nil, nil
}
