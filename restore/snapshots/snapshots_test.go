package snapshots

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
)

// emptyHash is the hash of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// world is a real state directory and an empty bucket.
type world struct {
	state, app string
	b          *snapshot.Bucket
}

func newWorld(t *testing.T, fixture string) *world {
	t.Helper()
	_, app := lsmtest.Unpack(t, fixture)
	b, err := snapshot.Open(t.Context(), "file://"+t.TempDir(), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &world{filepath.Dir(app), filepath.Base(app), b}
}

func (w *world) push(t *testing.T, o PushOptions) (*PushResult, error) {
	t.Helper()
	o.StateDir, o.ApplicationID = w.state, w.app
	return Push(t.Context(), w.b, o, nil)
}

func (w *world) pull(t *testing.T, o PullOptions) (*PullPlan, error) {
	t.Helper()
	o.ApplicationID = w.app
	p, err := PlanPull(t.Context(), w.b, o, nil)
	if err != nil {
		return nil, err
	}
	return p.Apply(t.Context(), nil)
}

// sameFiles fails unless b has every file of a that a copy takes.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(a, func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		if err != nil || d.IsDir() || name == "LOCK" || strings.HasPrefix(name, "LOG") || name == ".lock" || name == streams.ProcessFile {
			return err
		}
		rel, _ := filepath.Rel(a, path)
		want, err1 := os.ReadFile(path)
		got, err2 := os.ReadFile(filepath.Join(b, rel))
		if err1 != nil || err2 != nil || string(want) != string(got) {
			t.Errorf("%s: %v %v, or other content", rel, err1, err2)
		}
		n++
		return nil
	})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
}

func TestEveryFixtureComesBackAsItWas(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, name)
			into := t.TempDir()
			res, err := w.push(t, PushOptions{Guarantee: AtLeastOnce})
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range res.Tasks {
				for _, s := range task.Stores {
					if s.Kind == "" && s.Bytes > 0 && len(s.Offsets) > 0 {
						t.Errorf("task %s: the kind of %s is not known", task.Task, s.Store)
					}
				}
			}
			if _, err := w.pull(t, PullOptions{Into: into}); err != nil {
				t.Fatal(err)
			}
			sameFiles(t, filepath.Join(w.state, w.app), filepath.Join(into, w.app))
			if left, _ := os.ReadDir(filepath.Join(into, ".sstool")); len(left) != 1 {
				t.Errorf("left over: %v", left)
			}
			// A second pull has nothing to do, a foreign directory is refused.
			again, err := w.pull(t, PullOptions{Into: into})
			if err != nil || again.Fetched != 0 || again.Tasks[0].State != DoneBefore {
				t.Errorf("again: %+v, %v", again, err)
			}
			if err := os.WriteFile(filepath.Join(into, w.app, again.Tasks[0].Task, "x"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := w.pull(t, PullOptions{Into: into}); op.KindOf(err) != op.Precondition {
				t.Errorf("a directory that changed: %v", err)
			}
		})
	}
}

func TestOffsetsOfBothHomes(t *testing.T) {
	for name, home := range map[string]string{"4.0.2-papi-alos": streams.CheckpointFile, "4.4.0-papi-h-alos": streams.OffsetsFamily} {
		w := newWorld(t, name)
		if _, err := w.push(t, PushOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ms, err := w.b.Manifests(t.Context(), w.app)
		if err != nil || len(ms) != 1 {
			t.Fatal(err)
		}
		seen := 0
		for _, s := range ms[0].Tasks[0].Stores {
			for _, o := range s.Offsets {
				seen++
				if o.Home != home || o.Topic != streams.ChangelogTopic(w.app, s.Name) {
					t.Errorf("%s: store %s: %+v, want home %s", name, s.Name, o, home)
				}
			}
		}
		if seen < 3 {
			t.Errorf("%s: only %d offsets", name, seen)
		}
	}
}

// TestKilledExactlyOnceIsRefused: a memtable's file that is newer than the
// .checkpoint was written after the last clean close.
func TestKilledExactlyOnceIsRefused(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	cp := filepath.Join(w.state, w.app, "0_0", streams.CheckpointFile)
	flushed := time.Now()
	live, err := lsm.LiveFiles(filepath.Join(w.state, w.app, "0_0", "rocksdb", "ts-kv"))
	if err != nil || live.Version.Flushed.IsZero() {
		t.Fatalf("flushed %v: %v", live.Version.Flushed, err)
	}
	tables := 0
	for _, f := range live.Files {
		if f.Flushed {
			tables++
			if err := os.Chtimes(filepath.Join(live.Version.Dir, f.Name), flushed, flushed); err != nil {
				t.Fatal(err)
			}
		}
	}
	if tables == 0 {
		t.Fatal("no memtable's file")
	}
	if err := os.Chtimes(cp, flushed, flushed); err != nil {
		t.Fatal(err)
	}
	if _, err := w.push(t, PushOptions{Guarantee: ExactlyOnce}); err != nil {
		t.Errorf("the .checkpoint was written right after the flush: %v", err)
	}
	old := flushed.Add(-time.Millisecond) // an application that died a moment after its start
	if err := os.Chtimes(cp, old, old); err != nil {
		t.Fatal(err)
	}
	for _, guarantee := range []string{"", ExactlyOnce} {
		if _, err := w.push(t, PushOptions{Guarantee: guarantee}); op.KindOf(err) != op.Precondition || err == nil {
			t.Errorf("guarantee %q: %v", guarantee, err)
		}
	}
	if _, err := w.push(t, PushOptions{Guarantee: AtLeastOnce}); err != nil {
		t.Error(err)
	}
	if _, err := w.push(t, PushOptions{ClosedCleanly: true}); err != nil {
		t.Error(err)
	}
	if err := os.Remove(cp); err != nil {
		t.Fatal(err)
	}
	if _, err := w.push(t, PushOptions{Guarantee: ExactlyOnce}); op.KindOf(err) != op.Precondition || err == nil {
		t.Errorf("without any offset: %v", err)
	}
}

// TestOpenStatusIsRefused: from Kafka 4.3 on the database says it itself.
func TestOpenStatusIsRefused(t *testing.T) {
	w := newWorld(t, "4.4.0-tjoin-alos")
	dbs, _ := filepath.Glob(filepath.Join(w.state, w.app, "*", "rocksdb", "*"))
	db, err := rocks.Open(dbs[0], rocks.Options{Bulk: true, NoCompaction: true})
	if err != nil {
		t.Skip("built without RocksDB:", err)
	}
	b := db.Batch()
	b.Put(slices.Index(db.Families(), streams.OffsetsFamily), []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
	if err := errors.Join(db.Write(b), db.Flush()); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, guarantee := range []string{"", ExactlyOnce} {
		if _, err := w.push(t, PushOptions{Guarantee: guarantee}); op.KindOf(err) != op.Precondition || err == nil {
			t.Errorf("guarantee %q: %v", guarantee, err)
		}
	}
	if _, err := w.push(t, PushOptions{Guarantee: AtLeastOnce}); err != nil {
		t.Error(err)
	}
}

func TestDamagedStoresAreRefused(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	ssts, _ := filepath.Glob(filepath.Join(w.state, w.app, "0_0", "rocksdb", "ts-kv", "*.sst"))
	if err := os.Truncate(ssts[0], 10); err != nil {
		t.Fatal(err)
	}
	if _, err := w.push(t, PushOptions{}); op.KindOf(err) != op.Corrupt {
		t.Errorf("short: %v", err)
	}
	if err := os.Remove(ssts[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.push(t, PushOptions{}); op.KindOf(err) != op.Corrupt {
		t.Errorf("missing: %v", err)
	}
	if ms, err := w.b.Manifests(t.Context(), ""); err != nil || len(ms) > 0 {
		t.Errorf("a snapshot was written: %v", err)
	}
}

// TestAStoppedPullGoesOn kills a pull at its first bytes, then takes objects away
// that it had already fetched.
func TestAStoppedPullGoesOn(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	if _, err := w.push(t, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	p, err := PlanPull(t.Context(), w.b, PullOptions{Into: into, ApplicationID: w.app}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = p.Apply(ctx, func(e op.Event) {
		if e.Type == op.Progress {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(into, w.app, "0_0")); err == nil {
		t.Error("a task is in place that is not whole")
	}
	done, err := w.pull(t, PullOptions{Into: into})
	if err != nil {
		t.Fatal(err)
	}
	if done.Fetched >= done.Bytes {
		t.Log("nothing of the first run was left to take") // it may have been stopped before its first file
	}
	sameFiles(t, filepath.Join(w.state, w.app), filepath.Join(into, w.app))
}

// TestWhatHasArrivedNeedsNoSpace: a disk that has room for a pull has room for
// its second half.
func TestWhatHasArrivedNeedsNoSpace(t *testing.T) {
	const huge = 1 << 41
	b, err := snapshot.Open(t.Context(), "file://"+t.TempDir(), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	into := t.TempDir()
	m := &snapshot.Manifest{ID: snapshot.NewID(time.Now()), ApplicationID: "app", Created: time.Now(), Tasks: []snapshot.Task{{Name: "0_0",
		Stores: []snapshot.Store{{Name: "st", Files: []snapshot.File{{Path: "rocksdb/st/1.sst", SHA256: emptyHash}}}}}}}
	f := &m.Tasks[0].Stores[0].Files[0]
	if _, err := b.Push(t.Context(), m, func(*snapshot.Task, *snapshot.File) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("")), nil
	}, snapshot.PushOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	f.Size = huge
	p := &PullPlan{o: PullOptions{Into: into, ApplicationID: "app"}}
	if err := p.choose([]*snapshot.Manifest{m}); err != nil {
		t.Fatal(err)
	}
	if err := p.checkTarget(); op.KindOf(err) != op.Precondition {
		t.Fatalf("a disk that is too small: %v", err)
	}
	at := filepath.Join(p.build(&p.Tasks[0]), "rocksdb/st")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "1.sst"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(at, "1.sst"), huge); err != nil {
		t.Skip(err) // sparse files take no space
	}
	if err := p.checkTarget(); err != nil {
		t.Error(err)
	}
}

// TestLinksDoNotLeadOut: what stands where a pull writes is replaced, not
// followed.
func TestLinksDoNotLeadOut(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	if _, err := w.push(t, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	into, out := t.TempDir(), t.TempDir()
	p, err := PlanPull(t.Context(), w.b, PullOptions{Into: into, ApplicationID: w.app}, nil)
	if err != nil {
		t.Fatal(err)
	}
	root := p.build(&p.Tasks[0])
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rocksdb", streams.CheckpointFile} {
		if err := os.Symlink(filepath.Join(out, name), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(out, "rocksdb"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, filepath.Join(w.state, w.app), filepath.Join(into, w.app))
	if left, _ := os.ReadDir(filepath.Join(out, "rocksdb")); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}

// TestNewBecauseEncryptedIsNotRewritten: what is new only because it is encrypted
// for others is not put down to compaction.
func TestNewBecauseEncryptedIsNotRewritten(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	seal, err := snapshot.NewSeal([]string{"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.push(t, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	sealed, err := w.push(t, PushOptions{Seal: seal})
	if err != nil || sealed.Previous != "" || sealed.Compacted.New+sealed.Flushed.New > 0 || sealed.First.New == 0 {
		t.Errorf("%+v, %v", sealed, err)
	}
	if again, err := w.push(t, PushOptions{Seal: seal}); err != nil || again.Previous != sealed.Snapshot || again.Total.New != 0 {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestNothingToPull is said, not done.
func TestNothingToPull(t *testing.T) {
	p := &PullPlan{o: PullOptions{ApplicationID: "app", Tasks: []string{"0_0"}}}
	if err := p.choose([]*snapshot.Manifest{{Tasks: []snapshot.Task{{Name: "0_0"}}}}); op.KindOf(err) != op.NotFound || err == nil {
		t.Error(err)
	}
}

// TestTasksComeFromTheNewestThatHoldsThem: hosts push different tasks.
func TestTasksComeFromTheNewestThatHoldsThem(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	app := filepath.Join(w.state, w.app)
	if err := errors.Join(os.CopyFS(filepath.Join(app, "0_1"), os.DirFS(filepath.Join(app, "0_0"))), lsmtest.Close(app)); err != nil {
		t.Fatal(err)
	}
	all, err := w.push(t, PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := w.push(t, PushOptions{Tasks: []string{"0_1"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := PlanPull(t.Context(), w.b, PullOptions{Into: t.TempDir(), ApplicationID: w.app}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range p.Tasks {
		got = append(got, x.Task+" "+x.Snapshot)
	}
	if want := []string{"0_0 " + all.Snapshot, "0_1 " + one.Snapshot}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := w.push(t, PushOptions{Tasks: []string{"5_5"}}); op.KindOf(err) != op.NotFound {
		t.Errorf("no such task: %v", err)
	}
}

func TestOldStateIsWarnedOf(t *testing.T) {
	w := newWorld(t, "4.0.2-papi-alos")
	old := time.Now().Add(-72 * time.Hour)
	err := filepath.WalkDir(w.state, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.push(t, PushOptions{Guarantee: AtLeastOnce}); err != nil { // the MANIFEST knows that the times are not true
		t.Fatal(err)
	}
	into := t.TempDir()
	p, err := w.pull(t, PullOptions{Into: into})
	if err != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "72h") {
		t.Errorf("%v, %v", p.Warnings, err)
	}
	// What was pulled is as old as what was pushed.
	if i, err := os.Stat(filepath.Join(into, w.app, "0_0", streams.CheckpointFile)); err != nil || time.Since(i.ModTime()) < 71*time.Hour {
		t.Errorf("the .checkpoint looks new: %v", err)
	}
}

// TestStateOfTheFutureIsWarnedOf: its clock was wrong, so its age is not known.
func TestStateOfTheFutureIsWarnedOf(t *testing.T) {
	p := &PullPlan{Tasks: []PullTask{{Task: "0_0", State: ToPull, Written: time.Now().Add(time.Hour)}, {Task: "0_1", State: ToPull, Written: time.Now().Add(time.Minute)}}}
	if p.age(); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "0_0 is dated") {
		t.Errorf("%q", p.Warnings)
	}
}

// TestStatusRowTellsFrom43On: there a .checkpoint, which upgrade.from has 4.4 write
// with in-memory stores' lines too, says nothing of a clean close.
func TestStatusRowTellsFrom43On(t *testing.T) {
	w := newWorld(t, "4.4.0-tjoin-alos")
	tasks, err := filepath.Glob(filepath.Join(w.state, w.app, "*_*"))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("%v: %v", tasks, err)
	}
	old := time.Now().Add(-time.Hour)
	for _, task := range tasks {
		path := filepath.Join(task, streams.CheckpointFile)
		if err := errors.Join(streams.Checkpoint{{Topic: w.app + "-mem-changelog"}: 3}.Write(path), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.push(t, PushOptions{}); err != nil {
		t.Error(err)
	}
}
