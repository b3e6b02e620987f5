package inspect

import (
	"fmt"
	"slices"

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
func (r *Rows) tellKind(stores []*Store) error {
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
	if r.o.Kind != "" {
		r.kind, r.kindWhy = r.o.Kind, "as given"
		if !r.kind.OnDisk() {
			return op.Errorf(op.Usage, "a %s store has no rows on disk", r.kind).WithTry("read its changelog with --topic")
		}
		if r.kind.Segmented() != stores[0].Segmented {
			return op.Errorf(op.Usage, "store %s is not a %s store: its databases do not lie as such a store's", r.name, r.kind)
		}
		if err == nil && r.kind.Segmented() {
			r.span = st.SegmentInterval.Milliseconds()
		}
		return nil
	}
	if err != nil {
		return err
	}
	r.kind, r.kindWhy = st.Kind, st.From[spec.FieldKind].Text
	if r.kind.Segmented() {
		r.span = st.SegmentInterval.Milliseconds()
	}
	if r.kind == "" {
		r.warn = append(r.warn, fmt.Sprintf("the kind of store %s is not certain (%s: %s): keys and values are shown as they lie on disk; --kind states it", r.name, r.kindWhy, kindNames(st.Candidates)))
	}
	return nil
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
