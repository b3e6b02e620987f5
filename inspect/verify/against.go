package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"sstool/inspect"
	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// Digests are the digests of a store's rows, a task each: two hosts compare them
// without moving data. No cluster is needed.
func Digests(ctx context.Context, o Options, sink op.Sink) (*Result, error) {
	o.setDefaults()
	started := time.Now()
	v, err := open(ctx, &o)
	if err != nil {
		return nil, err
	}
	v.res.Topic = v.m[0].Offsets.Topic
	for i, t := range v.rows.RawTasks() {
		u := v.localUnit(i, t, sink)
		pieces, _, err := t.Pieces(pieceBytes)
		if err != nil {
			return nil, err
		}
		if err := u.readRows(ctx, pieces, nil); err != nil {
			return nil, err
		}
		task := Task{Task: t.Task, Dir: t.Dir, Local: &u.local, Partitions: storedOffsets(v.m[i])}
		task.Rows = u.rowCount
		v.res.Tasks = append(v.res.Tasks, task)
		v.res.Total.add(&task.Counts)
	}
	v.finish()
	v.res.Seconds = time.Since(started).Seconds()
	return v.res, nil
}

// localUnit is a task without its changelog.
func (v *view) localUnit(i int, t *inspect.RawTask, sink op.Sink) *unit {
	u := &unit{o: v.o, sink: sink, rows: v.rows, task: t, store: storeOf(v.m[i], v.kind), workers: threads()}
	// What rows are does not depend on how long they are kept.
	u.store.Retention, u.store.HistoryRetention = cmp.Or(u.store.Retention, time.Hour), cmp.Or(u.store.HistoryRetention, time.Hour)
	u.store.SegmentInterval = cmp.Or(u.store.SegmentInterval, time.Hour)
	u.progress = progress{sink: sink, name: u.name()}
	u.reset()
	return u
}

// storedOffsets are a task's offsets, as last applied.
func storedOffsets(m *inspect.MapStore) (out []Partition) {
	for _, l := range m.Offsets.List {
		p := Partition{Partition: l.Partition, OffsetBy: m.Offsets.KeptIn}
		if l.Offset != nil && *l.Offset >= 0 {
			n := *l.Offset
			if m.Offsets.Next {
				n--
			}
			p.Offset = &n
		}
		out = append(out, p)
	}
	return out
}

// Against compares a store with another copy of it, row by row in the order of
// keys: "missing" is what only the other has. c may be nil; with a cluster rows
// are left out that records behind the lower of two offsets explain.
func Against(ctx context.Context, c *kafka.Client, o Options, other inspect.RowsOptions, sink op.Sink) (*Result, error) {
	o.setDefaults()
	started := time.Now()
	v, err := open(ctx, &o)
	if err != nil {
		return nil, err
	}
	o2 := o
	o2.Rows = other
	o2.Rows.Store, o2.Rows.Kind = v.rows.Name(), v.kind
	w, err := open(ctx, &o2)
	if err != nil {
		return nil, fmt.Errorf("the other store: %w", err)
	}
	v.res.Topic = cmp.Or(o.Topic, v.m[0].Offsets.Topic, w.m[0].Offsets.Topic)
	theirs := w.rows.RawTasks()
	both := 0
	for i, t := range v.rows.RawTasks() {
		k := slices.IndexFunc(theirs, func(x *inspect.RawTask) bool { return x.Task == t.Task })
		if k < 0 && len(theirs) == 1 && len(v.m) == 1 && (!isTask(theirs[0].Task) || !isTask(t.Task)) { // a copy outside of any task
			k = 0
		}
		if k < 0 {
			v.warn("task %s is not there", t.Task)
			continue
		}
		if files.Same(t.Dir, theirs[k].Dir) {
			return nil, op.Errorf(op.Usage, "%s is compared with itself: the other store is the same directory", t.Dir)
		}
		both++
		p := &pair{u: v.localUnit(i, t, sink), w: w.localUnit(k, theirs[k], sink), mine: v.m[i], theirs: w.m[k]}
		p.u.c, p.u.topic = c, v.res.Topic
		task, err := p.compare(ctx)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.Task, err)
		}
		v.res.Tasks = append(v.res.Tasks, *task)
		v.res.Total.add(&task.Counts)
	}
	for _, t := range theirs {
		if both > 0 && len(theirs) > both && !slices.ContainsFunc(v.rows.RawTasks(), func(x *inspect.RawTask) bool { return x.Task == t.Task }) {
			v.warn("task %s is there only", t.Task)
		}
	}
	if both == 0 {
		return nil, op.Errorf(op.NotFound, "no task of store %s lies in both places", v.rows.Name()).WithTry("a standby of the task has a directory of the same name")
	}
	v.finish()
	v.res.Warnings = append(v.res.Warnings, w.rows.Notes()...)
	v.res.Seconds = time.Since(started).Seconds()
	return v.res, nil
}

// isTask says whether a name is a task's directory.
func isTask(name string) bool {
	if i := strings.LastIndex(name, "__"); i >= 0 { // of a named topology
		name = name[i+2:]
	}
	_, err := streams.ParseTaskID(name)
	return err == nil || name == streams.GlobalDir
}

// pair is a store of one task in two places.
type pair struct {
	u, w         *unit
	mine, theirs *inspect.MapStore
	found        found
	touched      map[uint64]bool // keys with records behind the lower offset; nil: not known
	theirRows    int64
	digest       table.Digest
}

// row is one row on its way through the comparison.
type row struct {
	start    int64  // of the segment
	key, raw []byte // of the table; as it is
	e        entry
}

func (p *pair) compare(ctx context.Context) (*Task, error) {
	p.u.progress.phase("rows")
	if err := p.explain(ctx); err != nil {
		return nil, err
	}
	mine, stopMine := pull(ctx, p.u)
	defer stopMine()
	theirs, stopTheirs := pull(ctx, p.w)
	defer stopTheirs()
	a, err := group(mine)
	if err != nil {
		return nil, err
	}
	b, err := group(theirs)
	for err == nil && (a != nil || b != nil) {
		order := -1
		if a == nil {
			order = 1
		} else if b != nil {
			order = cmp.Or(cmp.Compare(a[0].start, b[0].start), bytes.Compare(a[0].key, b[0].key))
		}
		x, y := a, b
		if order < 0 {
			y = nil
		} else if order > 0 {
			x = nil
		}
		p.judge(x, y)
		if order <= 0 {
			a, err = group(mine)
		}
		if err == nil && order >= 0 {
			b, err = group(theirs)
		}
	}
	for _, r := range []*inspect.Rows{p.u.rows, p.w.rows} {
		err = cmp.Or(err, r.Wrong())
	}
	if err != nil {
		return nil, err
	}
	return p.result()
}

// puller hands out rows one by one.
type puller struct {
	next func() (*row, error, bool)
	row  *row // read, and of the next group
}

// pull iterates over a task's rows in order; what it hands out is the receiver's.
func pull(ctx context.Context, u *unit) (*puller, func()) {
	seq := func(yield func(*row, error) bool) {
		c, err := newCanon(u.store)
		if err != nil {
			yield(nil, err)
			return
		}
		pieces, _, err := u.task.Pieces(1 << 62)
		if err != nil {
			yield(nil, err)
			return
		}
		n := 0
		for _, piece := range pieces {
			err := piece.Each(func(family string, key, value []byte) error {
				if n++; n%blockRows == 0 {
					u.progress.add(blockRows, 0)
					if err := ctx.Err(); err != nil {
						return err
					}
				}
				r := &row{start: piece.Start(), raw: slices.Clone(key)}
				if u.store.Kind == streams.Versioned {
					r.key = r.raw
					r.e = entry{local: true, value: hashOf(value)}
				} else if err := c.row(family, r.raw, value, func(k []byte, e *entry) error { r.key, r.e = k, *e; return nil }); err != nil {
					return &op.Error{Kind: op.Corrupt, What: u.task.Dir, Err: fmt.Errorf("row %x: %w", key, err), Try: "check --kind"}
				}
				if !yield(r, nil) {
					return errEnough
				}
				return nil
			})
			if err == errEnough {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
	next, stop := iter.Pull2[*row, error](seq)
	return &puller{next: func() (*row, error, bool) { return next() }}, stop
}

// group is the next rows with the same key of the table: one, unless duplicates
// are kept. nil at the end.
func group(p *puller) ([]*row, error) {
	var out []*row
	for {
		if p.row == nil {
			r, err, ok := p.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				return out, nil
			}
			p.row = r
		}
		if len(out) > 0 && (p.row.start != out[0].start || !bytes.Equal(p.row.key, out[0].key)) {
			return out, nil
		}
		out = append(out, p.row)
		p.row = nil
	}
}

// judge compares the rows of one key; either may be nil.
func (p *pair) judge(mine, theirs []*row) {
	p.found.Rows += int64(len(mine))
	p.theirRows += int64(len(theirs))
	add := func(d *table.Digest, list []*row) {
		for _, r := range list {
			d.Add(0, r.key, r.e.rest(nil))
		}
	}
	add(&p.u.local, mine)
	add(&p.digest, theirs)
	if len(mine) == 1 && len(theirs) == 1 {
		if part := mine[0].e.differs(&theirs[0].e, true); part != "" {
			p.differs(Different, part, mine[0], theirs[0])
		} else {
			p.found.Same++
		}
		return
	}
	for _, m := range mine {
		i := slices.IndexFunc(theirs, func(t *row) bool { return m.e.differs(&t.e, true) == "" })
		if i < 0 {
			p.differs(Extra, "", m, nil)
			continue
		}
		p.found.Same++
		theirs = slices.Delete(slices.Clone(theirs), i, i+1)
	}
	for _, t := range theirs {
		p.differs(Missing, "", nil, t)
	}
}

// differs counts a difference, unless a record explains it.
func (p *pair) differs(what, part string, mine, theirs *row) {
	r := cmp.Or(mine, theirs)
	if p.touched[xxh3.Hash(p.tableKey(r))] {
		p.found.Ahead++
		return
	}
	if p.u.store.Kind == streams.Versioned && !strings.HasPrefix(string(r.raw), latestPrefix) {
		p.found.Expired++ // of history it depends on where restore batches ended
		return
	}
	switch what {
	case Missing:
		p.found.Missing++
	case Extra:
		p.found.Extra++
	default:
		p.found.Different++
	}
	if len(p.found.first) < p.u.o.Limit {
		f := finding{what: what, part: part, key: r.raw}
		if mine != nil {
			f.local = &entry{}
		}
		if theirs != nil {
			f.record = &entry{}
		}
		p.found.first = append(p.found.first, f)
	}
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// latestPrefix begins the latest rows of a versioned store.
const latestPrefix = "\xff\xff\xff\xff\xff\xff\xff\xff"

func (p *pair) tableKey(r *row) []byte {
	if p.u.store.Kind == streams.Versioned && len(r.raw) >= 8 {
		return r.raw[8:]
	}
	return r.key
}

// mostTouched bounds the keys that explain.
const mostTouched = 2 << 20

// explain reads the records behind the lower of the two offsets: their keys may
// differ.
func (p *pair) explain(ctx context.Context) error {
	low, equal := p.offsets()
	if p.u.c == nil || p.u.topic == "" || low == nil || equal && p.idle() {
		return nil
	}
	p.touched = map[uint64]bool{}
	for n, applied := range low {
		if _, err := p.u.c.Topic(ctx, p.u.topic); applied < 0 && op.KindOf(err) == op.NotFound {
			p.touched = nil // a store that is not logged stores no offset
			return nil
		}
		ends, err := p.u.c.Offsets(ctx, p.u.topic, []int32{n})
		if err != nil {
			return err
		}
		e := ends[n]
		from := min(max(applied+1, e.Start), e.End)
		x := &part{Partition: Partition{Partition: n}}
		p.u.workers = 1 // of one map
		err = p.u.eachRecord(ctx, x, from, e.End, false, true, func(int, int64) (func(key []byte, e *entry) error, func() error) {
			return func(key []byte, _ *entry) error {
				if len(p.touched) < mostTouched {
					p.touched[xxh3.Hash(key)] = true
				}
				return nil
			}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// offsets are the lower of the two offsets of each partition, as last applied.
// An application that runs may not have stored one yet: then it is -1, and all
// records may lie between. Otherwise there are none where one is not stored.
func (p *pair) offsets() (low map[int32]int64, equal bool) {
	mine, theirs := stored(p.mine), stored(p.theirs)
	all := slices.Concat(slices.Collect(maps.Keys(mine)), slices.Collect(maps.Keys(theirs)))
	running := !p.idle()
	if len(all) == 0 && running && p.u.task.Partition != nil {
		all = append(all, *p.u.task.Partition)
	}
	low, equal = map[int32]int64{}, true
	for _, n := range all {
		a, known := mine[n]
		b, both := theirs[n]
		if known && both {
			low[n] = min(a, b)
			equal = equal && a == b
			continue
		}
		if !running {
			return nil, false
		}
		low[n], equal = -1, false
	}
	if len(low) == 0 {
		return nil, false
	}
	return low, equal
}

// stored are the offsets of a store, as last applied, by partition.
func stored(m *inspect.MapStore) map[int32]int64 {
	out := map[int32]int64{}
	for _, o := range storedOffsets(m) {
		if o.Offset != nil {
			out[o.Partition] = *o.Offset
		}
	}
	return out
}

// idle says whether neither store's application runs: nothing is on disk before
// its offset is.
func (p *pair) idle() bool {
	for _, r := range []*inspect.Rows{p.u.rows, p.w.rows} {
		if l := r.Lock(); l != nil && (l.Held == nil || *l.Held) {
			return false
		}
	}
	return true
}

func (p *pair) result() (*Task, error) {
	t := &Task{Task: p.u.task.Task, Dir: p.u.task.Dir, Counts: p.found.Counts, Verdict: Same, Local: &p.u.local, Partitions: storedOffsets(p.mine)}
	t.Against = &Copy{Dir: p.w.task.Dir, Rows: p.theirRows, Partitions: storedOffsets(p.theirs), Digest: &p.digest}
	for i := range p.found.first {
		d, err := p.difference(&p.found.first[i])
		if err != nil {
			return nil, err
		}
		t.Differences = append(t.Differences, *d)
	}
	t.More = p.found.Findings() - int64(len(t.Differences))
	if p.found.Findings() > 0 {
		t.Verdict = Differs
	}
	low, equal := p.offsets()
	young := slices.Contains(slices.Collect(maps.Values(low)), -1)
	switch {
	case young && p.touched != nil:
		t.Why = "an offset is not stored yet: differences of which the changelog has any record are counted as ahead"
	case low == nil || young:
		t.Why = "an offset is not stored: the two may have come to different places of the changelog"
	case equal:
	case p.touched == nil:
		t.Why = "the two have come to different offsets of the changelog: with --bootstrap-server rows are left out that the records between explain"
	default:
		t.Why = "the two have come to different offsets of the changelog: rows that the records between explain are counted as ahead"
	}
	if len(p.touched) == mostTouched {
		t.Why += fmt.Sprintf("; there are more than %d keys between, and those beyond are not explained", mostTouched)
	}
	return t, nil
}

func (p *pair) difference(f *finding) (*Difference, error) {
	d := &Difference{What: f.what, Part: f.part, KeyHex: hex.EncodeToString(f.key)}
	d.key = keyText(p.u.rows.RowOf(p.u.task.Task, p.u.family(), f.key, nil))
	switch f.what {
	case Missing:
		d.Why = "only the other store has it"
	case Extra:
		d.Why = "the other store does not have it"
	default:
		d.Why = "the other store has another " + f.part
	}
	if f.local != nil {
		family, value, ok, err := p.u.task.Get(f.key)
		if err != nil {
			return nil, err
		}
		if ok {
			row := p.u.rows.RowOf(p.u.task.Task, family, f.key, value)
			d.Local, d.local = row.AppendJSON(nil), valueText(row)
		}
	}
	if f.record == nil {
		return d, nil
	}
	key := f.key
	family, value, ok, err := p.w.task.Get(key)
	if err != nil || !ok {
		return d, err
	}
	row := p.u.rows.RowOf(p.w.task.Task, family, key, value)
	d.Other, d.other = row.AppendJSON(nil), valueText(row)
	return d, nil
}
