package spec

import (
	"fmt"
	"maps"
	"slices"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Merge joins what several sources know of one application: a certain value
// wins over a derived one, an earlier source over a later one. Two certain
// values that differ are an op.Usage error that names both. When a source
// knows all stores, those that only topics suggest are left out and named; a
// store that a state directory should have and has not is derived to be in
// memory, also when nobody tells its sub-topology.
func Merge(specs ...*Spec) (*Spec, error) {
	if len(specs) == 0 {
		return nil, op.Errorf(op.Usage, "nothing to read stores from").
			WithTry("a state directory, a topology text, or the topics of a cluster")
	}
	out := &Spec{From: map[Field]Source{}, tasks: map[int]string{}}
	for _, s := range specs {
		if err := out.mergeHead(s); err != nil {
			return nil, err
		}
		out.Complete = out.Complete || s.Complete
		out.Notes = append(out.Notes, s.Notes...)
		for _, e := range s.Excluded {
			out.exclude(e)
		}
		for sub, dirs := range s.tasks {
			out.tasks[sub] = dirs
		}
	}
	for _, s := range specs {
		for i := range s.Stores {
			st := &s.Stores[i]
			if !known(specs, st.Name) {
				out.exclude(Excluded{st.Name, fmt.Sprintf("%s, but the topology has no such store: another application's, or left over from an older topology", st.From[FieldName].Text)})
			}
			if slices.ContainsFunc(out.Excluded, func(e Excluded) bool { return e.Name == st.Name }) {
				continue
			}
			have, ok := out.Store(st.Name)
			if !ok {
				out.Stores = append(out.Stores, Store{})
				have = &out.Stores[len(out.Stores)-1]
			}
			if err := have.merge(st); err != nil {
				return nil, err
			}
			if s.tasks != nil {
				have.onDisk = true
			}
		}
	}
	for i := range out.Stores {
		out.Stores[i].missed(out.tasks)
	}
	out.Notes = unique(out.Notes)
	out.settle()
	return out, nil
}

// missed takes a store that is not in its task directories to be in memory.
func (s *Store) missed(tasks map[int]string) {
	if s.onDisk || s.Global || len(tasks) == 0 || s.From[FieldKind].Certain {
		return
	}
	if s.Kind == streams.Versioned || s.Kind == streams.Suppress { // never in memory; not on disk anyway
		return
	}
	if s.Kind == "" && len(s.Candidates) > 0 && !slices.Contains(s.Candidates, streams.InMemory) {
		return
	}
	why := "not in the task directories %s; a suppression buffer is not either"
	var dirs string
	if s.Subtopology != nil {
		var read bool
		if dirs, read = tasks[*s.Subtopology]; !read {
			return
		}
	} else {
		why = "a changelog, but not in the task directories %s: in memory, a suppression buffer, or of a sub-topology without a task here"
		var all []string
		for _, sub := range slices.Sorted(maps.Keys(tasks)) {
			all = append(all, tasks[sub])
		}
		dirs = some(all)
	}
	s.Kind = streams.InMemory
	s.set(FieldKind, derived(why, dirs))
}

// known says whether no complete source misses the store, or a certain source
// has it.
func known(specs []*Spec, name string) bool {
	complete := false
	for _, s := range specs {
		complete = complete || s.Complete
		if st, ok := s.Store(name); ok && (s.Complete || st.From[FieldName].Certain) {
			return true
		}
	}
	return !complete
}

func (s *Spec) mergeHead(o *Spec) error {
	for _, v := range []struct {
		field Field
		to    *string
		from  string
	}{
		{FieldApplicationID, &s.ApplicationID, o.ApplicationID},
		{FieldGuarantee, &s.Guarantee, o.Guarantee},
		{FieldKafkaVersion, &s.KafkaVersion, o.KafkaVersion},
	} {
		if *v.to != "" && v.from != "" && *v.to != v.from {
			return op.Errorf(op.Usage, "%s is %s (%s), and %s (%s)", v.field, *v.to, s.From[v.field].Text, v.from, o.From[v.field].Text)
		}
		if *v.to == "" {
			*v.to = v.from
			if src, ok := o.From[v.field]; ok && (v.from != "" || s.From[v.field].Text == "") {
				s.set(v.field, src)
			}
		}
	}
	return nil
}

// merge takes over what o knows and s does not.
func (s *Store) merge(o *Store) error {
	first := s.Name == ""
	if err := s.mergeKind(o, first); err != nil {
		return err
	}
	for _, f := range storeFields {
		if f == FieldKind {
			continue
		}
		mine, has := s.text(f)
		theirs, given := o.text(f)
		switch {
		case !given:
			if src, ok := o.From[f]; ok && !has && s.From[f].Text == "" {
				s.set(f, src)
			}
		case !has, o.From[f].Certain && !s.From[f].Certain:
			s.copyField(f, o)
		case mine != theirs && o.From[f].Certain && s.From[f].Certain:
			return op.Errorf(op.Usage, "store %q: %s is %s (%s), and %s (%s)", s.Name, f, mine, s.From[f].Text, theirs, o.From[f].Text).
				WithTry("one source is of another version of the application: leave it out")
		}
	}
	s.Notes = unique(append(s.Notes, o.Notes...))
	return nil
}

// mergeKind joins kinds and candidates: what one source rules out is ruled out.
func (s *Store) mergeKind(o *Store, first bool) error {
	mine, theirs := s.From[FieldKind], o.From[FieldKind]
	switch {
	case first:
		s.Kind, s.Candidates = o.Kind, slices.Clone(o.Candidates)
		if theirs.Text != "" {
			s.set(FieldKind, theirs)
		}
	case s.Kind != "" && o.Kind != "":
		if mine.Certain && theirs.Certain && s.Kind != o.Kind {
			return op.Errorf(op.Usage, "store %q: kind is %s (%s), and %s (%s)", s.Name, s.Kind, mine.Text, o.Kind, theirs.Text).
				WithTry("one source is of another version of the application: leave it out")
		}
		if !mine.Certain && theirs.Certain {
			s.Kind = o.Kind
			s.set(FieldKind, theirs)
		} else if !mine.Certain && s.Kind != o.Kind {
			s.Candidates = []streams.Kind{s.Kind, o.Kind}
			s.Kind = ""
			s.set(FieldKind, derived("%s, but %s", mine.Text, theirs.Text))
		}
	case s.Kind == "" && o.Kind == "":
		s.Candidates = intersect(s.Candidates, o.Candidates)
		s.set(FieldKind, derived("%s", joined(mine.Text, theirs.Text)))
	case s.Kind == "":
		if theirs.Certain || fits(o.Kind, s.Candidates) {
			s.Kind = o.Kind
			s.set(FieldKind, theirs)
		}
	case fits(s.Kind, o.Candidates): // o has candidates only, from here on
	case mine.Certain:
		s.Notes = append(s.Notes, fmt.Sprintf("kind %s (%s) does not fit: %s", s.Kind, mine.Text, theirs.Text))
	default:
		s.Kind, s.Candidates = "", slices.Clone(o.Candidates)
		s.set(FieldKind, theirs)
	}
	return nil
}

// intersect keeps the kinds that both allow; no candidates are all kinds. When
// nothing is left the sources contradict each other, and both lists stay.
func intersect(a, b []streams.Kind) []streams.Kind {
	if len(a) == 0 {
		return slices.Clone(b)
	}
	if len(b) == 0 {
		return a
	}
	var out []streams.Kind
	for _, k := range a {
		if slices.Contains(b, k) {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return unique(append(slices.Clone(a), b...))
	}
	return out
}

// joined is two reasons in one text.
func joined(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}

// unique drops repetitions and keeps the order.
func unique[T comparable](in []T) []T {
	var out []T
	for _, v := range in {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
