package migrate

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"sstool/internal/kafka"
	"sstool/internal/table"
)

// ttlQueue hands out blocks of all partitions: to each worker those of a
// partition of its own as long as there are any, so that none waits for
// another; then they share.
type ttlQueue struct {
	t   *ttlChangelog
	ctx context.Context
	mu  sync.Mutex
	// next is the first partition that is not open, open those that are.
	next int
	open []*ttlOpen
	seq  atomic.Int64
}

// ttlOpen is a partition that is being read.
type ttlOpen struct {
	partition int32
	mu        sync.Mutex // Next, and the number that the block gets with it
	reader    *kafka.PartitionReader
	done      bool
}

// take finds a partition to read from: an unopened one, or one of another
// worker; nil when all are read.
func (q *ttlQueue) take(ctx context.Context) (*ttlOpen, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.next < len(q.t.parts) {
		p := q.t.parts[q.next]
		q.next++
		start := q.t.ends[p].Start
		if start >= q.t.end(p) {
			continue
		}
		r, err := q.t.c.OpenPartition(q.ctx, q.t.readOptions(p, start))
		if err != nil {
			return nil, err
		}
		o := &ttlOpen{partition: p, reader: r}
		q.open = append(q.open, o)
		return o, nil
	}
	if len(q.open) == 0 {
		return nil, nil
	}
	return q.open[0], ctx.Err()
}

// finished removes a partition that was read to its end.
func (q *ttlQueue) finished(o *ttlOpen) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.open, o); i >= 0 {
		q.open = slices.Delete(q.open, i, i+1)
		o.reader.Close()
	}
}

func (q *ttlQueue) close() {
	for _, o := range q.open {
		o.reader.Close()
	}
}

// block takes the next block of a partition and its number: of one key, the
// later record has the higher one.
func (q *ttlQueue) block(ctx context.Context, o *ttlOpen) (*kafka.Block, int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return nil, 0, io.EOF
	}
	b, err := o.reader.Next(ctx)
	if errors.Is(err, io.EOF) {
		o.done = true
	}
	return b, q.seq.Add(1), err
}

// ttlReadWorker decodes blocks into a router.
type ttlReadWorker struct {
	t        *ttlChangelog
	to       *table.Router
	dec      kafka.Decoder
	newest   map[int32]int64
	stats    kafka.BlockStats
	nullKeys int64
	buf      []byte
}

func (w *ttlReadWorker) run(ctx context.Context, q *ttlQueue) error {
	for {
		o, err := q.take(ctx)
		if err != nil || o == nil {
			return err
		}
		for {
			b, seq, err := q.block(ctx, o)
			if errors.Is(err, io.EOF) {
				q.finished(o)
				break
			}
			if err != nil {
				return err
			}
			if err := w.block(b, o.partition, seq); err != nil {
				return err
			}
			w.t.progress(b.Next-b.First, int64(b.WireBytes))
			o.reader.Release(b)
		}
	}
}

// ttlRowHead is what the table keeps of a row besides its key: time8 | size4,
// and the value where queries need it.
const ttlRowHead = 12

func (w *ttlReadWorker) block(b *kafka.Block, p int32, seq int64) error {
	newest, ok := w.newest[p]
	if !ok {
		newest = -1
	}
	var head [ttlRowHead]byte
	w.to.Begin(seq)
	stats, err := w.dec.Decode(b, func(r *kafka.Record) error {
		if r.Key == nil {
			w.nullKeys++
			return nil
		}
		if r.Value == nil {
			if w.t.wanted == nil || w.t.wanted(r.Key) {
				w.to.Add(uint32(p), r.Key, nil, true)
			}
			return nil
		}
		if r.Timestamp > newest && r.Timestamp <= w.t.latest {
			newest = r.Timestamp
		}
		if w.t.wanted != nil && !w.t.wanted(r.Key) {
			return nil
		}
		binary.BigEndian.PutUint64(head[:], uint64(r.Timestamp))
		binary.BigEndian.PutUint32(head[8:], uint32(len(r.Value)))
		packed := head[:]
		if w.t.values {
			w.buf = append(append(w.buf[:0], head[:]...), r.Value...)
			packed = w.buf
		}
		w.to.Add(uint32(p), r.Key, packed, false)
		return nil
	})
	w.newest[p] = newest
	w.stats.Add(stats)
	return errors.Join(err, w.to.End())
}

// merge adds what the worker counted.
func (w *ttlReadWorker) merge() {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, ms := range w.newest {
		if old, ok := t.streamTime[p]; !ok || ms > old {
			t.streamTime[p] = ms
		}
	}
	t.stats.Add(w.stats)
	t.nullKeys += w.nullKeys
}
