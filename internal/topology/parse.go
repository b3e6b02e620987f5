package topology

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sstool/internal/op"
)

// maxText is more than any topology: a text beyond it is the wrong file.
const maxText = 64 << 20

var (
	header     = regexp.MustCompile(`Sub-topology:\s*(\d+)(\s+for global store)?`)
	named      = regexp.MustCompile(`(?:^|[^-\w])Topology:\s*(\S.*?):\s*$`)
	topologies = regexp.MustCompile(`(?:^|[^-\w])Topologies:\s*$|Sub-topologies:\s*$|(?:^|[^-\w])Topology:?\s*$|Global Stores:\s*$`)
	noGlobals  = regexp.MustCompile(`^\W*none\s*$`)
	node       = regexp.MustCompile(`(?:^|[^-.\w])(Source|Processor|Sink):\s*(.+?)\s*\((topics?|stores|extractor class):\s*(.*)$`)
	nodeStart  = regexp.MustCompile(`(?:^|[^-.\w])(Source|Processor|Sink):\s*\S`)
	inlineEdge = regexp.MustCompile(`\)\s*(?:-->|<--)\s`)
	edge       = regexp.MustCompile(`(-->|<--)\s*(.*?)\s*$`)
	edgeCut    = regexp.MustCompile(`\s*(-->|<--)\s*`)
)

// Parse reads a text. Lines it does not understand are in Unparsed; a text
// without a topology, or one that was cut off, is an op.Usage error that says
// what is missing. A text cut exactly between two sub-topologies looks whole.
func Parse(r io.Reader) (*Model, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, op.Errorf(op.Failed, "read topology: %w", err)
	}
	if len(b) > maxText {
		return nil, op.Errorf(op.Usage, "the text is longer than %d MiB: not a topology", maxText>>20)
	}
	return ParseText(string(b))
}

// ParseText is Parse of a string.
func ParseText(text string) (*Model, error) {
	docs := unwrapJSON(text)
	if docs == nil {
		docs = []document{{text: text}}
	}
	m := &Model{}
	for _, d := range docs {
		p := parser{m: m, appID: d.appID}
		for _, l := range lines(d.text) {
			if err := p.line(l); err != nil {
				return nil, err
			}
		}
		if err := p.end(); err != nil {
			return nil, err
		}
	}
	m.Topologies = slices.DeleteFunc(m.Topologies, func(t Topology) bool { return len(t.Subtopologies) == 0 })
	if len(m.Topologies) == 0 {
		return nil, noTopology(text)
	}
	for i := range m.Topologies {
		if err := m.Topologies[i].complete(); err != nil {
			return nil, err
		}
	}
	// An application that started twice logged the same topology twice.
	var once []Topology
	for _, t := range m.Topologies {
		if !slices.ContainsFunc(once, func(o Topology) bool { return same(o, t) }) {
			once = append(once, t)
		}
	}
	m.Topologies = once
	return m, nil
}

const howToGet = "print topology.describe() of the application and give all of it, from \"Topologies:\" on"

func noTopology(text string) error {
	first := strings.TrimSpace(text)
	if first == "" {
		return op.Errorf(op.Usage, "no topology: the text is empty").WithTry(howToGet)
	}
	first, _, _ = strings.Cut(first, "\n")
	if r := []rune(first); len(r) > 60 {
		first = string(r[:60]) + "…"
	}
	if meaningful.MatchString(text) {
		return op.Errorf(op.Usage, "no topology: no \"Sub-topology: N\" line in the text that begins %q", first).WithTry(howToGet)
	}
	return op.Errorf(op.Usage, "no topology in the text that begins %q", first).WithTry(howToGet)
}

// parser reads the lines of one text.
type parser struct {
	m     *Model
	appID string
	t     *Topology    // current; nil before the first header
	s     *Subtopology // current
	next  *[]string    // where --> of the current node goes
	prev  *[]string    // where <-- goes

	nodes   int
	arrows  bool    // the text has arrows: some documents drop them all
	waiting *loose  // the current node, until its --> comes
	loose   []loose // nodes whose --> never came
}

// loose is a source or processor without an arrow, where it says "--> none" at
// least.
type loose struct {
	line int
	name string
}

// settle ends the current node.
func (p *parser) settle() {
	if p.waiting != nil {
		p.loose = append(p.loose, *p.waiting)
	}
	p.waiting, p.next, p.prev = nil, nil, nil
}

func (p *parser) line(l line) error {
	s := l.text
	// Nodes come first: their names may hold anything.
	if p.s != nil {
		if m := node.FindStringSubmatchIndex(s); m != nil && prefixed(s[:m[2]]) {
			return p.node(l, s[m[2]:m[3]], s[m[4]:m[5]], s[m[6]:m[7]], s[m[8]:m[9]])
		}
		if m := edge.FindStringSubmatchIndex(s); m != nil && p.prev != nil && prefixed(s[:m[0]]) {
			return p.edges(l, s[m[0]:])
		}
		if m := nodeStart.FindStringSubmatchIndex(s); m != nil && prefixed(s[:m[2]]) {
			return cutOff(l.number, "the %s has no closing parenthesis", strings.ToLower(s[m[2]:m[3]]))
		}
	}
	switch m := header.FindStringSubmatch(s); {
	case m != nil:
		return p.subtopology(l, m)
	case topologies.MatchString(s):
		p.start("")
	case named.MatchString(s):
		p.start(named.FindStringSubmatch(s)[1])
	case decoration.MatchString(s):
	case p.t != nil && noGlobals.MatchString(s): // below "Global Stores:"
	case strings.HasSuffix(strings.TrimRight(s, " "), "|"): // an empty line behind a container's name
	default:
		p.m.Unparsed = append(p.m.Unparsed, Unparsed{l.number, strings.TrimSpace(s)})
	}
	return nil
}

// start begins a topology, unless one has begun and has nothing yet.
func (p *parser) start(name string) {
	if p.t != nil && len(p.t.Subtopologies) == 0 {
		if name != "" {
			p.t.Name = name
		}
		return
	}
	p.m.Topologies = append(p.m.Topologies, Topology{Name: name, ApplicationID: p.appID})
	p.t = &p.m.Topologies[len(p.m.Topologies)-1]
	p.settle()
	p.s = nil
}

func (p *parser) subtopology(l line, m []string) error {
	id, err := strconv.ParseUint(m[1], 10, 31)
	if err != nil {
		return op.Errorf(op.Usage, "topology, line %d: sub-topology number %s is not one", l.number, m[1])
	}
	if p.t == nil || slices.ContainsFunc(p.t.Subtopologies, func(s Subtopology) bool { return s.ID == int(id) }) {
		p.start("")
	}
	p.t.Subtopologies = append(p.t.Subtopologies, Subtopology{ID: int(id), Global: m[2] != "", Line: l.number})
	p.s = &p.t.Subtopologies[len(p.t.Subtopologies)-1]
	p.settle()
	return nil
}

// node adds a node; rest is what stands after "(topics: " and the like, with
// the arrows of Kafka 1.0 behind it.
func (p *parser) node(l line, kind, name, what, rest string) error {
	var arrows string
	if at := inlineEdge.FindStringIndex(rest); at != nil {
		rest, arrows = rest[:at[0]+1], rest[at[0]+1:]
	}
	end := strings.LastIndexByte(rest, ')')
	if end < 0 {
		return cutOff(l.number, "%s %q has no closing parenthesis", strings.ToLower(kind), name)
	}
	value := strings.TrimSpace(rest[:end])
	p.settle()
	p.nodes++
	if kind != "Sink" {
		p.waiting = &loose{l.number, name}
	}
	switch {
	case kind == "Source" && what == "topics":
		p.s.Sources = append(p.s.Sources, Source{Name: name, Line: l.number})
		n := &p.s.Sources[len(p.s.Sources)-1]
		if list, ok := bracketed(value); ok {
			n.Topics = list
		} else if plainTopics.MatchString(value) {
			n.Topics = split(value) // Kafka 1.0 printed no brackets
		} else {
			n.Pattern = value
		}
		p.next, p.prev = &n.Next, new([]string)
	case kind == "Processor" && what == "stores":
		list, ok := bracketed(value)
		if !ok {
			list = split(value)
		}
		p.s.Processors = append(p.s.Processors, Processor{Name: name, Stores: list, Line: l.number})
		n := &p.s.Processors[len(p.s.Processors)-1]
		p.next, p.prev = &n.Next, &n.Prev
	case kind == "Sink" && what == "topic", kind == "Sink" && what == "extractor class":
		n := Sink{Name: name, Line: l.number}
		if what == "topic" {
			n.Topic = value
		} else {
			n.Extractor = value
		}
		p.s.Sinks = append(p.s.Sinks, n)
		p.next, p.prev = new([]string), &p.s.Sinks[len(p.s.Sinks)-1].Prev
	default:
		return op.Errorf(op.Usage, "topology, line %d: a %s with %q", l.number, strings.ToLower(kind), what)
	}
	if arrows != "" {
		return p.edges(l, strings.TrimSpace(arrows))
	}
	return nil
}

// edges reads "--> a, b" and "<-- c", one or both in a line.
func (p *parser) edges(l line, s string) error {
	at := edgeCut.FindAllStringSubmatchIndex(s, -1)
	for i, m := range at {
		to := len(s)
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		names := split(s[m[1]:to])
		if len(names) == 0 || slices.Contains(names, "") {
			return cutOff(l.number, "%q names no node", strings.TrimSpace(s[m[0]:to]))
		}
		if len(names) == 1 && names[0] == "none" {
			names = nil
		}
		p.arrows = true
		if s[m[2]:m[3]] == "-->" {
			p.waiting = nil
			*p.next = append((*p.next)[:len(*p.next):len(*p.next)], names...)
		} else {
			*p.prev = append((*p.prev)[:len(*p.prev):len(*p.prev)], names...)
		}
	}
	return nil
}

// end checks what only the whole text tells.
func (p *parser) end() error {
	p.settle()
	if len(p.loose) > 0 && (p.arrows || p.nodes == 1) {
		return cutOff(p.loose[0].line, "%q has no --> line", p.loose[0].name)
	}
	if p.s != nil && len(p.s.Sources)+len(p.s.Processors)+len(p.s.Sinks) == 0 {
		return cutOff(p.s.Line, "sub-topology %d has no node", p.s.ID)
	}
	return nil
}

// complete says whether something that the text points at is not there.
// Arrows never leave a sub-topology, and numbers have no gaps.
func (t *Topology) complete() error {
	ids := map[int]bool{}
	last := -1
	for _, s := range t.Subtopologies {
		ids[s.ID] = true
		last = max(last, s.ID)
		names := map[string]bool{}
		for _, n := range s.Sources {
			names[n.Name] = true
		}
		for _, n := range s.Processors {
			names[n.Name] = true
		}
		for _, n := range s.Sinks {
			names[n.Name] = true
		}
		check := func(line int, from string, to []string) error {
			for _, n := range to {
				if !names[n] {
					return cutOff(line, "%q is connected to %q, which sub-topology %d does not have", from, n, s.ID)
				}
			}
			return nil
		}
		var errs []error
		for _, n := range s.Sources {
			errs = append(errs, check(n.Line, n.Name, n.Next))
		}
		for _, n := range s.Processors {
			errs = append(errs, check(n.Line, n.Name, n.Prev), check(n.Line, n.Name, n.Next))
		}
		for _, n := range s.Sinks {
			errs = append(errs, check(n.Line, n.Name, n.Prev))
		}
		if i := slices.IndexFunc(errs, func(e error) bool { return e != nil }); i >= 0 {
			return errs[i]
		}
		if len(names) == 0 {
			return cutOff(s.Line, "sub-topology %d has no node", s.ID)
		}
	}
	for id := range last {
		if !ids[id] {
			return &op.Error{Kind: op.Usage, What: "topology", Err: fmt.Errorf("sub-topology %d is missing: the text has %d but not %d", id, last, id), Try: howToGet}
		}
	}
	return nil
}

func cutOff(line int, format string, args ...any) error {
	return &op.Error{
		Kind: op.Usage,
		What: fmt.Sprintf("topology, line %d", line),
		Err:  errors.New(fmt.Sprintf(format, args...) + ": the text is cut off or lines are missing"),
		Try:  howToGet,
	}
}

var plainTopics = regexp.MustCompile(`^[a-zA-Z0-9._-]+(, [a-zA-Z0-9._-]+)*$`)

// bracketed takes the sorted names out of "[a, b]".
func bracketed(s string) ([]string, bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, false
	}
	return sorted(split(s[1 : len(s)-1])), true
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// split cuts "a, b"; nothing gives nothing.
func split(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
