package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sstool/internal/applock"
	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Apply clones. It holds the applications' locks meanwhile. Done again, it
// completes what was begun and leaves what is done.
func (c *cloner) Apply(ctx context.Context, m *Migration, sink op.Sink) error {
	if !files.Exists(c.app(m.OldApp)) {
		return nil
	}
	release, madeApp, err := c.hold(m, true)
	if err != nil {
		return err
	}
	defer release()
	j, err := c.readJournal(m)
	if err != nil {
		return err
	}
	j.MadeApp = j.MadeApp || madeApp
	if err := c.recover(m, j, sink); err != nil {
		return err
	}
	all := newCloning(m)
	p, err := c.plan(ctx, all, j)
	if err != nil {
		return err
	}
	if err := p.CheckSpace(); err != nil {
		return err
	}
	total, done := int64(p.Links+p.Copies), int64(0)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		sink.Emit(op.Event{Type: op.Progress, Name: t.From, Done: done, Total: total, Unit: "files"})
		if err := c.cloneTask(ctx, all, j, t); err != nil {
			return fmt.Errorf("clone task %s: %w", t.From, err)
		}
		for _, s := range t.Stores {
			done += int64(s.Links + s.Copies)
			if s.State == LeftOut {
				sink.Warn(t.From+"/"+s.Old, "not cloned: "+s.Reason+"; the application restores "+s.New+" from its changelog")
			}
		}
		sink.Emit(op.Event{Type: op.Item, Name: t.From, Done: done, Unit: "files"})
	}
	return os.RemoveAll(filepath.Join(c.stateDir, c.buildDir(m.ID)))
}

// CheckSpace refuses when copies, which there are only across file systems, may
// not find room.
func (p *ClonePlan) CheckSpace() error {
	const margin = 16 << 20
	if p.SpaceFree == nil || p.CopyBytes+margin <= *p.SpaceFree {
		return nil
	}
	return op.Errorf(op.Precondition, "%d MB are free in %s, cloning may need %d MB", *p.SpaceFree>>20, p.StateDir, (p.CopyBytes+margin)>>20).
		WithTry("free space on the file system of the state directory")
}

// hold takes the locks of both applications; make says whether the new one may
// get its directory by it.
func (c *cloner) hold(m *Migration, make bool) (release func(), made bool, err error) {
	var locks []*applock.Lock
	release = func() {
		for _, l := range locks {
			l.Release()
		}
	}
	for _, dir := range slices.Compact([]string{c.app(m.OldApp), c.app(m.NewApp)}) {
		if !files.Exists(dir) {
			if !make {
				continue
			}
			if dir != c.app(m.NewApp) {
				continue
			}
			if err := makeDirLike(dir, c.app(m.OldApp)); err != nil {
				release()
				return nil, false, err
			}
			made = true
		}
		l, err := applock.Hold(dir)
		if err != nil {
			release()
			return nil, false, err
		}
		locks = append(locks, l)
		if info, err := os.Stat(dir); err == nil {
			_ = ownLike(filepath.Join(dir, streams.LockFile), info)
		}
	}
	return release, made, nil
}

// recover completes what a killed run left half in place.
func (c *cloner) recover(m *Migration, j *cloneJournal, sink op.Sink) error {
	for i := range j.Tasks {
		t := &j.Tasks[i]
		if t.Placed {
			if err := c.relist(t, m); err != nil {
				return err
			}
			continue
		}
		switch err := c.complete(t, m.NewApp); {
		case errors.Is(err, errOvertaken):
			// The application ran on it, which is a legal directory at every step.
			sink.Warn(t.To, "an earlier run was stopped while it put task "+t.To+" in place, and the stores have been changed since: they are left as they are")
		case err != nil:
			return fmt.Errorf("complete task %s: %w", t.To, err)
		}
		t.Placed = true
		if err := c.writeJournal(j); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(c.stateDir, c.buildDir(m.ID)))
}

// relist writes the lines of clones again that nobody has used: an application
// that ran under the old names has dropped them, as it does with what it does
// not know.
func (c *cloner) relist(t *clonedTask, m *Migration) error {
	if todo, err := t.pending(c.stateDir); err != nil || len(todo) > 0 {
		if errors.Is(err, errOvertaken) {
			return nil
		}
		return err
	}
	return t.writeLines(filepath.Join(c.app(m.NewApp), t.To))
}

// cloneTask builds the clones of one task aside, notes them, and renames them
// in.
func (c *cloner) cloneTask(ctx context.Context, m *cloning, j *cloneJournal, t *CloneTask) error {
	build := filepath.Join(c.buildDir(m.ID), t.From+"-"+t.To)
	task := clonedTask{From: t.From, To: t.To, Made: !files.Exists(filepath.Join(c.app(m.NewApp), t.To))}
	// Databases wait for the disk most of the time.
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cloneParallel)
	for i := range t.Stores {
		s := &t.Stores[i]
		if s.State != ToClone {
			continue
		}
		for k := range s.dbs {
			g.Go(func() error {
				if err := gctx.Err(); err != nil {
					return err
				}
				if err := c.cloneDatabase(m, s, &s.dbs[k], filepath.Join(c.stateDir, build, s.databaseDir(k))); err != nil {
					return fmt.Errorf("store %q: %w", s.Old, err)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range t.Stores {
		if s := &t.Stores[i]; s.State == ToClone {
			if err := c.noteStore(m, &task, s, build); err != nil {
				return fmt.Errorf("store %q: %w", s.Old, err)
			}
		}
	}
	if len(task.Stores) == 0 {
		return nil
	}
	if err := syncDirs(filepath.Join(c.stateDir, build)); err != nil {
		return err
	}
	if err := c.reached("built " + task.To); err != nil {
		return err
	}
	for i := range task.Moves {
		var err error
		if task.Moves[i].Files, err = files.Fingerprint(filepath.Join(c.stateDir, task.Moves[i].From)); err != nil {
			return err
		}
	}
	j.Tasks = append(j.Tasks, task)
	if err := c.writeJournal(j); err != nil {
		return err
	}
	if err := c.reached("noted " + task.To); err != nil {
		return err
	}
	dir := filepath.Join(c.app(m.NewApp), t.To)
	if err := makeDirLike(dir, filepath.Join(c.app(m.OldApp), t.From)); err != nil {
		return err
	}
	placed := &j.Tasks[len(j.Tasks)-1]
	if err := c.complete(placed, m.NewApp); err != nil {
		return err
	}
	// The cleaner deletes task directories by age (StateDirectory.cleanRemovedTasks).
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return err
	}
	if err := c.reached("placed " + task.To); err != nil {
		return err
	}
	placed.Placed = true
	return c.writeJournal(j)
}

// cloneParallel is how many databases are cloned at once.
const cloneParallel = 8
