package restore

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/standby"
	"sstool/internal/streams"
)

// serve answers processes that ask for a checkpoint of what is followed, until
// the returned function is called. Before it follows the answer is no.
func (f *follower) serve(ctx context.Context) (end func()) {
	o := f.opts
	keeper, err := standby.Keep(o.Into, o.ApplicationID)
	if err != nil {
		f.sink.Warn(o.Into, "nothing can be pushed from it while it is followed: "+err.Error())
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for told := ""; ctx.Err() == nil; wait(ctx, time.Second) {
			if err := f.answer(ctx); err != nil && err.Error() != told {
				told = err.Error()
				f.sink.Warn(o.Into, "a checkpoint was asked for: "+told)
			}
		}
	}()
	return func() {
		cancel()
		<-done
		keeper.Release()
	}
}

// errLater says that a store is just being opened or closed.
var errLater = errors.New("later")

// answer answers all who wait.
func (f *follower) answer(ctx context.Context) error {
	asked, err := standby.Pending(f.opts.Into, f.opts.ApplicationID)
	for _, a := range asked {
		x, e := f.checkpointFor(ctx, a)
		switch {
		case errors.Is(e, errLater) || ctx.Err() != nil:
			continue
		case e != nil:
			x = standby.Refuse(e)
		}
		err = errors.Join(err, a.Answer(x))
	}
	return err
}

// checkpointFor makes the checkpoint that is asked for, task by task.
func (f *follower) checkpointFor(ctx context.Context, a *standby.Asked) (x standby.Answer, err error) {
	p, o := f.plan, f.opts
	p.mu.Lock()
	follows := p.live != nil
	x = standby.Answer{ClusterID: p.ClusterID, Guarantee: string(o.Guarantee), Committed: p.Committed}
	p.mu.Unlock()
	if !o.Target.IsZero() {
		x.KafkaVersion = o.Target.String()
	}
	if !follows {
		return x, op.Errorf(op.Precondition, "it restores what was not there, and does not follow yet").WithTry("again when it follows (sstool_follow_following is 1)")
	}
	if err := a.Begin(); err != nil {
		return x, err
	}
	dir := appDir(o.Into, o.ApplicationID)
	tasks, err := files.Subdirs(dir)
	if err != nil {
		return x, err
	}
	for _, task := range tasks {
		if len(a.Tasks) > 0 && !slices.Contains(a.Tasks, task) {
			continue
		}
		if _, err := streams.ParseTaskID(task); err != nil && task != streams.GlobalDir {
			continue
		}
		stores, err := f.checkpointTask(ctx, a, task, filepath.Join(dir, task), filepath.Join(appDir(a.StateDir, o.ApplicationID), task))
		if err != nil {
			return x, err
		}
		x.Stores = append(x.Stores, stores...)
	}
	return x, nil
}

// checkpointTask makes a copy of one task as it would be if it were closed now.
func (f *follower) checkpointTask(ctx context.Context, a *standby.Asked, task, from, to string) (followed []standby.Store, err error) {
	// The offsets as they are now are of less than the stores will hold.
	f.checkpoints.Lock()
	path := filepath.Join(from, streams.CheckpointFile)
	lines, err := readCheckpointIf(path)
	before, statErr := os.Stat(path)
	f.checkpoints.Unlock()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(to, 0o750); err != nil {
		return nil, err
	}
	cp, fresh := streams.Checkpoint{}, time.Now()
	for at, off := range lines {
		switch {
		case !f.follows(task, at.Topic):
			if cp[at] = off; statErr == nil && before.ModTime().Before(fresh) {
				fresh = before.ModTime()
			}
		case off == streams.OffsetUnknown:
			cp[at] = off
		}
	}
	mine := map[string]bool{} // directories
	for _, u := range f.units {
		if u.task != task {
			continue
		}
		if !a.Goes() || ctx.Err() != nil {
			return nil, errLater
		}
		own, err := f.checkpointUnit(u, from, to)
		if err != nil {
			return nil, err
		}
		maps.Copy(cp, own.lines)
		if own.whole.Before(fresh) {
			fresh = own.whole
		}
		mine[streams.StoreDir(from, own.store)] = true
		followed = append(followed, standby.Store{Task: task, Store: own.store.Name, Topic: u.topic, TopicID: own.topicID})
	}
	// The others nobody writes: the application's lock is held.
	stores, err := streams.StoresOnDisk(from)
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		if !mine[s.Dir] {
			if err := cloneTree(s.Dir, filepath.Join(to, strings.TrimPrefix(s.Dir, from))); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{filepath.Base(streams.PositionFile("", s.Name)), streams.CheckpointFile + "_" + s.Name} {
			if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	// Last, with the time since when the stores may lack something, as a follower
	// leaves it.
	path = filepath.Join(to, streams.CheckpointFile)
	if err := cp.Write(path); err != nil || len(cp) == 0 {
		return followed, err
	}
	return followed, os.Chtimes(path, fresh, fresh)
}

// copied is what the copy of a followed store holds.
type copied struct {
	store   streams.Store
	topicID string
	lines   streams.Checkpoint
	whole   time.Time // since when it may lack something
}

// checkpointUnit makes a copy of a store. Nothing is applied meanwhile.
func (f *follower) checkpointUnit(u *followUnit, from, to string) (c copied, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c.store, c.topicID = u.unit.Request.Store, u.unit.topicID
	switch {
	case u.doing == followRestoring:
		return c, op.Errorf(op.Precondition, "store %q of task %s is being restored anew", c.store.Name, u.task).WithTry("again when it is followed")
	case u.store == nil:
		return c, errLater
	}
	if err := f.flush(u); err != nil {
		return c, err
	}
	c.whole = time.Now()
	c.lines = u.lines(&c.whole)
	if c.store.Kind.Segmented() { // it may have no segment
		if err := os.MkdirAll(streams.StoreDir(to, c.store), 0o755); err != nil {
			return c, err
		}
	}
	return c, u.store.checkpoint(from, to)
}

// checkpointDB makes a copy of a database of the task in from, in its place in to.
func checkpointDB(db *rocks.DB, from, to string) error {
	rel, err := filepath.Rel(from, db.Dir())
	if err != nil {
		return err
	}
	to = filepath.Join(to, rel)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return db.Checkpoint(to)
}

// noteLeft notes that all stores are flushed and closed, for a push: the times of
// the .checkpoint files are earlier.
func (f *follower) noteLeft() error {
	o := f.opts
	if !f.plan.Committed {
		return nil
	}
	tasks, now := map[string]standby.Left{}, time.Now()
	for _, u := range f.units {
		l := tasks[u.task]
		i, err := os.Stat(filepath.Join(appDir(o.Into, o.ApplicationID), u.task, streams.CheckpointFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		l.Checkpoint, l.At, l.Stores = i.ModTime(), now, append(l.Stores, u.unit.Request.Name)
		tasks[u.task] = l
	}
	return standby.NoteLeft(o.Into, o.ApplicationID, tasks)
}
