//go:build cgo

package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/topology"
	"sstool/internal/worldtest"
)

// TestMigrateWorld is the proof on the real thing: applications with every kind
// of store are built and stopped, migrated to another application id, or to
// other names and numbers, and started. They restore nothing that the old ones
// would not, answer the same queries, and go on: after further input they hold
// what an application holds that was never migrated.
func TestMigrateWorld(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 4) // applications mostly wait
			base, references := worldtest.InputBase(time.Now()), map[string]func() worldtest.HandoffReport{}
			for _, how := range []string{"application", "topology", "shift", "streams", "hosts"} {
				for _, p := range worldtest.Profiles() {
					for _, eos := range []bool{false, true} {
						w := &moved{t: t, b: b, h: h, p: p, eos: eos, how: how, base: base}
						if !p.Supports(v) || !w.selected() || how == "streams" && !streamsProtocol(v) {
							continue
						}
						ref := w.referenceID()
						if references[ref] == nil {
							references[ref] = sync.OnceValue(w.reference)
						}
						w.want = references[ref]
						wg.Add(1)
						go func() {
							defer wg.Done()
							sem <- struct{}{}
							defer func() { <-sem }()
							w.run()
						}()
					}
				}
			}
		})
	}
}

// representative is what make test runs of each version: every kind of store but
// those of stream-stream joins, both guarantees, every way to migrate (TestMigrateTwoHosts has two hosts).
func representative() map[string][]string {
	return map[string][]string{
		worldtest.Oldest: {"topology-papi"},
		worldtest.Newest: {"application-tjoin-eos", "topology-win", "streams-kv4"},
	}
}

// streamsProtocol says whether a version has group.protocol=streams for good.
func streamsProtocol(version string) bool { return version >= "4.2" }

// moved is one application that is migrated. Failures are reported under its
// name: the applications run side by side.
type moved struct {
	t    *testing.T
	b    *worldtest.Broker
	h    *worldtest.Harness
	p    worldtest.Profile
	eos  bool
	base time.Time                      // of the input
	want func() worldtest.HandoffReport // of the application that is not migrated
	how  string                         // application; topology: other names and numbers; shift: numbers alone; streams: another id with group.protocol=streams (KIP-1071); hosts: another id, a second host with apply-local

	v1, v2  worldtest.App
	names   map[string]string // of stores, old → new
	file    string            // of the migration
	globals []int             // sub-topologies of global stores of the old version
	forced  bool              // tasks get the number of one of these
}

func (w *moved) name() string {
	return w.how + "-" + w.p.Name + map[bool]string{true: "-eos"}[w.eos]
}

func (w *moved) selected() bool {
	if only := os.Getenv("SSTOOL_PROFILES"); only != "" {
		return strings.Contains(","+only+",", ","+w.name()+",")
	}
	return os.Getenv("SSTOOL_MATRIX") == "full" || slices.Contains(representative()[w.h.Version], w.name())
}

func (w *moved) fail(format string, args ...any) { w.t.Errorf(w.name()+": "+format, args...) }

func (w *moved) run() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	id := "m-" + w.name() + "-" + strings.ReplaceAll(w.h.Version, ".", "")
	records, base := w.p.Records/2, w.base
	w.v1 = w.p.App(id, w.b.Bootstrap, w.t.TempDir(), w.eos)
	if w.how == "streams" {
		w.v1.Settings = maps.Clone(w.v1.Settings)
		if w.v1.Settings == nil {
			w.v1.Settings = map[string]string{}
		}
		w.v1.Settings["group.protocol"] = "streams"
	}
	w.v2 = w.v1
	switch w.how {
	case "topology":
		w.v2.Suffix, w.v2.Shift = "-b", 70
	case "shift":
		w.v2.Shift = 70
	default:
		w.v2.ID, w.v2.Topics = id+"-v2", id
	}
	if _, err := w.h.Build(ctx, w.v1, worldtest.Input{Records: records, Base: base}); err != nil {
		w.fail("build: %v", err)
		return
	}
	before, err := w.h.Handoff(ctx, w.v1)
	if err != nil || before.Error != "" {
		w.fail("start of the old version: %v %s", err, before.Error)
		return
	}
	if !w.migrate(ctx) {
		return
	}
	w.oldStarts(ctx, before)
	if w.v2.Shift > 0 {
		if err := worldtest.CreateTopic(ctx, w.b.Bootstrap, w.v1.ID+"-extra", 2, nil); err != nil {
			w.fail("%v", err)
		}
	}
	logged := len(w.h.Log())
	after, err := w.h.Handoff(ctx, w.v2)
	if err != nil || after.Error != "" {
		w.fail("start of the new version: %v %s", err, after.Error)
		return
	}
	w.sameStart(before, after)
	for line := range strings.Lines(w.h.Log()[min(logged, len(w.h.Log())):]) {
		if strings.Contains(line, "["+w.v2.ID+"-") && strings.Contains(line, "TaskCorrupted") {
			w.fail("Kafka Streams wiped a task: %s", line)
		}
	}
	if _, err := w.h.Build(ctx, w.v2, worldtest.Input{Records: records, First: records, Base: base}); err != nil {
		w.fail("further input: %v", err)
		return
	}
	is, err := w.h.Handoff(ctx, w.v2)
	if err != nil || is.Error != "" {
		w.fail("second start: %v %s", err, is.Error)
		return
	}
	w.finish()
	for name, want := range w.want().Stores {
		old := strings.ReplaceAll(name, w.referenceID(), w.v1.ID)
		got := is.Stores[w.new(old)]
		if strings.HasPrefix(old, "fk-") {
			want, got = want.Untimed(), got.Untimed()
		}
		if diff := want.Differs(got); diff != "" {
			w.fail("after further input store %s answers otherwise than that of an application that was not migrated: %s", name, diff)
		}
	}
	w.t.Logf("%s: restored %d at the start, %d on its own directory", w.v2.ID, after.TotalRestored, before.TotalRestored)
}

// oldStarts starts the old version on a copy of the directory in which
// everything has been cloned: until the new one runs there is a way back.
func (w *moved) oldStarts(ctx context.Context, before worldtest.HandoffReport) {
	dir := w.t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, w.v1.ID), os.DirFS(w.v1.Dir())); err != nil {
		w.fail("%v", err)
		return
	}
	if w.forced {
		// It does not start with what is cloned to there, as the refusal said.
		if is, err := w.h.Handoff(ctx, w.v1.In(dir)); err == nil && is.Error == "" {
			w.fail("the old version starts beside task directories with the numbers %v", w.globals)
		}
		for _, id := range w.globals {
			tasks, _ := filepath.Glob(filepath.Join(dir, w.v1.ID, fmt.Sprint(id, "_*")))
			for _, task := range tasks {
				if err := os.RemoveAll(task); err != nil {
					w.fail("%v", err)
				}
			}
		}
	}
	is, err := w.h.Handoff(ctx, w.v1.In(dir))
	if err != nil || is.Error != "" {
		w.fail("start of the old version after the migration: %v %s", err, is.Error)
		return
	}
	if is.TotalRestored > before.TotalRestored {
		w.fail("the old version restored %d records after the migration, %d before", is.TotalRestored, before.TotalRestored)
	}
	for name, a := range before.Stores {
		if diff := a.Differs(is.Stores[name]); diff != "" {
			w.fail("the old version's store %s answers otherwise after the migration: %s", name, diff)
		}
	}
}

// new is the new name of a store.
func (w *moved) new(old string) string {
	if n, ok := w.names[old]; ok {
		return n
	}
	return old
}

// migrate runs the command, and notes the names it gives.
func (w *moved) migrate(ctx context.Context) bool {
	// Nobody can expel the members of a streams group: they go with their session.
	common := []string{"--wait", "1m", "--bootstrap-server", w.b.Bootstrap, "--state-dir", w.v1.StateDir, "--yes", "-o", "json"}
	args := []string{"migrate", "application", w.v1.ID, w.v2.ID}
	if w.v2.Shift > 0 {
		dir := w.t.TempDir()
		for name, app := range map[string]worldtest.App{"old.txt": w.v1, "new.txt": w.v2} {
			text, err := w.h.Describe(ctx, app)
			if name == "old.txt" && err == nil {
				w.globals, err = globalsOf(text)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
			}
			if err != nil {
				w.fail("describe: %v", err)
				return false
			}
		}
		args = []string{"migrate", "topology", filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt"), "--application-id", w.v1.ID}
	}
	other := ""
	if w.how == "hosts" {
		other = w.t.TempDir()
		w.tasksTo(other, w.v1)
	}
	args = append(args, common...)
	got := runWith(w.t, nil, args...)
	if got.code == 14 && len(w.globals) > 0 && strings.Contains(got.err, "is that of a global store in the old version") {
		w.forced = true
		got = runWith(w.t, nil, append(args, "--force")...)
	}
	var doc struct {
		File  string `json:"migration_file"`
		Moves []struct {
			Old string `json:"old_store"`
			New string `json:"new_store"`
		}
	}
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || got.code != 0 {
		w.fail("sstool %s: code %d, %v\n%s", strings.Join(args, " "), got.code, err, got.err)
		return false
	}
	w.names, w.file = map[string]string{}, doc.File
	if other != "" {
		if got := runWith(w.t, nil, "migrate", "apply-local", w.file, "--state-dir", other, "--yes"); got.code != 0 || !strings.Contains(got.out, "cloned") {
			w.fail("apply-local: code %d\n%s%s", got.code, got.out, got.err)
			return false
		}
		for _, app := range []worldtest.App{w.v1, w.v2} {
			w.tasksFrom(other, app)
		}
	}
	for _, m := range doc.Moves {
		w.names[m.Old] = m.New
	}
	if strings.Contains(got.err, "not cloned") {
		w.fail("%s", got.err)
	}
	return true
}

// tasksTo moves the tasks of odd partitions to another host's state directory.
func (w *moved) tasksTo(stateDir string, app worldtest.App) { w.moveTasks(app, app.In(stateDir)) }

// tasksFrom brings them back, as if their host had been the first one.
func (w *moved) tasksFrom(stateDir string, app worldtest.App) { w.moveTasks(app.In(stateDir), app) }

func (w *moved) moveTasks(from, to worldtest.App) {
	tasks, err := filepath.Glob(filepath.Join(from.Dir(), "*_[13]"))
	if err == nil && len(tasks) == 0 {
		err = fmt.Errorf("no tasks of odd partitions in %s", from.Dir())
	}
	if err == nil {
		err = os.MkdirAll(to.Dir(), 0o755)
	}
	for _, task := range tasks {
		if err == nil {
			err = os.Rename(task, filepath.Join(to.Dir(), filepath.Base(task)))
		}
	}
	if err != nil {
		w.fail("%v", err)
	}
}

// finish removes what is old: the new version has written to all that was
// copied.
func (w *moved) finish() {
	got := runWith(w.t, nil, "migrate", "finish", w.file, "--state-dir", w.v1.StateDir, "--bootstrap-server", w.b.Bootstrap, "--yes")
	if got.code != 0 {
		w.fail("finish: code %d\n%s%s", got.code, got.out, got.err)
	}
	if left, err := filepath.Glob(filepath.Join(w.v1.Dir(), "*_[02]")); w.v1.ID != w.v2.ID && (err != nil || len(left) > 0) {
		w.fail("finished, and there is %v, %v", left, err)
	}
}

// globalsOf are the sub-topologies of global stores.
func globalsOf(text string) (out []int, err error) {
	m, err := topology.ParseText(text, topology.Options{})
	if err != nil {
		return nil, err
	}
	for i := range m.Topologies {
		for _, s := range m.Topologies[i].Subtopologies {
			if s.Global {
				out = append(out, s.ID)
			}
		}
	}
	return out, nil
}

// sameStart compares what the new version restored and answers with what the
// old one did on its own directory.
func (w *moved) sameStart(before, after worldtest.HandoffReport) {
	onDisk := map[string]bool{}
	for _, s := range w.p.Stores(w.v1.ID) {
		onDisk[w.new(s.Name)] = s.OnDisk() && !s.Global
	}
	old := map[string]worldtest.RestoredPartition{}
	for _, x := range before.Partitions {
		old[fmt.Sprint(w.new(x.Store), x.Partition)] = x
	}
	for _, x := range after.Partitions {
		was := old[fmt.Sprint(x.Store, x.Partition)]
		if x.Starts > max(was.Starts, 1) {
			w.fail("the task was wiped and restored again: %+v", x)
		}
		if onDisk[x.Store] && x.TotalRestored > was.TotalRestored {
			w.fail("restored: %+v, the old version %+v", x, was)
		}
	}
	for name, a := range before.Stores {
		if diff := a.Differs(after.Stores[w.new(name)]); diff != "" {
			w.fail("queries of store %s answer otherwise than before: %s", name, diff)
		}
	}
}

// referenceID is the id of the application that is not migrated.
func (w *moved) referenceID() string {
	return "m-ref-" + w.p.Name + map[bool]string{true: "-eos"}[w.eos] + "-" + strings.ReplaceAll(w.h.Version, ".", "")
}

// reference is an application that gets the same input and is not migrated: one
// for all ways to migrate.
func (w *moved) reference() worldtest.HandoffReport {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	ref := w.p.App(w.referenceID(), w.b.Bootstrap, w.t.TempDir(), w.eos)
	for _, first := range []int{0, w.p.Records / 2} {
		if _, err := w.h.Build(ctx, ref, worldtest.Input{Records: w.p.Records / 2, First: first, Base: w.base}); err != nil {
			w.fail("the application that is not migrated: %v", err)
			return worldtest.HandoffReport{}
		}
	}
	report, err := w.h.Handoff(ctx, ref)
	if err != nil || report.Error != "" {
		w.fail("the application that is not migrated: %v %s", err, report.Error)
	}
	return report
}
