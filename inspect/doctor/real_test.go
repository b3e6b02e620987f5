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
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestReal is the proof on the real thing, in parts that share a broker and the
// JVMs of Kafka Streams. SSTOOL_MATRIX=full runs them whole.
func TestReal(t *testing.T) {
	worldtest.Require(t)
	s := worldtest.StartShared(t, worldtest.Options{})
	client, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: []string{s.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *worldtest.Shared, *kafka.Client)
	}{{"Starts", realStarts}, {"Versions", realVersions}, {"Health", realHealth}, {"Sources", realSources}, {"Hosts", realHosts}, {"Cluster", realCluster}} {
		t.Run(part.name, func(t *testing.T) { part.run(t, s, client) })
	}
}

// realStarts: a condition is made in a real application's directory or topics,
// doctor predicts, the real application is started on it, and what happens is
// compared.
func realStarts(t *testing.T, s *worldtest.Shared, client *kafka.Client) {
	var seen table
	for i, v := range worldtest.Chosen("4.0.2", worldtest.Newest) {
		h := s.Streams(v)
		for _, profile := range []string{"papi", "opt"} {
			for _, eos := range []bool{false, true} {
				if profile == "opt" && eos != (i%2 == 0) && !exhaustive() {
					continue // of global stores it changes little
				}
				seen.wg.Go(func() {
					w := &realWorld{t: t, b: s.Broker, h: h, client: client, seen: &seen}
					w.run(profile, eos)
				})
			}
		}
	}
	seen.wg.Wait()
	slices.Sort(seen.rows)
	t.Logf("condition × version × guarantee: predicted | seen\n%s", strings.Join(seen.rows, "\n"))
}

// exhaustive says whether everything is tried, not a representative part.
func exhaustive() bool {
	return worldtest.Full() || os.Getenv("SSTOOL_VERSIONS") != ""
}

// representative are the conditions of every run, one of each outcome in both
// homes of offsets: under at-least-once those that have another one there.
func representative(eos bool) []string {
	if !eos {
		return []string{"clean", "no line", "no offsets row", "below the log start", "behind, global", "global, status open"}
	}
	return []string{"clean", "behind", "no line", "no offsets row", "line -4, no row", "beyond the end", "stray among segments", "source table gone, line stays"}
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
	name      string
	profile   string
	task      string
	do        func(w *realWorld, dir string) error // dir is the application's
	early     bool                                 // on the early directory
	from      string                               // the oldest version that it is about; "" all
	before    string                               // not from this version on
	setting   map[string]string
	check     string // a check that must find it; "" none
	again     bool   // a second start succeeds
	uncounted bool   // nothing tells how many records are replayed
	zombies   bool   // rows that were deleted live on
	last      func(w *realWorld, dir string) error
	heals     func(w *realWorld) bool // whether it does
	either    bool                    // a start may also take the store for complete
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
	if profile == "papi" && exhaustive() {
		if err := w.killed(ctx); err != nil {
			w.t.Errorf("%s: killed: %v", id, err)
		}
		if err := w.running(ctx); err != nil {
			w.t.Errorf("%s: running: %v", id, err)
		}
	}
	for _, c := range append(directoryConditions(), topicConditions()...) {
		if only := os.Getenv("SSTOOL_CONDITIONS"); only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			continue
		}
		if c.profile != profile || !exhaustive() && !slices.Contains(representative(eos), c.name) || !c.about(w.h.Version) {
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

// running is an application that is up: there is nothing to find, and what a
// kill would do now is told.
func (w *realWorld) running(ctx context.Context) error {
	app := w.app.In(w.t.TempDir())
	if err := os.CopyFS(app.StateDir, os.DirFS(w.late)); err != nil {
		return err
	}
	if err := w.h.Start(ctx, app); err != nil {
		return err
	}
	v, _ := streams.ParseVersion(w.h.Version)
	res, err := Run(ctx, Options{Path: app.Dir(), AppID: app.ID, Client: w.client, Kafka: v, Guarantee: guaranteeOf(app), Areas: []string{AreaRestart}}, nil)
	if _, serr := w.h.Stop(ctx, app); err == nil {
		err = serr
	}
	if err != nil {
		return err
	}
	for _, s := range res.Tasks {
		if s.Killed == nil || s.Will != WillResume {
			return fmt.Errorf("task %s of an application that runs: %+v", s.Task, s)
		}
	}
	if f := found(res); len(f) > 0 {
		return fmt.Errorf("findings: %s", text(f))
	}
	return nil
}

func guaranteeOf(app worldtest.App) string {
	if app.EOS {
		return eos
	}
	return alos
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
	set := map[string]string{"processing.guarantee": guaranteeOf(app)}
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
	wrong := got.differs(&told, app.EOS, c.zombies)
	if c.uncounted && told.Records == nil && told.Will == WillRestore && got.records > 0 {
		wrong = nil
	}
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
func (o outcome) differs(told *TaskStart, eos, compacted bool) (wrong []string) {
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
	case o.starts > 1 && o.records > 0: // what was replayed before the task was found corrupted counts too
	case o.records > *told.Records || o.records == 0 && *told.Records > 0 || !eos && !compacted && told.Will == WillResume && o.records != *told.Records:
		wrong = append(wrong, fmt.Sprintf("%d records, predicted %d", o.records, *told.Records))
	}
	return wrong
}
