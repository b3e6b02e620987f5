package restore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/applock"
	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// follower is one execution of a FollowPlan. It holds the application's lock
// from its beginning to its end: whoever else opens the directory is told so.
type follower struct {
	plan  *FollowPlan
	opts  *FollowOptions
	run   *run
	sink  op.Sink
	began time.Time
	units []*followUnit

	// checkpoints is held while a .checkpoint is changed: stores of one task
	// share it.
	checkpoints sync.Mutex
	building    sync.Mutex     // one store is built anew at a time
	fetch       int32          // bytes that one fetch asks for
	slots       chan struct{}  // as many goroutines apply records as there are threads
	unflushed   atomic.Int64   // bytes in memtables, of all stores
	trouble     followTroubles // partitions whose leader does not answer
}

// Run follows until the context ends, which is its regular end: everything that
// was read is then applied, flushed, and its offsets are written. An end before
// that is an error; what is in the directory can be gone on with in any case.
func (p *FollowPlan) Run(ctx context.Context, sink op.Sink) (*FollowResult, error) {
	o := &p.opts
	lock, err := applock.Hold(appDir(o.Into, o.ApplicationID))
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	f := &follower{plan: p, opts: o, sink: sink, began: time.Now()}
	defer f.serve(ctx)()
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	if err := f.build(ctx); err != nil {
		return nil, err
	}
	if err = f.follow(ctx); err == nil {
		err = f.noteLeft()
	}
	res := p.followResult(f)
	sink.Emit(op.Event{Type: op.Summary, Message: res.Text()})
	return res, err
}

// prepare looks at the directory again, now that nobody else can write into it,
// and moves away what is of no use.
func (f *follower) prepare(ctx context.Context) error {
	p, o := f.plan, f.opts
	note, _, err := recoverTarget(o.Into, o.ApplicationID)
	if err != nil {
		return err
	}
	if note != "" {
		f.sink.Warn(o.Into, note)
	}
	again, err := PlanFollow(ctx, p.client, *o)
	if err != nil {
		return err
	}
	for _, s := range again.Starts {
		if s.Action == FollowRestore || slices.ContainsFunc(p.Starts, func(old *FollowStart) bool { return markName(old.Unit) == markName(s.Unit) && old.Action == s.Action }) {
			continue
		}
		if !s.Own {
			return op.Errorf(op.Precondition, "store %q of task %s has changed since the plan was made", s.Unit.Request.Name, s.Unit.Task.Name()).
				WithTry("run the command again to plan anew")
		}
	}
	p.take(again)
	for _, s := range p.Starts {
		if s.Action != FollowStartOver {
			continue
		}
		to, err := f.setAside(s.Unit)
		if err != nil {
			return err
		}
		f.sink.Warn(unitName(s.Unit), s.Reason+": the store is moved aside to "+to+" and restored")
		s.Unit.Done, s.Unit.Kept, s.Unit.Task.Done, s.Unit.was = false, false, false, ""
		for i := range s.parts {
			s.parts[i] = followPart{partition: s.parts[i].partition, pos: s.Unit.Parts[i].To, applied: streams.OffsetUnknown, fresh: p.asked, retention: s.parts[i].retention}
		}
	}
	var units []*Unit
	for _, s := range p.Starts {
		units = append(units, s.Unit)
	}
	return p.kept.note(p.Plan, units...)
}

// take replaces the plan by a newer one.
func (p *FollowPlan) take(n *FollowPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Plan, p.Starts, p.asked, p.kept = n.Plan, n.Starts, n.asked, n.kept
}

// setAside takes a store out of its task: its offset first, because a store that
// is absent while its line stands would pass for an empty one that is up to date.
func (f *follower) setAside(u *Unit) (string, error) {
	o := f.opts
	final := filepath.Join(appDir(o.Into, o.ApplicationID), u.Task.Name())
	aside := filepath.Join(ownDir(o.Into), "aside", o.ApplicationID, u.Task.Name(), time.Now().UTC().Format("20060102T150405.000000"))
	f.checkpoints.Lock()
	defer f.checkpoints.Unlock()
	err := editCheckpoint(filepath.Join(final, streams.CheckpointFile), func(c streams.Checkpoint) {
		for _, r := range u.Parts {
			delete(c, streams.TopicPartition{Topic: u.Topic, Partition: r.Partition})
		}
	})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return "", err
	}
	name := u.Request.Name
	for from, to := range map[string]string{
		streams.StoreDir(final, u.Request.Store):              name,
		streams.PositionFile(final, name):                     name + ".position",
		filepath.Join(final, streams.CheckpointFile+"_"+name): name + ".checkpoint",
	} {
		if err := os.Rename(from, filepath.Join(aside, to)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	to := filepath.Join(aside, name)
	return to, errors.Join(files.SyncDir(filepath.Dir(streams.StoreDir(final, u.Request.Store))), files.SyncDir(aside))
}

// build restores what is not there, by bulk.
func (f *follower) build(ctx context.Context) error {
	p := f.plan
	if slices.ContainsFunc(p.Starts, func(s *FollowStart) bool { return s.Action != FollowResume }) {
		res := p.newResult()
		if err := p.checkSpace(res); err != nil {
			return err
		}
		p.locked = &f.checkpoints
		if err := p.runInto(ctx, f.sink, res); err != nil {
			return err
		}
		p.finishResult(res)
		p.mu.Lock()
		p.result = res
		p.mu.Unlock()
	}
	for _, s := range p.Starts {
		if err := f.applied(s.Unit, s.parts, s.Action); err != nil {
			return err
		}
		f.units = append(f.units, newFollowUnit(s))
	}
	f.run = p.newRun(f.sink)
	f.slots = make(chan struct{}, p.Options.Threads)
	parts := int64(0)
	for _, u := range f.units {
		parts += int64(len(u.parts))
	}
	// A quarter of the budget is for what is on its way, waits and is applied.
	f.fetch = int32(min(max(p.Options.Memory/4/(3*parts), 64<<10), DefaultPartitionMax))
	f.trouble.sink, f.trouble.partitions = f.sink, int(parts)
	return f.noteMarks()
}

// applied takes over where a restore ended: the last record that it applied is
// in the checkpoint, the position behind it is the end it went to.
func (f *follower) applied(u *Unit, parts []followPart, how FollowAction) error {
	if how == FollowResume {
		return nil
	}
	dir := filepath.Join(appDir(f.opts.Into, f.opts.ApplicationID), u.Task.Name())
	cp, err := readCheckpointIf(filepath.Join(dir, streams.CheckpointFile))
	if err != nil {
		return err
	}
	for i := range parts {
		off, ok := cp[streams.TopicPartition{Topic: u.Topic, Partition: parts[i].partition}]
		parts[i].pos, parts[i].mark = max(u.Parts[i].To, u.Parts[i].From), u.replayed[parts[i].partition].mark
		switch {
		case ok && u.Request.Global:
			parts[i].applied = off - 1
		case ok && off >= 0:
			parts[i].applied = off
		}
	}
	return nil
}

// follow keeps all stores until the context ends, or one of them cannot go on.
func (f *follower) follow(ctx context.Context) error {
	f.plan.mu.Lock()
	f.plan.live = f
	f.plan.mu.Unlock()
	f.sink.Emit(op.Event{Type: op.Phase, Name: "follow"})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(f.units))
	for i, u := range f.units {
		wg.Go(func() {
			if errs[i] = f.keep(ctx, u); errs[i] != nil {
				cancel() // the others end as with a signal: closed, their offsets written
			}
		})
	}
	wg.Go(func() { f.tell(ctx) })
	wg.Wait()
	return errors.Join(append(errs, f.noteMarks())...)
}

// noteMarks writes where in their logs the stores are, so that the next run
// notices one that was cut back meanwhile.
func (f *follower) noteMarks() error {
	p := f.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range f.units {
		from := p.kept.Stores[markName(u.unit)]
		from.Marks = map[int32]kafka.LogMark{}
		for _, part := range u.parts {
			from.Marks[part.partition] = part.mark
		}
		p.kept.Stores[markName(u.unit)] = from
	}
	return files.WriteJSON(followFile(p.Options.Into, p.Options.ApplicationID), p.kept)
}

// keep follows one store, and begins it anew when what it holds is of no use
// any more.
func (f *follower) keep(ctx context.Context, u *followUnit) error {
	for again := 0; ; again++ {
		begun := time.Now()
		err := f.followUnit(ctx, u)
		var over *startOverError
		if !errors.As(err, &over) {
			return err
		}
		if time.Since(begun) > 10*time.Minute {
			again = 0
		}
		if err := f.rebuild(ctx, u, over, again); err != nil {
			return err
		}
	}
}

// startOverError says why a store cannot be gone on with.
type startOverError struct{ why string }

func (e *startOverError) Error() string { return e.why }

// rebuild moves a store aside and restores it from the changelog as it is now,
// while the others are followed.
func (f *follower) rebuild(ctx context.Context, u *followUnit, over *startOverError, again int) error {
	to, err := f.setAside(u.unit)
	if err != nil {
		return err
	}
	u.state(followRestoring)
	f.sink.Warn(unitName(u.unit), over.why+": the store is moved aside to "+to+" and restored")
	u.startedOver.Add(1)
	was := u.parts
	for try := again; ; try++ {
		if try > 0 {
			wait(ctx, min(time.Second<<min(try-1, 6), time.Minute))
		}
		if ctx.Err() != nil {
			return nil
		}
		err := f.restoreOne(ctx, u)
		switch {
		case err == nil || ctx.Err() != nil:
			for _, part := range was {
				f.trouble.gone(part)
			}
			return nil
		case op.KindOf(err) == op.Unreachable || op.KindOf(err) == op.NotFound:
			f.trouble.add(was[0], err)
		default:
			return err
		}
	}
}

func (f *follower) restoreOne(ctx context.Context, u *followUnit) error {
	f.building.Lock()
	defer f.building.Unlock()
	asked := time.Now()
	o := f.opts.Options
	o.follow, o.rebuild, o.Force = true, true, false
	o.Stores, o.Partitions, o.Tasks = []StoreRequest{u.unit.Request}, nil, []streams.TaskID{u.unit.Task.Task}
	if u.unit.Request.Global {
		o.Tasks = nil
	}
	p, err := MakePlan(ctx, f.plan.client, o)
	if err != nil {
		return err
	}
	if len(p.Tasks) != 1 || len(p.Tasks[0].Units) != 1 || len(p.Tasks[0].Units[0].Parts) != len(u.parts) {
		return op.Errorf(op.NotFound, "%s has other partitions than before", u.unit.Topic)
	}
	unit := p.Tasks[0].Units[0]
	p.locked = &f.checkpoints
	quiet := op.Sink(func(e op.Event) {
		if e.Type == op.Warning {
			f.sink.Emit(e)
		}
	})
	if !unit.Done {
		if err := p.runInto(ctx, quiet, p.newResult()); err != nil {
			return err
		}
	}
	parts := make([]followPart, len(u.parts))
	for i := range parts {
		parts[i] = followPart{partition: u.parts[i].partition, applied: streams.OffsetUnknown, fresh: asked, retention: u.parts[i].retention}
	}
	if err := f.applied(unit, parts, FollowRestore); err != nil {
		return err
	}
	f.plan.mu.Lock()
	err = f.plan.kept.note(p, unit)
	f.plan.mu.Unlock()
	u.begin(unit, parts)
	return err
}

// wait sleeps, or less when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
