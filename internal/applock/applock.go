// Package applock holds the lock of a Kafka Streams application's directory,
// which every writer in it holds. Nothing that only reads comes here.
package applock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Lock is the application's own lock, held while its directory is written:
// Java's FileChannel.tryLock is a POSIX record lock over the whole file
// (StateDirectory.initializeProcessId), so a running application and a second
// sstool both see it. It is the process's: closing any descriptor of the file
// in this process would let it go.
type Lock struct{ f *os.File }

// Hold takes the lock of an application's directory, which is created when it
// is not there. When another process has it, the error is an op.InUse that
// names the process.
func Hold(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, streams.LockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: 0, Len: 0}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l)
	if err == nil {
		return &Lock{f}, nil
	}
	defer f.Close()
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		holder := "another process"
		q := syscall.Flock_t{Type: syscall.F_WRLCK}
		if syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &q) == nil && q.Type != syscall.F_UNLCK && q.Pid > 0 {
			holder = fmt.Sprintf("process %d", q.Pid)
		}
		return nil, op.Errorf(op.InUse, "state directory %s is held by %s", dir, holder).
			WithTry("stop the application (or the other sstool) that runs on this directory")
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// Release lets the lock go; nil and a second time are fine.
func (l *Lock) Release() {
	if l != nil && l.f != nil {
		l.f.Close()
		l.f = nil
	}
}
