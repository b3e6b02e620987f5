package lint

import (
	"fmt"
	"slices"
	"strings"

	"sstool/internal/topology"
)

// checkGenerated is C8: every generated name of state, with the call that
// names it.
func (r *run) checkGenerated() {
	for _, v := range r.views {
		for _, c := range v.causes {
			for _, it := range c.items {
				r.generatedName(v, c, it)
			}
		}
		r.shifts(v)
	}
}

func (r *run) generatedName(v *view, c *cause, it item) {
	f := r.report(v, "C8", it.line, it.kind, it.name, "%s %s has a generated name", it.kind, it.name)
	f.Cause = c.key
	switch {
	case it.kind == kindStore && it.global:
		f.Severity = Warning
		f.Message += ": a global store has no changelog, but directories and queries go by the name"
	case it.kind == kindStore && v.restoredFromSource(v.storeOf(it.name)):
		f.Severity = Warning
		f.Message += ": its changelog is the source topic, but directories and queries go by the name"
	case it.kind == kindStore:
		f.Message += ", and so has its changelog " + v.changelog(it.name)
	default:
		f.Message += ": records in it are not read when the name changes"
	}
	if v.ksql {
		f.Fix = "ksqlDB makes and manages this name: do not rename it by hand. It changes when the statement is replaced: plan for a rebuild."
		return
	}
	f.Fix = fmt.Sprintf("%s makes it %s", c.call.text(c.root), c.newName(it, c.root))
	if with := c.others(it); len(with) > 0 {
		f.Fix += " (the same call names " + strings.Join(with, ", ") + ")"
	}
	f.Fix += "."
}

// restoredFromSource says whether the store is a table's on its source topic,
// with the optimisation on.
func (v *view) restoredFromSource(s *store) bool {
	return s.source != "" && v.config().optimized() == "all"
}

// shifts is N4: what naming one of several generated names does to the rest.
func (r *run) shifts(v *view) {
	if v.ksql || len(v.causes) < 2 {
		return
	}
	l, _ := v.fixList()
	moved := 0
	example := ""
	for _, p := range l.Pins {
		if p.Becomes != p.Name && p.Becomes != p.NewName {
			moved++
			if example == "" {
				example = fmt.Sprintf("%s becomes %s", p.Name, p.Becomes)
			}
		}
	}
	if moved == 0 {
		return
	}
	f := r.report(v, "N4", v.t.Line, kindTopology, v.appName(), "naming the first of the generated names renumbers %d of the others (%s): name all %d in one release", moved, example, len(l.Pins))
	f.Fix = "The fix list has the calls."
}

// checkTraps is N1, N2 and N3: things that look named.
func (r *run) checkTraps() {
	for _, v := range r.views {
		if v.ksql || v.t.Partial {
			continue
		}
		joins := map[string]bool{}
		for _, s := range v.stores {
			if _, join := s.gen.join(); s.generated && join {
				r.joinTrap(v, s, joins)
			} else if s.generated {
				r.processorTrap(v, s)
			}
		}
		for _, f := range v.topics {
			if f.generated && f.kind == kindRepartition {
				r.storeTrap(v, f)
			}
		}
	}
}

// processorTrap is N1. When a node of the store's own operator has a generated
// name, nobody named it.
func (r *run) processorTrap(v *view, s *store) {
	var named *topology.Node
	for _, p := range s.Processors {
		n := v.index[p]
		if ownedBy(s, n) {
			return
		}
		if _, made := parseGenerated(p); !made && named == nil {
			named = n
		}
	}
	if named != nil && s.gen.IsStore() && s.gen.Prefix != fkStore {
		f := r.report(v, "N1", named.Line, kindProcessor, named.Name, "processor %s has a name, but its store %s does not", named.Name, s.Name)
		f.Cause = s.Name
	}
}

// storeTrap is N2: a named store right behind a generated repartition topic.
// A stream-table join reads the table's store, which is another operator's.
func (r *run) storeTrap(v *view, f *flow) {
	for _, src := range f.sources {
		n := v.stateful[src.Name]
		if n == nil {
			continue
		}
		if op, ok := topology.OperatorOf(n.Name); ok && (op.Name == "KSTREAM-JOIN" || op.Name == "KSTREAM-LEFTJOIN") {
			continue
		}
		for _, name := range n.Stores {
			if s := v.storeOf(name); s != nil && !s.generated {
				t := r.report(v, "N2", n.Line, kindStore, name, "store %s has a name, but the repartition topic in front of it does not: %s", name, f.name)
				t.Cause = f.gen.base()
				break
			}
		}
	}
}

// joinTrap is N3, once a join.
func (r *run) joinTrap(v *view, s *store, done map[string]bool) {
	i := slices.IndexFunc(s.Processors, func(p string) bool { _, made := parseGenerated(p); return !made })
	if i < 0 {
		return
	}
	name := s.Processors[i]
	for _, suffix := range []string{"-this-windowed", "-other-windowed", "-outer-this-join", "-outer-other-join", "-this-join", "-other-join"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok {
			name = rest
			break
		}
	}
	if done[name] {
		return
	}
	done[name] = true
	join, _ := s.gen.join()
	f := r.report(v, "N3", v.index[s.Processors[i]].Line, kindProcessor, name, "join %s has a name, but its stores do not: %s and its partners", name, s.Name)
	f.Cause = fmt.Sprintf("stores of join %d", join)
	f.Fix = fmt.Sprintf("StreamJoined.withStoreName(%q) besides withName: %s-this-join-store and so on.", name, name)
}
