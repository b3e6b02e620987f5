package topology

import (
	"slices"
	"strings"
)

// add takes a node line.
func (p *parser) add(number int, r recognised) {
	n := Node{Kind: r.node, Name: r.name, Line: number}
	switch {
	case n.Kind == Source && r.what == "topics":
		// Kafka 1.0 printed no brackets around topics, brokers of 4.4 do
		// around a pattern.
		value, list := unbracket(r.value)
		if (list || r.tight) && legal(value) {
			n.Topics = p.split(value)
		} else {
			n.Pattern = value
		}
	case n.Kind == Processor && r.what == "stores":
		value, _ := unbracket(r.value)
		n.Stores = p.split(value)
	case n.Kind == Sink && r.what == "topic" && r.value == "null": // a dynamic sink, as brokers describe it
	case n.Kind == Sink && r.what == "topic":
		n.Topics = append(p.room(1), r.value)
	case n.Kind == Sink && r.what == "extractor class":
		n.Extractor = r.value
	default:
		p.fail(number, "a %s with %q", r.node, r.what)
	}
	if p.nodes++; p.nodes > maxNodes {
		p.fail(number, "more than %d nodes: not a topology", maxNodes)
		return
	}
	s := p.sub()
	if len(s.Nodes) == cap(s.Nodes) {
		s.Nodes = slices.Grow(s.Nodes, max(1, len(s.Nodes))) // append alone copies large ones more often
	}
	s.Nodes = append(s.Nodes, n)
	p.nodeRoom = s.Nodes[len(s.Nodes):]
	p.node = &s.Nodes[len(s.Nodes)-1]
	if r.arrows != "" {
		p.edges(number, r.arrows)
	}
}

// edges reads "--> a, b" and "<-- c", one or both in a line.
func (p *parser) edges(number int, s string) {
	for s != "" {
		arrow, rest := s[:3], s[3:]
		names := rest
		if i := firstArrow(rest); i >= 0 && i < len(rest) && (i == 0 || rest[i-1] == ' ' || rest[i-1] == '\t') {
			names, s = rest[:i], rest[i:]
		} else {
			s = ""
		}
		var list []string
		if strings.TrimSpace(names) != "none" {
			list = p.splitAll(names)
			if len(list) == 0 || slices.Contains(list, "") {
				p.cutOff(number, "%q names no node", strings.TrimSpace(arrow+names))
				continue
			}
		}
		if kind := p.node.Kind; len(list) > 0 && (kind == Sink && arrow == "-->" || kind == Source && arrow == "<--") {
			p.cutOff(number, "%s %q has %q", kind, p.node.Name, strings.TrimSpace(arrow+names))
			continue
		}
		if arrow == "-->" {
			p.node.Next, p.node.NextLine, p.next = join(p.node.Next, list), number, true
		} else {
			p.node.Prev, p.node.PrevLine, p.prev = join(p.node.Prev, list), number, true
		}
	}
}

// split cuts "a, b" into its names; nothing gives nil.
func (p *parser) split(s string) []string {
	return slices.DeleteFunc(p.splitAll(s), func(s string) bool { return s == "" })
}

// splitAll cuts "a, b,"; nothing gives nil, and what is missing is "".
func (p *parser) splitAll(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	out := p.room(strings.Count(s, ",") + 1)
	for more := true; more; {
		var name string
		name, s, more = strings.Cut(s, ",")
		out = append(out, strings.TrimSpace(name))
	}
	return out
}

// room is an empty list with room for n names: most lists have one, and there
// are many.
func (p *parser) room(n int) []string {
	if n > len(p.nameRoom) {
		p.nameRoom = make([]string, max(n, min(1<<10, 64+4*p.nodes)))
	}
	out := p.nameRoom[:0:n]
	p.nameRoom = p.nameRoom[n:]
	return out
}

// join is append that copies nothing the first time.
func join(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	return append(a, b...)
}

// globalStore begins a global store of Kafka 1.0; its number comes later.
func (p *parser) globalStore(number int, r recognised) {
	if h := p.header; h != nil {
		p.header = nil
		p.start(h)
	}
	p.inside()
	p.addSub(Subtopology{ID: -1, Global: true, Line: number})
	p.add(number, recognised{node: Source, name: r.name, what: "topics", value: r.value, tight: true})
	p.globals = true
	if r.arrows != "" {
		p.globalProcessor(number, r.arrows)
	}
}

// globalProcessor reads "--> name (store: a)".
func (p *parser) globalProcessor(number int, s string) {
	source := p.node
	at, value := indexOpen(s, "store")
	end := strings.LastIndexByte(s, ')')
	if at < 0 || end < value || !strings.HasPrefix(s, "-->") {
		p.cutOff(number, "global store %q has no store", source.Name)
		return
	}
	name := strings.TrimSpace(s[len("-->"):at])
	source.Next, source.NextLine, p.next = []string{name}, number, true
	p.add(number, recognised{node: Processor, name: name, what: "stores", value: strings.TrimSpace(s[value:end])})
	p.node.NextLine, p.node.Prev, p.node.PrevLine = number, []string{p.sub().Nodes[0].Name}, number
	p.globals = false
}
