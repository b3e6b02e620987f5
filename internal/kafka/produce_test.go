package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/kafkatest"

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

// holdUntilFull keeps the first request until the buffer is full: without it
// a fast broker may confirm records as fast as they are sent.
func holdUntilFull(p *Producer) func(int32) error {
	return func(n int32) error {
		if n > 1 {
			return nil
		}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			p.mu.Lock()
			full := p.full
			p.mu.Unlock()
			if full {
				break
			}
		}
		return nil
	}
}

// Memory stays within the buffer, whatever the number of partitions.
func TestProducerBuffer(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 200)
	const limit = 2 << 20
	p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: limit})
	k.AtProduce(holdUntilFull(p))
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
		kerr.LeaderNotAvailable, kerr.KafkaStorageError, nil} {
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
	c.opts = append(c.opts, kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &lossyConn{conn, &reads}, err
	}))
	var n int64
	p := producer(t, c, ProducerOptions{Topic: "t", BufferBytes: 20_000, OnAck: func(_ int32, offset, _ int64) {
		if offset != n {
			t.Errorf("offset %d, want %d", offset, n)
		}
		n++
	}})
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

// Several goroutines send at once, with a buffer that is full: they wait until
// a quarter of it is free, so that requests carry many records each.
func TestProducerConcurrent(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 2})
	c := open(t, k)
	topic(t, k, "t", 4)
	const n = 30_000
	const limit = 400_000
	type look struct {
		full       bool
		held, sent int64
	}
	var p *Producer
	var last look
	waits := 0
	p = producer(t, c, ProducerOptions{Topic: "t", BufferBytes: limit, OnAck: func(int32, int64, int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		now := look{full: p.full, held: p.held}
		for i := range p.lanes {
			now.sent += p.lanes[i].sent
		}
		if last.full && last.held > limit-limit/4+2*recordOverhead { // more than the record of the last look fills
			if waits++; now.sent != last.sent || !now.full {
				t.Errorf("%d records were taken over by a full buffer of %d bytes", now.sent-last.sent, last.held)
			}
		}
		last = now
	}})
	k.AtProduce(holdUntilFull(p))
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
	if waits == 0 {
		t.Error("the buffer was never full")
	}
}
