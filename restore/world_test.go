//go:build cgo

package restore_test

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
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/restore"
)

// TestHandOff is the proof on the real thing: for every kind of store and both
// guarantees a real application builds state; what sstool restores from its
// changelogs equals what the same Kafka Streams version restores, row by row,
// and the application starts on it with nothing to restore and answers the same.
func TestHandOff(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 4) // applications mostly wait; JVM and broker have two cores
			for i, p := range worldtest.Profiles() {
				for _, eos := range []bool{false, true} {
					name := p.Name + map[bool]string{true: "-eos"}[eos]
					if !p.Supports(v) || !selected(name, eos == (i%2 == 0 == (v == worldtest.Newest))) {
						continue
					}
					wg.Add(1)
					go func() {
						defer wg.Done()
						sem <- struct{}{}
						defer func() { <-sem }()
						handOff(t, b, h, p, eos, name, 0)
					}()
				}
			}
			// Almost no input: whole partitions are empty, so stores of every kind
			// have "nothing applied yet" as their offset.
			for i, name := range []string{"papi", "win"} {
				for _, eos := range []bool{false, true} {
					sparse := name + "-sparse" + map[bool]string{true: "-eos"}[eos]
					if !selected(sparse, eos == (i == 0 == (v == worldtest.Newest))) {
						continue
					}
					wg.Add(1)
					go func() {
						defer wg.Done()
						sem <- struct{}{}
						defer func() { <-sem }()
						handOff(t, b, h, worldtest.ProfileNamed(name), eos, sparse, 1)
					}()
				}
			}
		})
	}
}

// selected says whether an application is handed over: all in the matrix, and
// else each with one guarantee by the oldest version, the other by the newest.
func selected(name string, turn bool) bool {
	if only := os.Getenv("SSTOOL_PROFILES"); only != "" {
		return strings.Contains(","+only+",", ","+name+",")
	}
	return turn || worldtest.Full()
}

// handOff reports failures under the application's name: the applications run
// side by side, which subtests with shared parents cannot.
func handOff(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, p worldtest.Profile, eos bool, name string, records int) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	id := name + "-" + strings.ReplaceAll(h.Version, ".", "")
	fail := func(format string, args ...any) { t.Errorf(id+": "+format, args...) }
	app := p.App(id, b.Bootstrap, t.TempDir(), eos)
	if _, err := h.Build(ctx, app, worldtest.Input{Records: records}); err != nil {
		fail("build: %v", err)
		return
	}
	truthApp, err := ownRestore(ctx, t, h, p, app)
	if err != nil {
		fail("Kafka Streams' own restore: %v", err)
		return
	}
	want, err := h.DumpRows(ctx, truthApp.Dir())
	if err != nil {
		fail("rows of Kafka Streams' own restore: %v", err)
		return
	}
	answers, err := h.Handoff(ctx, truthApp)
	if err != nil || answers.Error != "" {
		fail("start on Kafka Streams' own directory: %v %s", err, answers.Error)
		return
	}
	for _, profile := range []restore.Profile{restore.Bulk, restore.Streams} {
		ours := app.In(t.TempDir())
		res, err := intoDir(ctx, ours, p, h.Version, profile)
		if err != nil {
			fail("%s: sstool restore: %v (try %v)", profile, err, op.Tries(err))
			continue
		}
		got, err := h.DumpRows(ctx, ours.Dir())
		if err != nil {
			fail("%s: rows: %v", profile, err)
			continue
		}
		var onDisk []string
		for _, s := range p.Stores(id) {
			if !s.OnDisk() || s.Topic == "" || s.Processor {
				continue
			}
			if !s.Global {
				onDisk = append(onDisk, s.Name)
			}
			diff := worldtest.Diff(want.Of(s.Name), got.Of(s.Name), 6)
			if len(diff) > tolerated(s) {
				fail("%s: store %s (%s): rows differ from Kafka Streams' own restore:\n  %s", profile, s.Name, s.Kind, strings.Join(diff, "\n  "))
			}
		}
		logged := len(h.Log())
		hand, err := h.Handoff(ctx, ours)
		switch {
		case err != nil || hand.Error != "":
			fail("%s: start on the directory: %v %s", profile, err, hand.Error)
			continue
		case hand.RestoredOf(onDisk...) != 0:
			fail("%s: the application restored %d records:", profile, hand.RestoredOf(onDisk...))
			for _, x := range hand.Partitions {
				if x.TotalRestored != 0 {
					fail("  %+v", x)
				}
			}
		}
		// A task that is wiped before its restore begins does not show as restored
		// when its changelog is empty: the log tells.
		for line := range strings.Lines(h.Log()[min(logged, len(h.Log())):]) {
			if strings.Contains(line, "["+id+"-") && strings.Contains(line, "TaskCorrupted") {
				fail("%s: Kafka Streams wiped a task: %s", profile, line)
			}
		}
		for _, x := range hand.Partitions {
			if x.Starts > 1 {
				fail("%s: the task was wiped and restored again: %+v", profile, x)
			}
		}
		for name, a := range answers.Stores {
			if diff := a.Differs(hand.Stores[name]); diff != "" {
				fail("%s: queries of store %s answer otherwise than after Kafka Streams' own restore: %s", profile, name, diff)
			}
		}
		t.Logf("%s %s: %d records in %.2fs, application restored %d", id, profile, res.Total.Records, res.Elapsed, hand.RestoredOf(onDisk...))
	}
}

// ownRestore lets Kafka Streams restore the application. On a busy machine it
// may miss the answer that tells it where a windowed restore can begin, and then
// begins at the log start (KAFKA-13499: one poll): such a run is no measure, and
// is taken again.
func ownRestore(ctx context.Context, t *testing.T, h *worldtest.Harness, p worldtest.Profile, app worldtest.App) (worldtest.App, error) {
	o, client, err := options(ctx, app.In(t.TempDir()), p, h.Version, restore.Bulk)
	if err != nil {
		return app, err
	}
	defer client.Close()
	plan, err := restore.MakePlan(ctx, client, o)
	if err != nil {
		return app, err
	}
	want := map[string]int64{}
	for _, task := range plan.Tasks {
		for _, u := range task.Units {
			for _, r := range u.Parts {
				want[fmt.Sprintf("%s-%d", u.Topic, r.Partition)] = r.From
			}
		}
	}
	for try := 1; ; try++ {
		a := app.In(t.TempDir())
		report, err := h.Restore(ctx, a)
		if err != nil || report.Error != "" {
			return a, fmt.Errorf("%w %s", err, report.Error)
		}
		early := ""
		for _, x := range report.Partitions {
			if from, ok := want[fmt.Sprintf("%s-%d", x.Topic, x.Partition)]; ok && x.StartingOffset < from {
				early = fmt.Sprintf("%s-%d began at %d instead of %d", x.Topic, x.Partition, x.StartingOffset, from)
			}
		}
		if early == "" || try == 4 {
			return a, nil
		}
		t.Logf("%s: Kafka Streams' restore is taken again: %s", app.ID, early)
	}
}

// tolerated is how many lines may differ: two runs of Kafka Streams itself
// differ there.
func tolerated(s worldtest.Store) int {
	if s.Kind == "versioned" {
		return 2
	}
	return 0
}

func intoDir(ctx context.Context, app worldtest.App, p worldtest.Profile, version string, profile restore.Profile) (*restore.Result, error) {
	o, client, err := options(ctx, app, p, version, profile)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	plan, err := restore.MakePlan(ctx, client, o)
	if err != nil {
		return nil, err
	}
	return plan.Run(ctx, nil)
}

func options(ctx context.Context, app worldtest.App, p worldtest.Profile, version string, profile restore.Profile) (o restore.Options, _ *kafka.Client, err error) {
	v, err := streams.ParseVersion(version)
	if err != nil {
		return o, nil, err
	}
	client, err := kafka.Open(ctx, kafka.Config{Bootstrap: strings.Split(app.Bootstrap, ",")})
	if err != nil {
		return o, nil, err
	}
	o = restore.Options{ApplicationID: app.ID, Guarantee: restore.AtLeastOnce, Target: v, Into: app.StateDir, Profile: profile,
		ToOffset: -1, AsTarget: true, StallTimeout: 30 * time.Second}
	if app.EOS {
		o.Guarantee = restore.ExactlyOnce
	}
	o.Stores = requests(p, app.ID)
	o.Siblings = o.Stores
	return o, client, nil
}

func requests(p worldtest.Profile, app string) []restore.StoreRequest {
	var out []restore.StoreRequest
	for _, s := range p.Stores(app) {
		if s.Topic == "" || s.Processor {
			continue
		}
		sub := s.Subtopology
		out = append(out, restore.StoreRequest{
			Store: streams.Store{Name: s.Name, Kind: streams.Kind(s.Kind), Headers: s.Headers, Retention: s.Retention, SegmentInterval: s.SegmentInterval,
				HistoryRetention: s.HistoryRetention, WithIndex: s.Index, Global: s.Global},
			Topic: s.Topic, Subtopology: &sub, SourceTopic: s.Source && !s.Global, GlobalCopy: s.Global,
		})
	}
	return out
}

// TestPrediction: the time that the streams profile predicts is near the
// application's own restore time of the same changelog, taken in turn. The
// bound is wide because CI machines are shared; `make bench` quotes the ratio.
func TestPrediction(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	h := worldtest.Streams(t, worldtest.Newest)
	ctx := context.Background()
	o := worldtest.RestoreTimeOptions{Bootstrap: b.Bootstrap, App: "predict"}
	if _, err := worldtest.Generate(ctx, b.Bootstrap, worldtest.GenOptions{Topic: o.Changelog(), Records: 1_000_000, TombstonePct: 5}); err != nil {
		t.Fatal(err)
	}
	client, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var ratios []float64
	for range 3 {
		own, err := h.RestoreTime(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := restore.MakePlan(ctx, client, restore.Options{ApplicationID: "predict", Measure: true, Threads: 1, ToOffset: -1, Scratch: t.TempDir(),
			Stores: []restore.StoreRequest{{Store: streams.Store{Name: "st", Kind: streams.TimestampedKV}}}})
		if err != nil {
			t.Fatal(err)
		}
		ours, err := plan.Run(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if own.Records != ours.Total.Records {
			t.Fatalf("Kafka Streams restored %d records, sstool %d", own.Records, ours.Total.Records)
		}
		ratios = append(ratios, ours.Estimate.Seconds/own.RestoreSeconds)
		t.Logf("Kafka Streams %.2f s, predicted %.2f s (measured %.2f s)", own.RestoreSeconds, ours.Estimate.Seconds, ours.Elapsed)
	}
	slices.Sort(ratios)
	if m := ratios[1]; m < 0.2 || m > 3 {
		t.Errorf("median of predicted ÷ own time is %.2f", m)
	}
}

// TestOldestRocksDB: what is written without a stated target opens in the
// RocksDB of Kafka Streams 3.0 and 3.1, and what is written for 3.2 in that of
// 3.2, which is newer.
func TestOldestRocksDB(t *testing.T) {
	worldtest.Require(t)
	ctx := context.Background()
	cluster, err := kafkatest.Start(kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	if err := cluster.Topic("old-st-changelog", 1, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	var recs []kafkatest.Record
	for i := range 20_000 {
		recs = append(recs, kafkatest.Record{Key: fmt.Appendf(nil, "key-%06d", i%7000), Value: fmt.Appendf(nil, "%0100d", i), Timestamp: int64(i)})
	}
	if err := cluster.ProduceAll(ctx, "old-st-changelog", recs...); err != nil {
		t.Fatal(err)
	}
	client, err := kafka.Open(ctx, kafka.Config{Bootstrap: cluster.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct {
		target  streams.Version
		rocksdb []string
	}{
		{streams.Version{}, []string{"6.19.3", "6.22.1.1"}},
		{streams.Version{Major: 3, Minor: 2}, []string{"6.29.4.1"}},
	} {
		for _, profile := range []restore.Profile{restore.Bulk, restore.Streams} {
			for _, v := range c.rocksdb {
				sub, dir := 0, t.TempDir()
				plan, err := restore.MakePlan(ctx, client, restore.Options{ApplicationID: "old", Guarantee: restore.AtLeastOnce, Target: c.target, Into: dir,
					Profile: profile, ToOffset: -1, Stores: []restore.StoreRequest{{Store: streams.Store{Name: "st", Kind: streams.TimestampedKV}, Subtopology: &sub}}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := plan.Run(ctx, nil); err != nil {
					t.Fatal(err)
				}
				rows, err := worldtest.OpenStore(ctx, v, filepath.Join(dir, "old", "0_0", "rocksdb", "st"))
				if err != nil {
					t.Errorf("%s for %q: %v", profile, c.target, err)
				} else if rows[streams.TimestampFamily] != 7000 || rows[streams.DefaultFamily] != 0 {
					t.Errorf("%s for %q: rocksdbjni %s reads %v", profile, c.target, v, rows)
				}
			}
		}
	}
}
