package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sstool/internal/topology"
)

// suggest gives each cause a name: what is read, and what is done with it. The
// name is legal, short enough, and nothing has it yet.
func (v *view) suggest(prefixes []string) {
	if len(v.causes) == 0 {
		return
	}
	taken := map[string]bool{}
	for _, s := range v.stores {
		taken[s.Name] = true
	}
	for _, f := range v.topics {
		taken[f.name] = f.internal()
	}
	tried := map[string]int{}
	for _, c := range v.causes {
		root := legalName(v.describe(c))
		if len(prefixes) == 1 && !strings.HasPrefix(root, prefixes[0]) {
			root = prefixes[0] + root
		}
		c.root = root
		for c.clashes(taken) {
			tried[root]++
			c.root = fmt.Sprintf("%s-%d", root, tried[root]+1)
		}
		taken[c.root] = true
		for _, it := range c.items {
			taken[c.newName(it, c.root)] = true
		}
	}
}

func (c *cause) clashes(taken map[string]bool) bool {
	if taken[c.root] {
		return true
	}
	for _, it := range c.items {
		if taken[c.newName(it, c.root)] {
			return true
		}
	}
	return false
}

// describe is a name made of the topics behind the cause and the operator.
func (v *view) describe(c *cause) string {
	first := c.items[0]
	if topic := first.gen.Topic(); topic != "" && first.kind == kindStore {
		return topic
	}
	var from *topology.Node
	if f := v.flows[first.name]; f != nil && len(f.sinks) > 0 {
		from = f.sinks[0]
	} else if s := v.storeOf(first.name); s != nil {
		from = v.owner(s)
	}
	want := 1
	if c.call == callStreamJoined || c.call == callTableJoined || c.call == callStreamJoinedName {
		want = 2
		if f := v.flows[first.name]; f != nil && len(f.sources) > 0 && len(f.sources[0].Next) > 0 && c.call == callTableJoined {
			from = v.index[f.sources[0].Next[0]]
		}
	}
	var topics []string
	if from != nil {
		topics = v.upstream(from, want)
	}
	if c.call == callStreamJoined { // the two sides
		topics = v.sidesOf(c, topics)
	}
	if len(topics) == 0 {
		topics = []string{"source"}
	}
	return strings.Join(topics, "-") + "-" + c.word()
}

// owner is the node whose operator makes the store, else the first that has it.
func (v *view) owner(s *store) *topology.Node {
	for _, p := range s.Processors {
		if n := v.index[p]; ownedBy(s, n) {
			return n
		}
	}
	return v.index[s.Processors[0]]
}

// sidesOf are the topics of both sides of a stream-stream join.
func (v *view) sidesOf(c *cause, otherwise []string) []string {
	var out []string
	for _, it := range c.items {
		s := v.storeOf(it.name)
		if s == nil || it.gen.word() == "OUTERSHARED" {
			continue
		}
		for _, p := range s.Processors {
			if n := v.index[p]; n != nil && (strings.HasPrefix(p, "KSTREAM-WINDOWED-") || strings.HasSuffix(p, "-windowed")) {
				out = append(out, v.upstream(n, 1)...)
			}
		}
	}
	if len(out) != 2 {
		return otherwise
	}
	return out
}

// word is what is done, as one says it.
func (c *cause) word() string {
	switch c.call {
	case callStreamJoined, callTableJoined, callStreamJoinedName, callJoined, callJoinedBuffer:
		return "join"
	case callSuppressed:
		return "final"
	case callRepartitioned, callToTableNamed:
		return "by-key"
	}
	switch op := c.items[0].gen.word(); op {
	case "AGGREGATE":
		return "total" // count() and aggregate() look alike
	case "REDUCE":
		return "latest"
	default:
		return "table"
	}
}

// legalName is a name for topics: letters, digits, '.', '_', '-', not too long
// for any application id.
func legalName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, s)
	if len(s) > 120 {
		s = s[len(s)-120:]
	}
	return strings.TrimLeft(s, "-.")
}

// fixList is what to name in one release.
func (v *view) fixList() (FixList, bool) {
	l := FixList{App: v.id, Topology: v.t.Name, File: v.in.File}
	if v.ksql {
		return l, false // ksqlDB names its own
	}
	for _, c := range v.causes {
		for _, it := range c.items {
			p := Pin{Name: it.name, Kind: it.kind, Line: it.line, Call: c.call.text(c.root), NewName: c.newName(it, c.root)}
			p.SameCall = c.others(it)
			l.Pins = append(l.Pins, p)
		}
	}
	sortPins(l.Pins)
	shift := 0
	done := map[string]bool{}
	for i := range l.Pins {
		p := &l.Pins[i]
		g, _ := parseGenerated(p.Name)
		p.Becomes = g.Named(g.Number - shift)
		if slices.ContainsFunc(p.SameCall, func(n string) bool { return done[n] }) {
			p.Becomes = p.NewName
		}
		done[p.Name] = true
		shift += g.frees()
	}
	return l, len(l.Pins) > 0
}

func sortPins(pins []Pin) {
	slices.SortStableFunc(pins, func(a, b Pin) int {
		x, _ := parseGenerated(a.Name)
		y, _ := parseGenerated(b.Name)
		return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(len(x.Suffix), len(y.Suffix)), strings.Compare(a.Name, b.Name))
	})
}
