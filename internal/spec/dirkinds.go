package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// How many rows and databases of a store are looked at: enough to tell its
// kind, few enough for any size.
const (
	sampleRows      = 2000
	sampleDatabases = 64
)

// describe adds the store to the specification.
func (f *found) describe(s *Spec) error {
	st := Store{Store: streams.Store{Name: f.name, Global: f.global}, Topic: f.topic}
	ev := f.families()
	if err := f.sample(ev, sampleDatabases, firstRows(sampleRows)); err != nil {
		return err
	}
	if f.unlogged != "" && ev.rows > 0 {
		s.exclude(Excluded{f.name, fmt.Sprintf("it has rows but no changelog (%s): logging is off, nothing can restore it", f.unlogged)})
		return nil
	}
	if f.global {
		st.set(FieldName, certain("directory in %s/", streams.GlobalDir))
		st.set(FieldGlobal, certain("directory in %s/", streams.GlobalDir))
		st.Notes = append(st.Notes, "global: copy states that its rows are the topic's records (a GlobalKTable); a processor of your own may write others")
	} else {
		f.place(&st)
	}
	if f.topic != "" {
		st.set(FieldTopic, f.topicFrom)
		if !f.global {
			st.SourceTopic = true
			st.set(FieldSourceTopic, f.topicFrom)
		}
	}
	if f.topicNote != "" {
		st.Notes = append(st.Notes, f.topicNote)
	}
	f.kind(&st, ev)
	f.interval(&st, ev)
	if needs(st.Kind, FieldRetention) || st.Kind == "" {
		st.set(FieldRetention, derived("not on disk"))
	}
	if st.Kind == streams.Versioned {
		st.set(FieldHistoryRetention, derived("not on disk"))
	}
	s.Stores = append(s.Stores, st)
	return nil
}

// place says which sub-topology the store belongs to.
func (f *found) place(st *Store) {
	var subs []int
	for sub, tasks := range f.subs {
		subs = append(subs, sub)
		slices.Sort(tasks)
	}
	slices.Sort(subs)
	if len(subs) == 1 {
		st.Subtopology = &subs[0]
		tasks := f.subs[subs[0]]
		st.set(FieldName, certain("directory in %s", some(tasks)))
		st.set(FieldSubtopology, certain("task directories %s", some(tasks)))
		return
	}
	var all []string
	for _, sub := range subs {
		all = append(all, f.subs[sub]...)
	}
	st.set(FieldName, certain("directory in %s", some(all)))
	st.set(FieldSubtopology, derived("the store lies in tasks of several sub-topologies, %s: some are of an older topology", some(all)))
}

// some names a few of many.
func some(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s, … %s (%d)", strings.Join(names[:3], ", "), names[len(names)-1], len(names))
	}
	return strings.Join(names, ", ")
}

// families is the evidence of the directories alone.
func (f *found) families() *evidence {
	ev := &evidence{families: map[string]bool{}, fits: map[streams.Kind]int{}}
	var starts []int64
	for _, db := range f.dbs {
		for _, fam := range db.families {
			ev.families[fam] = true
		}
		starts = append(starts, db.start)
	}
	ev.divisor, ev.segments = divisor(starts)
	return ev
}

// sample looks at some rows of at most so many databases of the store.
func (f *found) sample(ev *evidence, databases int, rows RowsOf) error {
	dbs := slices.DeleteFunc(slices.Clone(f.dbs), func(db database) bool { return len(db.families) == 0 })
	step := max(1, len(dbs)/databases)
	var damaged error
	for i := 0; i < len(dbs); i += step {
		db := dbs[i]
		for _, fam := range db.families {
			err := rows(db.dir, fam, func(key, value []byte) error {
				ev.row(f.segmented, db.start, fam, key, value)
				return nil
			})
			switch {
			case err == nil || op.KindOf(err) == op.NotFound: // the application just dropped the segment
			case op.KindOf(err) == op.Corrupt:
				damaged = err
			default:
				return err
			}
		}
	}
	if ev.rows == 0 {
		return damaged
	}
	return nil
}

// firstRows shows the first rows that a reader of a family would see.
func firstRows(limit int) RowsOf {
	return func(dir, family string, fn func(key, value []byte) error) error {
		n := 0
		err := lsm.Rows(dir, family, func(key, value []byte) error {
			if n++; n > limit {
				return errEnough
			}
			return fn(key, value)
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	}
}

var errEnough = errors.New("enough rows")

// kind tells the store's kind from its column families, rows and name.
func (f *found) kind(st *Store, ev *evidence) {
	has := func(family string) bool { return ev.families[family] }
	take := func(k streams.Kind, format string, args ...any) {
		st.Kind = k
		st.set(FieldKind, certain(format, args...))
	}
	among := func(why string, kinds ...streams.Kind) {
		st.Candidates = kinds
		st.set(FieldKind, derived("%s", why))
	}
	rule, named := byName(f.name)
	headers := ""
	for _, fam := range []string{streams.TimestampHeadersFamily, streams.WindowHeadersFamily, streams.SessionHeadersFamily} {
		if has(fam) {
			headers = fam
			st.Headers = true
			st.set(FieldHeaders, certain("column family %s", fam))
		}
	}
	timestamps := ""
	if has(streams.TimestampFamily) {
		timestamps = streams.TimestampFamily
	}
	if headers != "" {
		timestamps = headers
	}
	switch {
	case len(f.dbs) == 0 && f.segmented:
		among("the store has no segment yet", streams.Window, streams.TimestampedWindow, streams.Session, streams.TimeOrderedWindow, streams.TimeOrderedSession)
	case len(f.dbs) == 0:
		among("the store's database is not there", streams.KV, streams.TimestampedKV, streams.Versioned, streams.List, streams.FKSubscription)
	case headers == streams.WindowHeadersFamily:
		take(streams.TimeOrderedWindow, "column family %s", headers)
	case headers == streams.SessionHeadersFamily:
		f.bySegmentRows(ev, take, among, "column family "+headers, streams.Session, streams.TimeOrderedSession)
	case timestamps != "" && f.segmented:
		if named && rule.kind == streams.Window && headers != "" {
			take(streams.Window, "column family %s, and the name of a join's store", timestamps)
		} else {
			take(streams.TimestampedWindow, "column family %s", timestamps)
		}
	case timestamps != "":
		if named && rule.kind == streams.FKSubscription && (rule.generated || ev.fits[streams.FKSubscription] == ev.rows) {
			take(streams.FKSubscription, "column family %s, and the name of a foreign-key join's store", timestamps)
		} else {
			take(streams.TimestampedKV, "column family %s", timestamps)
		}
	case f.segmented:
		if len(f.dbs) > 0 && ev.segments == 1 && ev.divisor == 0 {
			take(streams.GraceBuffer, "one segment that begins at 0")
			break
		}
		f.bySegmentRows(ev, take, among, "rows", streams.Window, streams.Session, streams.TimeOrderedWindow, streams.TimeOrderedSession)
	case ev.rows == 0 && named && rule.kind == streams.List && rule.generated:
		take(streams.List, "the name Kafka Streams gives a join's shared store")
	case ev.rows == 0:
		among("only the column family default, without rows", streams.KV, streams.Versioned, streams.List)
	case ev.fits[streams.Versioned] == ev.rows:
		take(streams.Versioned, "rows: segment ids before the keys")
	case ev.fits[streams.List] == ev.rows && named && rule.kind == streams.List:
		take(streams.List, "rows, and the name of a join's shared store")
	case ev.fits[streams.List] == ev.rows:
		among("all rows look like those of a join's shared store", streams.KV, streams.List)
	default:
		take(streams.KV, "only the column family default; the rows are neither versioned nor lists")
	}
	if st.Kind == streams.TimeOrderedWindow && ev.rows > 0 {
		st.WithIndex = ev.index > 0
		st.set(FieldWithIndex, certain("rows: %d of %d looked at are index rows", ev.index, ev.rows))
	}
}

// bySegmentRows tells segmented kinds apart by where the rows' keys hold a
// time of their segment.
func (f *found) bySegmentRows(ev *evidence, take func(streams.Kind, string, ...any), among func(string, ...streams.Kind), why string, kinds ...streams.Kind) {
	if ev.rows == 0 {
		among(why+": there are none", kinds...)
		return
	}
	var fit []streams.Kind
	for _, k := range kinds {
		if ev.fits[k] == ev.rows {
			fit = append(fit, k)
		}
	}
	// Only sessions always have index rows: without them it is not that.
	if len(fit) > 1 && ev.index == 0 {
		fit = slices.DeleteFunc(fit, func(k streams.Kind) bool { return k == streams.TimeOrderedSession })
	}
	switch len(fit) {
	case 1:
		take(fit[0], "%s: where the keys hold their segment's time", why)
	case 0:
		among("no known form of key fits all rows", kinds...)
	default:
		among("more than one form of key fits all rows", fit...)
	}
}

// interval tells the segment interval.
func (f *found) interval(st *Store, ev *evidence) {
	switch {
	case st.Kind == streams.Versioned:
		low, high, ok := ev.versionedInterval()
		switch {
		case !ok:
			st.set(FieldSegmentInterval, derived("no history row tells it"))
		case low == high:
			st.SegmentInterval = millis(low)
			st.set(FieldSegmentInterval, certain("rows: no other interval gives their segment ids"))
		default:
			st.set(FieldSegmentInterval, derived("rows: between %s and %s", FormatDuration(millis(low)), FormatDuration(millis(high))))
		}
	case !f.segmented || st.Kind == streams.GraceBuffer:
	case ev.segments < 2:
		st.set(FieldSegmentInterval, derived("there are less than two segments"))
	default:
		st.SegmentInterval = millis(ev.divisor)
		if late := ev.latest[st.Kind]; st.Kind != "" && late >= ev.divisor/2 {
			st.set(FieldSegmentInterval, certain("greatest common divisor of %d segment directories; no smaller interval holds the rows", ev.segments))
		} else {
			st.set(FieldSegmentInterval, derived("greatest common divisor of %d segment directories; the interval may be a fraction of it", ev.segments))
		}
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// divisor is the greatest common divisor of the distinct segment starts, and
// how many there are.
func divisor(starts []int64) (d int64, distinct int) {
	slices.Sort(starts)
	for _, n := range slices.Compact(starts) {
		distinct++
		for d, n = max(n, -n), d; n != 0; {
			d, n = n, d%n
		}
	}
	return d, distinct
}
