package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/op"
)

// hostChecks are about the machine that the state lies on.
func hostChecks() []Check {
	asks := []need{needsState}
	return []Check{
		{ID: "host.state-dir-lasts", Area: AreaHost, Title: "the state directory outlives a reboot", Checklist: true, needs: asks, run: stateDirLasts},
		{ID: "host.space", Area: AreaHost, Title: "there is room to grow and to compact", needs: asks, run: hostSpace},
		{ID: "host.open-files", Area: AreaHost, Title: "the limit of open files is above what RocksDB opens", needs: asks, run: openFiles},
		{ID: "host.permissions", Area: AreaHost, Title: "one user owns the state, and may write it", needs: asks, run: permissions},
		{ID: "host.lock", Area: AreaHost, Title: "one process has the state", needs: asks, run: whoHolds},
		{ID: "host.leftovers", Area: AreaHost, Title: "nothing lies in the state directory that is not Kafka Streams'", needs: asks, run: strayFiles},
	}
}

func stateDirLasts(f *facts, r *report) {
	dir := f.state.Path
	if why := inspect.Temporary(dir); why != "" {
		r.warn(dir, "the state lies %s", why).
			then("it is gone after a reboot or a clean-up, and everything is restored from the changelogs").
			do("set state.dir to a directory that lasts, such as /var/lib/kafka-streams")
		return
	}
	r.ok(dir, "the state directory is neither in memory nor under a temporary directory")
}

// hostSpace compares what is free with the state: compaction writes a store
// anew beside the old files, and what was written lately bounds the growth.
func hostSpace(f *facts, r *report) {
	dir := f.state.Path
	d, err := diskOf(dir)
	if err != nil {
		r.unmeasured(dir, "%v", err)
		return
	}
	var largest *inspect.MapStore
	size := int64(0)
	for _, s := range f.stores() {
		size += s.Size
		if largest == nil || s.Size > largest.Size {
			largest = s
		}
	}
	day := writtenSince(f.stores(), f.o.Now.Add(-24*time.Hour))
	facts := func(x *finding) *finding {
		x.because("%s free of %s, the state takes %s", human.Bytes(d.free), human.Bytes(d.size), human.Bytes(size))
		if largest != nil {
			x.because("the largest store is %s of task %s, %s", largest.Name, largest.Task, human.Bytes(largest.Size))
		}
		if day == 0 {
			x.because("no file was written within the last 24 hours")
		} else if day > 0 {
			x.because("files of at most %s were written within the last 24 hours: it grows by no more than that a day", human.Bytes(day))
		}
		return x
	}
	more := "a larger volume, fewer tasks here (more instances), or less state: sstool ttl, retention of windows"
	switch {
	case d.inodes == 0 && d.allInodes > 0:
		facts(r.problem(dir, "no inode is free: no file can be made")).then("RocksDB cannot flush; the application dies").do("%s", more)
	case d.free < d.size/50 || largest != nil && d.free < largest.Size/10:
		facts(r.problem(dir, "the disk is full but for %s", human.Bytes(d.free))).
			then("RocksDB cannot flush or compact: the application dies, and a restore has no room").do("%s", more)
	case largest != nil && d.free < largest.Size:
		facts(r.warn(dir, "less is free than the largest store takes")).
			then("a full compaction writes a store anew before it deletes the old files: it does not fit").do("%s", more)
	case day > 0 && d.free < 2*day && day > 1<<30:
		facts(r.warn(dir, "less is free than twice what the last day wrote")).then("at that rate the disk may be full in %s", human.Duration(time.Duration(float64(d.free)/float64(day)*24)*time.Hour)).do("%s", more)
	default:
		facts(r.ok(dir, "%s free beside %s of state", human.Bytes(d.free), human.Bytes(size)))
	}
}

// permissions looks at who owns what.
func permissions(f *facts, r *report) {
	owned, err := ownersOf(f.state.Path)
	if err != nil {
		r.unmeasured(f.state.Path, "%v", err)
		return
	}
	if len(owned.owners) == 0 {
		r.unmeasured(f.state.Path, "this system does not tell owners")
		return
	}
	if len(owned.owners) > 1 {
		x := r.problem(f.state.Path, "files of %d users", len(owned.owners))
		for _, o := range owned.owners {
			x.because("%s: %d, such as %s", o.name, o.files, o.example)
		}
		x.then("the application's user cannot open or delete the others' files: it dies at start, or restores into them").
			do("chown -R the application's user %s, while the application is stopped", f.state.Path)
	}
	if len(owned.readOnly) > 0 {
		r.problem(f.state.Path, "files and directories that their own user may not write").because("%s", inspect.Few(owned.readOnly)).
			then("the application cannot write there").do("chmod -R u+rwX %s", f.state.Path)
	}
	if len(owned.open) > 0 {
		r.warn(f.state.Path, "others may write here").because("%s", inspect.Few(owned.open)).
			then("any user of this host can change the state").do("chmod -R o-w %s", f.state.Path)
	}
	if len(r.findings) == 0 {
		x := r.ok(f.state.Path, "all of %d files belong to %s", owned.owners[0].files, owned.owners[0].name)
		if owned.owners[0].id != owned.self {
			x.because("another user than the one running sstool")
		}
	}
}

// whoHolds looks at the application's lock, and at RocksDB's own.
func whoHolds(f *facts, r *report) {
	for _, a := range f.apps() {
		if a.Dir == "" {
			continue
		}
		l := a.Lock
		remote := networkDisk(a.Dir)
		if remote != "" {
			r.warn(a.Dir, "the state lies on a network file system (%s)", remote).
				then("locks may fail (LOCK: No locks available) or not keep a second host out, and each flush goes over the network").
				do("use a local disk; a volume that is moved between hosts is all right while only one mounts it")
		}
		held := heldDatabases(f, a.ID, l.PID)
		switch {
		case len(held) > 0:
			x := r.problem(a.Dir, "RocksDB's LOCK is held by another process than the application's .lock")
			for _, h := range held[:min(6, len(held))] {
				x.because("%s", h)
			}
			x.then("opening these stores fails (RocksDBException: lock … LOCK: No locks available, or: Resource temporarily unavailable), again and again").
				do("end that process: a task that was not closed, a second instance, or a tool that opened the store")
		case l.Held == nil:
			r.unmeasured(a.Dir, "who holds .lock: %s", l.Why)
		case !*l.Held:
			r.ok(a.Dir, "nobody holds it: the application is not running here")
		case l.PID == nil:
			r.warn(a.Dir, "%s", l.Why).
				then("an application started here fails: unable to initialize state, this can happen if multiple instances of Kafka Streams are running in the same state directory").
				do("look for the other container or host that mounts this volume; give each instance a directory of its own")
		default:
			r.ok(a.Dir, "held by process %d (%s)", *l.PID, l.Command)
		}
	}
}

// heldDatabases are the databases whose RocksDB lock is held by another process
// than that with the application's lock.
func heldDatabases(f *facts, app string, pid *int) (out []string) {
	for _, a := range f.tree.Apps {
		for _, k := range a.Tasks {
			for _, s := range k.Stores {
				for _, d := range s.Databases {
					if a.ID != app {
						continue
					}
					l := inspect.LockHolder(filepath.Join(d.Dir, "LOCK"))
					if l.Held != nil && *l.Held && l.PID != nil && (pid == nil || *pid != *l.PID) {
						out = append(out, fmt.Sprintf("process %d (%s): %s", *l.PID, l.Command, d.Dir))
					}
				}
			}
		}
	}
	return out
}

func strayFiles(f *facts, r *report) {
	for _, a := range f.tree.Apps {
		if f.app != "" && a.ID != f.app {
			continue
		}
		for _, o := range alike(a.Odd) {
			o.tell(a.Dir, r.problem).then("Kafka Streams 4.4 does not start on it; earlier versions may leave out what is beside it").
				do("move it out of the application's directory")
		}
		for _, k := range a.Tasks {
			for _, o := range alike(k.Odd) {
				o.tell(k.Dir, r.warn).then("it takes room, and a clean-up of the directory may stumble over it").do("move it out of the task's directory")
			}
			for _, name := range k.Files {
				if strings.HasSuffix(name, ".tmp") {
					r.ok(filepath.Join(k.Dir, name), "left over from a write that was interrupted; harmless")
				}
			}
		}
	}
	own := filepath.Join(stateDirOf(f), ".sstool")
	if size, files := heldByUs(own); files > 0 {
		r.warn(own, "%s that sstool moved aside or was building", human.Bytes(size)).because("files: %d", files).
			then("they take room; Kafka Streams does not look there").
			do("when the application runs well on what was put in place, delete what lies in aside/; a build that was stopped continues with the same command")
	}
	if !slices.ContainsFunc(r.findings, isFinding) {
		r.ok("", "nothing but Kafka Streams' own files")
	}
}

// odd is what lies in a directory for one reason.
type odd struct {
	what  string
	paths []string
}

// alike groups what lies in a directory: a thousand strays are one finding.
func alike(all []inspect.Odd) []*odd {
	var out []*odd
	for _, o := range all {
		i := slices.IndexFunc(out, func(x *odd) bool { return x.what == o.What })
		if i < 0 {
			i = len(out)
			out = append(out, &odd{what: o.What})
		}
		out[i].paths = append(out[i].paths, o.Path)
	}
	return out
}

func (o *odd) tell(dir string, say func(subject, format string, args ...any) *finding) *finding {
	if len(o.paths) == 1 {
		return say(o.paths[0], "%s", o.what)
	}
	return say(dir, "%s, %d times", o.what, len(o.paths)).because("%s", inspect.Few(o.paths))
}

// stateDirOf is the state.dir of the path.
func stateDirOf(f *facts) string {
	for _, a := range f.tree.Apps {
		if a.Dir != "" {
			return filepath.Dir(a.Dir)
		}
	}
	return f.state.Path
}

// openFiles compares the limit of the process that has the state, or of this
// one, with the files that RocksDB keeps open.
func openFiles(f *facts, r *report) {
	files, databases, bounded := 0, 0, int64(0)
	for _, s := range f.stores() {
		files += s.Files
		databases += max(1, len(s.Segments))
	}
	for _, o := range f.options {
		n, ok := number(o.DB, "max_open_files")
		if !ok || n < 0 {
			bounded = -1
		}
		if bounded >= 0 {
			bounded += n
		}
	}
	const each = 6 // MANIFEST, LOG, LOCK, CURRENT's successor, and files being written
	needs := int64(files + each*databases)
	if bounded > 0 && bounded < int64(files) {
		needs = bounded + each*int64(databases)
	}
	limit, now, whose, err := fileLimit(f.holder())
	if err != nil {
		r.unmeasured("", "%v", err)
		return
	}
	facts := func(x *finding) {
		x.because("%d SST files in %d databases; RocksDB keeps all of them open (max_open_files=-1) and a few more each: %d", files, databases, needs)
		x.because("the limit of %s is %d", whose, limit)
		if now >= 0 {
			x.because("it has %d open now", now)
		}
	}
	do := "raise it where the application is started: LimitNOFILE= of systemd, ulimit -n, the container's limits; and look at why there are so many files (sstool inspect levels)"
	switch {
	case limit < 0:
		r.ok("", "no limit of open files")
	case needs*10 > limit*9:
		x := r.problem("", "%d files to open, the limit is %d", needs, limit)
		facts(x)
		x.then("Too many open files: stores cannot be opened or flushed, the application dies").do("%s", do)
	case needs*2 > limit:
		x := r.warn("", "%d files to open, more than half of the limit %d", needs, limit)
		facts(x)
		x.then("a restore or a rebalance that brings more tasks here may reach it: Too many open files").do("%s", do)
	default:
		facts(r.ok("", "%d files to open, the limit is %d", needs, limit))
	}
}

// holder is the process that has the application open; 0: none, or not seen.
func (f *facts) holder() int {
	if f.state == nil {
		return 0
	}
	for _, a := range f.apps() {
		if a.Lock.PID != nil {
			return *a.Lock.PID
		}
	}
	return 0
}

// writtenSince bounds what was written since a time: the size of stores whose
// newest file is younger; -1 when there is no store.
func writtenSince(stores []*inspect.MapStore, since time.Time) int64 {
	if len(stores) == 0 {
		return -1
	}
	sum := int64(0)
	for _, s := range stores {
		sum += sizeSince(s.Dir, since)
	}
	return sum
}

func isFinding(x op.Finding) bool { return x.Status.Found() }
