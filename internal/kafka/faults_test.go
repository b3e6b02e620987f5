package kafka

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batches produces n batches of ten records each.
func batches(t testing.TB, k *kafkatest.Cluster, topic string, n int) {
	t.Helper()
	for i := range n {
		produce(t, k, topic, numbered(10*i, 10)...)
	}
}

// wantAll fails unless the offsets are from..to-1.
func wantAll(t testing.TB, recs []got, from, to int64) {
	t.Helper()
	for i, r := range recs {
		if r.off != from+int64(i) {
			t.Fatalf("record %d has offset %d", i, r.off)
		}
	}
	if int64(len(recs)) != to-from {
		t.Fatalf("%d records, want %d", len(recs), to-from)
	}
}

func kinds(events []ReadEvent) (out []ReadEventKind) {
	for _, e := range events {
		if !slices.Contains(out, e.Kind) {
			out = append(out, e.Kind)
		}
	}
	return out
}

func TestLeaderMoves(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 30)
	var fetches atomic.Int32
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	moves := 0
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 300, MaxBytes: 1, OnEvent: func(e ReadEvent) {
		if e.Kind == ReadLeaderMoved {
			moves++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var d Decoder
	n := int64(0)
	conns := map[*answering]bool{}
	for {
		b, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if conn := fetching(c); conn != nil {
			conns[conn] = true
		}
		st, err := d.Decode(b, func(r *Record) error {
			if r.Offset != n {
				t.Fatalf("offset %d, want %d", r.Offset, n)
			}
			n++
			return nil
		})
		if err != nil || st.Records != 10 {
			t.Fatal(st, err)
		}
		if n%50 == 0 {
			if err := k.MoveTopicPartition("t", 0, (k.LeaderFor("t", 0)+1)%3); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 300 || moves == 0 {
		t.Fatalf("%d records, %d moves noticed", n, moves)
	}
	// A connection to a broker that led before is franz-go's again, which
	// closes what is idle.
	r.Close()
	for conn := range conns {
		conn.mu.Lock()
		if conn.taken {
			t.Errorf("a connection to %s is still taken", conn.RemoteAddr())
		}
		conn.mu.Unlock()
	}
	if len(conns) < 2 {
		t.Errorf("%d connections seen, expected those of several leaders", len(conns))
	}
}

func TestTransientFetchErrors(t *testing.T) {
	t.Parallel()
	for _, e := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnknownTopicID,
		kerr.UnknownTopicOrPartition, kerr.KafkaStorageError, kerr.OffsetNotAvailable, kerr.UnknownServerError, kerr.InconsistentTopicID,
		kerr.OffsetOutOfRange} {
		t.Run(e.Message, func(t *testing.T) {
			k := startCluster(t, kafkatest.Options{})
			c := open(t, k)
			topic(t, k, "t", 1)
			batches(t, k, "t", 3)
			k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Err: e, Count: 2})
			recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 30, StallTimeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			wantAll(t, recs, 0, 30)
			if !slices.Contains(kinds(events), ReadRetry) {
				t.Fatalf("events %v", events)
			}
		})
	}
}

func TestTransientMetadataErrors(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 3)
	for _, e := range []*kerr.Error{kerr.UnknownTopicOrPartition, kerr.LeaderNotAvailable} {
		k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "t", Err: e, Count: 2})
		recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 30, StallTimeout: time.Minute})
		if err != nil {
			t.Fatal(e, err)
		}
		wantAll(t, recs, 0, 30)
	}
}

func TestConnectionDrops(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	var n atomic.Int32
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if n.Add(1)%3 == 0 {
			return nil, errors.New("gone"), true
		}
		return nil, nil, false
	})
	recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 200, MaxBytes: 1, StallTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 0, 200)
	if !slices.Contains(kinds(events), ReadRetry) {
		t.Fatalf("events %v", events)
	}
}

func TestBrokerGone(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 1, StallTimeout: 8 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.Close()
	start := time.Now()
	for err == nil {
		_, err = r.Next(t.Context())
	}
	optest.WantKind(t, err, op.Unreachable, "t-0", "at offset ", "no progress for 8s", "connection refused", "--stall-timeout")
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %s", d)
	}
	if _, again := r.Next(t.Context()); again != err {
		t.Errorf("then %v", again)
	}
}

// A broker that takes requests and never answers.
func TestBrokerHangs(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 2)
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		return nil, nil, true
	})
	_, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 20, StallTimeout: 8 * time.Second})
	optest.WantKind(t, err, op.Unreachable, "t-0", "at offset 0", "no progress for 8s")
	if !slices.Contains(kinds(events), ReadSmaller) {
		t.Errorf("events %v", events)
	}
}

func TestLogStartMoves(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := r.Next(t.Context())
	if err != nil || b.Next != 10 {
		t.Fatal(b, err)
	}
	if err := k.DeleteRecords("t", 0, 155); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Next(t.Context())
	}
	var moved *LogStartMovedError
	if !errors.As(err, &moved) || moved.LogStart != 155 || moved.Position < 10 || moved.Position > 155 {
		t.Fatal(err)
	}
	recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", From: moved.LogStart, To: 200})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 155, 200)
}

// Offsets past the end: the log was cut back by an unclean leader election.
func TestPositionPastTheEnd(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 2)
	_, _, _, err := readAll(t, c, ReadOptions{Topic: "t", From: 500, To: 600, StallTimeout: 8 * time.Second})
	optest.WantKind(t, err, op.Unreachable, "t-0", "at offset 500", "OFFSET_OUT_OF_RANGE")
	_, _, _, err = readAll(t, c, ReadOptions{Topic: "t", From: 20, To: 600, StallTimeout: 8 * time.Second})
	optest.WantKind(t, err, op.Unreachable, "t-0", "at offset 20", "no records")
}

func TestMissing(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "orders-payments-changelog", 2)
	ctx := t.Context()
	check := func(what string, err error) {
		t.Run(what, func(t *testing.T) {
			optest.WantKind(t, err, op.NotFound, "orders-payment-changelog", "orders-payments-changelog")
		})
	}
	const wrong = "orders-payment-changelog"
	_, err := c.Topic(ctx, wrong)
	check("topic", err)
	_, err = c.Offsets(ctx, wrong, []int32{0})
	check("offsets", err)
	_, err = c.TopicConfig(ctx, wrong)
	check("config", err)
	_, err = c.OffsetForTime(ctx, wrong, 0, 5)
	check("time", err)
	_, err = c.OpenPartition(ctx, ReadOptions{Topic: wrong, To: 1})
	check("read", err)
	_, err = c.OpenPartition(ctx, ReadOptions{Topic: "orders-payments-changelog", Partition: 7, To: 1})
	optest.WantKind(t, err, op.NotFound, "no partition 7", "0 to 1")
	_, err = c.Offsets(ctx, "orders-payments-changelog", []int32{0, 7})
	optest.WantKind(t, err, op.NotFound, "no partition 7", "0 to 1")
}

func TestTopicRecreated(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := k.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	for err == nil {
		_, err = r.Next(t.Context())
	}
	optest.WantKind(t, err, op.Failed, "t-0", "created anew")
}

func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 1)
	finish, err := k.Begin(t.Context(), "t", numbered(10, 3)...)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Offsets(t.Context(), "t", nil)
	if err != nil || o[0] != (PartitionOffsets{0, 13, 10}) {
		t.Fatal(o, err)
	}
	open, err := c.OpenTransactions(t.Context(), "t", 0)
	if err != nil || len(open) != 1 || open[0].StartOffset != 10 || open[0].ProducerID < 0 || open[0].TransactionalID == "" {
		t.Fatal(open, err)
	}
	var fetches atomic.Int32
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	recs, _, events, err := readAll(t, c, ReadOptions{Topic: "t", To: 13, ReadCommitted: true, StallTimeout: 8 * time.Second})
	var ote *OpenTransactionError
	if !errors.As(err, &ote) || ote.Gap() != 3 || ote.LastStable != 10 || len(ote.Transactions) != 1 {
		t.Fatal(err)
	}
	optest.WantKind(t, err, op.Precondition, "t-0", "at 10", "3 before the end offset 13", "producer ", "old", "kafka-transactions.sh abort", "--start-offset 10")
	wantAll(t, recs, 0, 10)
	// What a machine that stands still makes of a fetch does not matter here.
	events = slices.DeleteFunc(events, func(e ReadEvent) bool { return e.Kind == ReadRetry || e.Kind == ReadSmaller })
	if got := kinds(events); !slices.Equal(got, []ReadEventKind{ReadOpenTxn}) || len(events) != 1 {
		t.Errorf("events %v", events)
	}
	// Each waits half a second, so a slow machine makes fewer.
	if n := fetches.Load(); n > 20 {
		t.Errorf("%d fetches in eight seconds of waiting", n)
	}
	// read_uncommitted does not wait.
	recs, _, _, err = readAll(t, c, ReadOptions{Topic: "t", To: 13})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 0, 13)
	// Once it commits, a waiting reader goes on.
	recs, _, _, err = readAll(t, c, ReadOptions{Topic: "t", To: 13, ReadCommitted: true, StallTimeout: time.Minute, OnEvent: func(e ReadEvent) {
		if err := finish(true); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 0, 13)
}

// The reader holds at most one response before the caller takes it.
func TestPrefetchIsBounded(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	var fetches atomic.Int32
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	for _, prefetch := range []int{1, 3} {
		fetches.Store(0)
		r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 1, Prefetch: prefetch})
		if err != nil {
			t.Fatal(err)
		}
		for taken := 0; taken < 3; taken++ {
			for end := time.Now().Add(time.Minute); int(fetches.Load()) < taken+prefetch && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond) // for one that is too many
			if n := int(fetches.Load()); n != taken+prefetch {
				t.Errorf("prefetch %d: %d fetches after %d blocks", prefetch, n, taken)
			}
			if _, err := r.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
}

func TestCloseAndCancel(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 2)
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		return nil, nil, true
	})
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 20, StallTimeout: time.Hour}) // so that the fetch lasts
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	start := time.Now()
	r.Close()
	r.Close()
	if d := time.Since(start); d > time.Minute {
		t.Errorf("close took %s", d)
	}
	if _, err := r.Next(t.Context()); err == nil || err == io.EOF {
		t.Errorf("after close: %v", err)
	}
}

// Closing the client ends its readers.
func TestClientClose(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 1, StallTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Close()
	start := time.Now()
	for err == nil {
		_, err = r.Next(t.Context())
	}
	if err == io.EOF || time.Since(start) > time.Minute {
		t.Fatal(err, time.Since(start))
	}
	if _, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200}); err == nil {
		t.Fatal("opened on a closed client")
	}
}

// Connections are reused: a hundred partitions one after the other do not
// make a hundred.
func TestConnectionsAreReused(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	batches(t, k, "t", 1)
	for range 10 {
		recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 10})
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, recs, 0, 10)
	}
	if len(c.idle) != 1 || len(c.busy) != 0 {
		t.Errorf("%d idle and %d busy fetch clients", len(c.idle), len(c.busy))
	}
}
