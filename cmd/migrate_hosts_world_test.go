//go:build cgo

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/worldtest"
)

// TestMigrateTwoHosts runs an application on two hosts, which are two instances,
// each with a state directory of its own. It is stopped and moved to another id on
// the first host; the second one gets the migration file. Started under the new id
// on both, neither restores anything, and together they answer what the old ones
// did when they were started again.
func TestMigrateTwoHosts(t *testing.T) {
	worldtest.Require(t)
	// All members come within the first rebalance, so that no task is given to one
	// host before the other is there.
	b := worldtest.StartBroker(t, worldtest.Options{Config: map[string]string{"group.initial.rebalance.delay.ms": "4000"}})
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			p := worldtest.ProfileNamed("kv4")
			if worldtest.Full() {
				p = worldtest.ProfileNamed("agg")
			}
			app := p.App("two-"+strings.ReplaceAll(v, ".", ""), b.Bootstrap, "", true)
			// A host without a task's state is not as good as the one that has it.
			// Members that have stopped are waited for until their sessions end.
			app.Settings = map[string]string{"acceptable.recovery.lag": "50", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
			w := &twoHosts{t: t, h: worldtest.Streams(t, v), p: p, dirs: [2]string{t.TempDir(), t.TempDir()}}
			w.run(app)
		})
	}
}

// twoHosts are the state directories of two instances.
type twoHosts struct {
	t    *testing.T
	h    *worldtest.Harness
	p    worldtest.Profile
	dirs [2]string
}

func (w *twoHosts) run(app worldtest.App) {
	t := w.t
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w.each(func(host int, dir string) error {
		app := app.In(dir)
		app.Peer = host > 0 // the first one ends their membership when it stops
		return w.h.Start(ctx, app)
	})
	if err := w.h.Feed(ctx, app, worldtest.Input{Records: 500, Base: worldtest.InputBase(time.Now())}); err != nil {
		t.Fatal(err)
	}
	for host := len(w.dirs) - 1; host >= 0; host-- {
		if _, err := w.h.Stop(ctx, app.In(w.dirs[host])); err != nil {
			t.Fatal(err)
		}
		if tasks, _ := filepath.Glob(filepath.Join(w.dirs[host], app.ID, "*_*", "rocksdb")); len(tasks) == 0 {
			t.Fatalf("host %d has no task with a store", host)
		}
	}
	app.Peer = true
	was := w.handoff(ctx, app)
	v2 := app
	v2.ID, v2.Topics = app.ID+"-v2", app.ID
	file := filepath.Join(t.TempDir(), "m.json")
	for host, args := range [][]string{
		{"migrate", "application", app.ID, v2.ID, "--ledger", file, "--wait", "1m", "--bootstrap-server", app.Bootstrap},
		{"migrate", "apply-local", file},
	} {
		if got := runWith(t, nil, append(args, "--state-dir", w.dirs[host], "--yes")...); got.code != 0 {
			t.Fatalf("host %d: sstool %s: code %d\n%s%s", host, strings.Join(args, " "), got.code, got.out, got.err)
		}
	}
	is := w.handoff(ctx, v2)
	for _, s := range w.p.Stores(app.ID) {
		rows := [2][]string{}
		for host := range w.dirs {
			rows[0], rows[1] = append(rows[0], was[host].Stores[s.Name].Rows...), append(rows[1], is[host].Stores[s.Name].Rows...)
			for _, p := range is[host].Partitions {
				if p.Store == s.Name && s.OnDisk() && p.TotalRestored != 0 {
					t.Errorf("host %d restored: %+v", host, p)
				}
			}
		}
		slices.Sort(rows[0])
		slices.Sort(rows[1])
		if len(rows[0]) == 0 || !slices.Equal(rows[0], rows[1]) {
			t.Errorf("%s: the two answer %d rows, they were %d", s.Name, len(rows[1]), len(rows[0]))
		}
	}
}

// each does something on both hosts at once.
func (w *twoHosts) each(do func(host int, dir string) error) {
	w.t.Helper()
	var errs [2]error
	var wg sync.WaitGroup
	for host, dir := range w.dirs {
		wg.Go(func() { errs[host] = do(host, dir) })
	}
	wg.Wait()
	for host, err := range errs {
		if err != nil {
			w.t.Fatalf("host %d: %v", host, err)
		}
	}
}

// handoff starts both instances and stops them.
func (w *twoHosts) handoff(ctx context.Context, app worldtest.App) (out [2]worldtest.HandoffReport) {
	w.t.Helper()
	w.each(func(host int, dir string) (err error) {
		out[host], err = w.h.Handoff(ctx, app.In(dir))
		if err == nil && out[host].Error != "" {
			err = errors.New(out[host].Error)
		}
		return err
	})
	return out
}

// TestMigrateInFlight stops an application while records are on their way in its
// repartition topics, and gives all of its stores and topics other names. What is
// on its way is refused, or goes along with --with-repartition: the new version
// goes on with it, and in the end holds what an application holds that was never
// stopped.
func TestMigrateInFlight(t *testing.T) {
	worldtest.Require(t)
	if !worldtest.Full() {
		t.Skip("make test-matrix runs it")
	}
	b := worldtest.StartBroker(t, worldtest.Options{})
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		for _, eos := range []bool{true, false} {
			t.Run(v+map[bool]string{true: "-eos"}[eos], func(t *testing.T) {
				f := &inFlight{t: t, c: c, h: worldtest.Streams(t, v), base: worldtest.InputBase(time.Now())}
				f.v1 = worldtest.ProfileNamed("agg").App("flight-"+map[bool]string{true: "eos-"}[eos]+strings.ReplaceAll(v, ".", ""), b.Bootstrap, t.TempDir(), eos)
				f.run()
			})
		}
	}
}

// inFlight is an application that is stopped amid its work.
type inFlight struct {
	t    *testing.T
	c    *kafka.Client
	h    *worldtest.Harness
	base time.Time
	fed  int
	v1   worldtest.App
}

func (f *inFlight) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *inFlight) input(n int) worldtest.Input {
	in := worldtest.Input{Records: n, First: f.fed, Base: f.base}
	f.fed += n
	return in
}

func (f *inFlight) run() {
	t := f.t
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := f.h.Build(ctx, f.v1, f.input(200))
	f.must(err)
	flying := f.stopAmid(ctx)
	v2 := f.v1
	v2.Suffix, v2.Shift = "-b", 70
	args := []string{"migrate", "topology"}
	for name, app := range map[string]worldtest.App{"1": f.v1, "2": v2} {
		text, err := f.h.Describe(ctx, app)
		f.must(err)
		path := filepath.Join(t.TempDir(), name)
		f.must(os.WriteFile(path, []byte(text), 0o644))
		args = append(args, path)
	}
	slices.SortFunc(args[2:], func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	args = append(args, "--application-id", f.v1.ID, "--state-dir", f.v1.StateDir, "--bootstrap-server", f.v1.Bootstrap, "--wait", "1m", "--yes", "-o", "json")
	if got := runWith(t, nil, args...); got.code != 14 || !strings.Contains(got.err, "--with-repartition") {
		t.Fatalf("without --with-repartition: code %d\n%s", got.code, got.err)
	}
	got := runWith(t, nil, append(args, "--with-repartition")...)
	var doc struct {
		Moves []struct {
			Old string `json:"old_store"`
			New string `json:"new_store"`
		}
	}
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || got.code != 0 {
		t.Fatalf("code %d, %v\n%s", got.code, err, got.err)
	}
	f.must(worldtest.CreateTopic(ctx, f.v1.Bootstrap, f.v1.ID+"-extra", 2, nil))
	copied := f.lag(ctx, "-b-repartition")
	_, err = f.h.Build(ctx, v2, f.input(100))
	f.must(err)
	is, err := f.h.Handoff(ctx, v2)
	f.must(err)

	ref := f.v1.In(t.TempDir())
	ref.ID += "-ref"
	_, err = f.h.Build(ctx, ref, worldtest.Input{Records: f.fed, Base: f.base})
	f.must(err)
	want, err := f.h.Handoff(ctx, ref)
	f.must(err)
	for _, m := range doc.Moves {
		if diff := want.Stores[m.Old].Differs(is.Stores[m.New]); diff != "" {
			t.Errorf("store %s, now %s, answers otherwise than without the migration: %s", m.Old, m.New, diff)
		}
	}
	t.Logf("records on their way: %v, as copies: %v", flying, copied)
	if len(doc.Moves) == 0 || len(copied) == 0 {
		t.Error("nothing on its way has been copied")
	}
}

// stopAmid lets the application work on much input, and stops it as soon as
// there are records on their way.
func (f *inFlight) stopAmid(ctx context.Context) (flying map[string]int64) {
	f.t.Helper()
	for range 10 {
		f.must(f.h.Feed(ctx, f.v1, f.input(1500)))
		f.must(f.h.Start(ctx, f.v1))
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline) && len(f.lag(ctx, "-repartition")) == 0; {
			time.Sleep(5 * time.Millisecond)
		}
		f.must(f.h.End(ctx, f.v1))
		if flying = f.lag(ctx, "-repartition"); len(flying) > 0 {
			return flying
		}
	}
	f.t.Fatal("no record is ever on its way")
	return nil
}

// lag is how many offsets the group is behind in topics whose names end like
// that; markers of transactions do not count.
func (f *inFlight) lag(ctx context.Context, suffix string) map[string]int64 {
	out := map[string]int64{}
	committed, err := f.c.GroupOffsets(ctx, f.v1.ID)
	f.must(err)
	at := map[string]int64{}
	for _, o := range committed {
		at[fmt.Sprint(o.Topic, "-", o.Partition)] = o.Offset
	}
	topics, err := f.c.Topics(ctx)
	f.must(err)
	for _, topic := range topics {
		if !strings.HasPrefix(topic.Name, f.v1.ID+"-") || !strings.HasSuffix(topic.Name, suffix) {
			continue
		}
		ends, err := f.c.Offsets(ctx, topic.Name, nil)
		f.must(err)
		for p, e := range ends {
			name := fmt.Sprint(topic.Name, "-", p)
			if n := e.End - at[name]; n > 2 {
				out[name] = n
			}
		}
	}
	return out
}
