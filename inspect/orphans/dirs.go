package orphans

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// TrashDir is where migrate puts directories before it removes them, in the
// state directory: what is there was left by a run that was killed.
const TrashDir = ".sstool/orphans"

// findDirs decides on what lies in the state directory.
func (r *run) findDirs(ctx context.Context) error {
	if r.res.StateDir == "" {
		return nil
	}
	if left := filepath.Join(r.res.StateDir, TrashDir); isDir(left) && len(r.o.Apps) == 0 {
		r.addDir(KindLeftover, left, "", Unused, "a run of sstool orphans --delete that was killed has left it")
	}
	if r.tree == nil {
		return nil
	}
	for i, dir := range r.tree.Apps {
		a := r.app(dir.ID)
		if a == nil || !a.examined {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		r.findAppDir(a, dir, &r.disk.Apps[i])
	}
	return nil
}

// findAppDir decides on an application's directory and what is in it.
func (r *run) findAppDir(a *app, dir *inspect.App, m *inspect.MapApp) {
	running := m.Lock.Held != nil && *m.Lock.Held
	switch {
	case m.Size == 0: // emptied by a clean-up: harmless
		return
	case a.gone:
		r.addDir(KindApplicationDir, dir.Dir, a.id, Unused, fmt.Sprintf("application %s is gone", a.id))
		return
	case !a.decides() && r.groups != nil && r.groupsErr == nil && a.absent() && !running:
		r.addDir(KindApplicationDir, dir.Dir, a.id, Likely, noGroup([]*app{a}))
		return
	}
	if len(a.topologies) == 0 {
		a.undecided += len(m.Stores)
	}
	for _, t := range dir.Tasks {
		if t.Name == "" {
			continue
		}
		if len(a.topologies) > 0 {
			if why := r.strayTask(a, t); why != "" {
				if len(t.Stores) > 0 { // else left by a clean-up, harmless
					r.addDir(KindTaskDir, t.Dir, a.id, Unused, why)
				}
				continue
			}
			r.findStores(a, t)
		}
		r.findLines(a, t, m)
	}
	for _, t := range dir.Tasks {
		for _, s := range t.Stores {
			if odd := s.OddSegment(); odd != nil && !r.covered(odd.Dir) {
				r.addDir(KindSegmentDir, odd.Dir, a.id, Likely, "it begins at no multiple of the other segments' interval: Kafka Streams opens another directory in its place and never reads this one")
			}
		}
	}
	for i := range m.Stores {
		if !running {
			r.findSegments(a, dir, &m.Stores[i])
		}
		r.findRows(a, &m.Stores[i])
	}
}

// of are the application's topologies of one name.
func (a *app) of(name string) []*topology.Topology {
	var out []*topology.Topology
	for _, t := range a.topologies {
		if t.Name == name {
			out = append(out, t)
		}
	}
	return out
}

// sub is a sub-topology by number; nil when there is none that makes tasks.
func sub(t *topology.Topology, id int) *topology.Subtopology {
	for i := range t.Subtopologies {
		if s := &t.Subtopologies[i]; s.ID == id && !s.Global {
			return s
		}
	}
	return nil
}

// strayTask says why no instance is ever assigned a task; "" when one may be.
func (r *run) strayTask(a *app, t *inspect.Task) string {
	if t.Global() {
		return ""
	}
	all := a.of(t.Topology)
	switch {
	case len(all) == 0 && t.Topology == "":
		return fmt.Sprintf("all topologies of %s have a name, and this task is of one without", a.id)
	case len(all) == 0:
		return fmt.Sprintf("%s has no topology of the name %s", a.id, t.Topology)
	}
	why := ""
	for _, x := range all {
		s := sub(x, t.ID.Subtopology)
		if s == nil {
			why = fmt.Sprintf("the topology of %s has no sub-topology %d that makes tasks", a.id, t.ID.Subtopology)
			continue
		}
		n, ok := r.tasksOf(a, x, s)
		if !ok || t.ID.Partition < n {
			return ""
		}
		why = fmt.Sprintf("sub-topology %d has %d tasks, as many as its topics have partitions", t.ID.Subtopology, n)
	}
	return why
}

// tasksOf is how many tasks a sub-topology makes; not ok when that is not known.
func (r *run) tasksOf(a *app, t *topology.Topology, s *topology.Subtopology) (n int, ok bool) {
	made := map[string]string{}
	for _, x := range t.Between(a.id) {
		made[x.Bare] = x.Name
	}
	for src := range s.Of(topology.Source) {
		if src.Pattern != "" {
			return 0, false
		}
		for _, name := range src.Topics {
			if full, ok := made[name]; ok {
				name = full
			}
			info := r.topics[name]
			if info == nil {
				return 0, false
			}
			n = max(n, len(info.Partitions))
		}
	}
	return n, n > 0
}

// findStores decides on the stores of a task that may be assigned.
func (r *run) findStores(a *app, t *inspect.Task) {
	for _, s := range t.Stores {
		has, elsewhere, partial := false, -1, false
		for _, x := range a.of(t.Topology) {
			partial = partial || x.Partial
			for _, known := range x.Stores() {
				switch {
				case known.Name != s.Name:
				case known.Global == t.Global() && (t.Global() || known.Subtopology == t.ID.Subtopology):
					has = true
				case !known.Global:
					elsewhere = known.Subtopology
				}
			}
		}
		switch {
		case has:
		case elsewhere >= 0:
			r.addDir(KindStoreDir, s.Dir, a.id, Unused, fmt.Sprintf("the topology of %s has the store in sub-topology %d: from this task's directory it is never opened", a.id, elsewhere))
		case partial:
			r.addDir(KindStoreDir, s.Dir, a.id, Unclear, "brokers hold no store of that name, nor those without a changelog and global ones: the text of the topology tells")
		default:
			r.addDir(KindStoreDir, s.Dir, a.id, Unused, fmt.Sprintf("%s has no such store", r.place(a, t)))
		}
	}
}

func (r *run) place(a *app, t *inspect.Task) string {
	if t.Global() {
		return "the topology of " + a.id + ", among its global stores,"
	}
	return fmt.Sprintf("sub-topology %d of %s", t.ID.Subtopology, a.id)
}

// findLines decides on the lines of a task's .checkpoint.
func (r *run) findLines(a *app, t *inspect.Task, m *inspect.MapApp) {
	path := filepath.Join(t.Dir, streams.CheckpointFile)
	file, err := streams.ReadCheckpoint(path)
	if err != nil || len(file) == 0 {
		return // the map tells of one that cannot be read
	}
	x := Orphan{Kind: KindCheckpoint, Name: path, ApplicationID: a.id, Verdict: Unused, Candidates: []string{}, Deletable: true}
	mine, known := r.topicsOf(a, t)
	for _, tp := range file.Keys() {
		noTopic := r.topics != nil && r.topics[tp.Topic] == nil
		switch {
		case known && !mine[tp.Topic]:
			x.Why = fmt.Sprintf("%s is restored from no such topic", r.place(a, t))
		case !known && noTopic && ofNoStore(m, t, tp):
			x.Why = "there is no such topic, and no store of it here"
		default:
			continue
		}
		x.Lines = append(x.Lines, Line{tp.Topic, tp.Partition, file[tp]})
		x.Partitions = append(x.Partitions, tp.Partition)
	}
	if len(x.Lines) > 0 {
		r.add(x)
	}
}

// topicsOf are the topics that stores of a task are restored from.
func (r *run) topicsOf(a *app, t *inspect.Task) (topics map[string]bool, known bool) {
	topics = map[string]bool{}
	for _, x := range a.of(t.Topology) {
		if x.Partial && t.Global() {
			return nil, false
		}
		known = true
		for _, s := range x.Stores() {
			if !s.Global && !t.Global() && s.Subtopology == t.ID.Subtopology {
				topics[streams.NamedChangelogTopic(a.id, x.Name, s.Name)] = true
			}
		}
		for s, n := range x.All() {
			if n.Kind != topology.Source || s.Global != t.Global() || !t.Global() && s.ID != t.ID.Subtopology {
				continue
			}
			if n.Pattern != "" {
				return nil, false
			}
			for _, name := range n.Topics {
				topics[name] = true
			}
		}
	}
	return topics, known
}

// ofNoStore says whether no store of the task claims a line.
func ofNoStore(m *inspect.MapApp, t *inspect.Task, tp streams.TopicPartition) bool {
	i := slices.IndexFunc(m.Tasks, func(mt inspect.MapTask) bool { return mt.Dir == t.Dir })
	return i >= 0 && slices.ContainsFunc(m.Tasks[i].Others, func(o inspect.MapOffset) bool { return o.Topic == tp.Topic && o.Partition == tp.Partition })
}

// findRows looks for rows of a store's offsets family that name a topic it is
// not restored from and that does not exist.
func (r *run) findRows(a *app, s *inspect.MapStore) {
	x := Orphan{Kind: KindOffsetsRow, Name: s.Dir, ApplicationID: a.id, Verdict: Unused, Candidates: []string{}, Why: "the store is restored from another topic, and there is none of this name"}
	for _, o := range s.Offsets.List {
		if o.Family == nil || s.Offsets.Topic == "" || o.Topic == s.Offsets.Topic || r.topics == nil || r.topics[o.Topic] != nil {
			continue
		}
		x.Lines = append(x.Lines, Line{o.Topic, o.Partition, *o.Family})
		x.Partitions = append(x.Partitions, o.Partition)
	}
	if len(x.Lines) > 0 {
		r.add(x)
	}
}

// findSegments looks for segments older than the retention by stream time: an
// application that runs removes them when it makes the next one.
func (r *run) findSegments(a *app, dir *inspect.App, s *inspect.MapStore) {
	if s.Expiry == nil || s.Expiry.ByStreamTime == 0 || r.covered(s.Dir) {
		return
	}
	verdict := Unused
	if strings.HasPrefix(s.Expiry.RetentionWhy, "likely") {
		verdict = Likely
	}
	for _, t := range dir.Tasks {
		for _, found := range t.Stores {
			if found.Dir != s.Dir {
				continue
			}
			for _, d := range found.Databases {
				if !r.covered(d.Dir) && slices.ContainsFunc(s.Segments, func(g inspect.MapSegment) bool { return g.StartMs == d.Start && g.Expired == "stream time" }) {
					r.addDir(KindSegmentDir, d.Dir, a.id, verdict, fmt.Sprintf("expired by stream time: the newest segment begins at %s, rows are kept for %s (%s); the application drops it when it makes the next segment",
						time.UnixMilli(s.Expiry.StreamTime).UTC().Format(time.RFC3339), time.Duration(s.Expiry.Retention)*time.Millisecond, s.Expiry.RetentionWhy))
				}
			}
		}
	}
}

// covered says whether a path goes with a directory that was found already.
func (r *run) covered(path string) bool {
	return slices.ContainsFunc(r.res.Orphans, func(o Orphan) bool {
		return strings.HasSuffix(o.Kind, "directory") && (o.Name == path || strings.HasPrefix(path, o.Name+string(filepath.Separator)))
	})
}

// addDir notes a directory. What is a symbolic link is not deleted: the space
// is elsewhere.
func (r *run) addDir(kind, path, appID, verdict, why string) {
	x := Orphan{Kind: kind, Name: path, ApplicationID: appID, Verdict: verdict, Why: why, Candidates: []string{}, Deletable: true}
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		x.Deletable = false
		if real, err := filepath.EvalSymlinks(path); err == nil {
			x.Why += fmt.Sprintf("; it is a symbolic link to %s", real)
			x.Remove = "rm -r -- " + human.ShellWord(real) + " && rm -- " + human.ShellWord(path)
		}
	}
	r.add(x)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// dirFacts is the size of all files below a path, and the time of the newest.
func dirFacts(path string) (size int64, newest time.Time, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0, newest, err
	}
	err = filepath.WalkDir(real, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == streams.LockFile {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		size += i.Size()
		if t := i.ModTime().UTC(); t.After(newest) {
			newest = t
		}
		return nil
	})
	return size, newest, err
}
