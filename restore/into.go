package restore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"sstool/internal/applock"
	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/restore/snapshots"
)

// runInto builds every task aside and puts each in place as soon as it is
// whole. The application's lock is held all the while.
func (p *Plan) runInto(ctx context.Context, sink op.Sink, res *Result) error {
	o := &p.Options
	if p.locked == nil {
		lock, err := applock.Hold(appDir(o.Into, o.ApplicationID))
		if err != nil {
			return err
		}
		defer lock.Release()
	}
	note, done, err := recoverTarget(o.Into, o.ApplicationID)
	if err != nil {
		return err
	}
	if note != "" {
		sink.Warn(o.Into, note)
	}
	if err := p.recheck(done); err != nil {
		return err
	}
	build := buildDir(o.Into, o.ApplicationID)
	if err := os.MkdirAll(build, 0o750); err != nil {
		return err
	}
	forced := forcedFile(o.Into, o.ApplicationID)
	if o.Force && p.forcedSince.IsZero() {
		if err := files.WriteJSON(forced, time.Now().UTC()); err != nil {
			return err
		}
	}
	defer func() {
		// A placement that failed half-way is completed by the next run.
		if !files.Exists(journalFile(o.Into, o.ApplicationID)) {
			os.RemoveAll(build)
		}
	}()
	for _, t := range p.Tasks {
		final := filepath.Join(appDir(o.Into, o.ApplicationID), t.Name())
		if same, err := files.SameFileSystem(build, final); err != nil || !same {
			if err != nil {
				return err
			}
			return op.Errorf(op.Precondition, "%s lies on another file system than %s: what is built cannot be renamed into it", final, build).
				WithTry("--into the directory that is on that file system")
		}
	}
	if err := p.pull(ctx, sink, res, snapshots.Dir(o.Into, o.ApplicationID)); err != nil {
		return err
	}
	sink.Emit(op.Event{Type: op.Phase, Name: "restore"})
	r := p.newRun(sink)
	start := time.Now()
	units := r.units
	if p.share != nil {
		units = p.share.units(r)
	}
	out, err := units(ctx, build, p.Tasks, func(t *TaskPlan, done []unitResult) error {
		if err := r.place(t, done); err != nil {
			return err
		}
		return p.forgetPulled(t)
	})
	elapsed := time.Since(start)
	if err == nil && o.Force {
		err = os.Remove(forced)
	}
	if err == nil && o.Snapshot != nil {
		err = os.RemoveAll(snapshots.Dir(o.Into, o.ApplicationID))
	}
	for i := range out {
		final := filepath.Join(appDir(o.Into, o.ApplicationID), out[i].unit.Task.Name())
		if serr := r.settle(&out[i], final); serr != nil && err == nil {
			err = serr
		}
	}
	res.addRun(out, elapsed, r.parallel)
	if err != nil {
		p.finishResult(res)
		if n := finishedTasks(p, out); n > 0 && !errors.Is(err, context.Canceled) {
			sink.Warn(filepath.Base(build), "finished tasks stay; the next run does only the rest")
		}
	}
	return err
}

func finishedTasks(p *Plan, done []unitResult) int {
	left := map[*TaskPlan]int{}
	for _, ur := range done {
		left[ur.unit.Task]++
	}
	n := 0
	for _, t := range p.Tasks {
		if left[t] > 0 && left[t] == len(t.Units) {
			n++
		}
	}
	return n
}
