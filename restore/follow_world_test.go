//go:build cgo

package restore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/restore"
)

// TestFollowHandOver is the proof on the real thing: a follower beside an
// application under load, killed and continued, the broker restarted amid, is
// stopped under load; another instance of the application takes its directory
// over, restores only what was written since, and holds the rows that Kafka
// Streams restores. Then once more on what that instance has left, with nothing
// written since.
func TestFollowHandOver(t *testing.T) {
	worldtest.Require(t)
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		for _, name := range []string{"papi", "opt", "win", "agg", "tjoin", "ssjoin"} {
			for _, eos := range []bool{true, false} {
				app := name + map[bool]string{true: "-eos"}[eos]
				if !selected(app, app == "papi-eos") {
					continue
				}
				t.Run(v+"/"+app, func(t *testing.T) {
					b := worldtest.StartBroker(t, worldtest.Options{}) // it is restarted: nobody shares it
					followHandOver(t, b, worldtest.Streams(t, v), worldtest.ProfileNamed(name), eos)
				})
			}
		}
	}
}

func followHandOver(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, p worldtest.Profile, eos bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	id := "follow-" + p.Name
	live := p.App(id, b.Bootstrap, t.TempDir(), eos)
	standby := live.In(t.TempDir())
	base := worldtest.InputBase(time.Now())
	input := func(first, n int) worldtest.Input { return worldtest.Input{First: first, Records: n, Base: base} }
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v (try %v)", what, err, op.Tries(err))
		}
	}
	_, err := h.Build(ctx, live, input(0, 300))
	must("build", err)

	f := startFollower(ctx, t, standby, p, h.Version)
	must("start", h.Start(ctx, live))
	must("feed", h.Feed(ctx, live, input(300, 300)))
	f.kill()
	f = startFollower(ctx, t, standby, p, h.Version)
	must("stop the broker", b.Stop())
	time.Sleep(3 * time.Second)
	must("start the broker", b.Start(ctx))
	before := fmt.Sprint(checkpoints(t, standby))
	must("feed", h.Feed(ctx, live, input(600, 300)))
	f.moves(before) // it applies what comes
	f.terminate()
	left := checkpoints(t, standby)
	must("feed", h.Feed(ctx, live, input(900, 100)))
	_, err = h.Stop(ctx, live)
	must("stop", err)

	hand := takeOver(ctx, t, h, p, standby, left)
	t.Logf("%s: %d records restored of what was written since", id, hand.TotalRestored)
	sameAsOwn(ctx, t, h, p, standby, left)

	// The directory is the application's now, offsets where it keeps them.
	f = startFollower(ctx, t, standby, p, h.Version)
	f.terminate()
	nothingRestored(t, p, standby, takeOver(ctx, t, h, p, standby, checkpoints(t, standby)))
}

// nothingRestored is what is wanted when nothing was written since the follower ended.
func nothingRestored(t *testing.T, p worldtest.Profile, app worldtest.App, hand worldtest.HandoffReport) {
	t.Helper()
	for _, s := range p.Stores(app.ID) {
		if s.OnDisk() && !s.Global && hand.RestoredOf(s.Name) != 0 {
			t.Errorf("store %s: %d records restored, and nothing was written since", s.Name, hand.RestoredOf(s.Name))
		}
	}
}

// takeOver starts the application on the followed directory: no task is wiped,
// and every store goes on behind the follower's offset.
func takeOver(ctx context.Context, t *testing.T, h *worldtest.Harness, p worldtest.Profile, app worldtest.App, left streams.Checkpoint) worldtest.HandoffReport {
	t.Helper()
	logged := len(h.Log())
	hand, err := h.Handoff(ctx, app)
	if err != nil || hand.Error != "" {
		t.Fatalf("start on the directory: %v %s", err, hand.Error)
	}
	onDisk := map[string]bool{}
	for _, s := range p.Stores(app.ID) {
		onDisk[s.Name] = s.OnDisk() && !s.Global && s.Topic != "" && !s.Processor
	}
	for _, x := range hand.Partitions {
		if !onDisk[x.Store] {
			continue
		}
		at := streams.TopicPartition{Topic: x.Topic, Partition: x.Partition}
		off, ok := left[at]
		most := x.EndingOffset
		if ok {
			most = x.EndingOffset - off - 1
		}
		if x.Starts > 1 || x.TotalRestored > most || ok && x.TotalRestored > 0 && x.StartingOffset != off+1 {
			t.Errorf("the follower left %d of %s, and the application restored %+v", off, at, x)
		}
	}
	for line := range strings.Lines(h.Log()[min(logged, len(h.Log())):]) {
		if strings.Contains(line, "["+app.ID+"-") && strings.Contains(line, "TaskCorrupted") {
			t.Errorf("Kafka Streams wiped a task: %s", line)
		}
	}
	return hand
}

// sameAsOwn compares the rows with those that the same version restores, when a
// follower has left those offsets and the application has restored the rest.
func sameAsOwn(ctx context.Context, t *testing.T, h *worldtest.Harness, p worldtest.Profile, app worldtest.App, left streams.Checkpoint) {
	t.Helper()
	own, err := ownRestore(ctx, t, h, p, app)
	if err != nil {
		t.Fatalf("Kafka Streams' own restore: %v", err)
	}
	want, err := h.DumpRows(ctx, own.Dir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.DumpRows(ctx, app.Dir())
	if err != nil {
		t.Fatal(err)
	}
	v, err := streams.ParseVersion(h.Version)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Stores(app.ID) {
		if !s.OnDisk() || s.Topic == "" || s.Processor || s.Global {
			continue
		}
		if k := streams.Kind(s.Kind); k.Windowed() && !app.EOS && len(streams.WindowedProbes(v, false)) > 0 {
			continue // a restore begins later than a follower has begun: it has less of the oldest segment
		}
		diff := worldtest.Diff(want.Of(s.Name), got.Of(s.Name), 10_000)
		if s.Kind == string(streams.Versioned) {
			// Of expired versions those of one poll are not written, and a follower's
			// polls are shorter: more of the history is there. Newest versions are the same.
			late, err := revived(ctx, app, s, left)
			if err != nil {
				t.Fatal(err)
			}
			diff = slices.DeleteFunc(diff, func(l string) bool {
				return !strings.Contains(l, "row ffffffffffffffff") || slices.ContainsFunc(late, func(r string) bool { return strings.HasSuffix(l, r) })
			})
		}
		if len(diff) > 0 {
			t.Errorf("store %s (%s): %d rows differ from Kafka Streams' own restore:\n  %s", s.Name, s.Kind, len(diff), strings.Join(diff[:min(len(diff), 6)], "\n  "))
		}
	}
}

// revived are the rows that records of the tail may have left although their keys
// were deleted: Kafka Streams knows no history of a store that it has only opened,
// and takes a late record for the newest. The follower knows it.
func revived(ctx context.Context, app worldtest.App, s worldtest.Store, left streams.Checkpoint) ([]string, error) {
	records, err := worldtest.ReadTopic(ctx, app.Bootstrap, s.Topic)
	var out []string
	for p, rs := range records {
		for _, r := range rs {
			if off, ok := left[streams.TopicPartition{Topic: s.Topic, Partition: p}]; !ok || r.Offset > off {
				out = append(out, fmt.Sprintf("row ffffffffffffffff%x = %016x%x not wanted", r.Key, r.Timestamp.UnixMilli(), r.Value))
			}
		}
	}
	return out, err
}

// checkpoints are all offsets that a follower has left.
func checkpoints(t *testing.T, app worldtest.App) streams.Checkpoint {
	t.Helper()
	out := streams.Checkpoint{}
	tasks, err := filepath.Glob(filepath.Join(app.Dir(), "*_*", streams.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tasks {
		cp, err := streams.ReadCheckpoint(path)
		if err != nil {
			t.Fatal(err)
		}
		for at, off := range cp {
			if off >= 0 {
				out[at] = off
			}
		}
	}
	return out
}

// realFollower is a follower in a process of its own.
type realFollower struct {
	t   *testing.T
	app worldtest.App
	cmd *exec.Cmd
}

func startFollower(ctx context.Context, t *testing.T, app worldtest.App, p worldtest.Profile, version string) *realFollower {
	t.Helper()
	o, client, err := options(ctx, app, p, version, "")
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	file := filepath.Join(t.TempDir(), "follow.json")
	data, err := json.Marshal(restore.FollowOptions{Options: o, FlushInterval: 500 * time.Millisecond})
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), restore.ChildEnv+"=follow-file|"+app.Bootstrap+"|"+file)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 1200 {
		if _, err := os.Stat(file + ".follows"); err == nil {
			return &realFollower{t, app, cmd}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the follower does not get to follow")
	return nil
}

// moves waits until offsets on disk are others than before.
func (f *realFollower) moves(before string) {
	f.t.Helper()
	for range 1200 {
		if fmt.Sprint(checkpoints(f.t, f.app)) != before {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.t.Fatal("the follower applies nothing")
}

func (f *realFollower) kill() {
	f.cmd.Process.Kill()
	f.cmd.Wait()
}

func (f *realFollower) terminate() {
	f.t.Helper()
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		f.t.Fatalf("the follower ended with %v", err)
	}
}
