package rocks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sstool/internal/op"
)

// wrap turns what RocksDB says (Status::ToString: "IO error: …",
// "Corruption: …") into an error a person can act on. what names the action
// and the place, dir is the store's folder.
func wrap(err error, what, dir string) error {
	if err == nil {
		return nil
	}
	e := &op.Error{Kind: op.Failed, What: what, Err: err}
	msg := err.Error()
	lower := strings.ToLower(msg)
	switch {
	case isLocked(lower):
		e.Kind = op.InUse
		e.Err = fmt.Errorf("held by %s", holderOf(filepath.Join(dir, "LOCK")))
		e.Try = "stop the application that uses this store, or work on a copy of it"
	case strings.HasPrefix(msg, "Corruption: "):
		e.Kind = op.Corrupt
	case strings.Contains(lower, "no space left on device"), strings.Contains(lower, "disk quota exceeded"), strings.HasPrefix(msg, "Space limit"):
		e.Try = "free some space on the file system of " + dir
	case strings.Contains(lower, "permission denied"):
		e.Try = "run as the user who owns " + dir
	case strings.Contains(lower, "too many open files"):
		e.Try = "raise the limit of open files (ulimit -n)"
	case strings.Contains(lower, "does not match existing comparator"):
		e.Try = "the application sets a comparator of its own (rocksdb.config.setter); such a store can only be read"
	}
	return e
}

// isLocked recognizes the two messages of RocksDB's env_posix.cc: another
// process holds LOCK, or this one does.
func isLocked(msg string) bool {
	return strings.HasPrefix(msg, "io error: while lock file") || strings.HasPrefix(msg, "io error: lock hold by current process")
}

// holderOf names the process that holds the lock on path, as far as the
// system tells.
func holderOf(path string) string {
	const unknown = "another process"
	st, err := os.Stat(path)
	if err != nil {
		return unknown
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return unknown
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return unknown
	}
	defer f.Close()
	pid := lockHolder(f, uint64(sys.Ino))
	switch {
	case pid <= 0:
		return unknown
	case pid == os.Getpid():
		return "this process"
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(comm)))
	}
	return fmt.Sprintf("process %d", pid)
}

// lockHolder finds the process with a write lock on an inode in the format of
// /proc/locks (proc(5)): "1: POSIX  ADVISORY  WRITE 4242 08:01:1234 0 EOF".
// The device is not compared: overlay file systems report another one there.
// 0 means none, or one in another PID namespace.
func lockHolder(r io.Reader, inode uint64) int {
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 6 || f[1] == "->" || f[3] != "WRITE" {
			continue
		}
		_, ino, ok := cutLast(f[5], ':')
		if !ok {
			continue
		}
		if n, err := strconv.ParseUint(ino, 10, 64); err != nil || n != inode {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
