package topology

import (
	"fmt"
	"slices"
)

// check says what is missing, settles contradictions, and puts the topology
// in order.
func (p *parser) check(t *Topology) {
	t.Edgeless = !p.next && !p.prev && p.nodes > 1
	places := make(map[string]place, p.nodes)
	for s, n := range t.All() {
		if old, again := places[n.Name]; again {
			p.fail(n.Line, "%q is there already, in line %d: Kafka Streams has no two nodes of one name", n.Name, old.n.Line)
		}
		places[n.Name] = place{s, n}
	}
	for i := range t.Subtopologies {
		p.checkSub(t, &t.Subtopologies[i], places)
	}
	numberGlobals(t)
	p.checkNumbers(t)
	if p.err != nil {
		return
	}
	if t.Edgeless {
		p.problems = append(p.problems, Problem{Kind: NoEdges, Line: t.Line,
			Message: "the text has no arrows: how the nodes are connected is not known"})
	}
	t.takeOffPrefix()
	t.sortNames()
	p.contradictions(t, places)
	p.looseTopics(t)
	t.arrange()
}

// place is a node and where it is.
type place struct {
	s *Subtopology
	n *Node
}

// checkSub looks for arrows that are not there, and for nodes that are not:
// arrows never leave a sub-topology.
func (p *parser) checkSub(t *Topology, s *Subtopology, places map[string]place) {
	if len(s.Nodes) == 0 {
		p.cutOff(s.Line, "sub-topology %d has no node", s.ID)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !t.Edgeless {
			if n.NextLine == 0 && n.Kind != Sink {
				p.cutOff(n.Line, "%q has no --> line", n.Name)
			}
			if n.PrevLine == 0 && n.Kind != Source && p.prev {
				p.cutOff(n.Line, "%q has no <-- line", n.Name)
			}
		}
		p.checkArrows(s, n, n.NextLine, "-->", n.Next, places)
		p.checkArrows(s, n, n.PrevLine, "<--", n.Prev, places)
	}
}

func (p *parser) checkArrows(s *Subtopology, n *Node, line int, arrow string, to []string, places map[string]place) {
	for _, name := range to {
		switch at, ok := places[name]; {
		case !ok:
			p.cutOff(line, "%q %s %q, and no line says what %q is", n.Name, arrow, name, name)
		case at.s != s:
			p.cutOff(line, "%q of sub-topology %d %s %q, which is in sub-topology %d", n.Name, s.ID, arrow, name, at.s.ID)
		}
	}
}

// numberGlobals gives global stores of Kafka 1.0 the numbers that are missing:
// theirs were drawn, but not printed.
func numberGlobals(t *Topology) {
	if !slices.ContainsFunc(t.Subtopologies, func(s Subtopology) bool { return s.ID < 0 }) {
		return
	}
	taken := map[int]bool{}
	for _, s := range t.Subtopologies {
		taken[s.ID] = true
	}
	next := 0
	for i := range t.Subtopologies {
		if s := &t.Subtopologies[i]; s.ID < 0 {
			for taken[next] {
				next++
			}
			s.ID, taken[next] = next, true
		}
	}
}

// checkNumbers looks for sub-topologies that are missing: numbers have no
// gaps.
func (p *parser) checkNumbers(t *Topology) {
	ids := make([]int, 0, len(t.Subtopologies))
	for _, s := range t.Subtopologies {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	for want, id := range ids {
		if id > want {
			p.cutOff(t.Line, "sub-topology %d is missing, there is one with number %d", want, ids[len(ids)-1])
			return
		}
	}
}

// contradictions compares both directions of the arrows, whose names are in
// order. "-->" is right: what it says is in Prev afterwards.
func (p *parser) contradictions(t *Topology, places map[string]place) {
	if agree(t, places) {
		return
	}
	for _, n := range t.All() {
		for _, name := range n.Prev {
			from := places[name].n
			if _, ok := slices.BinarySearch(from.Next, n.Name); !ok {
				p.contradiction(n.PrevLine, "%q <-- %q, but line %d has no %q --> %q: there is none", n.Name, name, max(from.NextLine, from.Line), name, n.Name)
			}
		}
		for _, name := range n.Next {
			to := places[name].n
			if _, ok := slices.BinarySearch(to.Prev, n.Name); !ok && p.prev {
				p.contradiction(n.NextLine, "%q --> %q, but line %d has no %q <-- %q: there is one", n.Name, name, max(to.PrevLine, to.Line), name, n.Name)
			}
		}
	}
	for _, n := range t.All() {
		n.Prev = n.Prev[:0]
	}
	for _, n := range t.All() {
		for _, name := range n.Next {
			to := places[name].n
			to.Prev = append(to.Prev, n.Name)
		}
	}
	for _, n := range t.All() {
		n.Prev = set(n.Prev)
	}
}

// agree says whether both directions of all arrows say the same, as they
// mostly do.
func agree(t *Topology, places map[string]place) bool {
	prev := 0
	for _, n := range t.All() {
		prev += len(n.Prev)
	}
	for _, n := range t.All() {
		prev -= len(n.Next)
		for _, name := range n.Next {
			if _, ok := slices.BinarySearch(places[name].n.Prev, n.Name); !ok {
				return false
			}
		}
	}
	return prev == 0
}

func (p *parser) contradiction(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{Kind: Contradiction, Line: line, Message: fmt.Sprintf(format, args...)})
}

// looseTopics looks for repartition topics with one end: the other
// sub-topology is missing. Only a name that Kafka Streams made is sure to be
// internal.
func (p *parser) looseTopics(t *Topology) {
	uses := t.topicUse(func(topic string) bool { return internalKind(topic) != "" })
	for _, n := range t.All() {
		for _, topic := range n.Topics {
			what := "written but never read"
			if n.Kind == Source {
				what = "read but never written"
			}
			if u := uses[topic]; u.written == u.read { // both, or not internal
				continue
			}
			if _, generated := ParseGenerated(topic); generated {
				p.cutOff(n.Line, "repartition topic %q is %s", topic, what)
			} else {
				p.problems = append(p.problems, Problem{Kind: Loose, Line: n.Line,
					Message: fmt.Sprintf("topic %q has the name of a repartition topic and is %s: the text may be cut off", topic, what)})
			}
		}
	}
}

// unbracket takes off the brackets around the whole of s: "[a-z]+[0-9]" has
// none.
func unbracket(s string) (string, bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return s, false
	}
	depth := 0
	for i := range len(s) - 1 {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			return s, false
		}
	}
	return s[1 : len(s)-1], true
}

// legal says whether s is a list of topic names.
func legal(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == ' ' || c == ',' || c == '-' || c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}
