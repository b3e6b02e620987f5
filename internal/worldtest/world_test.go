package worldtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestProfilesMatchTheirTopologies(t *testing.T) {
	Require(t)
	for _, version := range []string{Oldest, Newest} {
		h := Streams(t, version)
		for _, p := range Profiles() {
			if !p.Supports(version) {
				continue
			}
			text, err := h.Describe(context.Background(), p.App("an-app", "127.0.0.1:9", t.TempDir(), false))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			for _, s := range p.Stores("an-app") {
				want[s.Name] = s.Subtopology
			}
			if got := describedStores(text); !maps.Equal(got, want) {
				t.Errorf("%s %s: topology has %v, table has %v", version, p.Name, got, want)
			}
		}
	}
}

// describedStores reads store → sub-topology from a describe() text.
func describedStores(text string) map[string]int {
	stores := map[string]int{}
	subtopology := 0
	for line := range strings.Lines(text) {
		if m := regexp.MustCompile(`Sub-topology: (\d+)`).FindStringSubmatch(line); m != nil {
			subtopology, _ = strconv.Atoi(m[1])
		}
		if m := regexp.MustCompile(`\(stores: \[(.+)\]\)`).FindStringSubmatch(line); m != nil {
			for name := range strings.SplitSeq(m[1], ", ") {
				stores[name] = subtopology
			}
		}
	}
	return stores
}

// One application through its whole life: build, restore, hand-off, and back
// after the broker was gone.
func TestBuildRestoreHandoff(t *testing.T) {
	Require(t)
	ctx := context.Background()
	b := StartBroker(t, Options{})
	h := Streams(t, Newest)
	p := ProfileNamed("kv4")
	app := p.App("life", b.Bootstrap, t.TempDir(), true)
	if _, err := h.Build(ctx, app, Input{Records: 300}); err != nil {
		t.Fatal(err)
	}
	live, err := h.DumpRows(ctx, app.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if live.Count() == 0 {
		t.Fatal("no rows were built")
	}

	restored := app.In(t.TempDir())
	report, err := h.Restore(ctx, restored)
	if err != nil || report.Error != "" {
		t.Fatal(err, report.Error)
	}
	snapshot, err := TakeSnapshot(ctx, b.Bootstrap, app.ID)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(snapshot.Topics["life-tbl-store-changelog"].Partitions); n != 4 {
		t.Errorf("the changelog has %d partitions, want 4", n)
	}
	if n := report.RestoredOf("tbl-store"); n != 300 || report.TotalRestored != n {
		t.Errorf("%d records restored, want 300: %+v", n, report)
	}
	again, err := h.DumpRows(ctx, restored.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if lines := Diff(live, again, 10); len(lines) > 0 {
		t.Errorf("restored rows differ from live ones:\n%s", strings.Join(lines, "\n"))
	}

	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	handoff, err := h.Handoff(ctx, restored)
	if err != nil || handoff.Error != "" {
		t.Fatal(err, handoff.Error)
	}
	if handoff.TotalRestored != 0 {
		t.Errorf("a complete directory restored %d records", handoff.TotalRestored)
	}
	if got := len(handoff.Stores["tbl-store"].Rows); got != live.Count() {
		t.Errorf("queries return %d rows, the store holds %d", got, live.Count())
	}

	// A hand-off must be able to fail: nothing may be judged by a check that always says yes.
	if err := os.Remove(filepath.Join(restored.Dir(), "0_0", "rocksdb", "tbl-store", "CURRENT")); err != nil {
		t.Fatal(err)
	}
	damaged, err := h.Handoff(ctx, restored)
	if err != nil {
		t.Fatal(err)
	}
	if damaged.Error == "" && damaged.TotalRestored == 0 {
		t.Error("a damaged store was handed off without a record restored")
	}
}

func TestUnhealthyLogs(t *testing.T) {
	Require(t)
	ctx := context.Background()
	b := StartBroker(t, Options{})
	const topic = "an-app-s-changelog"
	if err := CreateTopic(ctx, b.Bootstrap, topic, 2, map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var records []Record
	for i := range 50 {
		records = append(records, Record{Key: fmt.Append(nil, "k", i%10), Value: fmt.Append(nil, "v", i)})
	}
	must(Produce(ctx, b.Bootstrap, topic, records...))
	must(Produce(ctx, b.Bootstrap, topic, Record{Value: []byte("no key")}, Record{Key: []byte("k1")}))
	must(ProduceTxn(ctx, b.Bootstrap, topic, false, Record{Key: []byte("aborted"), Value: []byte("x")}))
	must(ProduceTxn(ctx, b.Bootstrap, topic, true, Record{Key: []byte("committed"), Value: []byte("y")}))

	log := readKeys(t, b, topic)
	if !slices.Contains(log, "<null>") || !slices.Contains(log, "aborted") || !slices.Contains(log, "<control>") || len(log) != 56 {
		t.Errorf("the log before compaction: %q", log)
	}
	must(b.Compact(ctx, topic))
	log = readKeys(t, b, topic)
	if slices.Contains(log, "<null>") || slices.Contains(log, "aborted") || len(log) > 20 {
		t.Errorf("the log after compaction: %q", log)
	}
	if !slices.Contains(log, "k1") {
		t.Errorf("a tombstone is gone before its time: %q", log)
	}
	const forgetful = "an-app-forgetful-changelog"
	must(CreateTopic(ctx, b.Bootstrap, forgetful, 1, map[string]string{"cleanup.policy": "compact"}))
	must(Produce(ctx, b.Bootstrap, forgetful, append(records, Record{Key: []byte("k1")}, records[9])...))
	must(b.DropTombstones(ctx, forgetful))
	if log = readKeys(t, b, forgetful); slices.Contains(log, "k1") || !slices.Contains(log, "k2") {
		t.Errorf("the log after its tombstones: %q", log)
	}

	txn, err := BeginTxn(ctx, b.Bootstrap, topic, Record{Partition: 1, Key: []byte("open"), Value: []byte("z")})
	must(err)
	defer txn.Abandon()
	snapshot, err := TakeSnapshot(ctx, b.Bootstrap, "an-app")
	must(err)
	if p := snapshot.Topics[topic].Partitions[1]; p.LastStable != 0 || p.End != 1 || txn.ProducerID < 0 {
		t.Errorf("with an open transaction: %+v, producer %d", p, txn.ProducerID)
	}
	must(MoveLogStart(ctx, b.Bootstrap, topic, 0, 40))
	snapshot, err = TakeSnapshot(ctx, b.Bootstrap, "an-app")
	must(err)
	if p := snapshot.Topics[topic].Partitions[0]; p.LogStart != 40 {
		t.Errorf("the log starts at %d, want 40", p.LogStart)
	}
}

// readKeys lists partition 0: keys, "<null>" and "<control>".
func readKeys(t *testing.T, b *Broker, topic string) []string {
	t.Helper()
	log, err := ReadTopic(context.Background(), b.Bootstrap, topic)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range log[0] {
		switch {
		case r.Attrs.IsControl():
			keys = append(keys, "<control>")
		case r.Key == nil:
			keys = append(keys, "<null>")
		default:
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

func TestRestoreTime(t *testing.T) {
	Require(t)
	ctx := context.Background()
	b := StartBroker(t, Options{})
	h := Streams(t, Newest)
	o := RestoreTimeOptions{Bootstrap: b.Bootstrap, App: "bench", Partitions: 2, Limit: 2 * time.Minute}
	gen := GenOptions{Topic: o.Changelog(), Partitions: 2, Records: 20_000, TombstonePct: 5}
	if _, err := Generate(ctx, b.Bootstrap, gen); err != nil {
		t.Fatal(err)
	}
	report, err := h.RestoreTime(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Records != gen.Records || report.RestoreSeconds <= 0 || report.RestoreCPUSeconds <= 0 {
		t.Errorf("%+v, want %d records and some time", report, gen.Records)
	}
}

// What fault tests do to a broker, and that a client sees it.
func TestBrokerFaults(t *testing.T) {
	Require(t)
	ctx := context.Background()
	b := StartBroker(t, Options{ClusterID: "AAAAAAAAQACAAAAAAAAAAQ"})
	if err := CreateTopic(ctx, b.Bootstrap, "kept", 1, nil); err != nil {
		t.Fatal(err)
	}
	write := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return Produce(ctx, b.Bootstrap, "kept", Record{Key: []byte("k"), Value: []byte("v")})
	}
	if err := write(2 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := b.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := write(time.Second); err == nil {
		t.Error("a paused broker answered")
	}
	if err := b.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := write(2 * time.Minute); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	b.Kill()
	if err := write(time.Second); err == nil {
		t.Error("a killed broker answered")
	}
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	log, err := ReadTopic(ctx, b.Bootstrap, "kept")
	if err != nil || len(log[0]) < 2 {
		t.Errorf("after the crash the topic has %d records, %v", len(log[0]), err)
	}
}
