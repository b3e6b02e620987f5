//go:build cgo

package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestRealStarts is the proof on the real thing: a condition is made in a real
// application's directory or topics, doctor predicts, the real application is
// started on it, and what happens is compared.
func TestRealStarts(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	client, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var seen table
	for _, v := range worldtest.Chosen("4.0.2", worldtest.Newest) {
		h := worldtest.Streams(t, v)
		for _, profile := range []string{"papi", "opt"} {
			for _, eos := range []bool{false, true} {
				seen.wg.Add(1)
				go func() {
					defer seen.wg.Done()
					w := &realWorld{t: t, b: b, h: h, client: client, seen: &seen}
					w.run(profile, eos)
				}()
			}
		}
	}
	seen.wg.Wait()
	slices.Sort(seen.rows)
	t.Logf("condition × version × guarantee: predicted | seen\n%s", strings.Join(seen.rows, "\n"))
}

// exhaustive says whether everything is tried, not a representative part.
func exhaustive() bool {
	return os.Getenv("SSTOOL_MATRIX") == "full" || os.Getenv("SSTOOL_VERSIONS") != ""
}

// table is what was seen, for the reader.
type table struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	rows []string
}

// realWorld is one application in one version under one guarantee.
type realWorld struct {
	t      *testing.T
	b      *worldtest.Broker
	h      *worldtest.Harness
	client *kafka.Client
	seen   *table

	app         worldtest.App
	rows        []string // of plain-kv
	early, late string   // what it left after the first and the second half of its input
}

// condition is something that is wrong, in a task's directory.
type condition struct {
	name    string
	profile string
	task    string
	do      func(w *realWorld, dir string) error // dir is the application's
	early   bool                                 // on the early directory
	full    bool                                 // only with SSTOOL_MATRIX=full
	from    string                               // the oldest version that it is about; "" all
	before  string                               // not from this version on
	setting map[string]string
	check   string // a check that must find it; "" none
	again   bool   // a second start succeeds
	zombies bool   // rows that were deleted live on
	last    func(w *realWorld, dir string) error
	heals   func(w *realWorld) bool // whether it does
	either  bool                    // a start may also take the store for complete
}

func (w *realWorld) run(profile string, eos bool) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 15*time.Minute)
	defer cancel()
	p := worldtest.ProfileNamed(profile)
	id := fmt.Sprintf("%s-%s-%v", profile, strings.ReplaceAll(w.h.Version, ".", ""), map[bool]string{true: "eos", false: "alos"}[eos])
	w.app = p.App(id, w.b.Bootstrap, w.t.TempDir(), eos)
	w.early, w.late = w.t.TempDir(), w.t.TempDir()
	base := worldtest.InputBase(time.Now())
	for i, dir := range []string{w.early, w.late} {
		if _, err := w.h.Build(ctx, w.app, worldtest.Input{Records: 150, First: i * 150, Base: base}); err != nil {
			w.t.Errorf("%s: build: %v", id, err)
			return
		}
		if err := os.CopyFS(dir, os.DirFS(w.app.StateDir)); err != nil {
			w.t.Errorf("%s: %v", id, err)
			return
		}
	}
	if profile == "papi" {
		if err := w.killed(ctx); err != nil {
			w.t.Errorf("%s: killed: %v", id, err)
		}
	}
	for _, c := range append(directoryConditions(), topicConditions()...) {
		if only := os.Getenv("SSTOOL_CONDITIONS"); only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			continue
		}
		if c.profile != profile || c.full && !exhaustive() || !c.about(w.h.Version) {
			continue
		}
		if err := w.try(ctx, c); err != nil {
			w.t.Errorf("%s: %s: %v", id, c.name, err)
		}
	}
}

func (c *condition) about(version string) bool {
	v, _ := streams.ParseVersion(version)
	from, _ := streams.ParseVersion(c.from)
	before, err := streams.ParseVersion(c.before)
	return v.AtLeast(from) && (err != nil || v.Less(before))
}

// try makes the condition, predicts, starts, and compares.
func (w *realWorld) try(ctx context.Context, c condition) error {
	app := w.app.In(w.t.TempDir())
	from := w.late
	if c.early {
		from = w.early
	}
	if err := os.CopyFS(app.StateDir, os.DirFS(from)); err != nil {
		return err
	}
	if err := putExtra(app.Dir(), c); err != nil {
		return fmt.Errorf("put a row of its own: %w", err)
	}
	if err := c.do(w, app.Dir()); err != nil {
		return fmt.Errorf("make it: %w", err)
	}
	return w.judge(ctx, c, app)
}

// killed is an application that dies: what it had not written down is lost.
func (w *realWorld) killed(ctx context.Context) error {
	app := w.app.In(w.t.TempDir())
	app.ID += "-killed"
	if _, err := w.h.Build(ctx, app, worldtest.Input{Records: 150, Halt: true}); err != nil {
		return err
	}
	return w.judge(ctx, condition{name: "killed", profile: "papi", task: "0_0"}, app)
}

// judge predicts, starts, and compares.
func (w *realWorld) judge(ctx context.Context, c condition, app worldtest.App) error {
	marker := filepath.Join(app.Dir(), c.task, "marker.position")
	if err := os.WriteFile(marker, []byte("0\n0\n"), 0o644); err != nil {
		return err
	}
	if c.last != nil {
		if err := c.last(w, app.Dir()); err != nil {
			return err
		}
	}
	app.Settings = c.setting
	set := map[string]string{"processing.guarantee": map[bool]string{true: eos, false: alos}[app.EOS]}
	for k, v := range c.setting {
		set[k] = v
	}
	v, _ := streams.ParseVersion(w.h.Version)
	res, err := Run(ctx, Options{Path: app.Dir(), AppID: app.ID, Client: w.client, Kafka: v, Config: &AppConfig{Set: set}, Areas: []string{AreaRestart}}, nil)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(res.Tasks, func(s TaskStart) bool { return s.Task == c.task })
	if i < 0 {
		return fmt.Errorf("no task %s", c.task)
	}
	told := res.Tasks[i]
	rep, err := w.h.Handoff(ctx, app)
	if err != nil {
		return err
	}
	_, merr := os.Stat(marker)
	got := outcome{failed: rep.Error != "", wiped: merr != nil, starts: 1}
	for _, p := range rep.Partitions {
		if w.of(c.task, &told, p) {
			got.records += p.TotalRestored
			got.starts = max(got.starts, p.Starts)
			if p.TotalRestored > 0 {
				got.stores = append(got.stores, fmt.Sprintf("%s %d from %d", p.Store, p.TotalRestored, p.StartingOffset))
			}
		}
	}
	rows := rep.Stores["plain-kv"].Rows
	if c.name == "clean" {
		w.rows = rows
	}
	var more []string // rows that the application would not have
	for _, row := range rows {
		if !slices.Contains(w.rows, row) && !strings.Contains(row, extraKey) {
			more = append(more, row)
		}
	}
	got.kept = slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, extraKey) })
	wrong := got.differs(&told, app.EOS)
	if c.either && !got.failed && got.records == 0 {
		wrong = nil
	}
	if c.check != "" {
		if list := of(res, c.check); len(found(res)) == 0 || len(list) == 0 || !list[0].Status.Found() {
			wrong = append(wrong, c.check+" finds nothing")
		}
	} else if told.Will == WillResume && len(found(res)) > 0 {
		wrong = append(wrong, "findings: "+text(found(res)))
	}
	if c.zombies && len(more) == 0 {
		wrong = append(wrong, "no deleted row lives on")
	} else if c.zombies {
		got.stores = append(got.stores, fmt.Sprintf("%d rows live on, %s", len(more), more[0]))
	}
	then := ""
	if got.failed && (c.again || exhaustive()) {
		second, err := w.h.Handoff(ctx, app)
		if err != nil {
			return err
		}
		if then = ", then starts"; second.Error != "" {
			then = ", then fails again"
		}
		if heals := c.again || c.heals != nil && c.heals(w); heals != (second.Error == "") {
			wrong = append(wrong, "the second start: "+then+" "+second.Error)
		}
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	w.seen.rows = append(w.seen.rows, fmt.Sprintf("%-28s %s %-4s: %s | %s %s", c.name, w.h.Version, map[bool]string{true: "eos", false: "alos"}[app.EOS], show(told), got.String()+then, strings.TrimSpace(rep.Error+" "+strings.Join(got.stores, ", "))))
	if len(wrong) > 0 {
		return fmt.Errorf("predicted %s, seen %s (%s) %s: %s", show(told), got, strings.Join(got.stores, ", "), rep.Error, strings.Join(wrong, "; "))
	}
	return nil
}

// of says whether the restored partition is the task's, of a store on disk.
func (w *realWorld) of(task string, told *TaskStart, p worldtest.RestoredPartition) bool {
	if !slices.ContainsFunc(told.Stores, func(s StoreStart) bool { return s.Store == p.Store }) {
		return false
	}
	return task == streams.GlobalDir || strings.HasSuffix(task, fmt.Sprintf("_%d", p.Partition))
}

func show(s TaskStart) string {
	records := "?"
	if s.Records != nil {
		records = fmt.Sprint(*s.Records)
	}
	return fmt.Sprintf("%s %s", s.Will, records)
}

// outcome is what a real start did with a task.
type outcome struct {
	failed, wiped bool
	records       int64
	starts        int64
	kept          bool // the row that only the store has
	stores        []string
}

func (o outcome) String() string {
	switch {
	case o.failed && o.wiped:
		return "failed, wiped"
	case o.failed:
		return "failed"
	case o.kept:
		return fmt.Sprintf("%d records, over the rows that were there", o.records)
	case o.wiped:
		return fmt.Sprintf("wiped, %d records", o.records)
	}
	return fmt.Sprintf("%d records", o.records)
}

// differs says in what the prediction was wrong.
func (o outcome) differs(told *TaskStart, eos bool) (wrong []string) {
	if fail := told.Will == WillFail; fail != o.failed {
		return []string{fmt.Sprintf("failed: %v", o.failed)}
	}
	if o.failed {
		return nil
	}
	if wipe := told.Will == WillWipe; wipe != o.wiped {
		wrong = append(wrong, fmt.Sprintf("wiped: %v", o.wiped))
	}
	switch {
	case told.Records == nil:
		wrong = append(wrong, "no number of records")
	case o.records > *told.Records || o.records == 0 && *told.Records > 8 || !eos && told.Will == WillResume && o.records != *told.Records:
		wrong = append(wrong, fmt.Sprintf("%d records, predicted %d", o.records, *told.Records))
	}
	return wrong
}

// inCheckpoint changes lines of a task's .checkpoint. A directory of Kafka 4.3
// and later has none: a file with the lines that change is enough.
func inCheckpoint(task string, change func(w *realWorld, c streams.Checkpoint)) func(*realWorld, string) error {
	return func(w *realWorld, dir string) error {
		path := filepath.Join(dir, task, streams.CheckpointFile)
		c, err := streams.ReadCheckpoint(path)
		if err != nil {
			return err
		}
		change(w, c)
		return c.Write(path)
	}
}

// changelog is a partition of a store's changelog.
func (w *realWorld) changelog(store string, p int32) streams.TopicPartition {
	return streams.TopicPartition{Topic: streams.ChangelogTopic(w.app.ID, store), Partition: p}
}

func (w *realWorld) end(tp streams.TopicPartition) int64 {
	at, err := w.client.Offsets(w.t.Context(), tp.Topic, nil)
	if err != nil {
		w.t.Error(err)
	}
	return at[tp.Partition].End
}

func removed(path ...string) func(*realWorld, string) error {
	return func(_ *realWorld, dir string) error {
		for _, p := range path {
			matches, err := filepath.Glob(filepath.Join(dir, p))
			if err != nil || len(matches) == 0 {
				return fmt.Errorf("nothing is %s: %v", p, err)
			}
			for _, m := range matches {
				if err := os.RemoveAll(m); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func written(path, text string) func(*realWorld, string) error {
	return func(_ *realWorld, dir string) error {
		return os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644)
	}
}

func all(steps ...func(*realWorld, string) error) func(*realWorld, string) error {
	return func(w *realWorld, dir string) error {
		for _, s := range steps {
			if err := s(w, dir); err != nil {
				return err
			}
		}
		return nil
	}
}

// offsetsRow puts or deletes rows of a database's offsets family.
func offsetsRow(path string, edit func(w *realWorld, b *rocks.Batch, family int)) func(*realWorld, string) error {
	return func(w *realWorld, dir string) error {
		families, err := rocks.Families(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		db, err := rocks.Open(filepath.Join(dir, path), rocks.Options{Families: families})
		if err != nil {
			return err
		}
		defer db.Close()
		b := db.Batch()
		defer b.Close()
		edit(w, b, slices.Index(families, streams.OffsetsFamily))
		if err := db.Write(b); err != nil {
			return err
		}
		return db.Flush()
	}
}

// extraKey is the key of a row that is in a store and not in its changelog: it
// is there after a start if and only if the store was not emptied.
const extraKey = "only-here"

func putExtra(dir string, c condition) error {
	if c.profile != "papi" {
		return nil
	}
	path := filepath.Join(dir, plainKV)
	families, err := rocks.Families(path)
	if err != nil {
		return err
	}
	db, err := rocks.Open(path, rocks.Options{Families: families})
	if err != nil {
		return err
	}
	defer db.Close()
	b := db.Batch()
	defer b.Close()
	b.Put(0, []byte(extraKey), []byte("v"))
	if err := db.Write(b); err != nil {
		return err
	}
	return db.Flush()
}

func nothing(*realWorld, string) error { return nil }

const (
	plainKV = "0_0/rocksdb/plain-kv"
	global  = "global/rocksdb/user-global"
)

// directoryConditions change only a copy of the directory.
func directoryConditions() []condition {
	set := func(offset func(w *realWorld, tp streams.TopicPartition) int64) func(*realWorld, string) error {
		return inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) {
			tp := w.changelog("plain-kv", 0)
			c[tp] = offset(w, tp)
		})
	}
	fixed := func(n int64) func(*realWorld, streams.TopicPartition) int64 {
		return func(*realWorld, streams.TopicPartition) int64 { return n }
	}
	source := func(offset int64) func(*realWorld, string) error {
		return inCheckpoint("global", func(w *realWorld, c streams.Checkpoint) {
			for p := range int32(2) {
				c[streams.TopicPartition{Topic: w.app.ID + "-g", Partition: p}] = offset
			}
		})
	}
	return []condition{
		{name: "clean", profile: "papi", task: "0_0", do: nothing},
		{name: "clean, source tables", profile: "opt", task: "0_0", do: nothing},
		{name: "clean, global", profile: "opt", task: "global", do: nothing},
		{name: "behind", profile: "papi", task: "0_0", do: nothing, early: true},
		{name: "behind, source tables", profile: "opt", task: "0_0", do: nothing, early: true},
		{name: "behind, global", profile: "opt", task: "global", do: nothing, early: true},
		{name: "no .checkpoint", profile: "papi", task: "0_0", do: removed("0_0/.checkpoint"), before: "4.3"},
		{name: "no line", profile: "papi", task: "0_0", do: inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) { delete(c, w.changelog("plain-kv", 0)) }), before: "4.3"},
		{name: "no offsets row", profile: "papi", task: "0_0", do: offsetsRow(plainKV, func(w *realWorld, b *rocks.Batch, family int) {
			b.Delete(family, streams.OffsetsKey(w.changelog("plain-kv", 0).Topic, 0))
		}), from: "4.3"},
		{name: "status open", profile: "papi", task: "0_0", do: offsetsRow(plainKV, func(_ *realWorld, b *rocks.Batch, family int) {
			b.Put(family, []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
		}), from: "4.3"},
		{name: "row -4", profile: "papi", task: "0_0", do: offsetsRow(plainKV, func(w *realWorld, b *rocks.Batch, family int) {
			b.Put(family, streams.OffsetsKey(w.changelog("plain-kv", 0).Topic, 0), streams.EncodeOffset(streams.OffsetUnknown))
		}), from: "4.3"},
		{name: "line -4", profile: "papi", task: "0_0", do: set(fixed(streams.OffsetUnknown))},
		{name: "line -4, no row", profile: "papi", task: "0_0", from: "4.3", do: all(set(fixed(streams.OffsetUnknown)), offsetsRow(plainKV, func(w *realWorld, b *rocks.Batch, family int) {
			b.Delete(family, streams.OffsetsKey(w.changelog("plain-kv", 0).Topic, 0))
		}))},
		{name: "beyond the end", profile: "papi", task: "0_0", do: set(fixed(5000)), check: "restart.out-of-range", either: true},
		{name: "the end itself", profile: "papi", task: "0_0", do: set(func(w *realWorld, tp streams.TopicPartition) int64 { return w.end(tp) }), check: "restart.out-of-range", either: true},
		{name: "line of an unknown topic", profile: "papi", task: "0_0", do: inCheckpoint("0_0", func(_ *realWorld, c streams.Checkpoint) {
			c[streams.TopicPartition{Topic: "gone", Partition: 0}] = 5
		}), check: "restart.unknown-topics"},
		{name: "bad .checkpoint", profile: "papi", task: "0_0", do: written("0_0/.checkpoint", "1\n0\n"), check: "restart.fails"},
		{name: "store gone, line stays", profile: "papi", task: "0_0", do: all(removed(plainKV), set(func(w *realWorld, tp streams.TopicPartition) int64 { return 40 })), check: "restart.taken-for-complete"},
		{name: "store gone, no offset", profile: "papi", task: "0_0", do: all(removed(plainKV), func(w *realWorld, dir string) error {
			if _, err := os.Stat(filepath.Join(dir, "0_0/.checkpoint")); err != nil {
				return nil
			}
			return inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) { delete(c, w.changelog("plain-kv", 0)) })(w, dir)
		})},
		{name: "source table gone, line stays", profile: "opt", task: "0_0", do: all(removed("0_0/rocksdb/src-tbl"), inCheckpoint("0_0", func(w *realWorld, c streams.Checkpoint) {
			c[streams.TopicPartition{Topic: w.app.ID + "-t1", Partition: 0}] = 10
		})), check: "restart.taken-for-complete"},
		{name: "no segment", profile: "papi", task: "0_0", do: removed("0_0/ts-win/*")},
		{name: "stray among segments", profile: "papi", task: "0_0", do: written("0_0/ts-win/README", ""), check: "restart.segments"},
		{name: "CURRENT is empty", profile: "papi", task: "0_0", do: written(plainKV+"/CURRENT", ""), check: "restart.files"},
		{name: "CURRENT names nothing", profile: "papi", task: "0_0", do: written(plainKV+"/CURRENT", "MANIFEST-000099\n"), check: "restart.files"},
		{name: "SST missing", profile: "papi", task: "0_0", do: removed(plainKV + "/*.sst"), check: "restart.files"},
		{name: "MANIFEST missing", profile: "papi", task: "0_0", do: removed(plainKV + "/MANIFEST-*"), check: "restart.files"},
		{name: "purged by age", profile: "papi", task: "0_0", do: nothing, last: func(_ *realWorld, dir string) error {
			at := time.Now().Add(-time.Hour)
			return os.Chtimes(filepath.Join(dir, "0_0"), at, at)
		}, setting: map[string]string{"state.cleanup.dir.max.age.ms": "60000"}, from: "4.3", check: "restart.cleaner"},
		{name: "global beyond the end", profile: "opt", task: "global", do: source(5000), check: "restart.out-of-range"},
		{name: "global, no offset", profile: "opt", task: "global", do: removed("global/.checkpoint"), before: "4.3"},
		{name: "global, no offsets row", profile: "opt", task: "global", do: offsetsRow(global, func(w *realWorld, b *rocks.Batch, family int) {
			for p := range int32(2) {
				b.Delete(family, streams.OffsetsKey(w.app.ID+"-g", p))
			}
		}), from: "4.3"},
		{name: "global, status open", profile: "opt", task: "global", do: offsetsRow(global, func(_ *realWorld, b *rocks.Batch, family int) {
			b.Put(family, []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
		}), from: "4.3"},
		{name: "global, unknown topic", profile: "opt", task: "global", do: inCheckpoint("global", func(_ *realWorld, c streams.Checkpoint) {
			c[streams.TopicPartition{Topic: "gone", Partition: 0}] = 5
		}), check: "restart.unknown-topics"},
		{name: "global, CURRENT is empty", profile: "opt", task: "global", do: written(global+"/CURRENT", ""), check: "restart.files"},
		{name: "global gone, line stays", profile: "opt", task: "global", do: all(removed(global), source(10))},
	}
}

// topicConditions change the application's topics, and so come last, in this
// order.
func topicConditions() []condition {
	logStart := func(topic func(w *realWorld) streams.TopicPartition) func(*realWorld, string) error {
		return func(w *realWorld, _ string) error {
			tp := topic(w)
			return worldtest.MoveLogStart(w.t.Context(), w.b.Bootstrap, tp.Topic, tp.Partition, w.end(tp)-1)
		}
	}
	return []condition{
		{name: "zombies", profile: "papi", task: "0_0", early: true, full: true, check: "restart.zombies", zombies: true, do: func(w *realWorld, dir string) error {
			return w.b.DropTombstones(w.t.Context(), w.changelog("plain-kv", 0).Topic)
		}, last: func(_ *realWorld, dir string) error {
			at := time.Now().Add(-48 * time.Hour)
			return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Chtimes(path, at, at)
			})
		}},
		{name: "below the log start", profile: "papi", task: "0_0", early: true, check: "restart.out-of-range",
			do: logStart(func(w *realWorld) streams.TopicPartition { return w.changelog("plain-kv", 0) })},
		{name: "global below the start", profile: "opt", task: "global", early: true, check: "restart.out-of-range", again: true, do: func(w *realWorld, dir string) error {
			for p := range int32(2) {
				tp := streams.TopicPartition{Topic: w.app.ID + "-g", Partition: p}
				if err := worldtest.MoveLogStart(w.t.Context(), w.b.Bootstrap, tp.Topic, p, w.end(tp)-1); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "changelog deleted", profile: "papi", task: "0_0", check: "restart.changelog-lost", either: true, do: func(w *realWorld, _ string) error {
			return w.client.DeleteTopics(w.t.Context(), w.changelog("plain-kv", 0).Topic)
		}},
	}
}
