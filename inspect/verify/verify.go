package verify

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Changelog compares a store with its changelog.
func Changelog(ctx context.Context, c *kafka.Client, o Options, sink op.Sink) (*Result, error) {
	o.setDefaults()
	started := time.Now()
	v, err := open(ctx, &o)
	if err != nil {
		return nil, err
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	res := v.res
	units, err := v.units(ctx, c, sink)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		t, why, err := u.check(ctx)
		if err != nil {
			return nil, err
		}
		if t == nil {
			if t, err = u.compared(ctx, res); err != nil {
				return nil, fmt.Errorf("task %s: %w", u.name(), err)
			}
			if t.anyRecord() {
				t.Why = why
			}
		}
		res.Tasks = append(res.Tasks, *t)
		res.Total.add(&t.Counts)
	}
	if o.Repair != nil {
		res.Repair = v.repair(*o.Repair)
	}
	v.finish()
	res.Seconds = time.Since(started).Seconds()
	sink.Emit(op.Event{Type: op.Summary, Done: res.Total.Rows, Unit: "rows"})
	return res, nil
}

// anyRecord says whether the changelog had anything to compare with.
func (t *Task) anyRecord() bool {
	return slices.ContainsFunc(t.Partitions, func(p Partition) bool { return p.Records > 0 || p.LogStart > 0 })
}

// view is a store that is found and known.
type view struct {
	o    *Options
	rows *inspect.Rows
	m    []*inspect.MapStore // by task, in the order of rows.RawTasks
	kind streams.Kind
	res  *Result
}

// open finds the store, its kind and its offsets, which must be read before the
// rows are.
func open(ctx context.Context, o *Options) (*view, error) {
	mo := inspect.MapOptions{Path: o.Rows.Path, Tasks: o.Rows.Tasks}
	if o.Rows.Store != "" {
		mo.Stores = []string{o.Rows.Store}
	}
	m, err := inspect.MapPath(ctx, mo, nil)
	if err != nil {
		return nil, err
	}
	rows, err := inspect.OpenRows(ctx, o.Rows) // refuses several stores
	if err != nil {
		return nil, err
	}
	v := &view{o: o, rows: rows, kind: rows.Kind(), res: &Result{Store: rows.Name()}}
	stores := m.AllStores()
	for _, t := range rows.RawTasks() {
		for i := range stores {
			if s := &stores[i]; s.Dir == t.Dir {
				v.m = append(v.m, s)
			}
		}
	}
	if len(v.m) != len(rows.RawTasks()) || len(v.m) == 0 {
		return nil, op.Errorf(op.Failed, "store %s changes its directories while it is looked at", rows.Name()).WithTry("again")
	}
	first := v.m[0]
	if v.kind == "" && first.Kind.Kind != nil { // likely, by its name
		o.Rows.Kind = streams.Kind(*first.Kind.Kind)
		if v.rows, err = inspect.OpenRows(ctx, o.Rows); err != nil {
			return nil, err
		}
		v.kind = o.Rows.Kind
	}
	if v.kind == "" {
		return nil, op.Errorf(op.Usage, "the kind of store %s is not certain (%s), so what its records become is not known", rows.Name(), first.Kind.Why).WithTry("--kind KIND")
	}
	v.res.Application, v.res.StoreKind, v.res.KindWhy = first.App, string(v.kind), first.Kind.Why
	stopped := false // outside of any application
	v.res.Running = &stopped
	if l := rows.Lock(); l != nil {
		v.res.Running = l.Held // null: not known
	}
	return v, v.rows.Guess(ctx)
}

// topicOf is the changelog of the store.
func (v *view) topicOf(ctx context.Context, c *kafka.Client) (string, error) {
	s := v.m[0]
	switch {
	case v.o.Topic != "":
		return v.o.Topic, nil
	case s.Offsets.Topic != "":
		return s.Offsets.Topic, nil
	}
	for _, m := range v.m {
		for _, l := range m.Offsets.List {
			return l.Topic, nil
		}
	}
	if s.App != "" && s.Task != streams.GlobalDir {
		// A young store has no offset yet, as one that is not logged.
		usual := streams.ChangelogTopic(s.App, s.Name)
		if _, err := c.Topic(ctx, usual); err == nil {
			v.warn("the directory does not tell the changelog (%s): %s by its name", s.Offsets.Why, usual)
			return usual, nil
		} else if op.KindOf(err) != op.NotFound {
			return "", err
		}
	}
	return "", op.Errorf(op.Usage, "which topic store %s is restored from is not known: %s", s.Name, s.Offsets.Why).WithTry("--topic TOPIC")
}

// units are the tasks to compare, with what the cluster tells of the changelog.
func (v *view) units(ctx context.Context, c *kafka.Client, sink op.Sink) ([]*unit, error) {
	topic, err := v.topicOf(ctx, c)
	if err != nil {
		return nil, err
	}
	v.res.Topic = topic
	info, err := c.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	config, err := c.TopicConfig(ctx, topic)
	if err != nil {
		v.warn("the configuration of %s may not be read (%v): whether records were deleted by time is told from its log start", topic, err)
		config = map[string]string{}
	}
	policy := config["cleanup.policy"]
	if policy != "" {
		v.res.Policy = &policy
	}
	var units []*unit
	for i, t := range v.rows.RawTasks() {
		u := &unit{o: v.o, c: c, sink: sink, rows: v.rows, task: t, store: storeOf(v.m[i], v.kind), topic: topic, workers: threads(),
			running:   v.res.Running == nil || *v.res.Running,
			compacted: policy == "" || strings.Contains(policy, "compact"), deletes: strings.Contains(policy, "delete"),
			appendTime: config["message.timestamp.type"] == "LogAppendTime"}
		u.progress = progress{sink: sink, name: u.name()}
		if err := v.retention(u, config); err != nil {
			return nil, err
		}
		if err := v.partitions(u, v.m[i], len(info.Partitions)); err != nil {
			return nil, err
		}
		units = append(units, u)
	}
	if len(units) > 0 && units[0].appendTime {
		v.warn("%s has message.timestamp.type=LogAppendTime: its records do not have the times of the rows, which are not compared", topic)
	}
	return units, nil
}

// retention is how long rows are kept.
func (v *view) retention(u *unit, config map[string]string) error {
	if !u.store.Kind.Windowed() && u.store.Kind != streams.Versioned {
		return nil
	}
	d := streams.Derived{Value: v.o.Retention, From: "as given"}
	if d.Value == 0 {
		var err error
		if u.store.Kind == streams.Versioned {
			d, err = streams.DeriveHistoryRetention(u.topic, config)
		} else {
			d, err = streams.DeriveRetention(u.topic, config, 0)
		}
		if err != nil && u.store.Kind == streams.Versioned {
			return op.Errorf(op.Usage, "store %q: its history retention is unknown: %w", u.store.Name, err).WithTry("--retention DURATION")
		}
		if err != nil {
			d = streams.Derived{Value: unlimited, From: "not known: nothing expires (" + err.Error() + ")"}
		}
	}
	ms := d.Value.Milliseconds()
	v.res.Retention, v.res.RetentionBy = &ms, d.From
	if d.Value == unlimited {
		v.res.Retention, ms = nil, 0
	}
	u.retention = ms
	if u.store.Kind == streams.Versioned {
		u.store.HistoryRetention = d.Value
	} else {
		u.store.Retention = d.Value
	}
	if i, ok := streams.DeriveSegmentInterval(u.store.Kind, d.Value); ok && u.store.SegmentInterval == 0 {
		u.store.SegmentInterval = i.Value
	}
	return nil
}

// unlimited is a retention that nothing outlives.
const unlimited = 100 * 365 * 24 * time.Hour

// partitions are those that fill the store in the task, with its offsets.
func (v *view) partitions(u *unit, m *inspect.MapStore, partitions int) error {
	stored := map[int32]inspect.MapOffset{}
	for _, l := range m.Offsets.List {
		if l.Topic == u.topic {
			stored[l.Partition] = l
		}
	}
	var list []int32
	switch {
	case u.task.Partition != nil:
		list = []int32{*u.task.Partition}
	case u.store.Global:
		for p := range partitions {
			list = append(list, int32(p))
		}
	case len(stored) == 1:
		for p := range stored {
			list = append(list, p)
		}
	default:
		return op.Errorf(op.Usage, "%s lies in no task's directory, so its partition is not known", u.task.Dir).WithTry("give it as <state.dir>/<application.id>/<task>/rocksdb/<store>, or the like")
	}
	for _, n := range list {
		if int(n) >= partitions {
			return op.Errorf(op.Usage, "%s has %d partitions, and none for task %s", u.topic, partitions, u.task.Task).WithTry("--topic TOPIC, or another cluster")
		}
		p := &part{Partition: Partition{Partition: n, OffsetBy: m.Offsets.KeptIn}, applied: -1}
		l, ok := stored[n]
		switch at := v.o.At; {
		case at.Offset != nil:
			p.OffsetBy, p.applied, p.known = "as given", *at.Offset, true
		case at.End:
			p.OffsetBy, p.applied = "the end of the changelog", always-1
		case ok && l.Offset != nil && *l.Offset >= 0 && m.Offsets.Next:
			p.applied, p.known = *l.Offset-1, true
		case ok && l.Offset != nil && *l.Offset >= 0:
			p.applied, p.known = *l.Offset, true
		case ok && l.Offset != nil:
			p.OffsetBy = "stored as not known (-4): nothing was applied, or nothing is certain"
		default:
			p.OffsetBy = "none stored: " + m.Offsets.Why
		}
		if p.known {
			n := p.applied
			p.Offset = &n
		}
		u.parts = append(u.parts, p)
	}
	return nil
}

func (v *view) warn(format string, args ...any) {
	v.res.Warnings = append(v.res.Warnings, fmt.Sprintf(format, args...))
}

// finish completes the document.
func (v *view) finish() {
	v.res.Key, v.res.Value = v.rows.Decoders()
	v.res.Warnings = append(v.res.Warnings, v.rows.Notes()...)
}

// check says what keeps a task from being compared, or what a reader must know
// of its offsets.
func (u *unit) check(ctx context.Context) (t *Task, why string, err error) {
	if u.store.Kind == streams.GraceBuffer {
		return notComparable(u.task, Unverifiable, "rows of a join's grace buffer have another form once they were restored, and the application corrects it only as they leave"), "", nil
	}
	for _, p := range u.parts {
		ends, err := u.c.Offsets(ctx, u.topic, []int32{p.Partition.Partition})
		if err != nil {
			return nil, "", err
		}
		e := ends[p.Partition.Partition]
		p.LogStart, p.End = e.Start, e.End
		if p.Offset != nil && *p.Offset >= e.End {
			t := notComparable(u.task, OutOfRange, fmt.Sprintf("offset %d of partition %d is not below the changelog's end %d: another cluster, or the topic was made anew; Kafka Streams restores the task from the start (under exactly-once it wipes it first)", *p.Offset, p.Partition.Partition, e.End))
			for _, p := range u.parts {
				t.Partitions = append(t.Partitions, p.Partition)
			}
			return t, "", nil
		}
		switch {
		case p.Offset == nil && !u.o.At.End:
			why = "no offset is stored: rows were held against all records of their keys, and missing ones cannot be told"
		case p.Offset != nil && *p.Offset+1 < e.Start:
			why = fmt.Sprintf("the log starts at %d, behind the store's offset: what was between is gone, and Kafka Streams restores the task from the start (under exactly-once it wipes it first)", e.Start)
		}
	}
	return nil, why, nil
}
