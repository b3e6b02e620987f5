//go:build cgo

package restore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/restore/snapshots"
)

// TestFollowPushReal is the proof on the real thing: a follower beside a busy
// exactly-once application is pushed while it follows; on a new host the
// application restores only what came after that, wipes no task, and holds the
// rows that Kafka Streams restores.
func TestFollowPushReal(t *testing.T) {
	worldtest.Require(t)
	if !worldtest.Full() {
		t.Skip("SSTOOL_MATRIX=full runs it")
	}
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		if v != "4.0.2" && v != worldtest.Newest {
			continue
		}
		b := worldtest.StartBroker(t, worldtest.Options{})
		for _, name := range []string{"papi", "win"} {
			if !selected(name, name == "papi") {
				continue
			}
			t.Run(v+"/"+name, func(t *testing.T) {
				followPushReal(t, b, worldtest.Streams(t, v), worldtest.ProfileNamed(name))
			})
		}
	}
}

func followPushReal(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, p worldtest.Profile) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v (try %v)", what, err, op.Tries(err))
		}
	}
	live := p.App("followpush-"+p.Name, b.Bootstrap, t.TempDir(), true).Busy()
	standby := live.In(t.TempDir())
	base := worldtest.InputBase(time.Now())
	_, err := h.Build(ctx, live, worldtest.Input{Records: 300, Base: base})
	must("build", err)
	f := startFollower(ctx, t, standby, p, h.Version)
	before := fmt.Sprint(checkpoints(t, standby))
	must("start", h.Start(ctx, live))
	must("feed", h.Feed(ctx, live, worldtest.Input{First: 300, Records: 300, Base: base}))
	f.moves(before) // it applies what comes

	bucket, err := snapshot.Open(ctx, "file://"+filepath.Join(t.TempDir(), "bucket"), snapshot.Options{Create: true})
	must("bucket", err)
	defer bucket.Close()
	pushed, err := snapshots.Push(ctx, bucket, snapshots.PushOptions{StateDir: standby.StateDir, ApplicationID: standby.ID, Guarantee: snapshots.ExactlyOnce}, nil)
	must("push", err)
	if !pushed.Follower {
		t.Error("the follower was not asked")
	}
	must("feed", h.Feed(ctx, live, worldtest.Input{First: 600, Records: 100, Base: base}))
	_, err = h.Stop(ctx, live)
	must("stop", err)
	f.terminate()

	host := live.In(t.TempDir())
	plan, err := snapshots.PlanPull(ctx, bucket, snapshots.PullOptions{Into: host.StateDir, ApplicationID: host.ID}, nil)
	must("plan", err)
	_, err = plan.Apply(ctx, nil)
	must("pull", err)
	left := checkpoints(t, host)
	for _, task := range pushed.Tasks {
		for _, s := range task.Stores {
			for _, o := range s.Offsets {
				if at := (streams.TopicPartition{Topic: o.Topic, Partition: o.Partition}); o.Offset >= 0 && left[at] != o.Offset && task.Task != streams.GlobalDir {
					t.Errorf("the manifest says %d of %s, and the directory %d", o.Offset, at, left[at])
				}
			}
		}
	}
	hand := takeOver(ctx, t, h, p, host, left)
	if hand.TotalRestored == 0 {
		t.Error("there was no tail to restore")
	}
	t.Logf("%d of %d files pushed amid, then %d records of the tail restored", pushed.Total.New, pushed.Total.Files, hand.TotalRestored)
	sameAsOwn(ctx, t, h, p, host, left)
}
