//go:build cgo

package migrate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// shift is how much lower offsets are in the copies of these tests.
const shift = 3

// shifted is a copy whose records lie three offsets lower: the first three old
// offsets held no record that was copied.
func shifted() *OffsetMap {
	m := NewOffsetMap(0)
	m.addRun(run{shift, 0, 1 << 30})
	return m
}

func shiftedOffset(old int64) int64 {
	if old < shift {
		return streams.OffsetUnknown
	}
	return old - shift
}

// renameAll is a migration that gives every store of an application the name
// "new-…", or, with another id, keeps the names. Topics of the user's are known
// by their names.
func renameAll(t testing.TB, appDir, newApp string) *Migration {
	t.Helper()
	app := filepath.Base(appDir)
	m := &Migration{Kind: "rename", ID: "rename-1", OldApp: app, NewApp: newApp, Done: map[string]time.Time{}}
	if app != newApp {
		m.Kind = "application"
	}
	found, err := findTasks(appDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range found.tasks {
		for _, s := range task.stores {
			move := StoreMove{OldApp: app, NewApp: newApp, OldStore: s.Name, NewStore: "new-" + s.Name, Global: task.task == nil,
				OldTopic: streams.ChangelogTopic(app, s.Name)}
			if app != newApp {
				move.NewStore = s.Name
			}
			if !logged(t, task, s, move.OldTopic) {
				continue // the directory alone knows it
			}
			move.NewTopic = streams.ChangelogTopic(newApp, move.NewStore)
			if slices.ContainsFunc(m.Moves, func(o StoreMove) bool { return o.OldStore == s.Name }) {
				continue
			}
			m.Moves = append(m.Moves, move)
			topic := CopiedTopic{TopicMove: TopicMove{Old: move.OldTopic, New: move.NewTopic, Why: ChangelogTopic}}
			for p := range int32(4) {
				topic.Partitions = append(topic.Partitions, CopiedPartition{Partition: p, Map: shifted()})
			}
			m.Topics = append(m.Topics, topic)
			m.Done["verify:"+topic.New] = time.Now()
		}
	}
	if len(m.Moves) == 0 {
		t.Fatal(app, "no stores")
	}
	return m
}

// logged says whether a task's directory has an offset about a topic.
func logged(t testing.TB, task taskFound, s streams.StoreOnDisk, topic string) bool {
	t.Helper()
	for tp := range offsetsIn(t, task.dir, s.Databases) {
		if tp.Topic == topic {
			return true
		}
	}
	return false
}

// offsetsIn are all offsets of a store's databases and its task's .checkpoint.
func offsetsIn(t testing.TB, taskDir string, dbs []string) streams.Checkpoint {
	t.Helper()
	out, err := streams.ReadCheckpoint(filepath.Join(taskDir, streams.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dbs {
		db, whyNot, err := lookAtDatabase(dir)
		if err != nil || whyNot != "" {
			t.Fatal(dir, whyNot, err)
		}
		for _, r := range db.rows {
			if tp, ok := streams.ParseOffsetsKey(r.key); ok {
				if out[tp], err = streams.DecodeOffset(r.value); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return out
}

// contentOf is what every file below dir holds.
func contentOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == streams.LockFile {
			return err
		}
		b, err := os.ReadFile(path)
		if c, perr := streams.ReadCheckpoint(path); d.Name() == streams.CheckpointFile && perr == nil {
			b, err = c.Encode() // the order of lines says nothing
		}
		rel, _ := filepath.Rel(dir, path)
		out[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// dataOf is a digest of a database's rows without its offsets, and those.
func dataOf(t testing.TB, dir string) string {
	t.Helper()
	v, err := lsm.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, n := sha256.New(), 0
	for _, f := range v.Families {
		if f.Name == streams.OffsetsFamily {
			continue
		}
		fmt.Fprintln(h, f.Name)
		if err := lsm.Rows(dir, f.Name, func(key, value []byte) error {
			n++
			fmt.Fprintf(h, "%x %x\n", key, value)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%d rows %x", n, h.Sum(nil))
}

// Real directories of every kind of store and every layout, under new names and
// under a new application id: the same rows from linked files, offsets that name
// the copy, and old directories in which not a byte has changed. Undone, nothing
// is left; finished, only the new is there.
func TestCloneFixtures(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		for _, newApp := range []string{"", "other-app"} {
			t.Run(name+"/"+newApp, func(t *testing.T) {
				t.Parallel()
				_, app := lsmtest.Unpack(t, name)
				if newApp == "" {
					newApp = filepath.Base(app)
				}
				cloneFixture(t, app, newApp)
			})
		}
	}
}

func cloneFixture(t *testing.T, app, newApp string) {
	ctx, stateDir := t.Context(), filepath.Dir(app)
	m := renameAll(t, app, newApp)
	before := contentOf(t, app)
	c := NewCloner(stateDir)
	p, err := c.Plan(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	warned := slices.ContainsFunc(p.Warnings, func(w string) bool { return !strings.Contains(w, "source topics") })
	if warned || p.Count(LeftOut) > 0 || p.Count(ToClone) == 0 || p.Links == 0 || p.CopyBytes > p.LinkBytes*20 {
		t.Errorf("plan: %+v", p)
	}
	if now := contentOf(t, stateDir); len(now) != len(before) {
		t.Fatal("a plan changed something")
	}
	if err := c.Apply(ctx, m, nil); err != nil {
		t.Fatal(err, op.Tries(err))
	}
	checkClones(t, m, app, filepath.Join(stateDir, newApp), p)
	same := contentOf(t, app)
	for path, sum := range before {
		if same[path] != sum && filepath.Base(path) != streams.CheckpointFile {
			t.Errorf("%s was changed", path)
		}
	}
	// Again: nothing to do, nothing changes.
	after := contentOf(t, stateDir)
	if p, err = c.Plan(ctx, m); err != nil || p.Count(ToClone) != 0 || p.Count(Cloned) == 0 {
		t.Errorf("after: %+v, %v", p, err)
	}
	if err := c.Apply(ctx, m, nil); err != nil || !maps.Equal(contentOf(t, stateDir), after) {
		t.Errorf("again: %v", err)
	}
	// Another migration to the same names is refused.
	other := *m
	other.ID = "rename-2"
	if _, err := c.Plan(ctx, &other); op.KindOf(err) != op.Precondition {
		t.Errorf("taken names: %v", err)
	}
	old, err := c.FinishList(ctx, m)
	if err != nil || len(old) < p.Count(Cloned) {
		t.Errorf("finish would remove %v, %v", old, err)
	}
	for _, d := range old {
		if d.Used {
			t.Errorf("%s: nobody has used its clone", d.Path)
		}
	}
	made, err := c.UndoList(ctx, m)
	if err != nil || len(made) < p.Count(Cloned) {
		t.Errorf("undo would remove %v, %v", made, err)
	}
	if err := c.Undo(ctx, m, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range made {
		if files.Exists(path) {
			t.Errorf("undone, and %s is there", path)
		}
	}
	if now := contentOf(t, app); !maps.Equal(now, before) {
		t.Errorf("undone: %d files, were %d", len(now), len(before))
	}
	if newApp != filepath.Base(app) {
		if _, err := os.Stat(filepath.Join(stateDir, newApp)); !errors.Is(err, fs.ErrNotExist) {
			t.Error("undone, and the new application's directory is there")
		}
	}
	if es, err := os.ReadDir(filepath.Join(stateDir, ownName)); err != nil || len(es) != 0 {
		t.Errorf("left in %s: %v, %v", ownName, es, err)
	}
	// And done and finished.
	if err := c.Apply(ctx, m, nil); err != nil {
		t.Fatal(err)
	}
	// An application opens a clone: RocksDB writes into it.
	used := made[0]
	if i, err := os.Stat(used); err != nil || !i.IsDir() {
		t.Fatal(used, err)
	}
	if err := os.WriteFile(filepath.Join(used, "LOG"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if old, err = c.FinishList(ctx, m); err != nil || !slices.ContainsFunc(old, func(d OldDirectory) bool { return d.Used }) {
		t.Errorf("no clone is used: %+v, %v", old, err)
	}
	if now, err := c.UndoList(ctx, m); err != nil || slices.Contains(now, used) || len(now) != len(made)-1 {
		t.Errorf("undo would remove %v, %v", now, err)
	}
	if err := os.MkdirAll(filepath.Join(app, "77_0"), 0o755); err != nil { // of a task without a store
		t.Fatal(err)
	}
	if old, err = c.FinishList(ctx, m); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, d := range old {
		list = append(list, d.Path)
	}
	if named := slices.Contains(list, filepath.Join(app, "77_0")) && slices.Contains(list, app); named != (newApp != filepath.Base(app)) {
		t.Errorf("finish would remove %q", list)
	}
	removed, err := c.Finish(ctx, m, nil)
	if err != nil || !slices.Equal(removed, list) {
		t.Errorf("finish removed %v, %v", removed, err)
	}
	if newApp != filepath.Base(app) && files.Exists(app) {
		t.Errorf("the old application's directory is left: %v", slices.Sorted(maps.Keys(contentOf(t, app))))
	}
	for _, path := range list {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there", path)
		}
	}
	for _, move := range m.Moves {
		for tp := range offsetsIn(t, filepath.Join(stateDir, newApp, "0_0"), nil) {
			if tp.Topic == move.OldTopic && move.OldTopic != move.NewTopic {
				t.Errorf("a line about %s is left", tp)
			}
		}
	}
}

// checkClones compares every clone with the store it was made of.
func checkClones(t *testing.T, m *Migration, oldApp, newApp string, p *ClonePlan) {
	t.Helper()
	found, err := findTasks(oldApp)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, task := range found.tasks {
		for _, move := range movesOf(newCloning(m), &task) {
			n++
			old := task.store(move.OldStore)
			stores, err := streams.StoresOnDisk(filepath.Join(newApp, task.name))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(stores, func(s streams.StoreOnDisk) bool { return s.Name == move.NewStore })
			if i < 0 {
				t.Errorf("task %s has no %s", task.name, move.NewStore)
				continue
			}
			clone := stores[i]
			if clone.Strange != "" || len(clone.Databases) != len(old.Databases) || clone.Segmented != old.Segmented {
				t.Errorf("%s of task %s: %+v", move.NewStore, task.name, clone)
				continue
			}
			for k, dir := range clone.Databases {
				if dataOf(t, dir) != dataOf(t, old.Databases[k]) {
					t.Errorf("%s has other rows than %s", dir, old.Databases[k])
				}
				checkLinked(t, old.Databases[k], dir)
			}
			was, is := offsetsIn(t, task.dir, old.Databases), offsetsIn(t, filepath.Join(newApp, task.name), clone.Databases)
			for tp, offset := range was {
				if tp.Topic != move.OldTopic {
					continue
				}
				at := streams.TopicPartition{Topic: move.NewTopic, Partition: tp.Partition}
				want := offset
				if move.NewTopic != move.OldTopic {
					want = shiftedOffset(offset)
				}
				if got, ok := is[at]; !ok || got != want {
					t.Errorf("task %s: %s is at %d (%t), want %d", task.name, at, got, ok, want)
				}
			}
		}
	}
	if n != p.Count(ToClone) {
		t.Errorf("%d stores cloned, %d planned", n, p.Count(ToClone))
	}
	// Nothing but what Kafka Streams knows is in the new directories.
	err = filepath.WalkDir(newApp, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".tmp") || d.Name() == ownName || strings.HasPrefix(d.Name(), "LOG")) && !strings.HasPrefix(path, oldApp) {
			t.Errorf("stray %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkLinked: every data file of the old database is in the clone, as a link.
func checkLinked(t *testing.T, old, clone string) {
	t.Helper()
	v, err := lsm.ReadManifest(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Families {
		if f.Name == streams.OffsetsFamily {
			continue
		}
		for _, x := range f.Files {
			a, errA := os.Stat(filepath.Join(old, x.Name()))
			b, errB := os.Stat(filepath.Join(clone, x.Name()))
			if errA != nil || errB != nil || !os.SameFile(a, b) {
				t.Errorf("%s of %s is not linked into %s: %v %v", x.Name(), old, clone, errA, errB)
			}
		}
	}
}

// errKilled stands for a kill: nothing is cleaned up after it.
var errKilled = errors.New("stopped")

// Stopped at any point, the old application's directory is as it was (but for
// further lines of its checkpoint and directories of other names beside its
// own); the next run completes the clones, and an undo removes all of them.
func TestCloneStopped(t *testing.T) {
	for _, name := range []string{"4.0.2-papi-alos", "4.4.0-tjoin-alos"} {
		for _, newApp := range []string{"", "other-app"} {
			t.Run(name+"/"+newApp, func(t *testing.T) {
				t.Parallel()
				points := 0
				for stop := 0; stop <= points; stop++ {
					n := stopAt(t, name, newApp, stop)
					if stop == 0 {
						points = n
					}
				}
				if points < 12 {
					t.Errorf("only %d points", points)
				}
			})
		}
	}
}

// stopAt stops a run at its point number stop (0: not at all) and returns how
// many there were.
func stopAt(t *testing.T, name, newApp string, stop int) (points int) {
	t.Helper()
	ctx := t.Context()
	_, app := lsmtest.Unpack(t, name)
	stateDir := filepath.Dir(app)
	if newApp == "" {
		newApp = filepath.Base(app)
	}
	m := renameAll(t, app, newApp)
	before := contentOf(t, app)
	c := &cloner{stateDir: stateDir}
	c.stop = func(string) error {
		if points++; points == stop {
			return errKilled
		}
		return nil
	}
	p, err := c.Plan(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(ctx, m, nil); stop > 0 && !errors.Is(err, errKilled) || stop == 0 && err != nil {
		t.Fatalf("point %d: %v", stop, err)
	}
	c.stop = nil
	after := contentOf(t, app)
	for path, sum := range before {
		if after[path] != sum && filepath.Base(path) != streams.CheckpointFile {
			t.Errorf("point %d: %s was changed", stop, path)
		}
	}
	if stop%2 == 1 { // half of the points are undone, half gone on from
		if err := c.Undo(ctx, m, nil); err != nil {
			t.Fatalf("point %d: undo: %v", stop, err)
		}
		if now := contentOf(t, app); !maps.Equal(now, before) {
			t.Errorf("point %d: undone, %d files, were %d", stop, len(now), len(before))
		}
		return points
	}
	if err := c.Apply(ctx, m, nil); err != nil {
		t.Fatalf("point %d: again: %v", stop, err)
	}
	checkClones(t, m, app, filepath.Join(stateDir, newApp), p)
	return points
}

// Directories of Kafka Streams 4.3 or later get no number of a global store of the
// old version unless that is forced: it would not start beside them. Older ones may.
func TestCloneBesideGlobal(t *testing.T) {
	for name, blocked := range map[string]bool{"4.4.0-tjoin-alos": true, "4.0.2-papi-alos": false} {
		_, app := lsmtest.Unpack(t, name)
		m := renameAll(t, app, filepath.Base(app))
		nine := 9
		for i := range m.Moves {
			if x := &m.Moves[i]; !x.Global {
				x.NewSub, x.MeetsGlobal = &nine, true
			}
		}
		c := NewCloner(filepath.Dir(app))
		p, err := c.Plan(t.Context(), m)
		if err != nil || p.Count(ToClone) == 0 {
			t.Fatalf("%s: %+v, %v", name, p, err)
		}
		if err := p.checkOld(false); (op.KindOf(err) == op.Precondition && err != nil) != blocked || p.checkOld(true) != nil {
			t.Errorf("%s: %v", name, err)
		}
		if warned := slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "sub-topology 9") }); warned != blocked {
			t.Errorf("%s: the plan warns: %q", name, p.Warnings)
		}
		// What is there already is no reason to stop a run that goes on.
		if err := c.Apply(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
		if p, err = c.Plan(t.Context(), m); err != nil || p.checkOld(false) != nil {
			t.Errorf("%s: again: %v, %v", name, err, p.checkOld(false))
		}
	}
}
