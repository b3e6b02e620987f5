package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

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
