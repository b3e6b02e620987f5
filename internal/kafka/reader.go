package kafka

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/op"
)

// Defaults of ReadOptions.
const (
	DefaultFetchBytes   = 16 << 20
	DefaultStallTimeout = time.Minute
)

// ReadOptions says what a PartitionReader reads and how.
type ReadOptions struct {
	Topic     string
	Partition int32
	From, To  int64 // [From, To)

	// Follow reads on at the log's end, where To is math.MaxInt64: a broker that
	// answers "nothing new" is no stall, however long it says so.
	Follow bool
	// TopicID, when it is not zero, is the topic that is meant: one that was
	// made anew under its name is a TopicReplacedError.
	TopicID [16]byte
	// Mark, when it is not zero, is where an earlier reader of the partition was:
	// a log that was cut back before it is a LogCutBackError.
	Mark LogMark

	// ReadCommitted reads up to the last stable offset and skips aborted
	// transactions.
	ReadCommitted bool
	// MaxBytes asks for this much per fetch (DefaultFetchBytes). A larger
	// batch is still read whole.
	MaxBytes int32
	// Prefetch is how many responses may be in flight or waiting (1) while
	// the caller works on blocks that it has taken.
	Prefetch int
	// StallTimeout is how long the position may stand still while the reader
	// retries (DefaultStallTimeout). Time that the caller takes does not count.
	StallTimeout time.Duration
	// OnEvent hears about retries and waits; it is called from the reader's
	// goroutine and must not block. May be nil.
	OnEvent func(ReadEvent)
	// Watch, when given, is in op.Network while Next waits.
	Watch *op.Stopwatch

	viaClient bool // take no connection over
}

// PartitionReader reads [From, To) of one partition with raw fetch requests to
// the leader. One goroutine fetches ahead; Next is for one caller at a time.
type PartitionReader struct {
	c      *Client
	o      ReadOptions
	f      *fetcher
	cancel context.CancelFunc
	out    chan fetched
	done   chan struct{}
	once   sync.Once
	err    error // what Next returns from now on

	// Owned by the fetching goroutine.
	pos     int64
	lead    leader
	mark    LogMark // what was read last
	proven  int32   // epoch of the leader that has it
	size    int32
	empties int
	txnSeen bool
	line    *line

	ends atomic.Pointer[Ends]

	mu    sync.Mutex
	spare [][]byte // buffers of released blocks
}

type fetched struct {
	b   *Block
	err error
}

// OpenPartition starts reading. The topic and the partition must exist.
func (c *Client) OpenPartition(ctx context.Context, o ReadOptions) (*PartitionReader, error) {
	r, rctx, err := c.newReader(ctx, o)
	if err != nil {
		return nil, err
	}
	go r.run(rctx)
	return r, nil
}

// newReader is a reader that knows the partition's leader and does nothing
// yet, and the context that ends with it.
func (c *Client) newReader(ctx context.Context, o ReadOptions) (*PartitionReader, context.Context, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultFetchBytes
	}
	if o.Prefetch <= 0 {
		o.Prefetch = 1
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = DefaultStallTimeout
	}
	f, err := c.borrow()
	if err != nil {
		return nil, nil, c.explain(err, fmt.Sprintf("read %s-%d", o.Topic, o.Partition), nil)
	}
	r := &PartitionReader{c: c, o: o, f: f, pos: o.From, size: o.MaxBytes, lead: noLeader(), mark: o.Mark, proven: -1,
		out: make(chan fetched, o.Prefetch-1), done: make(chan struct{})}
	r.lead.topicID = o.TopicID
	// The reader outlives this call's context: only Close ends it.
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	if o.From < o.To {
		stop := context.AfterFunc(ctx, cancel)
		err = r.findLeader(rctx, time.Now().Add(o.StallTimeout))
		stop()
		if err != nil {
			close(r.done)
			r.Close()
			if ctx.Err() != nil {
				err = fmt.Errorf("read %s-%d: %w", o.Topic, o.Partition, ctx.Err())
			}
			return nil, nil, err
		}
	}
	return r, rctx, nil
}

// Next returns the next block, io.EOF once the position has reached To. After
// an error it keeps returning that error.
func (r *PartitionReader) Next(ctx context.Context) (*Block, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.o.Watch != nil {
		defer r.o.Watch.Enter(r.o.Watch.Enter(op.Network))
	}
	select {
	case f, ok := <-r.out:
		switch {
		case !ok:
			r.err = io.EOF
		case f.err != nil:
			r.err = f.err
		default:
			return f.b, nil
		}
		return nil, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s-%d: %w", r.o.Topic, r.o.Partition, ctx.Err())
	}
}

// Release says that the block's bytes are no longer used, so that a later
// response may overwrite them. It is optional.
func (r *PartitionReader) Release(b *Block) {
	r.recycle(b.buf)
	b.buf, b.raw, b.abortedTxns = nil, nil, nil
}

// recycle keeps a buffer for a later response, unless one large batch made it
// larger than usual.
func (r *PartitionReader) recycle(buf []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := cap(buf); n > 0 && n <= max(2*int(r.o.MaxBytes), maxKept) && len(r.spare) < maxSpare {
		r.spare = append(r.spare, buf[:0])
	}
}

const (
	// maxSpare is more than there are blocks between a broker and the workers.
	maxSpare = 8
	// maxKept is a buffer that is kept whatever the size of a fetch: batches of
	// this size are common where there are any of it, and would be garbage.
	maxKept = 24 << 20
)

func (r *PartitionReader) buffer() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.spare)
	if n == 0 {
		return nil
	}
	buf := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return buf
}

// Close ends the reader. It may be called at any time, also twice.
func (r *PartitionReader) Close() error {
	r.once.Do(func() {
		r.cancel()
		<-r.done
		r.dropLine()
		r.c.giveBack(r.f)
		if r.err == nil {
			r.err = op.Errorf(op.Failed, "read %s-%d: the reader is closed", r.o.Topic, r.o.Partition)
		}
	})
	return nil
}

func (r *PartitionReader) run(ctx context.Context) {
	defer close(r.done)
	defer close(r.out)
	for r.pos < r.o.To {
		b, err := r.next(ctx)
		if ctx.Err() != nil {
			return
		}
		select {
		case r.out <- fetched{b, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		r.pos = b.Next
	}
}
