package cmd

import (
	"slices"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/restore"
)

// addStores fills the stores of the options from the specification, or from
// the flags that describe one store.
func (f *restoreFlags) addStores(o *restore.Options, warn func(string)) error {
	if f.spec != "" {
		return op.Errorf(op.Usage, "--spec is not wired yet")
	}
	if len(f.stores) == 0 {
		return nil // Validate says what to give
	}
	if len(f.stores) > 1 {
		if set := f.describing(); len(set) > 0 {
			return op.Errorf(op.Usage, "%s describes one store, and %d are named", set[0], len(f.stores)).
				WithTry("--spec FILE for several stores")
		}
	}
	kind := streams.Kind("")
	if f.kind != "" {
		var err error
		if kind, err = streams.ParseKind(f.kind); err != nil {
			return err
		}
	}
	for _, name := range f.stores {
		req := restore.StoreRequest{
			Store: streams.Store{
				Name: name, Kind: kind, Headers: f.headers, WithIndex: f.index, Global: f.global || f.globalCopy,
				Retention: time.Duration(f.retention), SegmentInterval: time.Duration(f.interval), HistoryRetention: time.Duration(f.history),
			},
			Topic: f.topic, SourceTopic: f.source, GlobalCopy: f.globalCopy,
		}
		if f.subtopology.set {
			n := int(f.subtopology.n)
			req.Subtopology = &n
		}
		o.Stores = append(o.Stores, req)
	}
	return nil
}

// describing are the given flags that describe a single store.
func (f *restoreFlags) describing() []string {
	var set []string
	for name, given := range map[string]bool{
		"--topic": f.topic != "", "--kind": f.kind != "", "--headers": f.headers, "--with-index": f.index,
		"--retention": f.retention != 0, "--segment-interval": f.interval != 0, "--history-retention": f.history != 0,
		"--subtopology": f.subtopology.set, "--global": f.global, "--global-copy": f.globalCopy, "--source-topic": f.source,
	} {
		if given {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}
