//go:build cgo

package restore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// halfPlaced builds the state a run leaves that is killed after n steps of
// putting its task in place: into holds what stood there, from the stores it
// had built. It returns how many steps there are.
func halfPlaced(t testing.TB, p *Plan, into, from string, n int) int {
	t.Helper()
	task := p.Tasks[0]
	var done []unitResult
	for _, u := range task.Units {
		if err := cloneStore(filepath.Join(appDir(from, app), "0_0"), filepath.Join(buildDir(into, app), "0_0"), u.Request.Store); err != nil {
			t.Fatal(err)
		}
		c := newCounts()
		c.LastApplied = u.Parts[0].End - 1
		done = append(done, unitResult{unit: u, parts: map[int32]Counts{0: c}})
	}
	pl, err := p.placementOf(task, done)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteJSON(journalFile(into, app), pl); err != nil {
		t.Fatal(err)
	}
	steps := (&scene{into, pl}).steps()
	for _, step := range steps[:min(n, len(steps))] {
		if err := os.MkdirAll(filepath.Join(into, app, "0_0"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return len(steps)
}

// The same command once more, with no flag added, completes a placement that
// was begun: fresh, forced or resumed.
func TestSameCommandCompletesAPlacement(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for _, n := range []string{"a", "b"} {
		k.changelog(t, n, 1, numbered(0, 0, 50, 20))
	}
	stores := []streams.Store{kv("a"), kv("b")}
	early := options(memDir(t), stores...)
	k.mustRestore(t, early)
	for _, n := range []string{"a", "b"} {
		k.produce(t, streams.ChangelogTopic(app, n), numbered(0, 50, 30, 25))
	}
	whole := options(memDir(t), stores...)
	k.mustRestore(t, whole)
	want := dump(t, appDir(whole.Into, app))
	copyEarly := func() string {
		dir := memDir(t)
		if err := os.CopyFS(dir, os.DirFS(early.Into)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, x := range []struct {
		name  string
		into  func() string
		force bool
		tail  bool
	}{
		{"fresh", func() string { return memDir(t) }, false, false},
		{"forced", copyEarly, true, false},
		{"resumed", copyEarly, false, true},
	} {
		for n, last := 0, 1; n <= last; n++ {
			o := options(x.into(), stores...)
			o.Force, o.FromCheckpoint = x.force, x.tail
			plan, err := MakePlan(t.Context(), k.client, o)
			if err != nil {
				t.Fatal(x.name, err)
			}
			last = halfPlaced(t, plan, o.Into, whole.Into, n)
			var ev events
			res, err := k.restoreTo(t.Context(), o, ev.sink)
			if err != nil {
				t.Fatalf("%s after %d of %d steps: %v", x.name, n, last, err)
			}
			if res.Total.Records != 0 || !strings.Contains(ev.warnings(), "is complete") {
				t.Errorf("%s after %d steps: %d records, %s", x.name, n, res.Total.Records, ev.warnings())
			}
			sameRows(t, x.name, dump(t, appDir(o.Into, app)), want)
		}
	}
}

// The application ran in between: the same command says what is the matter.
func TestOvertakenPlacementIsSaid(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "a", 1, numbered(0, 0, 50, 20))
	whole := options(memDir(t), kv("a"))
	k.mustRestore(t, whole)
	o := options(memDir(t), kv("a"))
	plan, err := MakePlan(t.Context(), k.client, o)
	if err != nil {
		t.Fatal(err)
	}
	n := halfPlaced(t, plan, o.Into, whole.Into, 99)
	if n < 3 {
		t.Fatal(n)
	}
	before, err := MakePlan(t.Context(), k.client, o) // made before the application ran
	if err != nil || !before.Tasks[0].Done {
		t.Fatal(err)
	}
	put(t, filepath.Join(appDir(o.Into, app), "0_0", "rocksdb", "a", "MANIFEST-000099"), "x")
	_, err = MakePlan(t.Context(), k.client, o)
	optest.WantKind(t, err, op.Precondition, "is not empty", "--force")
	var ev events
	_, err = before.Run(t.Context(), ev.sink)
	optest.WantKind(t, err, op.Precondition, "since the plan was made")
	if !strings.Contains(ev.warnings(), "left as they are") {
		t.Error(ev.warnings())
	}
	o.Force = true
	k.mustRestore(t, o)
	if got := dump(t, appDir(o.Into, app)); !slices.Equal(got, dump(t, appDir(whole.Into, app))) {
		t.Error(got)
	}
}

// A placement that fails half-way keeps its journal, whatever other tasks do
// meanwhile, and the next run completes it.
func TestFailedPlacementIsCompleted(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 4, slices.Concat(numbered(0, 0, 50, 20), numbered(1, 0, 50, 20), numbered(2, 0, 50, 20), numbered(3, 0, 50, 20)))
	whole := options(memDir(t), kv("s"))
	k.mustRestore(t, whole)
	want := dump(t, appDir(whole.Into, app))
	for range 5 {
		o := options(memDir(t), kv("s"))
		o.Force, o.Threads = true, 4
		for _, task := range []string{"0_0", "0_1", "0_2", "0_3"} {
			put(t, filepath.Join(appDir(o.Into, app), task, "rocksdb", "s", "CURRENT"), "old "+task)
		}
		obstacle := filepath.Join(o.Into, ".sstool", "aside", app, "0_2")
		put(t, obstacle, "a file where a directory must be")
		_, err := k.restore(t, o)
		optest.WantKind(t, err, op.Failed, "put task 0_2 in place", "run the same command again")
		pl, err := readJournal(o.Into, app)
		if err != nil || pl == nil || pl.Task != "0_2" {
			t.Fatal(pl, err)
		}
		if err := os.Remove(obstacle); err != nil {
			t.Fatal(err)
		}
		k.mustRestore(t, o)
		sameRows(t, "completed", dump(t, appDir(o.Into, app)), want)
		asides, _ := filepath.Glob(filepath.Join(o.Into, ".sstool", "aside", app, "*", "*", "s", "CURRENT"))
		if len(asides) != 4 {
			t.Fatal(asides)
		}
	}
}

// The topic goes while it is read.
func TestTopicDeleted(t *testing.T) {
	for _, p := range profiles {
		k := newWorld(t, kafkatest.Options{})
		topic := k.changelog(t, "s", 1, nil)
		k.produceSingly(t, topic, bigValues(8))
		k.OnFetch(4, func() {
			if err := k.DeleteTopic(topic); err != nil {
				t.Error(err)
			}
		})
		o := smallFetches(options(memDir(t), kv("s")), p)
		o.StallTimeout = 2 * time.Second
		err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
		if kind := op.KindOf(err); kind != op.NotFound && kind != op.Unreachable || !strings.Contains(err.Error(), topic) {
			t.Errorf("%s: %s %v", p, kind, err)
		}
	}
}
