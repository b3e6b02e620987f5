package cmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/internal/streams"
	"sstool/migrate"
)

// knownStores is what specification, directory and topology tell of the stores
// of an application.
type knownStores struct {
	spec *spec.Spec // nil: nothing was given
	tree *inspect.Tree
	kind streams.Kind // of those whose kind nothing tells
}

// known reads every source that was named.
func (f *ttlFlags) known(ctx context.Context, a *app) (*knownStores, error) {
	k := &knownStores{kind: streams.Kind(f.kind.value)}
	var specs []*spec.Spec
	if f.spec != "" {
		s, err := (&restoreFlags{spec: f.spec, stdin: a.io.In}).loadSpec()
		if err != nil {
			return nil, err
		}
		if s.ApplicationID != f.appID {
			return nil, op.Errorf(op.Usage, "--application-id is %q and %s is of %q", f.appID, f.spec, s.ApplicationID)
		}
		specs = append(specs, s)
	}
	if f.stateDir != "" {
		dir := filepath.Join(f.stateRoot(), f.appID)
		s, err := spec.FromStateDir(dir)
		if err != nil {
			return nil, err
		}
		if k.tree, err = inspect.Find(ctx, dir); err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	if f.topology != "" {
		s, err := a.specFromTopology(&specFlags{topology: f.topology, appID: f.appID})
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	if len(specs) == 0 {
		return k, nil
	}
	var err error
	k.spec, err = spec.Merge(specs...)
	return k, err
}

func (k *knownStores) guarantee() string {
	if k.spec == nil {
		return ""
	}
	return k.spec.Guarantee
}

// fill completes a store that so far has its name alone.
func (k *knownStores) fill(s *migrate.TTLStore) error {
	if s.Kind = k.kind; s.Kind != "" {
		s.KindWhy = "as given"
	}
	if k.spec == nil {
		return nil
	}
	if i := slices.IndexFunc(k.spec.Excluded, func(x spec.Excluded) bool { return x.Name == s.Name }); i >= 0 {
		return op.Errorf(op.Precondition, "store %s has no changelog to be cleaned: %s", s.Name, k.spec.Excluded[i].Why)
	}
	st, ok := k.spec.Store(s.Name)
	if !ok {
		if k.spec.Complete {
			return op.Errorf(op.NotFound, "application %s has no store %q; it has: %s", k.spec.ApplicationID, s.Name, strings.Join(names(k.spec), ", "))
		}
		if s.Kind == "" {
			s.KindWhy = "what was given does not name it, but " + strings.Join(names(k.spec), ", ")
		}
		return nil
	}
	s.Topic, s.SourceTopic, s.Global, s.Candidates = st.Topic, st.SourceTopic, st.Global, st.Candidates
	from := st.From[spec.FieldKind]
	switch {
	case k.kind == "" || st.Kind == "":
		if st.Kind != "" {
			// What a name tells is as sure for a key-value store as it is for those that are refused.
			s.Kind, s.Certain = st.Kind, true
		}
		s.KindWhy = from.Text
		if k.kind != "" {
			s.KindWhy = "as given"
		}
		if st.Kind == "" && k.kind != "" && len(st.Candidates) > 0 && !slices.Contains(st.Candidates, k.kind) {
			return op.Errorf(op.Precondition, "store %s is not a %s store: %s", s.Name, k.kind, from.Text)
		}
	case st.Kind == streams.InMemory:
	case !from.Certain && (st.Kind == streams.KV || st.Kind == streams.TimestampedKV):
	case st.Kind != k.kind:
		return op.Errorf(op.Precondition, "--kind says %s, and store %s is %s (%s)", k.kind, s.Name, st.Kind, from.Text).WithTry("leave --kind out")
	default:
		s.Certain, s.KindWhy = from.Certain, from.Text
	}
	return k.databases(s)
}

// databases are the store's local copies.
func (k *knownStores) databases(s *migrate.TTLStore) error {
	if k.tree == nil || !s.Kind.OnDisk() || s.Kind.Segmented() {
		return nil
	}
	for _, x := range k.tree.Stores() {
		if x.Name != s.Name || x.Task.ID == nil || x.Segmented || len(x.Databases) != 1 {
			continue
		}
		p := int32(x.Task.ID.Partition)
		if slices.ContainsFunc(s.Databases, func(d migrate.TTLDatabase) bool { return d.Partition == p }) {
			return op.Errorf(op.Precondition, "store %s lies in two tasks of partition %d, one of which is of an older topology", s.Name, p).
				WithTry("sstool inspect %s shows both; delete the directory that the application does not use", k.tree.Path)
		}
		s.Databases = append(s.Databases, migrate.TTLDatabase{Partition: p, TaskDir: x.Task.Dir, Dir: x.Databases[0].Dir})
	}
	return nil
}
