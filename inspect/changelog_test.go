package inspect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/clienttest"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

const day = int64(24 * time.Hour / time.Millisecond)

// changelogWorld is an embedded cluster with a client.
func changelogWorld(t testing.TB) (*kafkatest.Cluster, *kafka.Client) {
	t.Helper()
	return clienttest.Start(t, kafkatest.Options{ClusterID: "changelogs"})
}

func makeTopic(t testing.TB, k *kafkatest.Cluster, name string, partitions int32, configs ...string) {
	t.Helper()
	if err := k.Topic(name, partitions, configs...); err != nil {
		t.Fatal(err)
	}
}

func readOne(t testing.TB, c *kafka.Client, o ChangelogOptions) *ChangelogTopic {
	t.Helper()
	o.TempDir = t.TempDir()
	r, err := Changelog(t.Context(), c, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Topics) != 1 || r.ClusterID != "changelogs" {
		t.Fatalf("%+v", r)
	}
	return &r.Topics[0]
}

// logRecord is a record as it is read one after the other.
type logRecord struct {
	key           string
	at, time      int64
	size          int64
	class         string // value, empty, null
	keyed, header bool
}

// logOf reads a partition with one decoder, from the first record to the last,
// and says where the offsets are without gap to the end, by whole batches.
func logOf(t testing.TB, c *kafka.Client, topic string, partition int32) (recs []logRecord, tail int64) {
	t.Helper()
	ends, err := c.Offsets(t.Context(), topic, []int32{partition})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.OpenPartition(t.Context(), kafka.ReadOptions{Topic: topic, Partition: partition, From: ends[partition].Start, To: ends[partition].End})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var d kafka.Decoder
	pos := ends[partition].Start
	for {
		blk, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return recs, tail
		}
		if err != nil {
			t.Fatal(err)
		}
		blk.Batches(func(b kafka.BatchInfo) {
			switch {
			case int64(b.Records) != b.Last-b.First+1:
				tail = b.Last + 1
			case b.First != pos:
				tail = b.First
			}
			pos = b.Last + 1
		})
		if _, err := d.Decode(blk, func(k *kafka.Record) error {
			x := logRecord{key: string(k.Key), at: k.Offset, time: k.Timestamp, size: int64(len(k.Key) + len(k.Value)), class: "value", keyed: k.Key != nil, header: k.HeaderCount > 0}
			if k.Value == nil {
				x.class = "null"
			} else if len(k.Value) == 0 {
				x.class = "empty"
			}
			recs = append(recs, x)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// expect is what the records of a partition are as counts.
func expect(recs []logRecord, tail int64) (c LogCounts, keys KeyCounts, end TailCounts, times [3]int64) {
	times = [3]int64{1 << 62, -1, 0}
	newest := map[string]logRecord{}
	first, before := int64(-1), int64(-1)
	for _, r := range recs {
		c.Records++
		c.Bytes += r.size
		c.LargestRecord = max(c.LargestRecord, r.size)
		if r.header {
			c.WithHeaders++
		}
		switch r.class {
		case "null":
			c.Tombstones++
			c.TombstoneBytes += r.size
		case "empty":
			c.EmptyValues++
		}
		if r.time < before {
			c.OutOfOrder++
		}
		before = r.time
		times = [3]int64{min(times[0], r.time), max(times[1], r.time), max(times[2], times[1]-r.time)}
		if r.at >= tail {
			end.Records++
			end.Bytes += r.size
		}
		if !r.keyed {
			c.NullKeys++
			continue
		}
		if old, ok := newest[r.key]; ok {
			if first < 0 {
				first = r.at
			}
			keys.Superseded++
			keys.SupersededBytes += old.size
			if old.at >= tail {
				end.Superseded++
				end.SupersededBytes += old.size
			}
		}
		newest[r.key] = r
	}
	for _, r := range newest {
		keys.Distinct++
		switch r.class {
		case "null":
			keys.Deleted++
			keys.DeletedBytes += r.size
		case "empty":
			keys.LiveEmpty++
			fallthrough
		default:
			keys.Live++
			keys.LiveBytes += r.size
		}
		if r.at >= tail {
			end.Keys++
		}
	}
	keys.share()
	end.From, end.UncleanFrom = &tail, &first
	end.NeverCleaned = tail == 0
	return c, keys, end, times
}

// Everything that is counted, against a plain map: compacted and not, two
// partitions, tombstones, empty values, null keys, headers, times out of
// order, with one worker and several.
func TestChangelogCounts(t *testing.T) {
	k, c := changelogWorld(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	fill := func(topic string, n int, nullKeys bool) {
		for p := range int32(2) {
			for batch := range n {
				b := kafkatest.Batch{}
				for i := range 40 {
					r := kafkatest.Record{Key: fmt.Appendf(nil, "key-%d", rnd.IntN(1500)), Value: make([]byte, 1+rnd.IntN(50)), Timestamp: 1_700_000_000_000 + int64(batch*40+i)*10 - int64(rnd.IntN(30))}
					switch rnd.IntN(20) {
					case 0:
						r.Value = nil
					case 1:
						r.Value = []byte{}
					case 2:
						if nullKeys {
							r.Key = nil
						}
					case 3:
						r.Headers = []kafkatest.Header{{Key: "trace", Value: []byte("x")}}
					}
					b.Add(&r)
				}
				if err := k.Send(t.Context(), topic, p, &b); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const compacted, whole = "app-compacted-changelog", "app-whole-changelog"
	makeTopic(t, k, compacted, 2, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0", "segment.bytes", "20000", "retention.ms", "-1")
	fill(compacted, 200, false)
	k.Compact()
	fill(compacted, 60, false)
	makeTopic(t, k, whole, 2, "cleanup.policy", "delete") // a compacted topic takes no null keys
	fill(whole, 100, true)
	for _, topic := range []string{compacted, whole} {
		for _, threads := range []int{1, 3, 4} {
			got := readOne(t, c, ChangelogOptions{Topics: []string{topic}, ApplicationID: "app", Threads: threads, Memory: 16 << 20})
			if got.Store == "" || got.PartitionCount != 2 || !slices.Equal(got.HeaderKeys, []string{"trace"}) || got.Kind.Kind != streams.TimestampedKV {
				t.Errorf("%+v", got)
			}
			records, distinct := int64(0), int64(0)
			for i := range got.Partitions {
				p := &got.Partitions[i]
				recs, tail := logOf(t, c, topic, p.Partition)
				counts, keys, end, times := expect(recs, tail)
				counts.Offsets = p.LogEnd - p.LogStart
				counts.OffsetGaps = counts.Offsets - counts.Records
				if (counts.OffsetGaps > 0) != (topic == compacted) || (counts.NullKeys > 0) != (topic == whole) || end.Superseded == 0 {
					t.Fatalf("%s: not the log that was meant: %+v, %+v", topic, counts, end)
				}
				counts.TombstonesFresh = counts.Tombstones - p.TombstonesKept - p.TombstonesDue
				counts.LogBytes, counts.LargestBatch, counts.UncompressedBytes, counts.HeaderBytes = p.LogBytes, p.LargestBatch, p.UncompressedBytes, p.HeaderBytes
				if p.LogCounts != counts {
					t.Errorf("%s, %d threads, partition %d: %+v\nwant %+v", topic, threads, i, p.LogCounts, counts)
				}
				if *p.Keys != keys || !reflect.DeepEqual(*p.Tail, end) {
					t.Errorf("%s, %d threads, partition %d: %+v %+v\nwant %+v %+v", topic, threads, i, *p.Keys, *p.Tail, keys, end)
				}
				if got := [3]int64{*p.Times.Oldest, *p.Times.Newest, p.Times.MaxLateness}; got != times {
					t.Errorf("%s, %d threads, partition %d: times %v, want %v", topic, threads, i, got, times)
				}
				records, distinct = records+counts.Records, distinct+keys.Distinct
			}
			if got.Total.Records != records || got.Total.Keys.Distinct != distinct || got.Skew == nil {
				t.Errorf("total: %+v", got.Total)
			}
		}
	}
}

// Aborted records are no part of the table; a transaction that is open hides
// what comes after, and is said.
func TestChangelogTransactions(t *testing.T) {
	k, c := changelogWorld(t)
	const topic = "app-tx-changelog"
	makeTopic(t, k, topic, 1, "cleanup.policy", "compact")
	recs := func(from, n int) (out []kafkatest.Record) {
		for i := range n {
			out = append(out, kafkatest.Record{Key: fmt.Appendf(nil, "k%d", from+i), Value: []byte("v"), Timestamp: 1000})
		}
		return out
	}
	for _, commit := range []bool{true, false} {
		if err := k.Transaction(t.Context(), topic, commit, recs(0, 10)...); err != nil {
			t.Fatal(err)
		}
	}
	end, err := k.Begin(t.Context(), topic, recs(10, 5)...)
	if err != nil {
		t.Fatal(err)
	}
	defer end(false)
	p := readOne(t, c, ChangelogOptions{Topics: []string{topic}})
	if n := p.Total; n.Records != 10 || n.Aborted != 10 || n.Control != 2 || n.Undecided != 5 || n.Keys.Distinct != 10 || n.Keys.Superseded != 0 || n.OffsetGaps != 0 {
		t.Errorf("%+v %+v", n, n.Keys)
	}
	if !hasReason(p, "open_transaction") {
		t.Errorf("%+v", p.Why)
	}
}

func hasReason(t *ChangelogTopic, code string) bool {
	return slices.ContainsFunc(t.Why, func(r Reason) bool { return r.Code == code })
}

// The configuration against the kind, and the reasons for the size.
func TestChangelogConfigAndReasons(t *testing.T) {
	k, c := changelogWorld(t)
	window := func(i int) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte("customer"), uint64(1_700_000_000_000+i*1000)), 0)
	}
	session := func(i int) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte("customer"), uint64(1_700_000_060_000+i)), uint64(1_700_000_000_000+i))
	}
	plain := func(i int) []byte { return fmt.Appendf(nil, "k%d", i%7) }
	for _, tc := range []struct {
		name    string
		key     func(int) []byte
		n       int
		configs []string
		o       ChangelogOptions
		kind    streams.Kind
		wrong   []string
		reasons []string
		not     []string
	}{
		{name: "kv", key: plain, n: 100, configs: []string{"cleanup.policy", "compact", "segment.bytes", "1073741824", "segment.ms", "604800000"}, kind: streams.TimestampedKV, reasons: []string{"unique_keys", "superseded_in_tail", "active_segment"}, not: []string{"never_cleaned"}},
		{name: "kv-deleted", key: plain, n: 100, configs: []string{"cleanup.policy", "compact,delete", "retention.bytes", "100000000"}, kind: streams.TimestampedKV, wrong: []string{"cleanup.policy", "retention.bytes"}},
		{name: "no-effect", key: plain, n: 100, configs: []string{"cleanup.policy", "compact", "retention.bytes", "100000000", "segment.bytes", "2000"}, kind: streams.TimestampedKV, reasons: []string{"retention_bytes", "never_cleaned"}, not: []string{"active_segment"}},
		{name: "windows", key: window, n: 100, configs: []string{"cleanup.policy", "compact,delete", "retention.ms", fmt.Sprint(2 * day)}, kind: streams.TimestampedWindow},
		{name: "windows-for-ever", key: window, n: 100, configs: []string{"cleanup.policy", "compact"}, kind: streams.TimestampedWindow, wrong: []string{"cleanup.policy"}},
		{name: "windows-too-short", key: window, n: 100, configs: []string{"cleanup.policy", "compact,delete", "retention.ms", fmt.Sprint(day)}, o: ChangelogOptions{Retention: 48 * time.Hour}, kind: streams.TimestampedWindow, wrong: []string{"retention.ms"}},
		{name: "join", key: window, n: 100, configs: []string{"cleanup.policy", "delete"}, kind: streams.Window, reasons: []string{"not_compacted"}},
		{name: "sessions", key: session, n: 100, configs: []string{"cleanup.policy", "compact,delete"}, kind: streams.Session},
		{name: "versions", key: plain, n: 100, configs: []string{"cleanup.policy", "compact", "min.compaction.lag.ms", fmt.Sprint(2 * day)}, o: ChangelogOptions{HistoryRetention: 48 * time.Hour}, kind: streams.Versioned, wrong: []string{"min.compaction.lag.ms"}},
		{name: "append-time", key: plain, n: 10, configs: []string{"cleanup.policy", "compact", "message.timestamp.type", "LogAppendTime"}, kind: streams.TimestampedKV, wrong: []string{"message.timestamp.type"}},
		{name: "stated", key: plain, n: 10, configs: []string{"cleanup.policy", "compact"}, o: ChangelogOptions{Kind: streams.List}, kind: streams.List},
		{name: "empty", key: plain, n: 0, configs: []string{"cleanup.policy", "compact"}, kind: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			topic := "app-" + tc.name + "-changelog"
			makeTopic(t, k, topic, 1, tc.configs...)
			var recs []kafkatest.Record
			for i := range tc.n {
				recs = append(recs, kafkatest.Record{Key: tc.key(i), Value: []byte("value of some length"), Timestamp: 1_700_000_000_000 + int64(i)})
			}
			if err := k.ProduceAll(t.Context(), topic, recs...); err != nil {
				t.Fatal(err)
			}
			tc.o.Topics = []string{topic}
			got := readOne(t, c, tc.o)
			if got.Kind.Kind != tc.kind {
				t.Errorf("kind %+v, want %s", got.Kind, tc.kind)
			}
			var wrong []string
			for _, f := range got.Config {
				if f.Verdict == ConfigWrong {
					wrong = append(wrong, f.Name)
				}
			}
			if !slices.Equal(wrong, tc.wrong) {
				t.Errorf("wrong %q, want %q: %+v", wrong, tc.wrong, got.Config)
			}
			for _, code := range tc.reasons {
				if !hasReason(got, code) {
					t.Errorf("no reason %s: %+v", code, got.Why)
				}
			}
			for _, code := range tc.not {
				if hasReason(got, code) {
					t.Errorf("reason %s: %+v", code, got.Why)
				}
			}
		})
	}
}

// What the cleaner will do with a tombstone stands in the batch's header.
func TestTombstoneStates(t *testing.T) {
	var c blockCounts
	for _, horizon := range []int64{-1, 0, 999, 1000, 1001, 5000} {
		c.tombstone(horizon, 1000)
	}
	if c.TombstonesFresh != 1 || c.TombstonesDue != 3 || c.TombstonesKept != 2 {
		t.Errorf("%+v", c.LogCounts)
	}
}

// A sample is an estimate, says so, and is not far off.
func TestChangelogSample(t *testing.T) {
	k, c := changelogWorld(t)
	const topic, keys, records = "app-sample-changelog", 5_000, 400_000
	makeTopic(t, k, topic, 1, "cleanup.policy", "compact")
	rnd := rand.New(rand.NewPCG(5, 6))
	value := make([]byte, 100)
	err := k.Produce(t.Context(), topic, "", func(yield func(*kafkatest.Record) bool) {
		for i := range records {
			if !yield(&kafkatest.Record{Key: fmt.Appendf(nil, "key-%d", rnd.IntN(keys)), Value: value, Timestamp: int64(i)}) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := readOne(t, c, ChangelogOptions{Topics: []string{topic}, Sample: true})
	n := got.Total
	if !got.Estimate || n.Tail != nil || n.TailUnmeasured == "" || n.Keys == nil {
		t.Fatalf("%+v", got)
	}
	near := func(what string, got, want int64) {
		if got < want*8/10 || got > want*12/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	near("records", n.Records, records)
	near("log bytes", n.LogBytes, n.Bytes)
	near("uncompressed bytes", n.UncompressedBytes, n.Bytes)
	near("keys", n.Keys.Distinct, keys)
	near("superseded", n.Keys.Superseded, records-keys)
	// What is small is read whole.
	makeTopic(t, k, "app-small-changelog", 1)
	if err := k.ProduceAll(t.Context(), "app-small-changelog", kafkatest.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if got := readOne(t, c, ChangelogOptions{Topics: []string{"app-small-changelog"}, Sample: true}); got.Estimate || got.Total.Records != 1 {
		t.Errorf("%+v", got)
	}
}

// Which topics are read: exactly those named, or those of exactly one
// application; and what goes wrong.
func TestChangelogTopics(t *testing.T) {
	k, c := changelogWorld(t)
	for _, name := range []string{"app-a-changelog", "app-b-changelog", "app2-c-changelog", "app-r-repartition"} {
		makeTopic(t, k, name, 1)
	}
	r, err := Changelog(t.Context(), c, ChangelogOptions{ApplicationID: "app"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range r.Topics {
		names = append(names, x.Topic+"="+x.Store)
	}
	if !slices.Equal(names, []string{"app-a-changelog=a", "app-b-changelog=b"}) {
		t.Errorf("%q", names)
	}
	for _, tc := range []struct {
		o    ChangelogOptions
		kind op.Kind
		text string
	}{
		{ChangelogOptions{}, op.Usage, "which changelog"},
		{ChangelogOptions{Topics: []string{"a b"}}, op.Usage, "character"},
		{ChangelogOptions{ApplicationID: "a/b"}, op.Usage, "character"},
		{ChangelogOptions{Topics: []string{"app-a-changelog", "app-b-changelog"}, Kind: streams.KV}, op.Usage, "one store"},
		{ChangelogOptions{ApplicationID: "ap"}, op.NotFound, "ap-"},
		{ChangelogOptions{Topics: []string{"app-x-changelog"}}, op.NotFound, "app-x-changelog"},
		{ChangelogOptions{Topics: []string{"app-a-changelog"}, Partitions: []int32{7}}, op.NotFound, "partition 7"},
		{ChangelogOptions{Topics: []string{"app-a-changelog", "app-x-changelog"}}, op.Partial, "1 of 2"},
	} {
		r, err := Changelog(t.Context(), c, tc.o, nil)
		if op.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%+v: %v (%s)", tc.o, err, op.KindOf(err))
		}
		if tc.kind == op.Partial && (r == nil || len(r.Topics) != 1 || len(r.Failed) != 1 || r.Failed[0].Kind != "not_found") {
			t.Errorf("partial: %+v", r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Changelog(ctx, c, ChangelogOptions{Topics: []string{"app-a-changelog"}}, nil); err == nil {
		t.Error("it went on after it was cancelled")
	}
}
