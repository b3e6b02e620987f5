package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// DefaultProduceBuffer is ProducerOptions.BufferBytes where it is not given.
	DefaultProduceBuffer = 32 << 20

	defaultBatchBytes = 1 << 20  // where the topic's limit is not to be known
	maxBatchBytes     = 64 << 20 // well below socket.request.max.bytes of brokers
	recordOverhead    = 256      // of memory, here and in franz-go
	recordFrame       = 85       // bytes around key, value and headers of a record that is alone in its batch, at most
	// unknownRetries is how often brokers may say that they do not know the
	// topic or that they do not lead its partition: new topics are news to some.
	unknownRetries = 10
	// What franz-go counts in nanoseconds ends in the year 2262.
	maxTimestamp = math.MaxInt64 / 1_000_000
)

// ProducerOptions say what a Producer writes to and how.
type ProducerOptions struct {
	Topic string
	// BufferBytes bounds all records that the broker has not confirmed
	// (DefaultProduceBuffer). A single larger record is taken nevertheless.
	BufferBytes int64
	Compression string // "" or "none", "gzip", "snappy", "lz4", "zstd"
	// OnAck hears of every record that all in-sync replicas have, in the order
	// of its partition, with its offset and the caller's tag; one call at a
	// time. May be nil.
	OnAck func(partition int32, offset, tag int64)
}

// ProduceRecord is a record to be written. Send copies it.
type ProduceRecord struct {
	Partition  int32
	Timestamp  int64
	Key, Value []byte // nil: null
	// Headers are the bytes of a header section as in Record; nil: no headers.
	Headers []byte
	Tag     int64
}

// Producer writes records to the partitions that the caller names, with
// acks=all and idempotent: a retry never writes a record twice, and the order
// within a partition is the order of Send, without gaps: behind a record that
// was refused nothing is written. There is no transaction: a crash leaves what
// was written, and nothing open.
//
// It is franz-go's producer, with a bound on memory that costs little per
// record, and with a watch over partitions that take nothing: franz-go would
// try for ever, as its own limit counts from the record's timestamp, which a
// copy keeps.
type Producer struct {
	c       *Client
	o       ProducerOptions
	what    string
	cl      *kgo.Client
	topicID [16]byte
	limit   int // bytes of a batch

	life  context.Context // ends with Close
	close context.CancelFunc
	ctx   context.Context // of the records; ends with the first failure: what is not on its way stays here
	stop  context.CancelFunc
	wg    sync.WaitGroup
	first chan failure // for the watch, which finds out more

	mu      sync.Mutex
	changed *sync.Cond
	lanes   []lane
	size    int64 // of a chunk
	free    []*chunk
	held    int64 // bytes of the records that are not confirmed
	full    bool  // Send waits until a quarter of the buffer is free
	failing bool  // err is being found out
	err     error // the first failure
}

// lane is one partition.
type lane struct {
	sent, done  int64 // records
	seen, still int64 // of done at the last look, and for how many looks
	chunk       *chunk
}

// failure is what became of a record.
type failure struct {
	partition int32
	err       error
}

// OpenProducer looks the topic up and asks for a producer id.
func (c *Client) OpenProducer(ctx context.Context, o ProducerOptions) (*Producer, error) {
	if o.BufferBytes <= 0 {
		o.BufferBytes = DefaultProduceBuffer
	}
	codecs := map[string]kgo.CompressionCodec{"": kgo.NoCompression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	codec, ok := codecs[o.Compression]
	if !ok {
		return nil, op.Errorf(op.Usage, "unknown compression %q", o.Compression).WithTry("use one of none, gzip, snappy, lz4, zstd")
	}
	ti, err := c.Topic(ctx, o.Topic)
	if err != nil {
		return nil, err
	}
	p := &Producer{c: c, o: o, what: fmt.Sprintf("write to topic %q", o.Topic), topicID: ti.ID, limit: c.batchLimit(ctx, o.Topic),
		first: make(chan failure, 1), lanes: make([]lane, len(ti.Partitions))}
	p.changed = sync.NewCond(&p.mu)
	p.size = min(max(o.BufferBytes/int64(8*max(len(p.lanes), 1)), recordOverhead), 64<<10)
	p.life, p.close = context.WithCancel(context.WithoutCancel(ctx)) // only Close ends it
	p.ctx, p.stop = context.WithCancel(p.life)
	p.cl, err = kgo.NewClient(append(slices.Clone(c.opts),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.StopProducerOnDataLossDetected(),
		kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(int32(max(p.limit, 512))), kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(math.MaxInt32), // franz-go's own bound costs a goroutine per record
		kgo.ProduceRequestTimeout(c.set.request), kgo.UnknownTopicRetries(unknownRetries), kgo.WithLogger(refusals{p.stop}))...)
	if err != nil {
		p.close()
		return nil, &op.Error{Kind: op.Failed, What: p.what, Err: err}
	}
	if err := p.identify(ctx); err != nil {
		p.close()
		p.cl.Close()
		return nil, err
	}
	p.wg.Go(p.watch)
	return p, nil
}

// refusals stops a producer right when a broker refuses a batch. franz-go goes
// on with the records behind it, and tells of the refusal a moment later; its
// log is the only place that comes before.
type refusals struct{ stop func() }

// Level is kgo.Logger's.
func (refusals) Level() kgo.LogLevel { return kgo.LogLevelInfo }

// Log is kgo.Logger's. TestProducerNoGap fails when the text has changed.
func (r refusals) Log(_ kgo.LogLevel, msg string, _ ...any) {
	if msg == "batch in a produce request failed" {
		r.stop()
	}
}

// batchLimit is the largest batch that the topic takes, as far as the user may
// know it.
func (c *Client) batchLimit(ctx context.Context, topic string) int {
	conf, err := c.TopicConfig(ctx, topic)
	if err == nil {
		var n int
		if _, err := fmt.Sscan(conf["max.message.bytes"], &n); err == nil && n > batchHeader {
			return min(n, maxBatchBytes)
		}
	}
	return defaultBatchBytes
}

// identify asks for the producer id.
func (p *Producer) identify(ctx context.Context) error {
	ctx, cancel := p.c.timeout(ctx)
	defer cancel()
	for try := 0; ; try++ {
		_, _, err := p.cl.ProducerID(ctx)
		if err == nil {
			return nil
		}
		if kerr.IsRetriable(err) {
			if sleep(ctx, p.c.pause(try)); ctx.Err() == nil {
				continue
			}
		}
		return p.c.explain(err, p.what+": get a producer id", p.writeACL(err))
	}
}

// Send takes a record over. It blocks while the buffer is full. The first
// failure of the producer is returned by every later call.
func (p *Producer) Send(ctx context.Context, r ProduceRecord) error {
	if r.Partition < 0 || int(r.Partition) >= len(p.lanes) {
		return op.Errorf(op.Usage, "topic %q has no partition %d", p.o.Topic, r.Partition).WithTry("it has %d", len(p.lanes))
	}
	rec, err := p.take(ctx, &r)
	if err != nil {
		return err
	}
	p.cl.Produce(p.ctx, &rec.rec, p.acked)
	return nil
}

// take copies a record when there is room for it.
func (p *Producer) take(ctx context.Context, r *ProduceRecord) (*produced, error) {
	size := int64(len(r.Key) + len(r.Value) + len(r.Headers) + recordOverhead)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.err != nil {
			return nil, p.err
		}
		p.full = p.full || p.held > 0 && p.held+size > p.o.BufferBytes
		if !p.full && !p.failing {
			break
		}
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
	if p.err = p.check(r); p.err != nil {
		p.changed.Broadcast()
		return nil, p.err
	}
	l := &p.lanes[r.Partition]
	l.sent++
	p.held += size
	return p.copyTo(l, r, size), nil
}

// check refuses what franz-go would not write, or would write otherwise.
func (p *Producer) check(r *ProduceRecord) error {
	bytes := len(r.Key) + len(r.Value) + len(r.Headers) + recordFrame
	if bytes > p.limit {
		return op.Errorf(op.Failed, "%s: a record of partition %d takes %d bytes, more than %d, the topic's max.message.bytes", p.what, r.Partition, bytes, p.limit).
			WithTry("raise max.message.bytes of the topic, to 64 MiB at most")
	}
	if r.Timestamp > maxTimestamp || r.Timestamp < -maxTimestamp {
		return op.Errorf(op.Failed, "%s: a record of partition %d has the timestamp %d, which is not in milliseconds or beyond the year 2262", p.what, r.Partition, r.Timestamp)
	}
	if err := checkHeaders(r.Headers); err != nil {
		return &op.Error{Kind: op.Corrupt, What: fmt.Sprintf("%s: partition %d", p.what, r.Partition), Err: err}
	}
	return nil
}

// acked hears from franz-go what became of a record, one after the other.
func (p *Producer) acked(r *kgo.Record, err error) {
	rec := r.Context.(*produced)
	if err == nil && r.Offset < 0 {
		err = kerr.DuplicateSequenceNumber // the broker has it, and does not know where
	}
	if err == nil && p.o.OnAck != nil {
		p.o.OnAck(r.Partition, r.Offset, rec.tag)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.lanes[r.Partition]
	l.done++
	p.held -= rec.size
	p.release(l, rec)
	if p.full && p.held <= p.o.BufferBytes-p.o.BufferBytes/4 {
		p.full = false
		p.changed.Broadcast()
	}
	if p.held == 0 {
		p.changed.Broadcast()
	}
	// What is cancelled follows from the first failure, or from Close.
	if err != nil && !p.failing && !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrClientClosed) {
		p.failing = true
		p.stop()
		p.first <- failure{r.Partition, err}
	}
}

// wait until something has changed.
func (p *Producer) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", p.what, ctx.Err())
	}
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	p.changed.Wait()
	stop()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", p.what, ctx.Err())
	}
	return nil
}

// Flush waits until the brokers have everything.
func (p *Producer) Flush(ctx context.Context) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	// Brokers before Kafka 4.1 are told the topic's name only.
	_, err := p.topic(ctx)
	if op.KindOf(err) != op.Precondition { // it may just not answer
		return nil
	}
	p.fail(err)
	return err
}

// settled waits until all that was sent is confirmed.
func (p *Producer) settled(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil && (p.held > 0 || p.failing) {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return p.err
}

// Close ends the producer. What was not flushed may be written or not.
func (p *Producer) Close() {
	p.close()
	p.fail(op.Errorf(op.Failed, "%s: the producer is closed", p.what))
	p.cl.Close()
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held > 0 { // OnAck is not called any more behind it
		p.changed.Wait()
	}
}

// fail notes the first failure.
func (p *Producer) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.changed.Broadcast()
}
