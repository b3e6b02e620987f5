package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/worldtest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The reader against a real broker: what it delivers is what franz-go's own
// consumer delivers, over transactions, aborts, codecs and compaction gaps;
// and the facts about transactions and times are those of the broker.
func TestRealBroker(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	ctx := context.Background()
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if id, err := c.ClusterID(ctx); err != nil || id != b.ClusterID {
		t.Errorf("cluster id %q, %v", id, err)
	}
	t.Run("transactions and compaction", func(t *testing.T) { realLog(t, b, c) })
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			topic := "codec-" + codec
			g, err := worldtest.Generate(ctx, b.Bootstrap, worldtest.GenOptions{Topic: topic, Records: 50_000, TombstonePct: 5, Codec: codec})
			if err != nil {
				t.Fatal(err)
			}
			if _, n, err := c.RawConsume(ctx, topic); err != nil || n != g.Records {
				t.Fatalf("%d records of %d, %v", n, g.Records, err)
			}
		})
	}
	t.Run("open transaction", func(t *testing.T) { realOpenTransaction(t, b, c) })
	t.Run("groups", func(t *testing.T) { realGroups(t, b, c) })
	t.Run("log start", func(t *testing.T) {
		if err := worldtest.MoveLogStart(ctx, b.Bootstrap, "codec-none", 0, 777); err != nil {
			t.Fatal(err)
		}
		_, err := read(ctx, c, kafka.ReadOptions{Topic: "codec-none", To: 1000})
		var moved *kafka.LogStartMovedError
		if !errors.As(err, &moved) || moved.LogStart != 777 {
			t.Fatal(err)
		}
	})
	t.Run("broker restarts", func(t *testing.T) { realRestart(t, b, c) })
}

type rec struct {
	off, ts  int64
	key, val string
}

func show(p []byte) string {
	if p == nil {
		return "<nil>"
	}
	return string(p)
}

func read(ctx context.Context, c *kafka.Client, o kafka.ReadOptions) (out []rec, err error) {
	r, err := c.OpenPartition(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var d kafka.Decoder
	for {
		blk, err := r.Next(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if _, err := d.Decode(blk, func(r *kafka.Record) error {
			out = append(out, rec{r.Offset, r.Timestamp, show(r.Key), show(r.Value)})
			return nil
		}); err != nil {
			return out, err
		}
	}
}

// consume is franz-go's consumer up to the end offset.
func consume(t *testing.T, bootstrap, topic string, end int64, committed bool) (out []rec) {
	t.Helper()
	level := kgo.ReadUncommitted()
	if committed {
		level = kgo.ReadCommitted()
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for last := int64(-1); last < end-1; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if last = r.Offset; !r.Attrs.IsControl() {
				out = append(out, rec{r.Offset, r.Timestamp.UnixMilli(), show(r.Key), show(r.Value)})
			}
		})
	}
	return out
}

// realLog writes a random log and compares, before and after compaction.
func realLog(t *testing.T, b *worldtest.Broker, c *kafka.Client) {
	ctx := context.Background()
	const topic = "random-changelog"
	if err := worldtest.CreateTopic(ctx, b.Bootstrap, topic, 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	base := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	n := 0
	for range 60 {
		var recs []worldtest.Record
		for range 1 + rng.IntN(20) {
			r := worldtest.Record{Key: fmt.Append(nil, "k", rng.IntN(30)), Timestamp: base.Add(time.Duration(n) * time.Second)}
			switch rng.IntN(8) {
			case 0:
			case 1:
				r.Value = []byte{}
			default:
				r.Value = fmt.Append(nil, "v", n)
			}
			recs, n = append(recs, r), n+1
		}
		var err error
		switch rng.IntN(3) {
		case 0:
			err = worldtest.ProduceTxn(ctx, b.Bootstrap, topic, true, recs...)
		case 1:
			err = worldtest.ProduceTxn(ctx, b.Bootstrap, topic, false, recs...)
		default:
			err = worldtest.Produce(ctx, b.Bootstrap, topic, recs...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	compare := func(when string) {
		o, err := c.Offsets(ctx, topic, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, committed := range []bool{false, true} {
			want := consume(t, b.Bootstrap, topic, o[0].End, committed)
			for _, size := range []int32{1, 1000, 0} {
				got, err := read(ctx, c, kafka.ReadOptions{Topic: topic, From: o[0].Start, To: o[0].End, ReadCommitted: committed, MaxBytes: size})
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s, committed %v, fetch %d: %d records, want %d; %v", when, committed, size, len(got), len(want), err)
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%s, committed %v: record %d is %v, want %v", when, committed, i, got[i], want[i])
					}
				}
			}
			for _, r := range want[:min(len(want), 5)] {
				if off, err := c.OffsetForTime(ctx, topic, 0, r.ts); err != nil || off > r.off {
					t.Errorf("%s: offset for time %d is %d, %v; the record has %d", when, r.ts, off, err, r.off)
				}
			}
		}
	}
	compare("as written")
	if err := b.Compact(ctx, topic); err != nil {
		t.Fatal(err)
	}
	compare("compacted")
}

func realOpenTransaction(t *testing.T, b *worldtest.Broker, c *kafka.Client) {
	ctx := context.Background()
	const topic = "open-changelog"
	if err := worldtest.CreateTopic(ctx, b.Bootstrap, topic, 1, nil); err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap), kgo.TransactionalID("never-ends"), kgo.TransactionTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: []byte("k")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	open, err := c.OpenTransactions(ctx, topic, 0)
	if err != nil || len(open) != 1 || open[0].TransactionalID != "never-ends" || open[0].StartOffset != 0 || open[0].Age(time.Now()) > time.Minute || open[0].Timeout != time.Minute {
		t.Fatal(open, err)
	}
	_, err = read(ctx, c, kafka.ReadOptions{Topic: topic, To: 1, ReadCommitted: true, StallTimeout: 8 * time.Second})
	var held *kafka.OpenTransactionError
	if !errors.As(err, &held) || held.Gap() != 1 || len(held.Transactions) != 1 {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(ctx, kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	got, err := read(ctx, c, kafka.ReadOptions{Topic: topic, To: 2, ReadCommitted: true})
	if err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
}

// realRestart hangs, kills and restarts the broker under a reader.
func realRestart(t *testing.T, b *worldtest.Broker, c *kafka.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	const topic = "codec-lz4"
	o, err := c.Offsets(ctx, topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(stall time.Duration) *kafka.PartitionReader {
		r, err := c.OpenPartition(ctx, kafka.ReadOptions{Topic: topic, To: o[0].End, MaxBytes: 1, StallTimeout: stall})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	drain := func(r *kafka.PartitionReader, after int, fault func()) (int64, error) {
		defer r.Close()
		var d kafka.Decoder
		var n int64
		for i := 0; ; i++ {
			if i == after {
				fault()
			}
			blk, err := r.Next(ctx)
			if err == io.EOF {
				return n, nil
			}
			if err != nil {
				return n, err
			}
			st, err := d.Decode(blk, func(*kafka.Record) error { return nil })
			if err != nil {
				return n, err
			}
			n += st.Records
		}
	}
	n, err := drain(open(time.Minute), 1, func() {
		b.Kill()
		if err := b.Start(ctx); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || n != o[0].End {
		t.Fatalf("%d records of %d, %v", n, o[0].End, err)
	}
	_, err = drain(open(8*time.Second), 1, func() {
		if err := b.Pause(); err != nil {
			t.Fatal(err)
		}
	})
	if op.KindOf(err) != op.Unreachable {
		t.Fatal(err)
	}
	t.Log(err)
	if err := b.Resume(); err != nil {
		t.Fatal(err)
	}
	n, err = drain(open(time.Minute), -1, nil)
	if err != nil || n != o[0].End {
		t.Fatalf("%d records of %d, %v", n, o[0].End, err)
	}
}

// realGroups asks for groups of all three protocols.
func realGroups(t *testing.T, b *worldtest.Broker, c *kafka.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	const topic = "codec-none"
	for _, kind := range []string{"classic", "consumer"} {
		opts := []kgo.Opt{kgo.SeedBrokers(b.Bootstrap), kgo.ConsumerGroup("group-" + kind), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
		if kind == "consumer" {
			opts = append(opts, kgo.ServerSideBalancer())
		}
		m, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		fs := m.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		if err := m.CommitRecords(ctx, fs.Records()[:5]...); err != nil {
			t.Fatal(err)
		}
		if state, members, err := c.Group(ctx, "group-"+kind); err != nil || state != "Stable" || members != 1 {
			t.Errorf("%s group: %s with %d members, %v", kind, state, members, err)
		}
		if o, err := c.CommittedOffsets(ctx, "group-"+kind, topic); err != nil || len(o) != 1 || o[0] != 5 {
			t.Errorf("%s group: committed %v, %v", kind, o, err)
		}
		m.LeaveGroup()
		m.Close()
		if state, members, err := c.Group(ctx, "group-"+kind); err != nil || state != "Empty" || members != 0 {
			t.Errorf("%s group: %s with %d members, %v", kind, state, members, err)
		}
	}
	_, _, err := c.Group(ctx, "group-clasic")
	if op.KindOf(err) != op.NotFound || len(op.Tries(err)) != 1 {
		t.Errorf("%v, try %v", err, op.Tries(err))
	}
	if o, err := c.CommittedOffsets(ctx, "nobody", topic); err != nil || len(o) != 0 {
		t.Errorf("of a group that does not exist: %v, %v", o, err)
	}
	// A streams group (KIP-1071) of a real application that has stopped.
	h := worldtest.Streams(t, worldtest.Newest)
	app := worldtest.ProfileNamed("kv4").App("streams-group", b.Bootstrap, t.TempDir(), false)
	if app.Settings == nil {
		app.Settings = map[string]string{}
	}
	app.Settings["group.protocol"] = "streams"
	if _, err := h.Build(ctx, app, worldtest.Input{Records: 20}); err != nil {
		t.Fatal(err)
	}
	if state, members, err := c.Group(ctx, app.ID); err != nil || state == "" || members > 1 {
		t.Errorf("streams group: %q with %d members, %v", state, members, err)
	} else {
		t.Logf("streams group: %s with %d members", state, members)
	}
}
