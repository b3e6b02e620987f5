//go:build cgo

package restore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// shareWorld has an application of several tasks with two stores each.
func shareWorld(t *testing.T, partitions int32) *world {
	k := newWorld(t, kafkatest.Options{})
	for _, store := range []string{"a", "b"} {
		var recs []kafkatest.Record
		for i := range 400 * int(partitions) {
			recs = append(recs, kafkatest.Record{Partition: int32(i) % partitions, Key: fmt.Appendf(nil, "k-%04d", i%(150*int(partitions))), Value: fmt.Appendf(nil, "%s %d", store, i), Timestamp: int64(i)})
		}
		k.changelog(t, store, partitions, recs)
	}
	return k
}

// worker runs a worker of a host in a directory, with a connection of its own.
func (w *world) worker(ctx context.Context, host, into string, sink op.Sink) (*Result, error) {
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: w.Addrs(), Properties: kafka.Properties{"session.timeout.ms": "60000", "heartbeat.interval.ms": "100"}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	o := options(into, kv("a"), kv("b"))
	o.Threads = 1
	p, err := MakePlan(ctx, c, o)
	if err != nil {
		return nil, err
	}
	return p.RunShare(ctx, sink, ShareOptions{Group: "shared", Host: host, Poll: 50 * time.Millisecond})
}

// TestShareWorkers: workers come and go; in the end those that are left have
// every task, each once, with the rows that one restore of everything gives.
func TestShareWorkers(t *testing.T) {
	const tasks = 8
	k := shareWorld(t, tasks)
	whole := memDir(t)
	k.mustRestore(t, options(whole, kv("a"), kv("b")))
	dirs := map[string]string{"one": memDir(t), "two": memDir(t), "three": memDir(t)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	results := map[string]*Result{}
	start := func(ctx context.Context, host string, sink op.Sink, want error) {
		wg.Go(func() {
			res, err := k.worker(ctx, host, dirs[host], sink)
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", host, err)
			}
			mu.Lock()
			results[host] = res
			mu.Unlock()
		})
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	begun := make(chan bool)
	var once sync.Once
	// The first one leaves in its first task, when others have come.
	start(ctx, "one", func(e op.Event) {
		if e.Type == op.Item {
			once.Do(func() { close(begun); <-ctx.Done() })
		}
	}, context.Canceled)
	<-begun
	start(t.Context(), "two", nil, nil)
	start(t.Context(), "three", nil, nil)
	leave()
	wg.Wait()
	st, err := ReadShareStatus(t.Context(), k.client, "shared")
	if err != nil || !st.Finished || st.Complete != tasks || st.Records != 2*400*tasks {
		t.Fatalf("%+v %v", st, err)
	}
	for i := range tasks {
		task := fmt.Sprintf("0_%d", i)
		want := dump(t, filepath.Join(whole, app, task))
		found := 0
		for _, host := range []string{"two", "three"} {
			at := filepath.Join(dirs[host], app, task)
			if !files.Exists(filepath.Join(at, streams.CheckpointFile)) {
				continue
			}
			found++
			sameRows(t, task, want, dump(t, at))
		}
		if found != 1 {
			t.Errorf("task %s is in %d directories of workers that stayed", task, found)
		}
	}
	for _, host := range []string{"two", "three"} {
		for _, p := range results[host].Partitions {
			if p.State != "restored" {
				t.Errorf("%s reports %s of task %s: %s", host, p.Store, p.Task, p.State)
			}
		}
	}
}

// TestShareAbandoned: a task that another worker has is given up cleanly, and
// begun anew when it comes back.
func TestShareAbandoned(t *testing.T) {
	k := shareWorld(t, 1)
	dir := memDir(t)
	o := options(dir, kv("a"), kv("b"))
	o.Threads = 1
	p, err := MakePlan(t.Context(), k.client, o)
	if err != nil {
		t.Fatal(err)
	}
	var said events
	s, err := p.newShare(ShareOptions{Group: "shared", Host: "h", Poll: 20 * time.Millisecond}, said.sink)
	if err != nil {
		t.Fatal(err)
	}
	p.share = s
	k.OnFetch(1, func() {
		s.tell() // it says that it is at work
		s.assign(nil)
		time.AfterFunc(300*time.Millisecond, func() { s.assign([]string{"0_0"}) })
	})
	res, err := p.Run(t.Context(), said.sink)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.warnings(), "taken over by another worker") {
		t.Errorf("warnings: %s", said.warnings())
	}
	if res.Total.Records != 800 || !files.Exists(filepath.Join(dir, app, "0_0", streams.CheckpointFile)) || files.Exists(buildDir(dir, app)) {
		t.Errorf("%+v", res.Total)
	}
}

// TestShareStrangers: other consumers' groups are left alone.
func TestShareStrangers(t *testing.T) {
	k := shareWorld(t, 1)
	leave, err := k.Join(t.Context(), "shared", streams.ChangelogTopic(app, "a"), "classic")
	if err != nil {
		t.Fatal(err)
	}
	dir := memDir(t)
	_, err = k.worker(t.Context(), "h", dir, nil)
	if op.KindOf(err) != op.Precondition || len(op.Tries(err)) == 0 {
		t.Errorf("a group with a member of another kind: %v", err)
	}
	leave()
	if err := k.Commit(t.Context(), "shared", streams.ChangelogTopic(app, "a"), map[int32]int64{0: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err = k.worker(t.Context(), "h", dir, nil); op.KindOf(err) != op.Precondition {
		t.Errorf("a group with another application's offsets: %v", err)
	}
	if files.Exists(filepath.Join(dir, app, "0_0")) {
		t.Error("something was restored")
	}
}

// TestShareUnfinished: a completion that was noted as final by a worker that
// died before the run was finished counts no more when others go on.
func TestShareUnfinished(t *testing.T) {
	k := shareWorld(t, 2)
	var notes []kafka.GroupOffset
	for _, store := range []string{"a", "b"} {
		r := shareRecord{Format: shareFormat, App: app, Task: "0_0", Store: store, State: shareComplete, Final: true, place: place{"dead", "/gone"}, Run: "1"}
		notes = append(notes, kafka.GroupOffset{Topic: streams.ChangelogTopic(app, store), Offset: 400, LeaderEpoch: -1, Metadata: string(encode(r))})
	}
	if err := k.client.CommitGroupOffsets(t.Context(), "shared", notes); err != nil {
		t.Fatal(err)
	}
	dir := memDir(t)
	res, err := k.worker(t.Context(), "alive", dir, nil)
	if err != nil || res.Total.Records != 4*400 || !files.Exists(filepath.Join(dir, app, "0_0", streams.CheckpointFile)) {
		t.Errorf("%+v %v", res, err)
	}
	st, err := ReadShareStatus(t.Context(), k.client, "shared")
	if err != nil || !st.Finished || st.Tasks[0].Confirmed != "run" {
		t.Errorf("%+v %v", st, err)
	}
}
