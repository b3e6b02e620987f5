package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// RowsScan says which rows are shown, and in which order. Bounds of keys
// are the application's key (of a foreign-key subscription the foreign key),
// not the row's.
type RowsScan struct {
	From, To []byte // inclusive both, as Kafka Streams' range; nil: open
	Prefix   []byte
	Times    TimeRange
	Reverse  bool
	Limit    int64 // 0: none
	Count    bool  // rows are counted, not shown
	KeysOnly bool  // values are left out
	History  bool  // Versioned: all versions, in the order they lie on disk
	Query    *serde.Query
	Deleted  bool // of a topic: deleted keys too
}

// TimeRange bounds the time of rows, inclusive both, in ms: when a window
// starts, a session ends, a version begins, or the record's timestamp.
type TimeRange struct{ From, To *int64 }

func (t TimeRange) isSet() bool { return t.From != nil || t.To != nil }

func (t TimeRange) has(ms int64) bool {
	return (t.From == nil || ms >= *t.From) && (t.To == nil || ms <= *t.To)
}

// timeOf is the time of a row that TimeRange bounds; nil when it has none.
func (r *Rows) timeOf(row *Row) *int64 {
	switch {
	case windows(r.kind):
		return row.Start
	case sessions(r.kind):
		return row.End
	case r.kind == streams.Versioned:
		return row.ValidFrom
	}
	return row.Time
}

// Scan calls fn with the rows of all tasks: task by task, segment by segment
// from the oldest on, and by key; in reverse from the end. Memory is bounded.
// With Count fn is not called.
func (r *Rows) Scan(ctx context.Context, o RowsScan, fn func(*Row) error) (*RowsResult, error) {
	if err := r.prepare(ctx, o); err != nil {
		return nil, err
	}
	p := &pass{ctx: ctx, r: r, res: r.result(), limit: o.Limit, count: o.Count, keys: o.KeysOnly, query: o.Query, fn: fn}
	f := &filter{r: r, o: o, pass: p}
	err := r.walk(o, func(part int) error {
		p.src = &p.res.Sources[part]
		f.row = Row{Kind: r.kind, Task: r.parts[part].task}
		return nil
	}, f.take)
	return p.finish(err)
}

// prepare checks what is asked for, and guesses what nobody stated.
func (r *Rows) prepare(ctx context.Context, o RowsScan) error {
	if err := r.checkScan(o); err != nil || o.Count {
		return err
	}
	return r.guess(ctx)
}

// walk calls take with all rows on disk that a scan may show, in its order;
// begin before those of a part.
func (r *Rows) walk(o RowsScan, begin func(part int) error, take func(family string, key, value []byte) error) error {
	for i := range r.parts {
		if o.Reverse {
			i = len(r.parts) - 1 - i
		}
		if err := begin(i); err != nil {
			return err
		}
		dbs := slices.Clone(r.parts[i].dbs)
		if o.Reverse {
			slices.Reverse(dbs)
		}
		for _, db := range dbs {
			if !r.segmentHas(db, o.Times) {
				continue
			}
			if err := db.each(r.bounds(o), o.Reverse, take); err != nil && !r.passOver(err) {
				return err
			}
		}
	}
	return nil
}

func (r *Rows) checkScan(o RowsScan) error {
	r.noteEmpty(o)
	switch {
	case o.History && r.kind != streams.Versioned:
		return op.Errorf(op.Usage, "store %s has no history: it is not versioned", r.name)
	case o.Times.isSet() && (r.kind == streams.KV || r.kind == ""):
		return op.Errorf(op.Usage, "the rows of store %s have no time to select by", r.name)
	case r.kind == "" && (o.From != nil || o.To != nil || o.Prefix != nil) && r.parts[0].store.Segmented:
		return op.Errorf(op.Usage, "where the keys of store %s are in its rows is not known", r.name).WithTry("--kind KIND")
	}
	return nil
}

// noteEmpty says that nothing can lie in a range whose ends are the wrong way
// round: Kafka Streams too answers with nothing, and a warning.
func (r *Rows) noteEmpty(o RowsScan) {
	if o.From != nil && o.To != nil && bytes.Compare(o.From, o.To) > 0 {
		r.note("nothing lies between --from and --to: keys are in the order of their bytes, in which numbers below zero come after the others")
	}
	if t := o.Times; t.From != nil && t.To != nil && *t.From > *t.To {
		r.note("--time-from is later than --time-to: nothing lies between")
	}
}

// segmentHas says whether a segment may have rows of the times.
func (r *Rows) segmentHas(db *rowsDB, t TimeRange) bool {
	if !db.segmented || !windows(r.kind) && !sessions(r.kind) {
		return true
	}
	if t.To != nil && *t.To < db.start {
		return false
	}
	return t.From == nil || r.span <= 0 || db.start+r.span > *t.From || db.start+r.span < db.start
}

// bounds is the range of rows in which all that the options select lie; there
// may be others in it.
func (r *Rows) bounds(o RowsScan) lsm.Range {
	switch r.kind {
	case streams.KV, streams.TimestampedKV, "":
		return narrow(lsm.Range{From: o.From, To: afterKey(o.To)}, o.Prefix)
	case streams.Window, streams.TimestampedWindow, streams.Session:
		return narrow(lsm.Range{From: o.From, To: r.afterComposite(o.To)}, o.Prefix)
	case streams.Versioned:
		if o.History {
			return lsm.Range{}
		}
		rg := narrow(lsm.Range{From: o.From, To: afterKey(o.To)}, o.Prefix)
		latest := binary.BigEndian.AppendUint64(nil, 1<<64-1)
		rg.From = append(bytes.Clone(latest), rg.From...)
		if rg.To != nil {
			rg.To = append(bytes.Clone(latest), rg.To...)
		}
		return rg
	}
	return lsm.Range{} // the key is not first in the row: all are looked at
}

// narrow leaves of a range the keys that begin with prefix.
func narrow(rg lsm.Range, prefix []byte) lsm.Range {
	if prefix == nil {
		return rg
	}
	p := prefixRange(prefix)
	if bytes.Compare(p.From, rg.From) > 0 {
		rg.From = p.From
	}
	if rg.To == nil || p.To != nil && bytes.Compare(p.To, rg.To) < 0 {
		rg.To = p.To
	}
	return rg
}

// afterKey is behind all keys up to one; nil is open.
func afterKey(to []byte) []byte {
	if to == nil {
		return nil
	}
	return append(bytes.Clone(to), 0)
}

// afterComposite is behind all rows key | times with key <= to. A key that is
// the beginning of to is followed by a time, which may sort after the rest of
// to only where that begins with a zero byte, as times do.
func (r *Rows) afterComposite(to []byte) []byte {
	if to == nil {
		return nil
	}
	if i := bytes.IndexByte(to[min(1, len(to)):], 0); i >= 0 && !fixedSize(r.key.serde) {
		to = to[:i+1]
	}
	return successor(to)
}

// fixedSize says whether all keys of the serde have the same length.
func fixedSize(s serde.Serde) bool {
	if s == nil {
		return false
	}
	switch s.Name() {
	case "long", "int", "short", "byte", "double", "float", "uuid", "boolean":
		return true
	}
	return false
}

// filter selects rows and hands them to a pass.
type filter struct {
	r    *Rows
	o    RowsScan
	pass *pass
	row  Row
	key  streams.RowKey // of the row
}

// keyOK is whether the application's key lies in the bounds.
func (f *filter) keyOK(key []byte) bool {
	return (f.o.From == nil || bytes.Compare(key, f.o.From) >= 0) && (f.o.To == nil || bytes.Compare(key, f.o.To) <= 0) &&
		(f.o.Prefix == nil || bytes.HasPrefix(key, f.o.Prefix))
}

// take is handed every row of the range.
func (f *filter) take(family string, key, value []byte) error {
	row := &f.row
	k, err := &f.key, error(nil)
	if f.r.wholeKeys() {
		k.Key = key
	} else {
		*k, err = streams.SplitRowKey(f.r.kind, key)
	}
	if err != nil {
		*row = Row{Kind: f.r.kind, Task: row.Task, Key: Cell{Bytes: key, Err: err.Error()}, Value: Cell{Bytes: value}}
		return f.pass.show(row)
	}
	if k.Index {
		return nil
	}
	if f.r.kind == streams.FKSubscription {
		if !f.keyOK(k.ForeignKey) {
			return nil
		}
	} else if !f.keyOK(k.Key) {
		return nil
	}
	f.r.fillKey(row, k)
	if f.r.kind == streams.Versioned && k.Segment != streams.LatestSegment {
		return f.history(value)
	}
	f.r.fillRow(row, family, value)
	if f.o.Times.isSet() {
		if t := f.r.timeOf(row); t == nil || !f.o.Times.has(*t) {
			return nil
		}
	}
	return f.pass.show(row)
}

// wholeKeys says whether the key of a row is the application's, nothing more.
func (r *Rows) wholeKeys() bool {
	return r.kind == streams.KV || r.kind == streams.TimestampedKV || r.kind == ""
}

// history shows the versions of a history row, oldest first.
func (f *filter) history(value []byte) error {
	s, err := streams.ParseSegmentValue(value)
	if err != nil {
		f.row.Value = Cell{Bytes: value, Err: err.Error()}
		return f.pass.show(&f.row)
	}
	versions := versionsOf(s)
	if f.o.Reverse {
		slices.Reverse(versions)
	}
	for _, v := range versions {
		v.fill(f.r, &f.row)
		if !f.o.Times.has(*f.row.ValidFrom) {
			continue
		}
		if err := f.pass.show(&f.row); err != nil {
			return err
		}
	}
	return nil
}

// fillRow takes a row's value apart.
func (r *Rows) fillRow(row *Row, family string, value []byte) {
	row.Headers, row.Deleted, row.ValidFrom, row.ValidTo = nil, false, nil, nil
	if r.kind != streams.List && r.kind != streams.GraceBuffer {
		row.Time = nil
	}
	var v streams.RowValue
	if err := v.Split(r.kind, family, value); err != nil {
		row.Value, row.List, row.Subscription, row.Buffered = Cell{Bytes: value, Err: err.Error()}, nil, nil, nil
		return
	}
	if v.HasTime {
		if r.kind == streams.Versioned {
			row.ValidFrom = keep(&row.ms.from, v.Time)
		} else {
			row.Time = keep(&row.ms.time, v.Time)
		}
	}
	if v.Headers != nil {
		row.Headers, _ = streams.ParseHeaders(v.Headers) // SplitRowValue has checked them
	}
	r.fillValue(row, v.Value)
}
