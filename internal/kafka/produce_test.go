package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func producer(t testing.TB, c *Client, o ProducerOptions) *Producer {
	t.Helper()
	p, err := c.OpenProducer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// workload sends n records of all shapes over the partitions and returns what
// must be read back of each.
func workload(t testing.TB, p *Producer, partitions int32, n int) [][]got {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	want := make([][]got, partitions)
	for i := range n {
		rec := ProduceRecord{Partition: r.Int32N(partitions), Timestamp: r.Int64N(1 << 41), Key: fmt.Appendf(nil, "k%d", i), Tag: int64(i)}
		switch r.IntN(10) {
		case 0: // null
		case 1:
			rec.Value = []byte{}
		case 2:
			rec.Value = make([]byte, r.IntN(3000))
		default:
			rec.Value = fmt.Appendf(nil, "v%d", i)
		}
		headers := 0
		if r.IntN(5) == 0 {
			headers = 2
			rec.Headers = []byte{4, 2, 'a', 1, 2, 'b', 2, 'x'}
		}
		if r.IntN(100) == 0 {
			rec.Key = []byte{}
		}
		if err := p.Send(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		want[rec.Partition] = append(want[rec.Partition], got{int64(len(want[rec.Partition])), rec.Timestamp, str(rec.Key), str(rec.Value), headers})
	}
	return want
}

func wantRecords(t testing.TB, c *Client, topic string, want [][]got) {
	t.Helper()
	for part, w := range want {
		recs, _, _, err := readAll(t, c, ReadOptions{Topic: topic, Partition: int32(part), To: int64(len(w))})
		if err != nil || len(recs) != len(w) {
			t.Fatalf("partition %d: %d records, want %d: %v", part, len(recs), len(w), err)
		}
		for i := range w {
			if recs[i] != w[i] {
				t.Fatalf("partition %d: %+v, want %+v", part, recs[i], w[i])
			}
		}
		ends, err := c.Offsets(t.Context(), topic, []int32{int32(part)})
		if err != nil || ends[int32(part)].End != int64(len(w)) {
			t.Fatalf("partition %d ends at %d, want %d: %v", part, ends[int32(part)].End, len(w), err)
		}
	}
}

// What is sent is what is read, in every codec and with a buffer of any size,
// and every record is acknowledged once, in order, with its offset.
func TestProducer(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3})
	c := open(t, k)
	for i, codec := range []string{"", "none", "gzip", "snappy", "lz4", "zstd"} {
		for _, buffer := range []int64{0, 100_000, 1} {
			name := fmt.Sprintf("t%d-%d", i, buffer)
			topic(t, k, name, 5)
			var acks [5]int64
			var n int64
			seen := map[int64]bool{}
			p := producer(t, c, ProducerOptions{Topic: name, Compression: codec, BufferBytes: buffer, OnAck: func(part int32, offset, tag int64) {
				if offset != acks[part] || seen[tag] {
					t.Errorf("partition %d: offset %d, want %d", part, offset, acks[part])
				}
				acks[part]++
				n++
				seen[tag] = true
			}})
			want := workload(t, p, 5, 3000)
			if err := p.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n != 3000 {
				t.Errorf("%d acknowledged", n)
			}
			wantRecords(t, c, name, want)
			if err := p.Flush(t.Context()); err != nil {
				t.Error("with nothing to do:", err)
			}
			p.Close()
			if err := p.Send(t.Context(), ProduceRecord{}); err == nil || !strings.Contains(err.Error(), "closed") {
				t.Error(err)
			}
		}
	}
}

// Memory stays within the buffer, whatever the number of partitions.
func TestProducerBuffer(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 200)
	const limit = 2 << 20
	p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: limit})
	most := int64(0)
	value := make([]byte, 1000)
	for i := range 20_000 {
		if err := p.Send(t.Context(), ProduceRecord{Partition: int32(i % 200), Value: value}); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		most = max(most, p.held)
		p.mu.Unlock()
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most > limit+64<<10 || most < limit/2 {
		t.Errorf("%d bytes held, the limit is %d", most, limit)
	}
}

// Every kind of trouble that passes: nothing is lost, nothing is there twice,
// the order stays.
func TestProducerFaults(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut,
		kerr.LeaderNotAvailable, kerr.UnknownServerError, kerr.KafkaStorageError, nil} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			k := startCluster(t, kafkatest.Options{Brokers: 2})
			c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"retry.backoff.ms": "10", "retry.backoff.max.ms": "20"}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			topic(t, k, "t", 3)
			var n atomic.Int32
			// Some requests fail, among them such that were written all the same.
			k.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				k.KeepControl()
				if n.Add(1)%3 != 0 {
					return nil, nil, false
				}
				if code == nil {
					return nil, errors.New("the connection breaks"), true
				}
				req := kreq.(*kmsg.ProduceRequest)
				resp := req.ResponseKind().(*kmsg.ProduceResponse)
				rt := kmsg.NewProduceResponseTopic()
				rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
				for _, p := range req.Topics[0].Partitions {
					rp := kmsg.NewProduceResponseTopicPartition()
					rp.Partition, rp.ErrorCode = p.Partition, code.Code
					rt.Partitions = append(rt.Partitions, rp)
				}
				resp.Topics = append(resp.Topics, rt)
				return resp, nil, true
			})
			p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: 100_000})
			want := workload(t, p, 3, 1500)
			if err := p.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantRecords(t, c, "t", want)
		})
	}
}

// A broker that has written a batch and whose answer is lost gets it again,
// and knows it.
func TestProducerAnswerLost(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	var reads atomic.Int32
	lossy, err := kgo.NewClient(append(slices.Clone(c.opts), kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &lossyConn{conn, &reads}, err
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	whole := c.cl
	defer whole.Close()
	c.cl = lossy
	p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: 20_000})
	var n int64
	p.o.OnAck = func(_ int32, offset, _ int64) {
		if offset != n {
			t.Errorf("offset %d, want %d", offset, n)
		}
		n++
	}
	want := workload(t, p, 1, 2000)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, c, "t", want)
	if n != 2000 {
		t.Errorf("%d acknowledged", n)
	}
}

// lossyConn loses every seventh answer: the broker has sent it.
type lossyConn struct {
	net.Conn
	reads *atomic.Int32
}

func (c *lossyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.reads.Add(1)%7 == 0 {
		c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func TestProducerLeaderMoves(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3})
	c := open(t, k)
	topic(t, k, "t", 4)
	p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: 50_000})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10 {
			k.ShufflePartitionLeaders()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	want := workload(t, p, 4, 20_000)
	<-done
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, c, "t", want)
}

// A topic whose limit is not known takes batches of half the size, and of half
// that; a single record that is too large is named.
func TestProducerTooLarge(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1, "max.message.bytes", "20000")
	for _, codec := range []string{"", "lz4"} {
		p := producer(t, c, ProducerOptions{Topic: "t", Compression: codec})
		if p.limit != 20_000 {
			t.Errorf("limit %d", p.limit)
		}
	}
	p := producer(t, c, ProducerOptions{Topic: "t", OnAck: func(int32, int64, int64) {}})
	p.limit = 1 << 20
	want := workload(t, p, 1, 3000)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, c, "t", want)
	if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k"), Value: make([]byte, 30_000)}); err != nil {
		t.Fatal(err)
	}
	err := p.Flush(t.Context())
	optest.WantKind(t, err, op.Failed, `topic "t"`, "partition 0", "30073 bytes", "max.message.bytes")
	if again := p.Send(t.Context(), ProduceRecord{}); again != err {
		t.Errorf("then %v", again)
	}
}

func TestProducerErrors(t *testing.T) {
	answer := func(k *kafkatest.Cluster, code *kerr.Error, text string) {
		k.ControlKey(int16(kmsg.Produce), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			k.KeepControl()
			req := kreq.(*kmsg.ProduceRequest)
			resp := req.ResponseKind().(*kmsg.ProduceResponse)
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.ErrorCode = code.Code
			if text != "" {
				rp.ErrorMessage = &text
			}
			rt.Partitions = append(rt.Partitions, rp)
			resp.Topics = append(resp.Topics, rt)
			return resp, nil, true
		})
	}
	for _, x := range []struct {
		code *kerr.Error
		text string
		kind op.Kind
		want []string
	}{
		{kerr.TopicAuthorizationFailed, "", op.Unreachable, []string{"access denied", "WRITE on Topic:t", "kafka-acls.sh"}},
		{kerr.NotEnoughReplicas, "", op.Unreachable, []string{"took nothing for 1s", "NOT_ENOUGH_REPLICAS", "min.insync.replicas"}},
		{kerr.InvalidRecord, "Compacted topic cannot accept message without key", op.Failed, []string{"partition 0", "without key"}},
		{kerr.InvalidTimestamp, "", op.Failed, []string{"message.timestamp.before.max.ms"}},
		{kerr.OutOfOrderSequenceNumber, "", op.Failed, []string{"may be lost", "again"}},
		{kerr.PolicyViolation, "no", op.Failed, []string{"POLICY_VIOLATION", "no"}},
		{kerr.NotLeaderForPartition, "", op.Unreachable, []string{"took nothing", "delivery.timeout.ms"}},
	} {
		t.Run(x.code.Message, func(t *testing.T) {
			t.Parallel()
			k := startCluster(t, kafkatest.Options{})
			c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"delivery.timeout.ms": "1000"}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			topic(t, k, "t", 1)
			p := producer(t, c, ProducerOptions{Topic: "t"})
			answer(k, x.code, x.text)
			if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err != nil {
				t.Fatal(err)
			}
			optest.WantKind(t, p.Flush(t.Context()), x.kind, x.want...)
		})
	}
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	_, err := c.OpenProducer(t.Context(), ProducerOptions{Topic: "tt"})
	optest.WantKind(t, err, op.NotFound, `topic "tt"`)
	_, err = c.OpenProducer(t.Context(), ProducerOptions{Topic: "t", Compression: "brotli"})
	optest.WantKind(t, err, op.Usage, "brotli", "zstd")
	p := producer(t, c, ProducerOptions{Topic: "t"})
	optest.WantKind(t, p.Send(t.Context(), ProduceRecord{Partition: 3}), op.Usage, "no partition 3")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.SleepControl(func() { time.Sleep(200 * time.Millisecond) })
		return nil, nil, false
	})
	if err := p.Send(ctx, ProduceRecord{}); err != nil {
		t.Error(err)
	}
	if err := p.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A topic that is deleted, and one that is made anew, while it is written.
func TestProducerTopicGone(t *testing.T) {
	for _, again := range []bool{false, true} {
		k := startCluster(t, kafkatest.Options{})
		c := open(t, k)
		topic(t, k, "t", 1)
		p := producer(t, c, ProducerOptions{Topic: "t"})
		if err := c.DeleteTopics(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		kind := op.NotFound
		if again {
			topic(t, k, "t", 1)
			kind = op.Precondition
		}
		if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err != nil {
			t.Fatal(err)
		}
		optest.WantKind(t, p.Flush(t.Context()), kind, `"t"`)
	}
}

func TestProducerDenied(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}},
		Extra: kafkatest.DescribeOnly("bob", "b", "t")})
	topic(t, k, "t", 1)
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
		"sasl.jaas.config": `x.PlainLoginModule required username="bob" password="b";`}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if may, err := c.MayWrite(t.Context(), "t"); may || err != nil {
		t.Error(may, err)
	}
	p, err := c.OpenProducer(t.Context(), ProducerOptions{Topic: "t"})
	if err == nil {
		if err = p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err == nil {
			err = p.Flush(t.Context())
		}
		p.Close()
	}
	optest.WantKind(t, err, op.Unreachable, "access denied", "IDEMPOTENT_WRITE on Cluster:kafka-cluster", "User:bob")
	optest.WantKind(t, c.CreateTopic(t.Context(), NewTopic{Name: "x", Partitions: 1}), op.Unreachable, "CREATE on Topic:x")
	optest.WantKind(t, c.DeleteTopics(t.Context(), "t"), op.Unreachable, "DELETE on Topic:t")
	optest.WantKind(t, c.AlterTopicConfig(t.Context(), "t", map[string]string{"retention.ms": "1"}, nil), op.Unreachable, "ALTER_CONFIGS on Topic:t")
	optest.WantKind(t, c.CommitGroupOffsets(t.Context(), "g", []GroupOffset{{Topic: "t", Offset: 1}}), op.Unreachable, "READ on Group:g")
	_, err = c.GroupOffsets(t.Context(), "g")
	optest.WantKind(t, err, op.Unreachable, "DESCRIBE on Group:g")
	_, err = c.TopicACLs(t.Context(), "t")
	optest.WantKind(t, err, op.Unreachable, "DESCRIBE on Cluster:kafka-cluster")
	optest.WantKind(t, c.CreateACLs(t.Context(), []ACL{{Topic: "t", Principal: "User:x", Host: "*", Operation: "READ", Permission: "ALLOW"}}), op.Unreachable, "ALTER on Cluster:kafka-cluster")
}

func TestNextSeq(t *testing.T) {
	for _, x := range [][3]int32{{0, 5, 5}, {1<<31 - 1, 1, 0}, {1<<31 - 3, 5, 2}, {1<<31 - 6, 5, 1<<31 - 1}} {
		if got := nextSeq(x[0], x[1]); got != x[2] {
			t.Errorf("%d + %d: %d, want %d", x[0], x[1], got, x[2])
		}
	}
}

// Several goroutines send at once, with a buffer that is always full.
func TestProducerConcurrent(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 2})
	c := open(t, k)
	topic(t, k, "t", 4)
	const n = 30_000
	requests := atomic.Int32{}
	k.AtProduce(func(int32) error { requests.Add(1); return nil })
	p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: 400_000})
	var wg sync.WaitGroup
	for part := range int32(4) {
		wg.Go(func() {
			for i := range n {
				if err := p.Send(t.Context(), ProduceRecord{Partition: part, Timestamp: int64(i), Key: fmt.Appendf(nil, "k%d", i), Value: []byte("value")}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := make([][]got, 4)
	for part := range want {
		for i := range n {
			want[part] = append(want[part], got{int64(i), int64(i), fmt.Sprintf("k%d", i), "value", 0})
		}
	}
	wantRecords(t, c, "t", want)
	if r := requests.Load(); r > 400 {
		t.Errorf("%d requests for 2.5 MB with a buffer of 400 kB", r)
	}
}
