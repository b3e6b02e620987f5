package inspect

import (
	"context"
	"fmt"
	"slices"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

// What is looked at to tell a store's kind before its rows are read: where the
// families do not tell it, a few rows of a few databases do.
const (
	kindRows      = 200
	kindDatabases = 4
)

// tellKind takes the kind that was given, or tells it from the databases.
func (r *Rows) tellKind(ctx context.Context, stores []*Store) error {
	st, err := r.kindOf(ctx, stores)
	if r.o.Kind == "" {
		if err != nil {
			return err
		}
		r.kind, r.kindWhy = st.Kind, st.Why
		if r.kind.Segmented() {
			r.span = st.Interval.Milliseconds()
		}
		if r.kind == "" && !r.raw {
			r.warn = append(r.warn, fmt.Sprintf("the kind of store %s is not certain (%s: %s): keys and values are shown as they lie on disk; --kind states it", r.name, r.kindWhy, kindNames(st.Candidates)))
		}
		return nil
	}
	r.kind, r.kindWhy = r.o.Kind, "as given"
	if !r.kind.OnDisk() {
		return op.Errorf(op.Usage, "%s store has no rows on disk", streams.WithArticle(string(r.kind))).WithTry("read its changelog with --topic")
	}
	if r.kind.Segmented() != stores[0].Segmented {
		return op.Errorf(op.Usage, "store %s is not %s store: its databases do not lie as such a store's", r.name, streams.WithArticle(string(r.kind)))
	}
	if err != nil {
		return nil // what is wrong with the files is told when they are read
	}
	if r.kind.Segmented() {
		r.span = st.Interval.Milliseconds()
	}
	if contradicts(r.kind, st) {
		says := string(st.Kind)
		if says == "" {
			says = kindNames(st.Candidates)
		}
		r.warn = append(r.warn, fmt.Sprintf("--kind %s, but the files of store %s say %s (%s): rows are taken apart as stated, and those that are of another form are left out or wrong", r.kind, r.name, says, st.Why))
	}
	return nil
}

// contradicts says whether a stated kind is another one than the files tell. A
// foreign-key subscription is a timestamped store whose rows have a form of
// their own, which is told by its name alone.
func contradicts(stated streams.Kind, st spec.Told) bool {
	switch {
	case st.Kind == streams.TimestampedKV && stated == streams.FKSubscription:
		return false
	case st.Kind != "":
		return st.Kind != stated
	}
	return len(st.Candidates) > 0 && !slices.Contains(st.Candidates, stated)
}

// kindOf tells the kind from a few databases or, where they are damaged, from
// whatever SST file can be read.
func (r *Rows) kindOf(ctx context.Context, stores []*Store) (spec.Told, error) {
	if s := stores[0]; s.Task.Name == "" && !s.Segmented && len(s.Databases) > 0 {
		if db, err := lsm.OpenDB(s.Databases[0].Dir); err == nil && db.Foreign {
			r.raw = r.o.Kind == ""
			return spec.Told{Why: notOurs}, nil
		}
	}
	d := spec.Databases{Store: r.name, Segmented: stores[0].Segmented, Rows: kindRows, Sample: kindDatabases}
	for _, s := range stores {
		for _, db := range s.Databases {
			d.Dirs = append(d.Dirs, spec.DatabaseDir{Dir: db.Dir, Start: db.Start})
		}
	}
	st, err := spec.KindOf(d)
	for try := 1; err != nil && slices.ContainsFunc(d.Dirs, func(x spec.DatabaseDir) bool { return again(x.Dir, try) }); try++ {
		st, err = spec.KindOf(d) // a segment was just being made or removed
	}
	if err == nil {
		return spec.Told{Kind: st.Kind, Candidates: st.Candidates, Why: st.From[spec.FieldKind].Text, Interval: st.SegmentInterval}, nil
	}
	if op.KindOf(err) != op.Corrupt {
		return spec.Told{}, err
	}
	return kindFromFiles(ctx, stores)
}

// kindFromFiles tells the kind of a store, in some tasks of an application, from
// whatever SST files can be read, as the map does.
func kindFromFiles(ctx context.Context, stores []*Store) (spec.Told, error) {
	facts, err := readDatabases(ctx, stores, MapOptions{}, nil)
	if err != nil {
		return spec.Told{}, err
	}
	app := &App{ID: stores[0].Task.App.ID, Dir: stores[0].Task.App.Dir}
	offsets := map[*Task]*taskOffsets{}
	for _, s := range stores {
		t := *s.Task
		t.App, t.Stores = app, []*Store{s}
		app.Tasks = append(app.Tasks, &t)
		offsets[&t] = readTaskOffsets(&t)
	}
	told, err := tellStores(app, facts, offsets)
	if err != nil {
		return spec.Told{}, err
	}
	return told[stores[0]].Told, nil
}

// columns sets up how the columns are decoded. Without a kind the parts of
// keys and values are not known, so nothing is decoded that was not asked for.
func (r *Rows) columns() {
	r.key, r.foreign, r.value = column{serde: r.o.Key}, column{serde: r.o.ForeignKey}, column{serde: r.o.Value}
	for _, c := range []*column{&r.key, &r.foreign, &r.value} {
		c.guess = c.serde == nil
	}
}

// windows says whether rows of the kind belong to a window of time.
func windows(k streams.Kind) bool {
	return k == streams.Window || k == streams.TimestampedWindow || k == streams.TimeOrderedWindow
}

func sessions(k streams.Kind) bool {
	return k == streams.Session || k == streams.TimeOrderedSession
}
