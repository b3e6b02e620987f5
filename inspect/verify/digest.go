package verify

import (
	"cmp"
	"context"
	"time"

	"sstool/inspect"
	"sstool/internal/op"
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
