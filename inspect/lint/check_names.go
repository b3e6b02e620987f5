package lint

import (
	"regexp"
	"slices"
	"strings"

	"sstool/internal/streams"
	"sstool/internal/topology"
)

// checkNames is what a name alone tells: C9, C10, C11, W1, W2.
func (r *run) checkNames() {
	r.checkCase()
	weak := map[*Config][]*regexp.Regexp{}
	for _, v := range r.views {
		c := v.config()
		if weak[c] == nil {
			weak[c] = c.weakNames()
		}
		r.checkNumbers(v)
		for _, s := range v.stores {
			r.checkReserved(v, s)
			if s.made {
				r.checkOperator(v, kindStore, s.Name, s.Line)
			}
			if !s.generated && s.first == nil {
				r.checkWords(v, weak[c], kindStore, s.Name, givenName(s.name, s.Name), s.Line)
			}
		}
		for _, f := range v.topics {
			name, ok := strings.CutSuffix(f.name, repartitionSuffix)
			switch {
			case !f.internal():
			case f.generated:
				r.checkOperator(v, f.kind, f.name, f.line)
			case ok && v.storeOf(name) == nil: // else the store's, which was looked at
				r.checkWords(v, weak[c], f.kind, f.name, givenName(topology.StoreName{}, name), f.line)
			}
		}
	}
}

// givenName is what the user wrote: what Kafka Streams adds to it is taken off.
func givenName(n topology.StoreName, name string) string {
	if n.Base != "" {
		return n.Base
	}
	for _, s := range []string{"-left", "-right"} {
		if rest, ok := strings.CutSuffix(name, s); ok && rest != "" {
			return rest
		}
	}
	return name
}

func (r *run) checkWords(v *view, weak []*regexp.Regexp, kind, subject, given string, line int) {
	if v.ksql {
		return
	}
	if slices.ContainsFunc(weak, func(w *regexp.Regexp) bool { return w.MatchString(given) }) {
		r.report(v, "W1", line, kind, subject, "%s %s: %q does not say what is in it", kind, subject, given)
	}
	if broken, ok := v.config().follows(subject); !ok {
		r.report(v, "W2", line, kind, subject, "%s %s %s", kind, subject, broken)
	}
}

// checkCase is C9: stores of an application, and application ids.
func (r *run) checkCase() {
	type other struct {
		s *store
		v *view
	}
	type key struct{ group, topology string }
	stores := map[key]map[string]other{}
	ids := map[string]*view{}
	for _, v := range r.views {
		if v.id != "" {
			k := strings.ToLower(v.id)
			if o := ids[k]; o != nil && o.id != v.id {
				r.report(v, "C9", v.t.Line, kindApplication, v.id, "application ids %s and %s differ only in case: one directory on macOS and Windows", v.id, o.id).with(o, o.t.Line, o.id)
			} else if o == nil {
				ids[k] = v
			}
		}
		k := key{v.group(), v.t.Name}
		if stores[k] == nil {
			stores[k] = make(map[string]other, len(v.stores))
		}
		for _, s := range v.stores {
			lower := strings.ToLower(s.Name)
			if o, again := stores[k][lower]; again && o.s.Name != s.Name {
				r.report(v, "C9", s.Line, kindStore, s.Name, "stores %s and %s differ only in case: one directory on macOS and Windows", s.Name, o.s.Name).with(o.v, o.s.Line, o.s.Name)
			} else if !again {
				stores[k][lower] = other{s, v}
			}
		}
	}
}

// checkReserved is C10 (PI/StateDirectory, PI/ProcessorStateManager).
func (r *run) checkReserved(v *view, s *store) {
	name := strings.ToLower(s.Name)
	switch {
	case name == streams.RocksDir:
		f := r.report(v, "C10", s.Line, kindStore, s.Name, "store %s: %s/ is where a task keeps its key-value stores", s.Name, streams.RocksDir)
		if windowed, _, ok := v.windowed(s); ok && !windowed {
			f.Severity = Warning // rocksdb/rocksdb, which works
		}
	case strings.HasPrefix(name, streams.CheckpointFile):
		r.report(v, "C10", s.Line, kindStore, s.Name, "store %s: %s is the file of a task's offsets", s.Name, streams.CheckpointFile)
	case strings.HasSuffix(name, ".position"):
		r.report(v, "C10", s.Line, kindStore, s.Name, "store %s: <store>.position is the file of a store's query position", s.Name)
	case strings.HasSuffix(name, streams.LockFile):
		r.report(v, "C10", s.Line, kindStore, s.Name, "store %s: names that end with %s are lock files", s.Name, streams.LockFile)
	}
}

// checkOperator is C11 for a name of an operator that there is not, or that
// has no such store.
func (r *run) checkOperator(v *view, kind, name string, line int) {
	g, made := topology.ParseGenerated(name)
	if !made {
		return
	}
	_, known := topology.OperatorOf(name)
	if known && kind == kindStore {
		known = topology.ParseStoreName(name, nil).Generated
	}
	if !known {
		r.report(v, "C11", line, kind, name, "%s %s looks generated, but Kafka Streams makes none of operator %s: it was written by hand", kind, name, g.Operator())
	}
}

// checkNumbers is C11 for a number that two things have: the counter gives
// each once. The shared store of a join has the number of its first side.
func (r *run) checkNumbers(v *view) {
	type taken struct {
		base, name string
		line       int
	}
	by := map[int]taken{} // the numbers of stores
	for _, s := range v.stores {
		if s.generated {
			by[s.gen.Number] = taken{}
		}
	}
	if len(by) == 0 {
		return
	}
	note := func(g generated, name string, line int) (old taken, clash bool) {
		old, ok := by[g.Number]
		if !ok {
			return old, false
		}
		base := g.Prefix
		switch g.word() {
		case "OUTERSHARED", "OUTERTHIS":
			base = "KSTREAM-JOINTHIS-"
		}
		if old.name == "" {
			by[g.Number] = taken{base, name, line}
			return old, false
		}
		return old, old.base != base
	}
	for _, n := range v.t.All() {
		if g, ok := parseGenerated(n.Name); ok && g.Suffix == "" {
			note(g, n.Name, n.Line)
		}
	}
	for _, s := range v.stores {
		if !s.generated {
			continue
		}
		if old, clash := note(s.gen, s.Name, s.Line); clash {
			r.report(v, "C11", s.Line, kindStore, s.Name, "store %s looks generated, but number %d is that of %s: it was written by hand", s.Name, s.gen.Number, old.name).with(v, old.line, old.name)
		}
	}
}

// windowed says whether a store is of windows or sessions, which lie in
// segments, as far as its name and its processors tell; why is the evidence.
func (v *view) windowed(s *store) (windowed bool, why string, ok bool) {
	switch s.name.Role {
	case topology.JoinThis, topology.JoinOther:
		return true, "a store of a stream-stream join", true
	case topology.Unknown, topology.StreamAggregate, topology.Suppression, topology.GraceBuffer: // a grace buffer has segments, and keys
	default:
		return false, "a store of a " + string(s.name.Role), true
	}
	for _, p := range s.Processors {
		switch op, _ := topology.OperatorOf(p); op.Name {
		case "KSTREAM-WINDOWED":
			return true, "written by " + p, true
		case "KTABLE-SOURCE", "KTABLE-AGGREGATE", "KTABLE-REDUCE", "KSTREAM-TOTABLE":
			return false, "written by " + p, true
		}
	}
	return false, "", false
}

func kindWord(windowed bool) string {
	if windowed {
		return "window"
	}
	return "key-value"
}

// ownedBy says whether a node is of the operator that makes the store.
func ownedBy(s *store, n *topology.Node) bool {
	a, okA := topology.OperatorOf(s.Name)
	b, okB := topology.OperatorOf(n.Name)
	return okA && okB && a.Name == b.Name
}
