package standby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sstool/internal/op"
)

// Patience is how long a follower may show no sign before it is given up.
const Patience = 2 * time.Minute

// Checkpoint is what a follower has made. Nobody writes there.
type Checkpoint struct {
	Answer
	StateDir string // the application's directory is in it

	dir  string
	lock *lock
}

// Ask asks the follower that keeps the application's directory for a checkpoint
// of the tasks, none: of all, and waits until it has made it. The checkpoint
// stands until it is removed.
func Ask(ctx context.Context, state, appID string, tasks []string, patience time.Duration) (*Checkpoint, error) {
	c := &Checkpoint{dir: filepath.Join(ownDir(state), newName(appID))}
	c.StateDir = filepath.Join(c.dir, stateName)
	if err := c.request(tasks); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	if err := c.await(ctx, state, appID, patience); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// request says what is wanted. Until it is locked it says nothing: it would
// pass for that of a process that has died.
func (c *Checkpoint) request(tasks []string) error {
	if err := os.Mkdir(c.dir, 0o750); err != nil {
		return err
	}
	var err error
	if c.lock, err = take(filepath.Join(c.dir, requestFile), os.O_CREATE|os.O_EXCL, syscall.LOCK_EX); err != nil {
		return err
	}
	if tasks == nil {
		tasks = []string{}
	}
	data, err := json.Marshal(Request{Version: 1, Tasks: tasks})
	if err != nil {
		return err
	}
	_, err = c.lock.f.Write(data) // at once: half of it is none
	return err
}

func (c *Checkpoint) await(ctx context.Context, state, appID string, patience time.Duration) error {
	var sign time.Time // as the follower's clock and file system tell it
	since := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		kept := Kept(state, appID)
		// Looked for after that: a follower that ends has answered before.
		data, err := os.ReadFile(filepath.Join(c.dir, answerFile))
		if err == nil {
			if err := parse(data, &c.Version, &c.Answer); err != nil {
				return err
			}
			if c.Refused != nil {
				return c.Refused.err()
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		i, err := os.Stat(c.dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return op.Errorf(op.Failed, "the follower of %s could not answer, and has removed the request", filepath.Join(state, appID)).WithTry("its own output says why")
		case err != nil:
			return err
		case !kept:
			return op.Errorf(op.Precondition, "the follower of %s ended before it had made a checkpoint", filepath.Join(state, appID)).
				WithTry("run the command again: it takes what the follower has left, or what the next one keeps")
		case !i.ModTime().Equal(sign):
			sign, since = i.ModTime(), time.Now()
		case time.Since(since) > patience:
			return op.Errorf(op.InUse, "the follower of %s has not shown any sign for %s", filepath.Join(state, appID), patience).
				WithTry("look at the follower; when it is stopped in order, the directory can be pushed as it is")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the follower's checkpoint: %w", ctx.Err())
		}
	}
}

// Remove removes the checkpoint, or the request for it.
func (c *Checkpoint) Remove() error {
	err := os.RemoveAll(c.dir)
	c.lock.release()
	return err
}
