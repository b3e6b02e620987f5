//go:build cgo

package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestRestoreSnapshotWorld is the proof on the real thing: an application is
// stopped, pushed, and runs on; a new host restores from the snapshot, and the
// application starts there with nothing to restore, wipes no task, and holds the
// rows that Kafka Streams has when it restores the tail itself behind the very
// directory that was pushed.
func TestRestoreSnapshotWorld(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartShared(t, worldtest.Options{})
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		if worldtest.Full() && v != "4.0.2" && v != worldtest.Newest {
			continue
		}
		for _, name := range []string{"papi", "win", "tjoin", "opt"} {
			for _, eos := range []bool{true, false} {
				if !worldtest.Full() && (name != "papi" || !eos) {
					continue
				}
				t.Run(v+"-"+name+map[bool]string{true: "-eos"}[eos], func(t *testing.T) {
					p := worldtest.ProfileNamed(name)
					id := "fromsnap-" + strings.ReplaceAll(v, ".", "") + "-" + name + map[bool]string{true: "-eos"}[eos]
					s := &fromSnapshot{T: t, b: b.Broker, h: b.Streams(v), p: p, live: p.App(id, b.Bootstrap, t.TempDir(), eos)}
					s.run()
				})
			}
		}
	}
}

type fromSnapshot struct {
	*testing.T
	b    *worldtest.Broker
	h    *worldtest.Harness
	p    worldtest.Profile
	live worldtest.App
}

func (s *fromSnapshot) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v (try %v)", what, err, op.Tries(err))
	}
}

func (s *fromSnapshot) run() {
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute)
	defer cancel()
	base := worldtest.InputBase(time.Now())
	_, err := s.h.Build(ctx, s.live, worldtest.Input{Records: 400, Base: base})
	s.must("build", err)
	bucket := "file://" + filepath.Join(s.TempDir(), "bucket")
	s.sstool("snapshot", "push", bucket, "--state-dir", s.live.StateDir, "--application-id", s.live.ID, "--processing-guarantee", s.guarantee())
	twin := s.live.In(s.TempDir())
	s.must("copy", os.CopyFS(twin.Dir(), os.DirFS(s.live.Dir())))
	s.must("run on", s.h.Start(ctx, s.live))
	s.must("feed", s.h.Feed(ctx, s.live, worldtest.Input{First: 400, Records: 60, Base: base}))
	live, err := s.h.Stop(ctx, s.live)
	s.must("stop", err)

	ours := s.live.In(s.TempDir())
	out := s.sstool("restore", "--into", ours.StateDir, "--spec", s.spec(), "--from-snapshot", bucket, "-o", "json")
	replayed := s.pulled(out)
	got, err := s.h.DumpRows(ctx, ours.Dir())
	s.must("rows", err)

	hand := s.start(ctx, ours)
	for _, x := range hand.Partitions {
		if s.kept(x.Store) && (x.TotalRestored != 0 || x.Starts > 1) {
			s.Errorf("the application restored %+v", x)
		}
	}
	// Kafka Streams behind the directory that was pushed: a restored tail expires
	// other segments than a live one.
	same := s.start(ctx, twin)
	tail := int64(0)
	for _, x := range same.Partitions {
		if !s.kept(x.Store) {
			continue
		}
		tail += x.TotalRestored
		if at := (streams.TopicPartition{Topic: x.Topic, Partition: x.Partition}); x.TotalRestored != replayed[at] {
			s.Errorf("sstool replayed %d records of %s, Kafka Streams restored %d", replayed[at], at, x.TotalRestored)
		}
	}
	if tail == 0 {
		s.Error("there was no tail to restore")
	}
	want, err := s.h.DumpRows(ctx, twin.Dir())
	s.must("rows", err)
	// What is expired or old history it answers by the records that the process has
	// seen: once more, with nothing to restore there either.
	same = s.start(ctx, twin)
	compared := 0
	for _, x := range s.p.Stores(s.live.ID) {
		if !x.OnDisk() || x.Topic == "" || x.Processor {
			continue
		}
		compared++
		diff := worldtest.Diff(want.Of(x.Name), got.Of(x.Name), 10_000)
		if x.Kind == string(streams.Versioned) {
			// Which expired versions are there depends on where batches end.
			diff = slices.DeleteFunc(diff, func(l string) bool { return !strings.Contains(l, "row ffffffffffffffff") })
		}
		if len(diff) > 0 {
			s.Errorf("store %s (%s): %d rows differ from those that Kafka Streams restores:\n  %s", x.Name, x.Kind, len(diff), strings.Join(diff[:min(len(diff), 6)], "\n  "))
		}
		if d := same.Stores[x.Name].Differs(hand.Stores[x.Name]); d != "" {
			s.Errorf("store %s (%s) answers %s", x.Name, x.Kind, d)
		}
		if x.Kind == string(streams.KV) || x.Kind == string(streams.TimestampedKV) {
			if d := live[x.Name].Differs(hand.Stores[x.Name]); d != "" {
				s.Errorf("store %s (%s), against the live one: %s", x.Name, x.Kind, d)
			}
		}
	}
	s.Logf("%d stores compared, %d rows; Kafka Streams itself restored %d records of the tail", compared, got.Count(), tail)
}

// kept says whether the store is one that a directory hands over.
func (s *fromSnapshot) kept(store string) bool {
	return slices.ContainsFunc(s.p.Stores(s.live.ID), func(x worldtest.Store) bool {
		return x.Name == store && x.OnDisk() && x.Topic != "" && !x.Global && !x.Processor
	})
}

func (s *fromSnapshot) guarantee() string {
	return map[bool]string{true: "exactly_once_v2", false: "at_least_once"}[s.live.EOS]
}

// sstool runs a command against the cluster and returns its output.
func (s *fromSnapshot) sstool(args ...string) string {
	s.Helper()
	got := runWith(s.T, nil, append(args, "--bootstrap-server", s.b.Bootstrap)...)
	if got.code != 0 {
		s.Fatalf("sstool %s: code %d\n%s%s", strings.Join(args, " "), got.code, got.out, got.err)
	}
	return got.out
}

// start starts the application on a directory; no task is wiped.
func (s *fromSnapshot) start(ctx context.Context, app worldtest.App) worldtest.HandoffReport {
	s.Helper()
	logged := len(s.h.Log())
	hand, err := s.h.Handoff(ctx, app)
	if err != nil || hand.Error != "" {
		s.Fatalf("start: %v %s", err, hand.Error)
	}
	for line := range strings.Lines(s.h.Log()[min(logged, len(s.h.Log())):]) {
		if strings.Contains(line, "["+app.ID+"-") && strings.Contains(line, "TaskCorrupted") {
			s.Errorf("Kafka Streams wiped a task: %s", line)
		}
	}
	return hand
}

// pulled says that every store came from the snapshot, with a tail; it returns
// how many records of that were replayed.
func (s *fromSnapshot) pulled(out string) map[streams.TopicPartition]int64 {
	var doc struct {
		Partitions []struct {
			Topic     string
			Partition int32
			Records   int64
		}
		Snapshot struct {
			Bytes  int64 `json:"bytes"`
			Tail   int64 `json:"tail_records"`
			Stores []struct {
				Task, Store string
				InFull      string `json:"in_full_because"`
			}
		}
	}
	s.must("the report", json.Unmarshal([]byte(out), &doc))
	for _, o := range doc.Snapshot.Stores {
		if o.InFull != "" {
			s.Errorf("store %s of task %s is restored in full: %s", o.Store, o.Task, o.InFull)
		}
	}
	if d := doc.Snapshot; d.Bytes == 0 || d.Tail == 0 {
		s.Errorf("%d bytes pulled, %d records of a tail", d.Bytes, d.Tail)
	}
	s.Logf("%d stores from the snapshot, %d bytes, then %d records", len(doc.Snapshot.Stores), doc.Snapshot.Bytes, doc.Snapshot.Tail)
	replayed := map[streams.TopicPartition]int64{}
	for _, x := range doc.Partitions {
		replayed[streams.TopicPartition{Topic: x.Topic, Partition: x.Partition}] = x.Records
	}
	return replayed
}

// spec writes the application's specification.
func (s *fromSnapshot) spec() string {
	text := fmt.Sprintf("application-id: %s\nprocessing-guarantee: %s\nkafka-version: %q\nstores:\n", s.live.ID, s.guarantee(), s.h.Version)
	for _, x := range s.p.Stores(s.live.ID) {
		if x.Topic == "" || x.Processor {
			continue
		}
		text += fmt.Sprintf("  - {name: %s, kind: %s, topic: %s", x.Name, x.Kind, x.Topic)
		if x.Global {
			text += ", global: copy"
		} else {
			text += fmt.Sprintf(", subtopology: %d, source-topic: %t", x.Subtopology, x.Source)
		}
		for _, f := range []struct {
			name string
			d    time.Duration
		}{{"retention", x.Retention}, {"segment-interval", x.SegmentInterval}, {"history-retention", x.HistoryRetention}} {
			if f.d > 0 {
				text += fmt.Sprintf(", %s: %s", f.name, f.d)
			}
		}
		if x.Index && x.Kind == string(streams.TimeOrderedWindow) { // of sessions it is understood
			text += ", with-index: true"
		}
		text += "}\n"
	}
	path := filepath.Join(s.TempDir(), "spec.yaml")
	s.must("the specification", os.WriteFile(path, []byte(text), 0o644))
	return path
}
