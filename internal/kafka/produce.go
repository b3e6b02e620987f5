package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Defaults of ProducerOptions, and the shape of what is sent.
const (
	DefaultProduceBuffer = 32 << 20
	maxBatchBytes        = 1 << 20 // of one batch, header included; less where the topic takes less
	requestBytes         = 4 << 20 // of one request: one batch of each partition that has one
	senders              = 4
)

// ProducerOptions say what a Producer writes to and how.
type ProducerOptions struct {
	Topic string
	// BufferBytes bounds all batches that are being filled, waiting or on
	// their way (DefaultProduceBuffer). A single larger record is taken nevertheless.
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
// within a partition is the order of Send. There is no transaction: a crash
// leaves what was written, and nothing open.
//
// It builds whole batches itself instead of handing single records to
// franz-go, which takes several times as long. At most one batch of a
// partition is on its way, which makes the idempotent sequence numbers simple:
// whatever becomes of a request, the same batch is sent again until the broker
// has it. A batch is sent when it is full, on Flush, and when the buffer is
// full; not by time.
type Producer struct {
	c     *Client
	o     ProducerOptions
	what  string
	limit int // bytes of a batch

	ctx    context.Context // of the senders
	cancel context.CancelFunc
	wg     sync.WaitGroup

	id      int64
	epoch   int16
	topicID [16]byte
	parts   int

	ack sync.Mutex // held while OnAck is told

	mu      sync.Mutex
	changed *sync.Cond // a batch is ready or done, the producer failed or closes
	lanes   map[int32]*lane
	order   []*lane // those of lanes, the one to look at next first
	held    int64   // bytes of all batches
	pending int     // batches that are ready or on their way
	free    []*outBatch
	unknown int   // how often in a row the metadata did not know the topic
	err     error // the first failure
}

// lane is one partition.
type lane struct {
	partition int32
	open      *outBatch   // is being filled
	ready     []*outBatch // are full, the first to be sent first
	busy      bool        // the first one is on its way
	seq       int32       // of the next record that the broker has not confirmed
	leader    int32       // -1: not known
}

// OpenProducer looks the topic up and asks for a producer id.
func (c *Client) OpenProducer(ctx context.Context, o ProducerOptions) (*Producer, error) {
	if o.BufferBytes <= 0 {
		o.BufferBytes = DefaultProduceBuffer
	}
	if _, err := newDeflater(o.Compression); err != nil {
		return nil, err
	}
	ti, err := c.Topic(ctx, o.Topic)
	if err != nil {
		return nil, err
	}
	p := &Producer{c: c, o: o, what: fmt.Sprintf("write to topic %q", o.Topic), topicID: ti.ID, parts: len(ti.Partitions),
		limit: c.batchLimit(ctx, o.Topic), lanes: map[int32]*lane{}}
	p.changed = sync.NewCond(&p.mu)
	for _, part := range ti.Partitions {
		p.lanes[part.Partition] = &lane{partition: part.Partition, leader: part.Leader}
	}
	if err := p.identify(ctx); err != nil {
		return nil, err
	}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx)) // only Close ends it
	for range senders {
		p.wg.Go(p.send)
	}
	return p, nil
}

// batchLimit is the largest batch that the topic takes, as far as the user may
// know it; a batch that turns out too large is halved.
func (c *Client) batchLimit(ctx context.Context, topic string) int {
	limit := maxBatchBytes
	if conf, err := c.TopicConfig(ctx, topic); err == nil {
		var n int
		if _, err := fmt.Sscan(conf["max.message.bytes"], &n); err == nil && n > batchHeader {
			limit = min(limit, n)
		}
	}
	return limit
}

// identify asks for the producer id. A topic that is not written yet needs no
// new epoch: the id is fresh every time.
func (p *Producer) identify(ctx context.Context) error {
	ctx, cancel := p.c.timeout(ctx)
	defer cancel()
	for try := 0; ; try++ {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.ProducerID, req.ProducerEpoch = -1, -1
		resp, err := req.RequestWith(ctx, p.c.cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err == nil {
			p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
			return nil
		}
		if kerr.IsRetriable(err) {
			if sleep(ctx, p.c.pause(try)); ctx.Err() == nil {
				continue
			}
		}
		need := topicACL("WRITE", p.o.Topic) // since Kafka 2.8 that will do, on any topic
		if errors.Is(err, kerr.ClusterAuthorizationFailed) {
			need = &acl{"IDEMPOTENT_WRITE", "Cluster", "kafka-cluster"}
		}
		return p.c.explain(err, p.what+": get a producer id", need)
	}
}

// Send takes a record over. It blocks while the buffer is full. The first
// failure of the producer is returned by every later call.
func (p *Producer) Send(ctx context.Context, r ProduceRecord) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[r.Partition]
	if l == nil {
		return op.Errorf(op.Usage, "topic %q has no partition %d", p.o.Topic, r.Partition).WithTry("it has %d", p.parts)
	}
	for {
		if p.err != nil {
			return p.err
		}
		if l.open != nil && !l.open.fits(&r, p.limit) {
			p.closeBatch(l)
		}
		need := int64(0)
		if l.open == nil {
			need = minBatchBuffer
		} else if need = int64(l.open.growth(&r)); need == 0 {
			break
		}
		if p.held+need <= p.o.BufferBytes || p.held == 0 || l.open == nil && p.takeFree(l) {
			break
		}
		if err := p.room(ctx); err != nil {
			return err
		}
	}
	if l.open == nil && !p.takeFree(l) {
		l.open = newOutBatch()
		p.held += l.open.held()
	}
	before := l.open.held()
	l.open.add(&r, p.o.OnAck != nil)
	p.held += l.open.held() - before
	return nil
}

// takeFree begins a batch in a buffer that is used again.
func (p *Producer) takeFree(l *lane) bool {
	n := len(p.free)
	if n == 0 {
		return false
	}
	l.open, p.free = p.free[n-1], p.free[:n-1]
	return true
}

// room waits until some batch is done, having sent off what there is.
func (p *Producer) room(ctx context.Context) error {
	if n := len(p.free); n > 0 {
		p.held -= p.free[n-1].held()
		p.free = p.free[:n-1]
		return nil
	}
	for _, l := range p.lanes {
		p.closeBatch(l)
	}
	return p.wait(ctx)
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

// closeBatch hands the lane's open batch to the senders.
func (p *Producer) closeBatch(l *lane) {
	if l.open == nil || l.open.count == 0 {
		return
	}
	l.ready = append(l.ready, l.open)
	l.open = nil
	if len(l.ready) == 1 {
		p.order = append(p.order, l)
	}
	p.pending++
	p.changed.Broadcast()
}

// Flush sends everything and waits until the brokers have it.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lanes {
		p.closeBatch(l)
	}
	for p.err == nil && p.pending > 0 {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return p.err
}

// Close ends the producer. What was not flushed may be written or not.
func (p *Producer) Close() {
	p.cancel()
	p.fail(op.Errorf(op.Failed, "%s: the producer is closed", p.what))
	p.wg.Wait()
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

// stall is how long a batch may be tried.
func (p *Producer) stall() time.Duration { return p.c.set.delivery }
