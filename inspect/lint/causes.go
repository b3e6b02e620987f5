package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sstool/internal/topology"
)

// cause is one thing without a name in the code, and every generated name that
// comes of it.
type cause struct {
	key   string
	call  callKind
	items []item
	root  string // the suggested name
}

// item is a generated name.
type item struct {
	gen    generated
	name   string
	kind   string // kindStore, kindRepartition or kindFK
	global bool
	line   int
	side   string // of a repartition topic of a stream-stream join: "-left" or "-right"
}

// callKind is the call of the DSL that names a cause.
type callKind int

const (
	callMaterialized callKind = iota
	callStreamJoined          // its stores
	callSuppressed
	callTableJoined
	callJoinedBuffer
	callRepartitioned
	callToTableNamed
	callJoined
	callStreamJoinedName // its repartition topics
)

// text is the call with a name in it.
func (k callKind) text(name string) string {
	switch k {
	case callStreamJoined:
		return fmt.Sprintf("StreamJoined.as(%q)", name)
	case callSuppressed:
		return fmt.Sprintf("Suppressed.withName(%q)", name)
	case callTableJoined:
		return fmt.Sprintf("TableJoined.as(%q)", name)
	case callJoinedBuffer, callJoined:
		return fmt.Sprintf("Joined.as(%q)", name)
	case callRepartitioned:
		return fmt.Sprintf("Repartitioned.as(%q)", name)
	case callToTableNamed:
		return fmt.Sprintf("toTable(Named.as(%q))", name)
	case callStreamJoinedName:
		return fmt.Sprintf("StreamJoined.withName(%q)", name)
	}
	return fmt.Sprintf("Materialized.as(%q)", name)
}

// maxOthers is more than any call names: the text of a topology that nothing
// built may have as many as it likes.
const maxOthers = 16

// others are the other names that the call makes.
func (c *cause) others(it item) []string {
	var out []string
	for _, o := range c.items {
		if len(out) == maxOthers {
			break
		}
		if o.name != it.name {
			out = append(out, o.name)
		}
	}
	return out
}

// newName is what the item is called when its cause has this name.
func (c *cause) newName(it item, name string) string {
	switch {
	case it.kind == kindRepartition && c.call == callStreamJoinedName:
		return name + it.side + repartitionSuffix
	case it.kind == kindRepartition:
		return name + repartitionSuffix
	case it.kind == kindFK && it.gen.Prefix == fkRegister:
		return name + registerSuffix
	case it.kind == kindFK:
		return name + respondSuffix
	}
	switch c.call {
	case callSuppressed:
		return name + "-store"
	case callTableJoined:
		return name + "-subscription-store"
	case callJoinedBuffer:
		return name + "-Buffer"
	case callStreamJoined:
		return name + joinEnding(it.gen.word(), c)
	}
	return name
}

// joinEnding is what StreamJoined.as adds (KI/KStreamImplJoin,
// OuterStreamJoinStoreFactory).
func joinEnding(operator string, c *cause) string {
	switch operator {
	case "JOINTHIS":
		return "-this-join-store"
	case "JOINOTHER":
		return "-other-join-store"
	case "OUTERTHIS":
		return "-outer-this-join-store"
	case "OUTEROTHER":
		return "-outer-other-join-store"
	}
	if slices.ContainsFunc(c.items, func(it item) bool { return it.gen.word() == "OUTERTHIS" }) {
		return "-outer-shared-join-store"
	}
	return "-left-shared-join-store"
}

// findCauses groups the generated names of state by what would name them, in
// the order of their numbers.
func (v *view) findCauses() []*cause {
	by := map[string]*cause{}
	var out []*cause
	add := func(key string, call callKind, it item) {
		c := by[key]
		if c == nil {
			c = &cause{key: key, call: call}
			by[key], out = c, append(out, c)
		}
		c.items = append(c.items, it)
	}
	fk := v.foreignKeyJoins()
	for _, s := range v.stores {
		if s.generated {
			key, call := storeCause(s, fk)
			add(key, call, item{gen: s.gen, name: s.Name, kind: kindStore, global: s.Global, line: s.Line})
		}
	}
	for _, f := range v.topics {
		if f.generated && f.internal() {
			key, call, side := v.topicCause(f, fk, by)
			add(key, call, item{gen: f.gen, name: f.name, kind: f.kind, line: f.line, side: side})
		}
	}
	for _, c := range out {
		slices.SortFunc(c.items, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.gen.Number, b.gen.Number), cmp.Compare(len(a.gen.Suffix), len(b.gen.Suffix)), strings.Compare(a.name, b.name))
		})
	}
	slices.SortStableFunc(out, func(a, b *cause) int { return cmp.Compare(a.items[0].gen.Number, b.items[0].gen.Number) })
	return out
}

func storeCause(s *store, fk map[string]string) (key string, call callKind) {
	if n, ok := s.gen.join(); ok {
		return "stores of join " + strconv.Itoa(n), callStreamJoined
	}
	switch {
	case s.gen.Prefix == fkStore:
		return cmp.Or(fk[s.Name], s.Name), callTableJoined
	case s.gen.Suffix == "-Buffer":
		return s.gen.base(), callJoinedBuffer
	case s.gen.suppression():
		return s.Name, callSuppressed
	}
	return s.Name, callMaterialized
}

func (v *view) topicCause(f *flow, fk map[string]string, stores map[string]*cause) (key string, call callKind, side string) {
	if f.kind == kindFK {
		return cmp.Or(fk[f.name], f.name), callTableJoined, ""
	}
	base := f.gen.base()
	if _, ok := stores[base]; ok { // count() and the like: the store names it
		return base, callMaterialized, ""
	}
	switch f.gen.word() {
	case "TOTABLE":
		return base, callToTableNamed, ""
	case "REPARTITION":
		return base, callRepartitioned, ""
	}
	key, call = base, callRepartitioned
	for _, src := range f.sources {
		n := v.stateful[src.Name]
		if n == nil {
			continue
		}
		switch op, _ := topology.OperatorOf(n.Name); op.Name {
		case "KSTREAM-WINDOWED":
			key, call, side = "topics of join "+joinOf(n.Stores[0]), callStreamJoinedName, "-left"
			if topology.ParseStoreName(n.Stores[0], nil).Role == topology.JoinOther {
				side = "-right"
			}
		case "KSTREAM-JOIN", "KSTREAM-LEFTJOIN":
			call = callJoined
		}
	}
	return key, call, side
}

// joinOf tells joins apart by one of their stores.
func joinOf(store string) string {
	g, _ := parseGenerated(store)
	if number, ok := g.join(); ok {
		return strconv.Itoa(number)
	}
	return cmp.Or(topology.ParseStoreName(store, nil).Base, store)
}

// foreignKeyJoins tells, of every generated name of a foreign-key join, the
// join: the name of its registration topic.
func (v *view) foreignKeyJoins() map[string]string {
	out := map[string]string{}
	seen := map[string]bool{}
	for _, f := range slices.Backward(v.topics) { // what two lead to belongs to the last, so nothing is walked twice
		if f.kind != kindFK || f.gen.Prefix != fkRegister {
			continue
		}
		join := func(name string) {
			if out[name] == "" {
				out[name] = f.name
			}
		}
		join(f.name)
		for _, src := range f.sources {
			v.forward(src, seen, func(n *topology.Node) {
				for _, s := range n.Stores {
					if strings.HasPrefix(s, fkStore) {
						join(s)
					}
				}
				for _, t := range n.Topics {
					if x := v.flows[t]; x != nil && x.kind == kindFK {
						join(t)
					}
				}
			})
		}
	}
	return out
}
