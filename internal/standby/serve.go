package standby

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sstool/internal/files"
)

// Asked is a request that waits for an answer.
type Asked struct {
	Request
	StateDir string // where the application's directory is to be made

	dir string
}

// Pending are the requests for an application that wait. What killed processes
// have left is removed.
func Pending(state, appID string) ([]*Asked, error) {
	names, err := files.Subdirs(ownDir(state))
	if err != nil {
		return nil, err
	}
	var out []*Asked
	for _, name := range names {
		if !isRequest(name, appID) {
			continue
		}
		a := &Asked{dir: filepath.Join(ownDir(state), name)}
		a.StateDir = filepath.Join(a.dir, stateName)
		if left, err := a.leftover(); left || err != nil {
			if err == nil {
				err = os.RemoveAll(a.dir)
			}
			if err != nil {
				return out, err
			}
			continue
		}
		if files.Exists(filepath.Join(a.dir, answerFile)) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(a.dir, requestFile))
		if err != nil || len(data) == 0 {
			continue // not yet, or just now removed
		}
		if err := parse(data, &a.Version, &a.Request); err != nil {
			if err := a.Answer(Refuse(err)); err != nil {
				return out, err
			}
			continue
		}
		out = append(out, a)
	}
	return out, nil
}

// Sweep removes what killed processes have left.
func Sweep(state, appID string) error {
	names, err := files.Subdirs(ownDir(state))
	for _, name := range names {
		if isRequest(name, appID) {
			a := &Asked{dir: filepath.Join(ownDir(state), name)}
			left, e := a.leftover()
			if left {
				e = os.RemoveAll(a.dir)
			}
			err = errors.Join(err, e)
		}
	}
	return err
}

// leftover says whether who asked has died.
func (a *Asked) leftover() (bool, error) {
	l, err := take(filepath.Join(a.dir, requestFile), 0, syscall.LOCK_EX|syscall.LOCK_NB)
	defer l.release()
	switch {
	case errors.Is(err, errLocked):
		return false, nil
	case err == nil:
		data, err := read(l.f)
		if err != nil || len(data) > 0 {
			return err == nil, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return false, err
	}
	i, err := os.Stat(a.dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && time.Since(i.ModTime()) > unsaid, err
}

// Begin makes the place for the checkpoint, also when another follower has begun
// one there and died.
func (a *Asked) Begin() error {
	if err := os.RemoveAll(a.StateDir); err != nil {
		return err
	}
	return os.Mkdir(a.StateDir, 0o750)
}

// Goes shows that the follower is at it, and says whether anybody waits still.
func (a *Asked) Goes() bool {
	now := time.Now()
	if os.Chtimes(a.dir, now, now) != nil {
		return false
	}
	left, err := a.leftover()
	return !left && err == nil
}

// Answer ends the request. Whatever it could not say is told by the request's
// end.
func (a *Asked) Answer(x Answer) error {
	x.Version = 1
	if x.Stores == nil {
		x.Stores = []Store{}
	}
	data, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if err := files.Replace(filepath.Join(a.dir, answerFile), data); err != nil && files.Exists(a.dir) {
		return errors.Join(err, os.RemoveAll(a.dir))
	}
	return nil
}
