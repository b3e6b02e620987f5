package lint

import (
	"fmt"

	"sstool/internal/topology"
)

// checkText reports what the parser found odd, and what is missing: I1, I2
// and I4.
func (r *run) checkText() {
	for i := range r.o.Inputs {
		in := &r.o.Inputs[i]
		v := &view{in: in, t: &topology.Topology{}, id: in.AppID}
		for _, p := range in.Problems {
			switch p.Kind {
			case topology.UnparsedLine:
				r.report(v, "I1", p.Line, kindText, p.Text, "not understood: %s", quote(p.Text))
			case topology.NoNodes:
				r.report(v, "I4", p.Line, kindApplication, in.AppID, "%s", p.Message)
			default:
				f := r.report(v, "I2", p.Line, kindText, string(p.Kind), "%s", p.Message)
				f.Others = append(f.Others, Place{in.File, p.Line, p.Message})
			}
		}
	}
}

// quote is a piece of text in a message, cut where it gets long.
func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// checkDuplicates is C1 within a topology, and between texts of one
// application.
func (r *run) checkDuplicates() {
	type key struct{ group, topology string }
	first := map[key]*view{}
	for _, v := range r.views {
		for _, s := range v.stores {
			old := s.first
			if old == nil {
				continue
			}
			r.report(v, "C1", s.Line, kindStore, s.Name, "store %s of %s is also in %s, line %d: two stores of one name",
				s.Name, place(s), place(old), old.Line).with(v, old.Line, s.Name)
		}
		k := key{v.group(), v.t.Name}
		old, again := first[k]
		if !again {
			first[k] = v
			continue
		}
		if v.id == "" {
			continue // two texts in one file, of nobody knows which applications
		}
		shared := 0
		for _, s := range v.stores {
			if o := old.storeOf(s.Name); o != nil {
				shared++
				r.kindChanged(v, s, old, o)
			}
		}
		if old.in == v.in {
			continue // versions of one application in a log
		}
		r.report(v, "C1", v.t.Line, kindApplication, v.id, "application id %s is that of %s too: they share a consumer group%s",
			v.id, old.in.File, sharing(shared)).with(old, old.t.Line, v.id)
	}
}

func sharing(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and the changelogs of %s", count(n, "store"))
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func place(s *store) string {
	if s.Global {
		return fmt.Sprintf("sub-topology %d (global)", s.Subtopology)
	}
	return fmt.Sprintf("sub-topology %d", s.Subtopology)
}

// kindChanged is C12 between two texts of one application.
func (r *run) kindChanged(v *view, s *store, old *view, o *store) {
	a, whyA, okA := v.windowed(s)
	b, _, okB := old.windowed(o)
	if okA && okB && a != b {
		r.report(v, "C12", s.Line, kindStore, s.Name, "store %s is a %s store here (%s), and a %s store in %s, line %d",
			s.Name, kindWord(a), whyA, kindWord(b), old.in.File, o.Line).with(old, o.Line, s.Name)
	}
}
