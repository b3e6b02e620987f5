package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// scene is a state directory with one task of three stores about to be put in
// place: one replaces an old store, one is new, one has nothing on disk.
type scene struct {
	dir string
	pl  *placement
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func newScene(t testing.TB, partial bool) *scene {
	dir := t.TempDir()
	task := filepath.Join(dir, app, "0_0")
	for _, s := range []string{"a", "b"} {
		put(t, filepath.Join(task, "rocksdb", s, "CURRENT"), "old "+s)
		put(t, filepath.Join(task, s+".position"), "0\n0\n")
	}
	old := streams.Checkpoint{{Topic: "app-a-changelog"}: 3, {Topic: "app-b-changelog"}: 4, {Topic: "app-other-changelog"}: 5}
	if err := old.Write(filepath.Join(task, streams.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	p := &Plan{Options: Options{ApplicationID: app, Into: dir, ToOffset: -1}, ClusterID: "c"}
	if partial {
		p.Options.ToOffset = 10
	}
	tp := &TaskPlan{Known: true}
	var done []unitResult
	for i, s := range []streams.Store{kv("a"), kv("b"), kv("new"), {Name: "w", Kind: streams.Window}} {
		u := &Unit{Request: request(s), Topic: streams.ChangelogTopic(app, s.Name), Parts: []PartRange{{End: 50, To: 50}}, Task: tp}
		tp.Units = append(tp.Units, u)
		c := newCounts()
		if s.Kind != streams.Window {
			put(t, filepath.Join(buildDir(dir, app), "0_0", "rocksdb", s.Name, "CURRENT"), "new "+s.Name)
			c.LastApplied = int64(40 + i)
		}
		done = append(done, unitResult{unit: u, parts: map[int32]Counts{0: c}})
	}
	pl, err := p.placementOf(tp, done)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteJSON(journalFile(dir, app), pl); err != nil {
		t.Fatal(err)
	}
	return &scene{dir, pl}
}

func (s *scene) task(parts ...string) string {
	return filepath.Join(append([]string{s.dir, app, "0_0"}, parts...)...)
}

func (s *scene) checkPlaced(t testing.TB) {
	t.Helper()
	for _, n := range []string{"a", "b", "new"} {
		if b, err := os.ReadFile(s.task("rocksdb", n, "CURRENT")); string(b) != "new "+n {
			t.Errorf("store %s is %q, %v", n, b, err)
		}
		if exists(s.task(n + ".position")) {
			t.Errorf("the old position of %s is still there", n)
		}
	}
	cp, err := streams.ReadCheckpoint(s.task(streams.CheckpointFile))
	want := streams.Checkpoint{{Topic: "app-a-changelog"}: 40, {Topic: "app-b-changelog"}: 41, {Topic: "app-new-changelog"}: 42,
		{Topic: "app-w-changelog"}: streams.OffsetUnknown, {Topic: "app-other-changelog"}: 5}
	if err != nil || !mapsEqual(cp, want) {
		t.Errorf("checkpoint %v, %v", cp, err)
	}
	asides, _ := filepath.Glob(filepath.Join(s.dir, ".sstool", "aside", app, "0_0", "*"))
	if len(asides) != 1 {
		t.Fatalf("moved aside into %v", asides)
	}
	for _, n := range []string{"a", "b"} {
		if b, _ := os.ReadFile(filepath.Join(asides[0], n, "CURRENT")); string(b) != "old "+n {
			t.Errorf("aside %s is %q", n, b)
		}
		if !exists(filepath.Join(asides[0], n+".position")) {
			t.Errorf("the position of %s is lost", n)
		}
	}
	if exists(journalFile(s.dir, app)) || exists(buildDir(s.dir, app)) {
		t.Error("journal or build directory left")
	}
	led := readLedger(s.dir, app)
	if id := led.Tasks["0_0"]["b"]; id.Topic != "app-b-changelog" || id.Files == "" || len(led.Tasks["0_0"]) != 4 {
		t.Errorf("ledger %+v", led)
	}
}

func mapsEqual(a, b streams.Checkpoint) bool {
	for k, v := range b {
		if x, ok := a[k]; !ok || x != v {
			return false
		}
	}
	return len(a) == len(b)
}

// steps are the states a kill can leave: after n of the placement's steps.
func (s *scene) steps() []func() error {
	cp := s.task(streams.CheckpointFile)
	out := []func() error{func() error {
		return editCheckpoint(cp, func(c streams.Checkpoint) {
			for _, tp := range s.pl.Forget {
				delete(c, tp)
			}
		})
	}}
	for _, m := range s.pl.Moves {
		out = append(out, func() error { return m.apply(s.dir) })
	}
	return append(out, func() error {
		return editCheckpoint(cp, func(c streams.Checkpoint) {
			for _, l := range s.pl.Checkpoint {
				c[l.At] = l.Offset
			}
		})
	})
}

// A run killed after any step is completed by the next; and no step leaves a
// checkpoint line of a store that is not the one it speaks of.
func TestPlacementKilledAtEveryStep(t *testing.T) {
	for n := range len(newScene(t, false).steps()) + 2 {
		s := newScene(t, false)
		steps := s.steps()
		for _, step := range steps[:min(n, len(steps))] {
			if err := step(); err != nil {
				t.Fatal(n, err)
			}
		}
		if n > len(steps) {
			if err := s.pl.apply(s.dir, app); err != nil { // all done but the journal's removal
				t.Fatal(n, err)
			}
		}
		s.honest(t, n)
		// Half of them find the journal through another name of the directory.
		dir := s.dir
		if n%2 == 0 {
			dir = filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(s.dir, dir); err != nil {
				t.Fatal(err)
			}
		}
		note, done, err := recoverTarget(dir, app)
		if err != nil || !done || !strings.Contains(note, "task 0_0: ") {
			t.Fatalf("after %d steps: %t, %s, %v", n, done, note, err)
		}
		s.checkPlaced(t)
		if note, _, err := recoverTarget(s.dir, app); err != nil || note != "" {
			t.Fatalf("second recovery: %s, %v", note, err)
		}
		s.checkPlaced(t)
	}
}

// honest checks that every line of the checkpoint speaks of the store in place.
func (s *scene) honest(t testing.TB, n int) {
	t.Helper()
	cp, err := streams.ReadCheckpoint(s.task(streams.CheckpointFile))
	if err != nil {
		t.Fatal(n, err)
	}
	for _, name := range []string{"a", "b", "new"} {
		off, ok := cp[streams.TopicPartition{Topic: streams.ChangelogTopic(app, name)}]
		if !ok {
			continue
		}
		b, _ := os.ReadFile(s.task("rocksdb", name, "CURRENT"))
		if want := map[bool]string{true: "new ", false: "old "}[off >= 40] + name; string(b) != want {
			t.Errorf("after %d steps the checkpoint says %d of %s, which is %q", n, off, name, b)
		}
	}
	if cp[streams.TopicPartition{Topic: "app-other-changelog"}] != 5 {
		t.Errorf("after %d steps the line of another store is %v", n, cp)
	}
}

// The application ran on the directory between the kill and the next run: what
// it made of it stands.
func TestPlacementOvertaken(t *testing.T) {
	for n := range len(newScene(t, false).steps()) + 1 {
		for _, name := range []string{"a", "new"} {
			s := newScene(t, false)
			for _, step := range s.steps()[:n] {
				if err := step(); err != nil {
					t.Fatal(n, err)
				}
			}
			put(t, s.task("rocksdb", name, "MANIFEST-000009"), "the application's")
			before := dumpFiles(t, filepath.Join(s.dir, app))
			note, done, err := recoverTarget(s.dir, app)
			if err != nil || done || !strings.Contains(note, "left as they are") {
				t.Fatalf("after %d steps, %s changed: %s, %v", n, name, note, err)
			}
			if after := dumpFiles(t, filepath.Join(s.dir, app)); !slices.Equal(after, before) {
				t.Errorf("after %d steps: changed from\n%v to\n%v", n, before, after)
			}
			if exists(journalFile(s.dir, app)) {
				t.Error("journal left")
			}
		}
	}
}

// dumpFiles lists files with their content.
func dumpFiles(t testing.TB, dir string) []string {
	var out []string
	for _, line := range tree(t, dir) {
		path := strings.Fields(line)[0]
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, path+" "+string(b))
	}
	return out
}

// A forced restore may build the very bytes that stand there.
func TestPlacementOfIdenticalStore(t *testing.T) {
	s := newScene(t, false)
	put(t, s.task("rocksdb", "a", "CURRENT"), "new a")
	p := &Plan{Options: Options{ApplicationID: app, Into: s.dir, ToOffset: -1}}
	tp := &TaskPlan{Known: true}
	u := &Unit{Request: request(kv("a")), Topic: "app-a-changelog", Parts: []PartRange{{}}, Task: tp}
	pl, err := p.placementOf(tp, []unitResult{{unit: u, parts: map[int32]Counts{0: {LastApplied: 9}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := pl.apply(s.dir, app); err != nil {
		t.Fatal(err)
	}
	asides, _ := filepath.Glob(filepath.Join(s.dir, ".sstool", "aside", app, "0_0", "*", "a", "CURRENT"))
	if len(asides) != 1 || !exists(s.task("rocksdb", "a", "CURRENT")) {
		t.Fatal(asides)
	}
}

// A scratch copy has no checkpoint line, and takes away one that would speak
// of something else.
func TestPlacementOfScratchCopy(t *testing.T) {
	s := newScene(t, true)
	if err := s.pl.apply(s.dir, app); err != nil {
		t.Fatal(err)
	}
	cp, err := streams.ReadCheckpoint(s.task(streams.CheckpointFile))
	if err != nil || !mapsEqual(cp, streams.Checkpoint{{Topic: "app-other-changelog"}: 5}) {
		t.Fatal(cp, err)
	}
	if led := readLedger(s.dir, app); len(led.Tasks) != 0 {
		t.Fatal(led)
	}
}

// A move that fails leaves journal and build for the next run.
func TestPlacementFails(t *testing.T) {
	s := newScene(t, false)
	// A file where a directory of the way must be.
	put(t, filepath.Join(s.dir, ".sstool", "aside", app, "0_0"), "in the way")
	if _, _, err := recoverTarget(s.dir, app); err == nil || !strings.Contains(err.Error(), "0_0") || !strings.Contains(err.Error(), "journal-app.json") {
		t.Fatal(err)
	}
	if !exists(journalFile(s.dir, app)) || !exists(buildDir(s.dir, app)) {
		t.Fatal("journal or build are gone")
	}
	if err := os.Remove(filepath.Join(s.dir, ".sstool", "aside", app, "0_0")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := recoverTarget(s.dir, app); err != nil {
		t.Fatal(err)
	}
	s.checkPlaced(t)
}

func TestJournalCorrupt(t *testing.T) {
	dir := t.TempDir()
	put(t, journalFile(dir, app), "{")
	_, _, err := recoverTarget(dir, app)
	optest.WantKind(t, err, op.Corrupt, journalFile(dir, app))
}

// What is left of wiped stores is no store, and no obstacle.
func TestEmptyDirectoriesAreNoStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	if full, err := files.NonEmpty(dir); full || err != nil {
		t.Fatal(full, err)
	}
	for _, seg := range []string{"w.0", "w.600000"} {
		if err := os.MkdirAll(filepath.Join(dir, seg), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if full, err := files.NonEmpty(dir); full || err != nil {
		t.Fatal(full, err)
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "b", "x"), "1")
	now, err := files.Fingerprint(filepath.Join(root, "b"))
	if err != nil || now == "" {
		t.Fatal(now, err)
	}
	if err := os.Rename(dir, filepath.Join(root, "w")); err != nil {
		t.Fatal(err)
	}
	if err := (move{"b", "w", now}).apply(root); err != nil {
		t.Fatal(err)
	}
	if full, err := files.NonEmpty(filepath.Join(root, "w")); !full || err != nil {
		t.Fatal(full, err)
	}
	// A link to an empty directory is in the way too.
	put(t, filepath.Join(root, "c", "x"), "1")
	if err := errors.Join(os.Mkdir(filepath.Join(root, "empty"), 0o755), os.Symlink("empty", filepath.Join(root, "link"))); err != nil {
		t.Fatal(err)
	}
	if err := (move{"c", "link", ""}).apply(root); err != nil {
		t.Fatal(err)
	}
	// A store's files are never removed for it.
	if err := files.RemoveEmpty(filepath.Join(root, "w")); err == nil || !exists(filepath.Join(root, "w", "x")) {
		t.Fatal(err)
	}
}

// Merging lines keeps the age of those that stay.
func TestCheckpointKeepsItsAge(t *testing.T) {
	path := filepath.Join(t.TempDir(), streams.CheckpointFile)
	c := streams.Checkpoint{{Topic: "a"}: 1}
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	old, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	at := old.ModTime().Add(-48 * 3600e9)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	if err := editCheckpoint(path, func(c streams.Checkpoint) { c[streams.TopicPartition{Topic: "b"}] = 2 }); err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(path)
	if err != nil || !now.ModTime().Equal(at) {
		t.Fatal(now.ModTime(), at, err)
	}
	if err := editCheckpoint(path, func(c streams.Checkpoint) { clear(c); c[streams.TopicPartition{Topic: "a"}] = 2 }); err != nil {
		t.Fatal(err)
	}
	if now, err = os.Stat(path); err != nil || now.ModTime().Equal(at) {
		t.Fatal("a file of new lines only is as old as before")
	}
}

func TestPlacementJSON(t *testing.T) {
	s := newScene(t, false)
	data, err := os.ReadFile(journalFile(s.dir, app))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), s.dir) {
		t.Errorf("the journal holds absolute paths: %s", data)
	}
	var back placement
	if err := json.Unmarshal(data, &back); err != nil || fmt.Sprint(back.Moves) != fmt.Sprint(s.pl.Moves) {
		t.Fatal(err, back)
	}
}
