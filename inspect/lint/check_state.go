package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sstool/internal/streams"
)

// checkState is S1, S2 and C12 against what exists.
func (r *run) checkState() {
	done := map[string]bool{}
	for _, v := range r.views {
		if v.id == "" {
			continue
		}
		r.checkDirs(v)
		if r.o.Facts != nil && !done[v.id] {
			done[v.id] = true
			r.leftBehind(v)
		}
	}
}

// checkDirs compares the stores on disk with those of the topology.
func (r *run) checkDirs(v *view) {
	type on struct{ tasks, paths []string }
	moved, gone, kind := map[string]*on{}, map[string]*on{}, map[string]*on{}
	var order []string
	note := func(m map[string]*on, d Dir) {
		if m[d.Name] == nil {
			m[d.Name] = &on{}
			order = append(order, d.Name)
		}
		m[d.Name].tasks = append(m[d.Name].tasks, cmp.Or(d.Task, "global"))
		m[d.Name].paths = append(m[d.Name].paths, d.Path)
	}
	for _, d := range r.o.Dirs {
		if d.AppID != v.id || d.Topology != v.t.Name {
			continue
		}
		s := v.storeOf(d.Name)
		switch {
		case s == nil && v.t.Partial: // one without a changelog, or a global one
			continue
		case s == nil:
			note(gone, d)
			continue
		case s.Global != d.Global, !d.Global && d.Subtopology >= 0 && !slices.ContainsFunc(v.stores, func(o *store) bool { return o.Name == d.Name && o.Subtopology == d.Subtopology }):
			note(moved, d)
		}
		if windowed, _, ok := v.windowed(s); ok && windowed != d.Segmented {
			note(kind, d)
		}
	}
	slices.Sort(order)
	for _, name := range slices.Compact(order) {
		if x := gone[name]; x != nil {
			r.abandoned(v, kindStore, name, fmt.Sprintf("on disk in %s (%s)", tasks(x.tasks), x.paths[0]))
		}
		s := v.storeOf(name)
		if x := moved[name]; x != nil {
			r.report(v, "S2", s.Line, kindStore, name, "store %s is in %s, on disk in %s (%s): those directories are not opened", name, place(s), tasks(x.tasks), x.paths[0])
		}
		if x := kind[name]; x != nil {
			windowed, why, _ := v.windowed(s)
			r.report(v, "C12", s.Line, kindStore, name, "store %s is a %s store (%s), on disk it is a %s store (%s)", name, kindWord(windowed), why, kindWord(!windowed), x.paths[0])
		}
	}
}

// tasks lists tasks, few of many.
func tasks(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 1 {
		return "task " + names[0]
	}
	if len(names) > 4 {
		return fmt.Sprintf("tasks %s and %d more", strings.Join(names[:4], ", "), len(names)-4)
	}
	return "tasks " + strings.Join(names, ", ")
}

// abandoned is S1. A generated name whose operator is still there under
// another number was shifted.
func (r *run) abandoned(v *view, kind, name, where string) {
	f := r.report(v, "S1", v.t.Line, kind, name, "%s %s is %s, and the topology has none of that name", kind, name, where)
	f.Severity = Warning
	g, ok := parseGenerated(name)
	if !ok {
		return
	}
	var near string
	line, distance := 0, 0
	consider := func(o generated, oname string, oline int) {
		d := max(o.Number-g.Number, g.Number-o.Number)
		if o.Prefix == g.Prefix && o.Suffix == g.Suffix && o.Number != g.Number && (near == "" || d < distance) && !r.exists(v, kind, oname) {
			near, line, distance = oname, oline, d
		}
	}
	for _, s := range v.stores {
		if s.generated && kind != kindRepartition {
			consider(s.gen, s.Name, s.Line)
		}
	}
	for _, t := range v.topics {
		if t.generated && t.internal() && kind == kindRepartition {
			consider(t.gen, t.name, t.line)
		}
	}
	if near == "" {
		return
	}
	f.Severity, f.Line = Error, line
	f.Message = fmt.Sprintf("%s %s is %s; in the topology it seems to be %s now: the number shifted, and %s starts empty", kind, name, where, near, near)
}

// exists says whether a store of the topology has state of its own already:
// then it is not what another one became.
func (r *run) exists(v *view, kind, name string) bool {
	if slices.ContainsFunc(r.o.Dirs, func(d Dir) bool { return d.AppID == v.id && d.Topology == v.t.Name && d.Name == name }) {
		return true
	}
	if r.o.Facts == nil {
		return false
	}
	topic := v.changelog(name)
	if kind == kindRepartition {
		topic = v.prefix() + name
	}
	_, ok := r.o.Facts.Topics[topic]
	return ok
}

// leftBehind looks for internal topics of the application that no topology of
// it has.
func (r *run) leftBehind(v *view) {
	claimed := map[string]bool{}
	for _, o := range r.views {
		for _, c := range o.claims() {
			claimed[c.topic] = true
		}
	}
	var names []string
	for name := range r.o.Facts.Topics {
		if !claimed[name] && streams.IsInternalTopic(v.id, name) && !r.others(v.id, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		rest := strings.TrimPrefix(name, v.id+"-")
		store, ok := strings.CutSuffix(rest, changelogSuffix)
		switch {
		case ok && slices.ContainsFunc(r.views, func(o *view) bool { return o.id == v.id && o.storeOf(store) != nil }):
			// Of a global store once, or of a named topology: it is not lost.
		case ok:
			r.abandoned(v, kindChangelog, store, fmt.Sprintf("in %s as topic %s", r.o.Facts.From, name))
		default:
			r.abandoned(v, kindRepartition, rest, fmt.Sprintf("in %s as topic %s", r.o.Facts.From, name))
		}
	}
}

// others says whether a topic may be of an application with a longer id.
func (r *run) others(id, topic string) bool {
	return slices.ContainsFunc(r.ids(), func(o string) bool {
		return strings.HasPrefix(o, id+"-") && streams.IsInternalTopic(o, topic)
	})
}

// unchecked are the rules that lacked what they need.
func (r *run) unchecked() []Unchecked {
	var out []Unchecked
	add := func(reason string, ids ...string) {
		for _, id := range ids {
			told := slices.ContainsFunc(out, func(u Unchecked) bool { return u.Rule == id })
			if !told && (len(r.o.Only) == 0 || slices.Contains(r.o.Only, id)) {
				out = append(out, Unchecked{id, reason})
			}
		}
	}
	for _, v := range r.views {
		if v.t.Partial {
			add("brokers hold no processors of the application: give the text of describe()", "C1", "C7", "N1", "N2", "N3", "T1", "T2", "T3", "T4", "P1")
			break
		}
		if v.t.Edgeless {
			add("the text has no arrows", "C7", "N2", "T1", "P1")
			break
		}
	}
	anonymous := slices.ContainsFunc(r.views, func(v *view) bool { return v.id == "" })
	several := len(r.ids()) > 1
	facts, complete := r.o.Facts != nil, r.o.Facts != nil && r.o.Facts.Complete
	if anonymous {
		add("the application id is not known: topic names are checked without it", "C3", "C5")
	}
	if !several {
		add("there is one application only, and no cluster that tells others", "C4", "C6")
	}
	if !facts {
		add("partition counts are not known: --topic-partitions FILE or --bootstrap-server", "P1", "P2", "P3")
	}
	if !complete {
		add("the topics of the cluster are not known: --bootstrap-server", "P4")
	}
	if len(r.o.Samples) == 0 {
		add("no keys were read: --sample-keys N with --bootstrap-server", "P5")
	}
	if !complete && r.o.Dirs == nil {
		add("existing state is not known: --state-dir or --bootstrap-server", "C12", "S1", "S2")
	} else if r.o.Dirs == nil {
		add("the state directory is not known: --state-dir", "S2")
	}
	slices.SortStableFunc(out, func(a, b Unchecked) int { return compareIDs(a.Rule, b.Rule) })
	return out
}
