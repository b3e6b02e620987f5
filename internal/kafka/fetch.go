package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	fetchMaxWait = 500 * time.Millisecond
	minFetchSize = 64 << 10
	// emptiesForGap is how many empty answers in a row, each after a full
	// fetchMaxWait, prove that compaction left nothing before the end.
	emptiesForGap = 3
)

// next fetches until the position moves, and returns the block that moves it.
func (r *PartitionReader) next(ctx context.Context) (*Block, error) {
	deadline := time.Now().Add(r.o.StallTimeout)
	r.empties, r.txnSeen = 0, false
	var last error // why the position does not move
	for try := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, r.stalled(ctx, last)
		}
		if r.lead.id < 0 {
			if err := r.findLeader(ctx, deadline); err != nil {
				return nil, err
			}
		}
		b, wait, err := r.fetch(ctx, deadline)
		switch {
		case err == nil && b != nil:
			return b, nil
		case err == nil: // nothing there yet: the broker has waited for us, or says how long to
			last, try = nil, 0
			if r.o.Follow {
				deadline = time.Now().Add(r.o.StallTimeout)
			}
			sleep(ctx, wait)
		default:
			var fatal *fatalError
			if errors.As(err, &fatal) {
				return nil, fatal.err
			}
			last = err
			if ctx.Err() == nil {
				r.event(ReadRetry, err, "fetch failed, trying again")
			}
			sleep(ctx, r.c.pause(try))
			try++
			r.lead.id = -1
		}
	}
}

// fatalError ends a reader: trying again cannot help.
type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// fetch sends one request. It returns a block, or nothing (and how long to
// wait before asking again), or an error that is worth a retry unless fatal.
func (r *PartitionReader) fetch(ctx context.Context, deadline time.Time) (*Block, time.Duration, error) {
	if r.lead.epoch != r.proven {
		if err := r.prove(ctx, deadline); err != nil {
			return nil, 0, err
		}
	}
	start := time.Now()
	// Several requests must fit into the stall timeout, so that a response
	// too large for the line is asked for again in smaller pieces.
	limit := max(min(r.o.StallTimeout/4, time.Until(deadline)), 2*fetchMaxWait)
	rctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, buf, err := r.ask(rctx)
	if err != nil {
		if ctx.Err() == nil && rctx.Err() != nil && r.size > minFetchSize {
			r.size = max(r.size/4, minFetchSize)
			r.event(ReadSmaller, err, "no whole response within %s, asking for %d bytes", limit.Round(time.Millisecond), r.size)
		}
		if permanent(err) {
			err = &fatalError{r.c.explain(err, r.what(), topicACL("READ", r.o.Topic))}
		}
		return nil, 0, err
	}
	wait := time.Since(start)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, 0, err
	}
	if len(resp.Topics) == 0 || len(resp.Topics[0].Partitions) == 0 {
		// KIP-219: a client over its quota gets an empty answer at once.
		d := max(time.Duration(resp.ThrottleMillis)*time.Millisecond, r.c.set.backoff)
		r.event(ReadThrottled, nil, "the broker throttles this client for %s", d)
		return nil, d, nil
	}
	p := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return nil, 0, r.partitionError(ctx, err)
	}
	if wait < limit/8 && r.size < r.o.MaxBytes {
		r.size = int32(min(2*int64(r.size), int64(r.o.MaxBytes)))
	}
	b := &Block{
		Topic: r.o.Topic, Partition: r.o.Partition, First: r.pos, ReadCommitted: r.o.ReadCommitted, Asked: start, Wait: wait,
		HighWatermark: p.HighWatermark, LastStable: p.LastStableOffset, LogStart: p.LogStartOffset,
		from: r.pos, to: r.o.To, buf: buf, abortedTxns: p.AbortedTransactions,
	}
	r.ends.Store(&Ends{At: start, Position: r.pos, HighWatermark: b.HighWatermark, LastStable: b.LastStable, LogStart: b.LogStart})
	made, d, err := r.block(ctx, b, p.RecordBatches)
	if made == nil {
		r.recycle(buf)
	}
	return made, d, err
}

func (r *PartitionReader) request() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(fetchMaxWait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = 1<<31 - 1 // one partition: PartitionMaxBytes is the limit
	req.SessionEpoch = -1    // no fetch session: every request stands alone
	if r.o.ReadCommitted {
		req.IsolationLevel = 1
	}
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = r.o.Topic, r.lead.topicID
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition = r.o.Partition
	rp.FetchOffset = r.pos
	rp.PartitionMaxBytes = r.size
	rp.CurrentLeaderEpoch = r.lead.epoch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// block makes the block of a response without error.
func (r *PartitionReader) block(ctx context.Context, b *Block, raw []byte) (*Block, time.Duration, error) {
	n, next, need, err := scan(b, raw, r.o.To)
	if err != nil {
		return nil, 0, &fatalError{err}
	}
	if n == 0 && need > 0 { // only a broker before KIP-74 cuts the first batch
		if need <= int64(r.size) {
			return nil, 0, &fatalError{b.corrupt(raw, fmt.Errorf("its length is %d, the broker sends %d bytes", need, len(raw)))}
		}
		r.size = int32(need)
		r.event(ReadLarger, nil, "a batch of %d bytes, asking for that much", need)
		return nil, 0, nil
	}
	if n > 0 && next > r.pos || next >= r.o.To {
		b.raw, b.WireBytes, b.Next = raw[:n:n], n, min(next, r.o.To)
		r.mark.Pass(b.Mark)
		return b, 0, nil
	}
	return r.empty(ctx, b)
}

// empty decides what an answer without records means: compaction may have
// removed all that was left, or the rest is not there (or not decided) yet.
func (r *PartitionReader) empty(ctx context.Context, b *Block) (*Block, time.Duration, error) {
	visible := b.HighWatermark
	if r.o.ReadCommitted {
		visible = b.LastStable
	}
	wait := max(fetchMaxWait-b.Wait, 0) // never faster than the broker's own wait
	if visible <= r.pos {
		r.empties = 0
		if r.o.ReadCommitted && b.HighWatermark > r.pos && !r.txnSeen {
			r.txnSeen = true
			r.event(ReadOpenTxn, nil, "an open transaction holds the last stable offset at %d, %d before the end", b.LastStable, min(r.o.To, b.HighWatermark)-b.LastStable)
		}
		return nil, wait, nil
	}
	if r.empties++; r.empties < emptiesForGap {
		return nil, wait, nil
	}
	tctx, cancel := r.c.timeout(ctx)
	defer cancel()
	if local, err := r.c.listOffsets(tctx, r.o.Topic, []int32{r.o.Partition}, tsEarliestLocal, false); err == nil && local[r.o.Partition] > r.pos {
		return nil, wait, nil // the records are in tiered storage, which is slow to answer
	}
	b.Next = min(visible, r.o.To)
	r.event(ReadEndGap, nil, "compaction left no record up to %d", b.Next)
	return b, 0, nil
}

func (r *PartitionReader) what() string {
	return fmt.Sprintf("read %s-%d at offset %d", r.o.Topic, r.o.Partition, r.pos)
}

// partitionError sorts the errors of a fetch into fatal and worth a retry.
func (r *PartitionReader) partitionError(ctx context.Context, err error) error {
	switch err {
	case kerr.OffsetOutOfRange:
		return r.outOfRange(ctx)
	case kerr.CorruptMessage:
		return &fatalError{&op.Error{Kind: op.Corrupt, What: r.what(), Err: err}}
	case kerr.TopicAuthorizationFailed, kerr.UnsupportedVersion, kerr.UnsupportedCompressionType:
		return &fatalError{r.c.explain(err, r.what(), topicACL("READ", r.o.Topic))}
	}
	return err
}

// outOfRange finds out on which side of the log the position is.
func (r *PartitionReader) outOfRange(ctx context.Context) error {
	ps := []int32{r.o.Partition}
	tctx, cancel := r.c.timeout(ctx)
	defer cancel()
	start, err := r.c.listOffsets(tctx, r.o.Topic, ps, tsEarliest, false)
	if err != nil {
		return err
	}
	if s := start[r.o.Partition]; s > r.pos {
		return &fatalError{&LogStartMovedError{Topic: r.o.Topic, Partition: r.o.Partition, Position: r.pos, LogStart: s}}
	}
	// Past the end: a new leader may not have caught up with its own high
	// watermark yet, so this is worth a retry.
	return kerr.OffsetOutOfRange
}
