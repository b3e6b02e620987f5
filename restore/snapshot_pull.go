package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
	"sstool/restore/snapshots"
)

// SnapshotResult is what came from snapshots, and what had to be replayed.
type SnapshotResult struct {
	Bucket      string    `json:"bucket"`
	Files       int       `json:"files"`
	Bytes       int64     `json:"bytes"`         // of the stores that came from snapshots
	Fetched     int64     `json:"fetched_bytes"` // the rest was there from an earlier run, or
	Linked      int64     `json:"linked_bytes"`  // is shared with the bucket's directory
	PullSeconds float64   `json:"pull_seconds"`
	MBPerSec    float64   `json:"pull_mb_per_second"` // of what was fetched or linked
	TailRecords int64     `json:"tail_records"`
	TailSeconds float64   `json:"tail_seconds"` // the whole replay, stores in full included
	Seconds     float64   `json:"seconds"`      // both
	Stores      []*Origin `json:"stores"`
}

func (s *SnapshotResult) fetched(n snapshot.Fetched) {
	s.Fetched += n.Bytes
	s.Linked += n.Linked
}

// origins are the units that come from snapshots.
func (p *Plan) origins() (out []*Unit) {
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if !u.Done && u.Origin.used() {
				out = append(out, u)
			}
		}
	}
	return out
}

// pullBytes is what the pull will still need on disk.
func (p *Plan) pullBytes() (n int64) {
	if p.Options.Snapshot == nil {
		return 0
	}
	for _, u := range p.origins() {
		n += u.Origin.Bytes
	}
	if p.Options.Into != "" {
		n -= dirSize(snapshots.Dir(p.Options.Into, p.Options.ApplicationID))
	}
	return max(0, n)
}

// pull fetches the stores that come from snapshots below root, from where they
// are gone on with as any store that has an offset. What cannot be used is
// restored in full.
func (p *Plan) pull(ctx context.Context, sink op.Sink, res *Result, root string) error {
	if p.Options.Snapshot == nil {
		return nil
	}
	sr := &SnapshotResult{Bucket: p.Options.Snapshot.Bucket.Name()}
	res.Snapshot = sr
	units := p.origins()
	if len(units) == 0 {
		return nil
	}
	start := time.Now()
	if err := snapshots.Sweep(root, func(id string) bool {
		return slices.ContainsFunc(units, func(u *Unit) bool { return u.Origin.Snapshot == id })
	}); err != nil {
		return err
	}
	targets := map[*Unit][]snapshot.Target{}
	var all []snapshot.Target
	for i, u := range units {
		if i > 0 && units[i-1].Task == u.Task {
			continue
		}
		ts, err := prepareTask(root, units, u.Task, targets)
		if err != nil {
			return err
		}
		all = append(all, ts...)
	}
	b, key := p.Options.Snapshot.Bucket, p.Options.Snapshot.Key
	n, err := b.Fetch(ctx, all, key, sink)
	sr.fetched(n)
	lost := err != nil && (op.KindOf(err) == op.Corrupt || op.KindOf(err) == op.NotFound)
	if err != nil && !lost {
		return err
	}
	for _, u := range units {
		dir := filepath.Join(root, u.Origin.Snapshot, u.Task.Name())
		err = nil
		if lost { // which of them?
			n, err = b.Fetch(ctx, targets[u], key, sink)
			sr.fetched(n)
		}
		if err == nil {
			err = u.checkPulled(dir, &p.Options)
		}
		switch {
		case err == nil:
			u.Resume = dir
			sr.Files += u.Origin.Files
			sr.Bytes += u.Origin.Bytes
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case op.KindOf(err) != op.Corrupt && op.KindOf(err) != op.NotFound && op.KindOf(err) != op.Precondition:
			return err
		case p.Options.Snapshot.Require:
			return fmt.Errorf("task %s, store %q cannot come from snapshot %s: %w", u.Task.Name(), u.Request.Name, u.Origin.Snapshot, err)
		}
		p.unpull(u, err.Error(), sink)
	}
	if sr.PullSeconds = time.Since(start).Seconds(); sr.PullSeconds > 0 {
		sr.MBPerSec = float64(sr.Fetched+sr.Linked) / 1e6 / sr.PullSeconds
	}
	return nil
}

// prepareTask makes the place of one task's stores. Each of them needs the
// task's own files too, which hold its offset.
func prepareTask(root string, units []*Unit, t *TaskPlan, targets map[*Unit][]snapshot.Target) ([]snapshot.Target, error) {
	var g *Origin
	part := snapshot.Task{}
	for _, u := range units {
		if u.Task == t {
			g = u.Origin
			part.Stores = append(part.Stores, *g.store)
		}
	}
	part.Name, part.Files = g.task.Name, g.task.Files
	all, err := snapshots.Prepare(filepath.Join(root, g.Snapshot, t.Name()), g.m, &part)
	for _, x := range all {
		for _, u := range units {
			has := func(f snapshot.File) bool { return f.Path == x.File.Path }
			if u.Task == t && (slices.ContainsFunc(u.Origin.store.Files, has) || slices.ContainsFunc(part.Files, has)) {
				targets[u] = append(targets[u], x)
			}
		}
	}
	return all, err
}

// checkPulled looks at a store that has arrived: whole, closed, and with the
// offset that the manifest told.
func (u *Unit) checkPulled(dir string, o *Options) error {
	if err := snapshots.CheckWhole(dir, u.Origin.store); err != nil {
		return err
	}
	if o.Guarantee == ExactlyOnce {
		if err := closedCleanly(dir, u.Request.Store); err != nil {
			return err
		}
	}
	have, err := storedOffsets(dir, o.Target)
	if err != nil {
		return err
	}
	for _, r := range u.Parts {
		at := streams.TopicPartition{Topic: u.Topic, Partition: r.Partition}
		said, _ := u.Origin.offset(u.Topic, r.Partition)
		if off, ok := have[at]; !ok || off != said.Offset {
			return op.Errorf(op.Corrupt, "the manifest of snapshot %s says offset %d of %s, and the store does not", u.Origin.Snapshot, said.Offset, at)
		}
	}
	return nil
}

// unpull lets a store be restored in full.
func (p *Plan) unpull(u *Unit, why string, sink op.Sink) {
	u.Origin.InFull, u.Resume, u.Origin.Tail = why, "", 0
	for i := range u.Parts {
		u.Parts[i].From, u.Parts[i].Started = u.Parts[i].LogStart, ""
		u.Origin.Tail += u.Parts[i].Records()
	}
	text := fmt.Sprintf("task %s, store %q is restored in full: %s", u.Task.Name(), u.Request.Name, why)
	p.warnOnce("%s", text)
	sink.Warn(unitName(u), text)
}

// inFull says whether a unit that came from a snapshot has to be replayed again
// from the log start: err is how its tail ended.
func (r *run) inFull(u *Unit, err error) (again bool, _ error) {
	if u.Resume == "" || !u.Origin.used() {
		return false, nil
	}
	var moved *kafka.LogStartMovedError
	why := ""
	switch {
	case errors.As(err, &moved):
		for i := range u.Parts {
			if u.Parts[i].Partition == moved.Partition {
				u.Parts[i].LogStart = moved.LogStart
			}
		}
		why = fmt.Sprintf("the log start moved to %d, past the snapshot's offset", moved.LogStart)
	case err != nil && op.KindOf(err) == op.Corrupt:
		why = err.Error()
	case err == nil && u.Origin.tooOld() && slices.ContainsFunc(u.Parts, func(p PartRange) bool { return p.Records() > 0 }):
		why = u.Origin.old(u.Topic) // by now: the tail may have lost some while it was read
	default:
		return false, nil
	}
	if r.opts.Snapshot.Require {
		u.Origin.InFull = why
		return false, r.plan.required(u.Origin)
	}
	r.full.Lock() // the plan's warnings are shared
	defer r.full.Unlock()
	before := u.Origin.Tail
	r.plan.unpull(u, why, r.sink)
	r.total.Add(u.Origin.Tail - before)
	return true, nil
}

// forgetPulled removes what a task that is in place came from.
func (p *Plan) forgetPulled(t *TaskPlan) error {
	var err error
	for _, u := range t.Units {
		if u.Origin != nil && u.Origin.Snapshot != "" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(snapshots.Dir(p.Options.Into, p.Options.ApplicationID), u.Origin.Snapshot, t.Name())))
		}
	}
	return err
}

// snapshotResult completes the part of the result that tells of snapshots.
func (p *Plan) snapshotResult(r *Result) {
	s := r.Snapshot
	if s == nil {
		return
	}
	s.Stores, s.TailRecords = []*Origin{}, 0
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.Origin != nil && !u.Done {
				s.Stores = append(s.Stores, u.Origin)
			}
		}
	}
	for _, ur := range r.units {
		if ur.unit.Origin.used() {
			s.TailRecords += ur.counts.Records
		}
	}
	s.TailSeconds = r.Elapsed
	s.Seconds = s.PullSeconds + s.TailSeconds
	r.Warnings = append([]string{}, p.Warnings...)
}
