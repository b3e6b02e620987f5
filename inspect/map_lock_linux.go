package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sstool/internal/op"
)

// LockHolder says which process holds an application's lock. The lock is a
// POSIX record lock (FileChannel.tryLock), which the kernel lists in
// /proc/locks; of a process in another container only F_GETLK knows, which
// asks and takes nothing. F_GETLK comes second because closing a file drops
// the locks this very process has on it.
func LockHolder(path string) MapLock {
	no, yes := false, true
	var raw unix.Stat_t
	err := unix.Stat(path, &raw)
	if errors.Is(err, fs.ErrNotExist) {
		return MapLock{Held: &no, Why: "there is no .lock file"}
	}
	if err != nil {
		return MapLock{Why: err.Error()}
	}
	locks, err := os.ReadFile("/proc/locks")
	if err == nil {
		if pid, ok := findLock(locks, unix.Major(raw.Dev), unix.Minor(raw.Dev), raw.Ino); ok {
			l := MapLock{Held: &yes, Why: "/proc/locks"}
			if pid > 0 {
				l.PID = &pid
				l.Command = command(pid)
			}
			return l
		}
	}
	f, _, ferr := op.OpenFile(path)
	if ferr != nil {
		return MapLock{Why: "not in /proc/locks, and the file cannot be opened: " + bare(ferr).Error()}
	}
	defer f.Close()
	q := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &q); err != nil {
		return MapLock{Why: "cannot be asked for: " + err.Error()}
	}
	if q.Type == unix.F_UNLCK {
		return MapLock{Held: &no, Why: "nobody on this host holds it"}
	}
	l := MapLock{Held: &yes, Why: "held by a process that cannot be seen from here (another container or host)"}
	if pid := int(q.Pid); pid > 0 {
		l.PID, l.Command, l.Why = &pid, command(pid), "fcntl"
	}
	return l
}

// findLock finds who holds a write lock on an inode. The lines are of the form
// "1: POSIX  ADVISORY  WRITE 4242 08:01:131 0 EOF", device numbers in hex;
// waiters have "->".
func findLock(locks []byte, major, minor uint32, ino uint64) (pid int, ok bool) {
	want := fmt.Sprintf("%02x:%02x:%d", major, minor, ino)
	for line := range bytes.Lines(locks) {
		f := strings.Fields(string(line))
		if len(f) < 8 || f[1] == "->" || f[3] != "WRITE" || f[5] != want {
			continue
		}
		n, err := strconv.Atoi(f[4])
		return n, err == nil
	}
	return 0, false
}

// command names a process: the program, and of Java what it runs. The other
// arguments may hold passwords.
func command(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(b) == 0 {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return strings.TrimSpace(string(comm))
	}
	return shortCommand(strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"))
}

func shortCommand(args []string) string {
	name := filepath.Base(args[0])
	if name != "java" {
		return name
	}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-jar" && i+1 < len(args):
			return name + " -jar " + filepath.Base(args[i+1])
		case (a == "-m" || a == "--module") && i+1 < len(args):
			return name + " -m " + args[i+1]
		case a == "-cp" || a == "-classpath" || a == "--class-path" || a == "-p" || a == "--module-path" || a == "--add-modules" || a == "--add-opens" || a == "--add-exports":
			i++
		case strings.HasPrefix(a, "-"), strings.HasPrefix(a, "@"):
		default:
			return name + " " + a
		}
	}
	return name
}

// inMemory says whether the path is on tmpfs or ramfs.
func inMemory(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	return fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC
}
