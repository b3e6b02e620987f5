package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/restore"
)

// checkDir refuses a path that is, or lies below, something that is no
// directory; flag names it. A directory that does not exist yet is fine.
func checkDir(flag, path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	what := ""
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		what = "lies below a file"
	case err == nil && !info.IsDir():
		what = "is a file, not a directory"
	default:
		return nil
	}
	return op.Errorf(op.Usage, "%s %s %s", flag, path, what).WithTry("%s with a directory", flag)
}

// checkScratch refuses a directory for temporary files that is not there: it may
// be needed late, or never.
func checkScratch(dir string) error {
	if err := checkDir("--scratch", dir); err != nil || dir == "" || files.Exists(dir) {
		return err
	}
	return op.Errorf(op.NotFound, "--scratch %s: no such directory", dir)
}

// permissionTry is the next step when the operating system refused err.
func permissionTry(err error) string {
	switch {
	case errors.Is(err, syscall.EROFS):
		return "a directory on a file system that is mounted for writing"
	case errors.Is(err, fs.ErrPermission):
		return "run it as the user the application runs as, who owns its files"
	}
	return ""
}

// foreignOwner is the owner of an existing directory, when a process of user
// euid would leave files in it that its owner cannot write.
func foreignOwner(dir string, euid int) (uid int, foreign bool) {
	info, err := os.Stat(dir)
	if err != nil || euid != 0 {
		return 0, false // others than root cannot write there, and are told
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return 0, false
	}
	return int(st.Uid), true
}

// warnOfOwner warns of a state directory whose owner, the application's user,
// would not own what is built in it.
func warnOfOwner(into, appID string, warn func(string)) {
	for _, dir := range []string{filepath.Join(into, appID), into} {
		if uid, foreign := foreignOwner(dir, os.Geteuid()); foreign {
			warn(fmt.Sprintf("%s belongs to user %d, and this is root: what is built will belong to root, and the application may not be able to open it (run as user %d, or chown -R %d %s afterwards)", dir, uid, uid, uid, dir))
			return
		}
	}
}

// movedStore is a store that stood in the way and was moved.
type movedStore struct {
	Store string `json:"store"`
	Task  string `json:"task"`
	To    string `json:"to"`
}

// movedSince finds where the stores a plan replaced or resumed went: below
// .sstool/aside a directory per task and time (restore's place.go).
func movedSince(p *restore.Plan, begun time.Time) []movedStore {
	var out []movedStore
	stamp := begun.UTC().Format("20060102T150405.000000")
	for _, t := range p.Tasks {
		aside := filepath.Join(p.Options.Into, ".sstool", "aside", p.Options.ApplicationID, t.Name())
		times, err := os.ReadDir(aside)
		if p.Options.Into == "" || err != nil {
			continue
		}
		for _, u := range t.Units {
			for _, at := range times {
				to := filepath.Join(aside, at.Name(), u.Request.Name)
				if _, err := os.Stat(to); err == nil && at.Name() >= stamp {
					out = append(out, movedStore{u.Request.Name, t.Name(), to})
				}
			}
		}
	}
	return out
}
