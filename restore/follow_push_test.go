//go:build cgo

package restore

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

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/snapshot"
	"sstool/internal/standby"
	"sstool/internal/streams"
	"sstool/restore/snapshots"
)

func bucket(t *testing.T) *snapshot.Bucket {
	t.Helper()
	b, err := snapshot.Open(t.Context(), "file://"+filepath.Join(memDir(t), "bucket"), snapshot.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func push(t *testing.T, b *snapshot.Bucket, into string, change ...func(*snapshots.PushOptions)) (*snapshots.PushResult, error) {
	t.Helper()
	o := snapshots.PushOptions{StateDir: into, ApplicationID: app}
	for _, c := range change {
		c(&o)
	}
	return snapshots.Push(t.Context(), b, o, nil)
}

// noRequests says that no checkpoint has been left.
func noRequests(t *testing.T, into string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(ownDir(into), "checkpoint-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestFollowPush pushes again and again while a follower applies what comes, and
// restores from each snapshot on another host: only the tail is replayed, and
// rows are those of the changelog.
func TestFollowPush(t *testing.T) {
	for _, guarantee := range []Guarantee{AtLeastOnce, ExactlyOnce} {
		t.Run(string(guarantee), func(t *testing.T) { followPush(t, guarantee) })
	}
}

func followPush(t *testing.T, guarantee Guarantee) {
	const start = 1_700_000_000_000
	w := newWorld(t, kafkatest.Options{})
	stores := []streams.Store{kv("a"), {Name: "w", Kind: streams.Window, Retention: time.Hour, SegmentInterval: 10 * time.Minute},
		{Name: "v", Kind: streams.Versioned, HistoryRetention: time.Hour, SegmentInterval: 10 * time.Minute}}
	batch := func(store, i int) []kafkatest.Record {
		var out []kafkatest.Record
		for p := range int32(2) {
			for _, r := range numbered(p, i*20, 20, 300) {
				if store == 1 { // the segments move on, and nothing expires
					r.Timestamp = start + int64(i%30)*60_000
					r.Key = windowKey(string(r.Key), r.Timestamp, 0)
				}
				out = append(out, r)
			}
		}
		return out
	}
	var topics []string
	for i, s := range stores {
		topics = append(topics, w.changelog(t, s.Name, 2, batch(i, 0), "cleanup.policy", "compact", "delete.retention.ms", "86400000"))
	}
	o := followOptions(memDir(t), stores...)
	o.Guarantee, o.Siblings = guarantee, o.Stores
	f := w.follow(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			for i, topic := range topics {
				if err := w.ProduceAll(ctx, topic, batch(i, n)...); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	b := bucket(t)
	applied := int64(0)
	for range 3 {
		f.await(func(s FollowStatus) bool { return s.Records > applied+500 })
		s, _ := f.plan.Status()
		applied = s.Records
		res, err := push(t, b, o.Into)
		if err != nil {
			t.Fatalf("%v (try %v)", err, op.Tries(err))
		}
		noRequests(t, o.Into)
		if !res.Follower || len(res.Tasks) != 2 || len(res.Tasks[0].Stores) != 3 {
			t.Fatalf("%+v", res)
		}
		// Nothing that was applied when it was asked for is missing.
		for _, x := range s.Partitions {
			i := slices.IndexFunc(res.Tasks, func(p snapshots.PushTask) bool { return p.Task == x.Task })
			j := slices.IndexFunc(res.Tasks[i].Stores, func(p snapshots.PushStore) bool { return p.Store == x.Store })
			offs := res.Tasks[i].Stores[j].Offsets
			if len(offs) != 1 || offs[0].Offset < x.Position-1 || offs[0].TopicID == "" || offs[0].Home != streams.CheckpointFile {
				t.Errorf("store %s of task %s was at %d, and the snapshot says %+v", x.Store, x.Task, x.Position, offs)
			}
		}
	}
	ms, err := b.Manifests(t.Context(), app)
	if err != nil || len(ms) != 3 {
		t.Fatal(len(ms), err)
	}
	if m := ms[0]; m.Source != "checkpoint" || m.ClusterID != f.plan.ClusterID || m.Guarantee != string(guarantee) || m.KafkaVersion != "4.2.0" {
		t.Errorf("%+v", m)
	}
	cancel()
	wg.Wait()
	f.stop()
	for _, m := range ms {
		fresh := o
		fresh.Options.Into = memDir(t)
		fresh.Options.Snapshot = &SnapshotOptions{Bucket: b, ID: m.ID, Require: true}
		res := w.mustRestore(t, fresh.Options)
		if res.Snapshot == nil || len(res.Snapshot.Stores) != 6 || res.Snapshot.TailRecords == 0 {
			t.Errorf("%+v", res.Snapshot)
		}
		fresh.Options.Snapshot = nil
		w.sameAsRestored(t, fresh)
	}
}

// A store that nobody follows is pushed as it lies there, with its line in the
// .checkpoint.
func TestFollowPushOthers(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	window := streams.Store{Name: "w", Kind: streams.Window, Retention: time.Hour, SegmentInterval: 10 * time.Minute}
	a := w.changelog(t, "a", 1, numbered(0, 0, 100, 30))
	w.changelog(t, "b", 1, numbered(0, 0, 70, 30))
	w.changelog(t, "w", 1, []kafkatest.Record{{Key: windowKey("k", 1_700_000_000_000, 0), Value: []byte("v"), Timestamp: 1_700_000_000_000}})
	o := followOptions(memDir(t), kv("a"), kv("b"), window)
	w.mustRestore(t, o.Options)
	dir := filepath.Join(appDir(o.Into, app), "0_0")
	put(t, streams.PositionFile(dir, "b"), "0\n0\n")
	o.Stores = o.Stores[:1]
	f := w.follow(t, o)
	w.produce(t, a, numbered(0, 100, 10, 30))
	w.caughtUp(f, a, 0)
	b := bucket(t)
	// Without a cluster nothing is known of them; the follower's are pinned.
	res, err := push(t, b, o.Into)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, strings.Join(res.Warnings, "\n"), "app-b-changelog is not followed", "app-w-changelog is not followed")
	into := filepath.Join(memDir(t), "pulled")
	plan, err := snapshots.PlanPull(t.Context(), b, snapshots.PullOptions{Into: into, ApplicationID: app}, nil)
	if err == nil {
		_, err = plan.Apply(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.stop()
	sameRows(t, "pulled", dump(t, appDir(into, app)), dump(t, appDir(o.Into, app)))
	if data, err := os.ReadFile(streams.PositionFile(filepath.Join(appDir(into, app), "0_0"), "b")); err != nil || string(data) != "0\n0\n" {
		t.Errorf("position %q, %v", data, err)
	}
	_, err = push(t, b, o.Into, func(o *snapshots.PushOptions) { o.Tasks = []string{"0_7"} })
	optest.WantKind(t, err, op.NotFound, "no task 0_7")
}

// What a follower cannot give ends the push, and not the follower.
func TestFollowPushRefused(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	topic := w.changelog(t, "a", 1, numbered(0, 0, 100, 30))
	o := followOptions(memDir(t), kv("a"))
	f := w.follow(t, o)
	b := bucket(t)
	_, err := push(t, b, o.Into, func(o *snapshots.PushOptions) { o.Tasks = []string{"0_7"} })
	optest.WantKind(t, err, op.NotFound, "no task 0_7")
	_, err = push(t, b, o.Into, func(o *snapshots.PushOptions) { o.Guarantee = snapshots.ExactlyOnce })
	optest.WantKind(t, err, op.Precondition, "read_uncommitted")
	_, err = push(t, b, o.Into, func(o *snapshots.PushOptions) {
		o.Cluster = &snapshots.Cluster{ID: "other", TopicID: func(context.Context, string) (string, error) { return "", nil }}
	})
	optest.WantKind(t, err, op.Precondition, "this is cluster other")
	u := f.plan.live.units[0]
	u.state(followRestoring)
	_, err = push(t, b, o.Into)
	optest.WantKind(t, err, op.Precondition, "restored anew")
	u.state(followFollowing)
	// A file system that does not let it.
	position := streams.PositionFile(filepath.Join(appDir(o.Into, app), "0_0"), "a")
	if err := os.Mkdir(position, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = push(t, b, o.Into)
	optest.WantKind(t, err, op.Failed, "not a regular file")
	os.Remove(position)

	// A plan asks for nothing.
	plan, err := snapshots.DryRun(t.Context(), b, snapshots.PushOptions{StateDir: o.Into, ApplicationID: app}, nil)
	if err != nil || !plan.Follower || plan.Snapshot != "" || plan.Total.New == 0 {
		t.Errorf("%+v, %v", plan, err)
	}
	noRequests(t, o.Into)
	w.produce(t, topic, numbered(0, 100, 10, 30))
	w.caughtUp(f, topic, 0)
	if _, err := push(t, b, o.Into); err != nil {
		t.Error(err)
	}
	f.stop()
	if standby.Kept(o.Into, app) {
		t.Error("nobody follows, and it is kept")
	}
	if res, err := push(t, b, o.Into, func(o *snapshots.PushOptions) { o.Guarantee = snapshots.AtLeastOnce }); err != nil || res.Follower {
		t.Errorf("when it has ended: %+v, %v", res, err)
	}
}

// Before it follows the answer is no; what a killed push has left is removed.
func TestFollowPushEarly(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	w.changelog(t, "a", 1, numbered(0, 0, 100, 30))
	o := followOptions(memDir(t), kv("a"))
	left := filepath.Join(ownDir(o.Into), "checkpoint-"+app+"-0123456789abcdef")
	put(t, filepath.Join(left, "request"), `{"version":1,"tasks":[]}`)
	w.FailFetches(func() bool { return true })
	plan, err := PlanFollow(t.Context(), w.client, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := plan.Run(ctx, nil); done <- err }()
	for range 600 {
		if standby.Kept(o.Into, app) && !exists(left) {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	if exists(left) {
		t.Error("what a killed push left stays")
	}
	_, err = push(t, bucket(t), o.Into)
	optest.WantKind(t, err, op.Precondition, "does not follow yet")
	cancel()
	if err := <-done; op.KindOf(err) != op.Declined {
		t.Error(fmt.Errorf("it ended with %w", err))
	}
	noRequests(t, o.Into)
}

// What a follower of committed records has left is closed cleanly, although its
// .checkpoint has an earlier time than its last flush; what somebody writes after
// that is not.
func TestFollowPushLeft(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	topic := w.changelog(t, "a", 1, numbered(0, 0, 100, 30))
	o := followOptions(memDir(t), kv("a"))
	o.Guarantee, o.Siblings, o.FlushInterval = ExactlyOnce, o.Stores, time.Hour
	f := w.follow(t, o)
	w.produce(t, topic, numbered(0, 100, 10, 30))
	w.caughtUp(f, topic, 0)
	time.Sleep(1100 * time.Millisecond) // some times are of whole seconds
	f.stop()
	dir := filepath.Join(appDir(o.Into, app), "0_0")
	cp := filepath.Join(dir, streams.CheckpointFile)
	early := time.Now().Add(-time.Minute) // as it is when the leader has not answered
	if err := os.Chtimes(cp, early, early); err != nil {
		t.Fatal(err)
	}
	b := bucket(t)
	_, err := push(t, b, o.Into)
	optest.WantKind(t, err, op.Precondition, "written after its .checkpoint")
	left := standby.LeftBy(o.Into, app)
	l := left["0_0"]
	i, err := os.Stat(cp)
	if err != nil || len(l.Stores) != 1 {
		t.Fatal(left, err)
	}
	l.Checkpoint = i.ModTime()
	if err := standby.NoteLeft(o.Into, app, map[string]standby.Left{"0_0": l}); err != nil {
		t.Fatal(err)
	}
	if _, err := push(t, b, o.Into); err != nil {
		t.Error(err)
	}
	l.At = l.At.Add(-30 * time.Second) // as if it had been flushed later
	if err := standby.NoteLeft(o.Into, app, map[string]standby.Left{"0_0": l}); err != nil {
		t.Fatal(err)
	}
	_, err = push(t, b, o.Into)
	optest.WantKind(t, err, op.Precondition, "written after its .checkpoint")
}

// And as it leaves it.
func TestFollowPushStopped(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	topic := w.changelog(t, "a", 1, numbered(0, 0, 100, 30))
	o := followOptions(memDir(t), kv("a"))
	o.Guarantee, o.Siblings = ExactlyOnce, o.Stores
	for n := range 3 {
		f := w.follow(t, o)
		w.produce(t, topic, numbered(0, 100+n*10, 10, 30))
		w.caughtUp(f, topic, 0)
		f.stop()
		if res, err := push(t, bucket(t), o.Into); err != nil || res.Follower {
			t.Errorf("%+v, %v", res, err)
		}
	}
}
