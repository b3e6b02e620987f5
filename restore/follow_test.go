//go:build cgo

package restore

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/applock"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// following is a follower that runs beside a test.
type following struct {
	t      testing.TB
	plan   *FollowPlan
	events *events
	cancel context.CancelFunc
	done   chan struct{}
	res    *FollowResult
	err    error
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, text)
		}
	}
}

func followOptions(into string, stores ...streams.Store) FollowOptions {
	return FollowOptions{Options: options(into, stores...), FlushInterval: 200 * time.Millisecond}
}

// follow starts a follower and waits until it follows.
func (w *world) follow(t testing.TB, o FollowOptions) *following {
	t.Helper()
	plan, err := PlanFollow(t.Context(), w.client, o)
	if err != nil {
		t.Fatalf("%v (try %v)", err, op.Tries(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{t: t, plan: plan, events: &events{}, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.res, f.err = plan.Run(ctx, f.events.sink)
	}()
	t.Cleanup(func() { cancel(); <-f.done })
	f.await(func(s FollowStatus) bool { return true })
	return f
}

// await waits until the follower stands as asked.
func (f *following) await(ok func(FollowStatus) bool) FollowStatus {
	f.t.Helper()
	for range 4800 {
		s, follows := f.plan.Status()
		if follows && ok(s) {
			return s
		}
		select {
		case <-f.done:
			f.t.Fatalf("the follower ended: %v", f.err)
		case <-time.After(25 * time.Millisecond):
		}
	}
	s, follows := f.plan.Status()
	f.t.Fatalf("the follower does not get there: following %v, %+v\n%s", follows, s, f.events.warnings())
	return s
}

// stop ends it as a signal does.
func (f *following) stop() *FollowResult {
	f.t.Helper()
	f.cancel()
	<-f.done
	if f.err != nil {
		f.t.Fatalf("%v (try %v)", f.err, op.Tries(f.err))
	}
	return f.res
}

// caughtUp waits until the topic's partition is applied to its end.
func (w *world) caughtUp(f *following, topic string, part int32) {
	f.t.Helper()
	offs, err := w.client.Offsets(f.t.Context(), topic, []int32{part})
	if err != nil {
		f.t.Fatal(err)
	}
	f.await(func(s FollowStatus) bool {
		return slices.ContainsFunc(s.Partitions, func(p FollowPartition) bool {
			return p.Topic == topic && p.Partition == part && p.Position == offs[part].End && p.State == "following"
		})
	})
}

// sameAsRestored holds the followed directory against a fresh restore.
func (w *world) sameAsRestored(t testing.TB, o FollowOptions) {
	t.Helper()
	fresh := o.Options
	fresh.Into, fresh.Force = memDir(t), false
	w.mustRestore(t, fresh)
	sameRows(t, "followed", rowsOf(dump(t, appDir(o.Into, app))), rowsOf(dump(t, appDir(fresh.Into, app))))
}

// rowsOf leaves out families, of which an upgraded store may have more.
func rowsOf(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool {
		n := 0
		for _, c := range l {
			if c == ' ' {
				n++
			}
		}
		return n == 1
	})
}

func TestFollow(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	topic := w.changelog(t, "a", 2, append(numbered(0, 0, 300, 100), numbered(1, 0, 200, 50)...))
	o := followOptions(memDir(t), kv("a"))
	f := w.follow(t, o)
	// Nobody else may have the directory.
	rival := exec.Command(os.Args[0])
	rival.Env = append(os.Environ(), childEnv+"=lock|"+appDir(o.Into, app))
	if out, err := rival.CombinedOutput(); rival.ProcessState.ExitCode() != op.InUse.ExitCode() {
		t.Errorf("a rival: %v, %s", err, out)
	}
	w.produce(t, topic, numbered(0, 300, 500, 100))
	w.produce(t, topic, []kafkatest.Record{{Partition: 1, Key: []byte("k0001"), Timestamp: 9999}})
	w.caughtUp(f, topic, 0)
	w.caughtUp(f, topic, 1)
	// What is flushed can be read while it follows.
	f.await(func(s FollowStatus) bool {
		return slices.ContainsFunc(s.Partitions, func(p FollowPartition) bool { return p.Partition == 0 && p.Checkpoint != nil && *p.Checkpoint == 799 })
	})
	w.sameAsRestored(t, o)
	res := f.stop()
	if res.Records != 501 || res.Restored != 500 || res.Lag != 0 || len(res.Partitions) != 2 {
		t.Errorf("%+v", res)
	}
	w.sameAsRestored(t, o)
	lock, err := applock.Hold(appDir(o.Into, app))
	if err != nil {
		t.Fatal(err)
	}
	lock.Release()

	// The next run goes on.
	w.produce(t, topic, numbered(1, 200, 50, 10))
	f = w.follow(t, o)
	w.caughtUp(f, topic, 1)
	res = f.stop()
	if res.Records != 50 || res.Restored != 0 || res.Partitions[0].Began != FollowResume {
		t.Errorf("%+v", res)
	}
	w.sameAsRestored(t, o)
}

// A versioned store that is opened again still knows what was deleted: a late
// record of before does not bring its key back, and history that nobody needs any
// more goes.
func TestFollowVersionedGoesOn(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	minute := func(m int64, key, value string) kafkatest.Record {
		r := kafkatest.Record{Key: []byte(key), Timestamp: 1_700_000_000_000 + m*60_000}
		if value != "" {
			r.Value = []byte(value)
		}
		return r
	}
	topic := w.changelog(t, "v", 1, []kafkatest.Record{minute(0, "a", "first"), minute(20, "a", ""), minute(30, "b", "other")})
	o := followOptions(memDir(t), streams.Store{Name: "v", Kind: streams.Versioned, HistoryRetention: time.Hour, SegmentInterval: 5 * time.Minute})
	for _, later := range []kafkatest.Record{minute(10, "a", "late"), minute(12, "a", "later"), minute(85, "b", "newer"), minute(21, "a", "too late")} {
		f := w.follow(t, o)
		w.produce(t, topic, []kafkatest.Record{later})
		w.caughtUp(f, topic, 0)
		f.stop()
		got := strings.Join(rowsOf(dump(t, appDir(o.Into, app))), "\n")
		if strings.Contains(got, " ffffffffffffffff61 ") {
			t.Fatalf("the deleted key is back after %q:\n%s", later.Value, got)
		}
	}
	w.produce(t, topic, []kafkatest.Record{minute(200, "b", "newest")})
	f := w.follow(t, o)
	w.caughtUp(f, topic, 0)
	f.stop()
	if got := rowsOf(dump(t, appDir(o.Into, app))); slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "61 ") && strings.Contains(l, "/v ") }) {
		t.Errorf("expired history of the deleted key is left:\n%s", strings.Join(got, "\n"))
	}
}

// A changelog that is made anew, one whose start moves past the position, and a
// follower that was away for too long: the store starts over.
func TestFollowStartsOver(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	topic := w.changelog(t, "a", 1, numbered(0, 0, 300, 100))
	other := w.changelog(t, "b", 1, numbered(0, 0, 100, 10))
	o := followOptions(memDir(t), kv("a"), kv("b"))
	f := w.follow(t, o)
	w.caughtUp(f, topic, 0)
	// While it follows.
	if err := w.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	w.changelog(t, "a", 1, numbered(0, 5000, 400, 100))
	f.await(func(s FollowStatus) bool { return s.StartedOver == 1 })
	w.caughtUp(f, topic, 0)
	w.produce(t, topic, numbered(0, 6000, 10, 3))
	w.produce(t, other, numbered(0, 100, 10, 3))
	w.caughtUp(f, topic, 0)
	w.caughtUp(f, other, 0)
	f.stop()
	w.sameAsRestored(t, o)
	contains(t, f.events.warnings(), "created anew", "moved aside")

	// While it does not.
	if err := w.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	w.changelog(t, "a", 1, numbered(0, 7000, 500, 100))
	plan, err := PlanFollow(t.Context(), w.client, o)
	if err != nil || plan.Starts[0].Action != FollowStartOver || !plan.Starts[0].Own {
		t.Fatalf("%+v, %v", plan, err)
	}
	f = w.follow(t, o)
	w.caughtUp(f, topic, 0)
	f.stop()
	w.sameAsRestored(t, o)

	// The log start moves past the store's offset.
	w.produce(t, topic, numbered(0, 9000, 100, 100))
	if err := w.DeleteRecords(topic, 0, 550); err != nil {
		t.Fatal(err)
	}
	f = w.follow(t, o)
	f.stop()
	w.sameAsRestored(t, o)
	contains(t, f.events.warnings(), "below the log start")
}

// A store that nobody followed before is not replaced without being told to.
func TestFollowRefusesForeign(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	w.changelog(t, "a", 1, numbered(0, 0, 300, 100), "cleanup.policy", "compact", "delete.retention.ms", "60000")
	o := followOptions(memDir(t), kv("a"))
	w.mustRestore(t, o.Options)
	cp := filepath.Join(appDir(o.Into, app), "0_0", streams.CheckpointFile)
	w.produce(t, "app-a-changelog", numbered(0, 300, 10, 10))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(cp, old, old); err != nil {
		t.Fatal(err)
	}
	_, err := PlanFollow(t.Context(), w.client, o)
	optest.WantKind(t, err, op.Precondition, "deleted rows would live again")
	o.Force = true
	f := w.follow(t, o)
	f.stop()
	w.sameAsRestored(t, o)
	if es, err := os.ReadDir(filepath.Join(ownDir(o.Into), "aside", app, "0_0")); err != nil || len(es) != 1 {
		t.Error(es, err)
	}
	// Now it is a follower's, and needs no telling.
	o.Force = false
	w.produce(t, "app-a-changelog", numbered(0, 300, 10, 10))
	if err := os.Chtimes(cp, old, old); err != nil {
		t.Fatal(err)
	}
	f = w.follow(t, o)
	f.stop()
	contains(t, f.events.warnings(), "deleted rows would live again")
	w.sameAsRestored(t, o)
}

func TestFollowOptions(t *testing.T) {
	for name, change := range map[string]func(*FollowOptions){
		"--into":            func(o *FollowOptions) { o.Into = "" },
		"--measure":         func(o *FollowOptions) { o.Measure = true },
		"--to-offset":       func(o *FollowOptions) { o.ToOffset = 5 },
		"--from-checkpoint": func(o *FollowOptions) { o.FromCheckpoint = true },
		"--skip-existing":   func(o *FollowOptions) { o.SkipExisting = true },
		"--sla":             func(o *FollowOptions) { o.SLA = time.Second },
		"--profile":         func(o *FollowOptions) { o.Profile = Streams },
		"flushing every":    func(o *FollowOptions) { o.FlushInterval = time.Millisecond },
	} {
		o := followOptions("state", kv("a"))
		change(&o)
		optest.WantKind(t, o.Validate(), op.Usage, name)
	}
	o := followOptions("state", kv("a"))
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

// A follower that was killed while it made a segment leaves a directory without
// a database.
func TestFollowHalfMadeSegment(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	s := streams.Store{Name: "w", Kind: streams.Window, Retention: time.Hour, SegmentInterval: 10 * time.Minute}
	topic := w.changelog(t, "w", 1, []kafkatest.Record{{Key: windowKey("k", 1_700_000_000_000, 0), Value: []byte("v"), Timestamp: 1_700_000_000_000}})
	o := followOptions(memDir(t), s)
	o.Guarantee, o.Siblings = ExactlyOnce, o.Stores
	w.follow(t, o).stop()
	half := streams.DatabaseDir(filepath.Join(appDir(o.Into, app), "0_0"), s, s.SegmentID(1_700_000_600_000))
	put(t, filepath.Join(half, "LOG"), "")
	f := w.follow(t, o)
	w.produce(t, topic, []kafkatest.Record{{Key: windowKey("k", 1_700_000_600_000, 0), Value: []byte("w"), Timestamp: 1_700_000_600_000}})
	w.caughtUp(f, topic, 0)
	if res := f.stop(); res.Partitions[0].Began != FollowResume {
		t.Errorf("%+v", res.Partitions)
	}
	w.sameAsRestored(t, o)
}

// A source topic that serves as changelog is followed to the committed offset;
// the checkpoint of a global store is the next offset, of all partitions.
func TestFollowSourceAndGlobal(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	if err := w.Topic("input", 2, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	other := numbered(1, 0, 80, 30)
	for i := range other { // of one key in two partitions either may win in a global store
		other[i].Key = append([]byte("other "), other[i].Key...)
	}
	w.produce(t, "input", append(numbered(0, 0, 100, 30), other...))
	commit := func(n int64) {
		t.Helper()
		if err := w.Commit(t.Context(), app, "input", map[int32]int64{0: n, 1: n}); err != nil {
			t.Fatal(err)
		}
	}
	commit(40)
	o := followOptions(memDir(t), kv("table"), streams.Store{Name: "everywhere", Kind: streams.TimestampedKV, Global: true})
	o.Stores[0].Topic, o.Stores[0].SourceTopic = "input", true
	o.Stores[1].Topic = "input"
	f := w.follow(t, o)
	at := func(store string, part int32, pos int64) {
		t.Helper()
		f.await(func(s FollowStatus) bool {
			return slices.ContainsFunc(s.Partitions, func(p FollowPartition) bool {
				return p.Store == store && p.Partition == part && p.Position == pos
			})
		})
	}
	w.produce(t, "input", numbered(0, 100, 20, 30))
	at("everywhere", 0, 120)
	at("table", 0, 40)
	commit(60)
	at("table", 0, 60)
	at("table", 1, 60)
	res := f.stop()
	if res.Lag != 0 {
		t.Errorf("%d behind: what is not committed is not to be followed", res.Lag)
	}
	for file, want := range map[string]streams.Checkpoint{
		"0_0":    {{Topic: "input", Partition: 0}: 59},
		"0_1":    {{Topic: "input", Partition: 1}: 59},
		"global": {{Topic: "input", Partition: 0}: 120, {Topic: "input", Partition: 1}: 80},
	} {
		cp, err := streams.ReadCheckpoint(filepath.Join(appDir(o.Into, app), file, streams.CheckpointFile))
		if err != nil || !maps.Equal(cp, want) {
			t.Errorf("%s: %v, %v, want %v", file, cp, err, want)
		}
	}
	w.sameAsRestored(t, o)
}

// A broker that is away is told of, and waited for.
func TestFollowOutage(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	topic := w.changelog(t, "a", 1, numbered(0, 0, 100, 30))
	o := followOptions(memDir(t), kv("a"))
	o.StallTimeout = time.Second
	f := w.follow(t, o)
	w.caughtUp(f, topic, 0)
	var away atomic.Bool
	away.Store(true)
	w.FailFetches(away.Load)
	f.await(func(s FollowStatus) bool { return s.Partitions[0].State == "no answer" })
	for range 1200 {
		if strings.Contains(f.events.warnings(), "cannot be read and are tried again") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.produce(t, topic, numbered(0, 100, 50, 30))
	away.Store(false)
	w.caughtUp(f, topic, 0)
	f.await(func(s FollowStatus) bool { return s.Partitions[0].State == "following" })
	if res := f.stop(); res.Records != 50 || res.StartedOver != 0 {
		t.Errorf("%+v", res)
	}
	contains(t, f.events.warnings(), "1 of 1 partitions cannot be read and are tried again", "all partitions can be read again")
	w.sameAsRestored(t, o)
}

// A log that was cut back and has grown past the position is another one: the
// next leader says so.
func TestFollowCutBack(t *testing.T) {
	w := newWorld(t, kafkatest.Options{Brokers: 2})
	topic := w.changelog(t, "a", 1, numbered(0, 0, 300, 100))
	o := followOptions(memDir(t), kv("a"))
	f := w.follow(t, o)
	move := func() {
		t.Helper()
		if err := w.MoveTopicPartition(topic, 0, 1-w.LeaderFor(topic, 0)); err != nil {
			t.Fatal(err)
		}
	}
	move() // whole: nothing happens
	w.produce(t, topic, numbered(0, 300, 50, 100))
	w.caughtUp(f, topic, 0)
	w.CutBack(310)
	move()
	w.produce(t, topic, numbered(0, 350, 50, 100))
	f.await(func(s FollowStatus) bool { return s.StartedOver == 1 })
	w.caughtUp(f, topic, 0)
	if res := f.stop(); res.StartedOver != 1 || res.Records != 50 {
		t.Errorf("%+v", res)
	}
	contains(t, f.events.warnings(), "cut back", "before offset 310", "moved aside")
	w.sameAsRestored(t, o)

	// While it does not follow.
	w.CutBack(380)
	f = w.follow(t, o)
	f.await(func(s FollowStatus) bool { return s.StartedOver == 1 })
	w.caughtUp(f, topic, 0)
	f.stop()
	contains(t, f.events.warnings(), "cut back", "before offset 380")
	w.sameAsRestored(t, o)
}
