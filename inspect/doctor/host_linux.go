package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// diskOf is the file system that a path lies on.
func diskOf(path string) (disk, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return disk{}, fmt.Errorf("statfs %s: %w", path, err)
	}
	block := int64(st.Bsize)
	return disk{free: int64(st.Bavail) * block, size: int64(st.Blocks) * block, inodes: int64(st.Ffree), allInodes: int64(st.Files)}, nil
}

// networkDisk names a file system that other hosts may have too; "" when it is
// none known.
func networkDisk(path string) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return ""
	}
	switch int64(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "SMB"
	case unix.CEPH_SUPER_MAGIC:
		return "CephFS"
	}
	return ""
}

// ownersOf walks over a state directory.
func ownersOf(dir string) (owners, error) {
	out := owners{self: os.Geteuid()}
	byID := map[int]*owner{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil // told elsewhere, or gone by now
		}
		st, err := d.Info()
		if err != nil {
			return nil
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		id := int(sys.Uid)
		o := byID[id]
		if o == nil {
			o = &owner{id: id, name: userName(id), example: path}
			byID[id] = o
		}
		o.files++
		mode := st.Mode().Perm()
		needs := fs.FileMode(0o600)
		if d.IsDir() {
			needs = 0o700
		}
		if mode&needs != needs {
			out.readOnly = append(out.readOnly, path)
		}
		if mode&0o002 != 0 {
			out.open = append(out.open, path)
		}
		return nil
	})
	for _, o := range byID {
		out.owners = append(out.owners, *o)
	}
	slices.SortFunc(out.owners, func(a, b owner) int { return b.files - a.files })
	return out, err
}

func userName(id int) string {
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(id)
}

// fileLimit is how many files a process may open and has open, the latter -1
// when it cannot be seen; of this process when pid is 0. Without a limit it is
// -1.
func fileLimit(pid int) (limit, now int64, whose string, err error) {
	name, whose := "self", "this shell (the application is not running here)"
	if pid > 0 {
		name, whose = strconv.Itoa(pid), fmt.Sprintf("process %d", pid)
	}
	f, err := os.Open(filepath.Join("/proc", name, "limits"))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the limits of process %d cannot be read: %w", pid, err)
	}
	if err != nil {
		return 0, 0, whose, err
	}
	defer f.Close()
	now = -1
	if list, err := os.ReadDir(filepath.Join("/proc", name, "fd")); err == nil && pid > 0 {
		now = int64(len(list))
	}
	in := bufio.NewScanner(f)
	for in.Scan() {
		rest, ok := strings.CutPrefix(in.Text(), "Max open files")
		words := strings.Fields(rest)
		if !ok || len(words) < 1 {
			continue
		}
		if words[0] == "unlimited" {
			return -1, now, whose, nil
		}
		limit, err = strconv.ParseInt(words[0], 10, 64)
		return limit, now, whose, err
	}
	return 0, now, whose, fmt.Errorf("/proc/%s/limits does not name open files", name)
}

// watchersOf finds what reads metrics on the command line of a JVM. The other
// arguments may be secrets.
func watchersOf(pid int) (out []string) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil
	}
	for _, arg := range strings.Split(string(b), "\x00") {
		agent, isAgent := strings.CutPrefix(arg, "-javaagent:")
		agent, _, _ = strings.Cut(agent, "=")
		switch name := strings.ToLower(filepath.Base(agent)); {
		case strings.HasPrefix(arg, "-Dcom.sun.management.jmxremote"):
			out = append(out, "JMX of process "+strconv.Itoa(pid))
		case isAgent && (strings.Contains(name, "jmx") || strings.Contains(name, "opentelemetry") || strings.Contains(name, "jolokia")):
			out = append(out, fmt.Sprintf("agent %s of process %d", filepath.Base(agent), pid))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// memoryOf is the memory that a process may use: its cgroup's limit, or the
// host's; of this process when pid is 0.
func memoryOf(pid int) (bytes int64, whose string, err error) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, "", err
	}
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0, "", err
			}
			bytes, whose = kib<<10, "memory of this host"
		}
	}
	if bytes == 0 {
		return 0, "", errors.New("/proc/meminfo does not tell MemTotal")
	}
	name := "self"
	if pid > 0 {
		name = strconv.Itoa(pid)
	}
	group := ""
	if b, err := os.ReadFile(filepath.Join("/proc", name, "cgroup")); err == nil {
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
				group = rest
			}
		}
	}
	for _, dir := range []string{group, "/"} {
		b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", dir, "memory.max"))
		if n, perr := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && perr == nil && n < bytes {
			bytes, whose = n, "memory limit of the control group"
		}
	}
	return bytes, whose, nil
}
