package snapshots

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestNewHost is the proof on the real thing: an application is stopped, pushed,
// runs on; a new host pulls, and the application there restores only what was
// written since, and answers what the old one does.
func TestNewHost(t *testing.T) {
	worldtest.Require(t)
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		b := worldtest.StartBroker(t, worldtest.Options{})
		h := worldtest.Streams(t, v)
		for _, eos := range []bool{true, false} {
			name := v + map[bool]string{true: "-eos"}[eos]
			t.Run(name, func(t *testing.T) {
				p := worldtest.ProfileNamed("papi")
				live := p.App("snap-"+strings.ReplaceAll(name, ".", ""), b.Bootstrap, t.TempDir(), eos)
				newHost(t, h, p, live)
			})
		}
	}
}

func newHost(t *testing.T, h *worldtest.Harness, p worldtest.Profile, live worldtest.App) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	base := worldtest.InputBase(time.Now())
	if _, err := h.Build(ctx, live, worldtest.Input{Records: 500, Base: base}); err != nil {
		t.Fatal(err)
	}
	bucket := bucketOf(t)
	res, err := Push(ctx, bucket, PushOptions{StateDir: live.StateDir, ApplicationID: live.ID, Guarantee: guaranteeOf(live)}, nil)
	if err != nil {
		t.Fatalf("%v (try %v)", err, op.Tries(err))
	}
	twin := live.In(t.TempDir())
	if err := os.CopyFS(twin.Dir(), os.DirFS(live.Dir())); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Build(ctx, live, worldtest.Input{First: 500, Records: 50, Base: base}); err != nil {
		t.Fatal(err)
	}
	second, err := Push(ctx, bucket, PushOptions{StateDir: live.StateDir, ApplicationID: live.ID, Guarantee: guaranteeOf(live)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("second push: %d of %d bytes are new", second.Total.NewBytes, second.Total.Bytes)
	want, err := h.Handoff(ctx, live)
	if err != nil || want.Error != "" {
		t.Fatal(err, want.Error)
	}
	// What Kafka Streams makes of the very directory that was pushed: a restored
	// tail expires other segments than a live one.
	same, err := h.Handoff(ctx, twin)
	if err != nil || same.Error != "" {
		t.Fatal(err, same.Error)
	}
	pulled := live.In(t.TempDir())
	plan, err := PlanPull(ctx, bucket, PullOptions{Into: pulled.StateDir, ApplicationID: live.ID, Snapshot: res.Snapshot}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(ctx, nil); err != nil {
		t.Fatal(err)
	}
	left := map[streams.TopicPartition]int64{}
	for _, task := range plan.Tasks {
		for _, o := range task.Offsets {
			left[streams.TopicPartition{Topic: o.Topic, Partition: o.Partition}] = o.Offset
		}
	}
	logged := len(h.Log())
	hand, err := h.Handoff(ctx, pulled)
	if err != nil || hand.Error != "" {
		t.Fatalf("start on what was pulled: %v %s", err, hand.Error)
	}
	var tail int64
	for _, x := range hand.Partitions {
		at, ok := left[streams.TopicPartition{Topic: x.Topic, Partition: x.Partition}]
		if !ok || at == streams.OffsetUnknown {
			continue
		}
		tail += x.TotalRestored
		if x.Starts > 1 || x.TotalRestored > x.EndingOffset-at-1 || x.TotalRestored > 0 && x.StartingOffset != at+1 {
			t.Errorf("the snapshot holds %d of %s-%d, and the application restored %+v", at, x.Topic, x.Partition, x)
		}
	}
	for line := range strings.Lines(h.Log()[min(logged, len(h.Log())):]) {
		if strings.Contains(line, "["+live.ID+"-") && strings.Contains(line, "TaskCorrupted") {
			t.Errorf("Kafka Streams wiped a task: %s", line)
		}
	}
	compared := 0
	for _, s := range p.Stores(live.ID) {
		if !s.OnDisk() || s.Topic == "" {
			continue
		}
		compared++
		if d := same.Stores[s.Name].Differs(hand.Stores[s.Name]); d != "" {
			t.Errorf("store %s: %s", s.Name, d)
		}
		if strings.HasSuffix(s.Name, "-kv") {
			if d := want.Stores[s.Name].Differs(hand.Stores[s.Name]); d != "" {
				t.Errorf("store %s, against the live one: %s", s.Name, d)
			}
		}
	}
	t.Logf("%s: %d records of the tail restored, %d stores compared", live.ID, tail, compared)
	if tail == 0 || compared < 3 {
		t.Errorf("nothing was proven: %d records, %d stores", tail, compared)
	}
}

// TestKilledIsRefused: the application dies with rows of a transaction in its
// files, some of them a second after its start. Before 4.3 times of files tell it.
func TestKilledIsRefused(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, v := range worldtest.Chosen("4.0.2", worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			app := worldtest.ProfileNamed("papi").App("killed-"+strings.ReplaceAll(v, ".", ""), b.Bootstrap, t.TempDir(), true).Busy()
			base := worldtest.InputBase(time.Now())
			if _, err := h.Build(ctx, app, worldtest.Input{Records: 500, Base: base}); err != nil {
				t.Fatal(err)
			}
			o := PushOptions{StateDir: app.StateDir, ApplicationID: app.ID}
			if _, err := Push(ctx, bucketOf(t), o, nil); err != nil {
				t.Fatalf("closed cleanly: %v", err)
			}
			if _, err := h.Build(ctx, app, worldtest.Input{First: 500, Records: 4000, Base: base, Step: time.Second, Halt: true}); err != nil {
				t.Fatal(err)
			}
			_, err := Push(ctx, bucketOf(t), o, nil)
			if op.KindOf(err) != op.Precondition || err == nil {
				t.Errorf("killed: %v", err)
			}
			t.Log(err)
		})
	}
}

func bucketOf(t *testing.T) *snapshot.Bucket {
	t.Helper()
	b, err := snapshot.Open(t.Context(), "file://"+filepath.Join(t.TempDir(), "bucket"), snapshot.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func guaranteeOf(a worldtest.App) string {
	if a.EOS {
		return ExactlyOnce
	}
	return AtLeastOnce
}
