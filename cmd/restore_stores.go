package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/internal/streams"
	"sstool/restore"
)

// addStores fills the stores of the options from the specification, or from
// the flags that describe one store and the state directory.
func (f *restoreFlags) addStores(o *restore.Options, warn func(string)) error {
	if f.spec != "" {
		return f.fromSpec(o)
	}
	if len(f.stores) == 0 {
		return nil // Validate says what to give
	}
	if set := f.describing(); len(f.stores) > 1 && len(set) > 0 {
		return op.Errorf(op.Usage, "%s describes one store, and %d are named", set[0], len(f.stores)).
			WithTry("--spec FILE for several stores")
	}
	kind := streams.Kind("")
	if f.kind.value != "" {
		var err error
		if kind, err = streams.ParseKind(f.kind.value); err != nil {
			return err
		}
	}
	for _, name := range f.stores {
		req := restore.StoreRequest{
			Store: streams.Store{
				Name: name, Kind: kind, Headers: f.headers, WithIndex: f.index, Global: f.global || f.globalCopy,
				Retention: time.Duration(f.retention), SegmentInterval: time.Duration(f.interval), HistoryRetention: time.Duration(f.history.durationValue),
			},
			Topic: f.topic, SourceTopic: f.source, GlobalCopy: f.globalCopy,
		}
		if f.subtopology.set {
			n := int(f.subtopology.n)
			req.Subtopology = &n
		}
		o.Stores = append(o.Stores, req)
	}
	return f.fromStateDir(o, warn)
}

// describing are the given flags that describe a single store.
func (f *restoreFlags) describing() []string {
	var set []string
	for name, given := range map[string]bool{
		"--topic": f.topic != "", "--kind": f.kind.value != "", "--headers": f.headers, "--with-index": f.index,
		"--retention": f.retention != 0, "--segment-interval": f.interval != 0, "--history-retention": f.history.durationValue != 0,
		"--subtopology": f.subtopology.set, "--global": f.global, "--global-copy": f.globalCopy, "--source-topic": f.source,
	} {
		if given {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}

// fromSpec takes the application and its stores from the specification; flags
// win where both say something about the application.
func (f *restoreFlags) fromSpec(o *restore.Options) error {
	if set := f.describing(); len(set) > 0 {
		return op.Errorf(op.Usage, "%s and --spec both describe a store", strings.Join(set, ", ")).
			WithTry("state it in %s", f.specName())
	}
	s, err := f.loadSpec()
	if err != nil {
		return err
	}
	if o.ApplicationID != "" && o.ApplicationID != s.ApplicationID {
		return op.Errorf(op.Usage, "--application-id is %q and %s is of %q", o.ApplicationID, f.specName(), s.ApplicationID)
	}
	o.ApplicationID = s.ApplicationID
	if o.Guarantee == "" {
		o.Guarantee = restore.Guarantee(s.Guarantee)
	}
	if f.target == "" && s.KafkaVersion != "" {
		if o.Target, err = streams.ParseVersion(s.KafkaVersion); err != nil {
			return fmt.Errorf("%s: %w", f.specName(), err)
		}
	}
	for i := range s.Stores {
		o.Siblings = append(o.Siblings, request(&s.Stores[i], f.acceptDerived))
	}
	for _, name := range f.stores {
		if _, ok := s.Store(name); !ok {
			return op.Errorf(op.NotFound, "%s has no store %q; it has: %s", f.specName(), name, strings.Join(names(s), ", "))
		}
	}
	for _, r := range o.Siblings {
		if len(f.stores) == 0 || slices.Contains(f.stores, r.Name) {
			o.Stores = append(o.Stores, r)
		}
	}
	return nil
}

// loadSpec reads the specification, whose values are all stated, or those of a
// JSON document partly derived.
func (f *restoreFlags) loadSpec() (*spec.Spec, error) {
	if f.spec == "-" && f.stdin != nil {
		return spec.Parse(f.specName(), f.stdin)
	}
	return spec.Load(f.spec)
}

// specName is the specification in messages.
func (f *restoreFlags) specName() string {
	if f.spec == "-" {
		return "standard input"
	}
	return f.spec
}

// fromStateDir completes the stores from what an existing state directory says
// of them: --state-dir, or the target itself.
func (f *restoreFlags) fromStateDir(o *restore.Options, warn func(string)) error {
	dir := f.stateDir
	if dir == "" {
		dir = f.into
	}
	if dir == "" || o.ApplicationID == "" {
		return nil
	}
	app := filepath.Join(dir, o.ApplicationID)
	if _, err := os.Stat(app); errors.Is(err, os.ErrNotExist) {
		if f.stateDir != "" {
			warn(fmt.Sprintf("%s does not exist: it tells nothing about the stores", app))
		}
		return nil
	}
	s, err := spec.FromStateDir(app)
	if op.KindOf(err) == op.NotFound {
		return nil // no task in it yet
	}
	if err != nil && f.force {
		// What is replaced may be corrupt; what it does not tell must be stated.
		warn(fmt.Sprintf("%s tells nothing about the stores: %v", app, err))
		return nil
	}
	if err != nil {
		return err
	}
	for i := range o.Stores {
		if known, ok := s.Store(o.Stores[i].Name); ok {
			takeOver(&o.Stores[i], request(known, f.acceptDerived))
		}
	}
	if s.Complete {
		for i := range s.Stores {
			o.Siblings = append(o.Siblings, request(&s.Stores[i], true))
		}
	}
	return nil
}

// request is a store of a specification as the engine takes it. Values that
// were only derived count when the user accepts them.
func request(s *spec.Store, derived bool) restore.StoreRequest {
	r := restore.StoreRequest{Store: s.Store, Topic: s.Topic, Subtopology: s.Subtopology, SourceTopic: s.SourceTopic, GlobalCopy: s.GlobalCopy}
	if derived {
		return r
	}
	for _, field := range s.Uncertain() {
		switch field {
		case spec.FieldKind:
			r.Kind = ""
		case spec.FieldSubtopology:
			r.Subtopology = nil
		case spec.FieldRetention:
			r.Retention = 0
		case spec.FieldSegmentInterval:
			r.SegmentInterval = 0
		case spec.FieldHistoryRetention:
			r.HistoryRetention = 0
		case spec.FieldTopic:
			r.Topic = ""
		}
	}
	return r
}

// takeOver takes over what the flags left open.
func takeOver(r *restore.StoreRequest, known restore.StoreRequest) {
	if r.Kind == "" {
		r.Kind, r.Headers, r.WithIndex = known.Kind, r.Headers || known.Headers, r.WithIndex || known.WithIndex
	}
	if r.Subtopology == nil {
		r.Subtopology = known.Subtopology
	}
	if r.Topic == "" {
		r.Topic, r.SourceTopic = known.Topic, r.SourceTopic || known.SourceTopic
	}
	r.Global = r.Global || known.Global
	for _, d := range []struct{ have, from *time.Duration }{
		{&r.Retention, &known.Retention}, {&r.SegmentInterval, &known.SegmentInterval}, {&r.HistoryRetention, &known.HistoryRetention},
	} {
		if *d.have == 0 {
			*d.have = *d.from
		}
	}
}

func names(s *spec.Spec) []string {
	var out []string
	for i := range s.Stores {
		out = append(out, s.Stores[i].Name)
	}
	return out
}
