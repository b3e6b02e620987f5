package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sstool/internal/files"
	"sstool/internal/op"
)

// ledger is a JSON file that says how far a run has come. It is replaced as a
// whole, so that a kill leaves the old or the new one, and held: there is one
// run at a time.
type ledger[T any] struct {
	State T
	path  string
	lock  *os.File
}

// openLedger opens the ledger at path and holds it; found tells whether an
// earlier run left one. Its directory is made.
func openLedger[T any](path string) (l *ledger[T], found bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, false, err
	}
	l = &ledger[T]{path: path}
	if l.lock, err = lockFile(path + ".lock"); err != nil {
		return nil, false, err
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, false, nil
	case err == nil:
		err = json.Unmarshal(data, &l.State)
		if err != nil {
			err = op.Errorf(op.Corrupt, "ledger %s: %w", path, err).WithTry("it is replaced at once and never half written: see who has changed it, or move it away to begin anew")
		}
	}
	if err != nil {
		l.close()
		return nil, false, err
	}
	return l, true, nil
}

// save makes the state durable.
func (l *ledger[T]) save() error { return files.WriteJSON(l.path, l.State) }

// remove ends the run: there is nothing to continue. What a run that was killed
// while it wrote the ledger has left goes too.
func (l *ledger[T]) remove() error {
	_ = os.Remove(l.path + ".tmp")
	err := os.Remove(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, files.SyncDir(filepath.Dir(l.path)))
}

// close lets the ledger go.
func (l *ledger[T]) close() {
	if l != nil && l.lock != nil {
		_ = os.Remove(l.lock.Name()) // while it is held: see lockFile
		_ = l.lock.Close()
		l.lock = nil
	}
}

// lockFile holds a file of its own for the lock: the ledger's is another one
// after every change.
func lockFile(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, op.Errorf(op.InUse, "another sstool works with the ledger %s", filepath.Clean(path[:len(path)-len(".lock")])).WithTry("wait until it is done")
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// Who held it before may have removed the file between the two calls.
		mine, err := f.Stat()
		there, err2 := os.Stat(path)
		if err == nil && err2 == nil && os.SameFile(mine, there) {
			return f, nil
		}
		_ = f.Close()
	}
}
