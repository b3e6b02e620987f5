package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/table"
)

const (
	fetchBytes = 4 << 20 // several blocks are in memory at a time
	// noteEvery is how often a copy under way is noted in the ledger: after a
	// kill, this much of it is compared with the old topic record by record.
	noteEvery = 2 * time.Second
)

// copying is the copying, or the comparison, of one topic.
type copying struct {
	client  *kafka.Client
	topic   *CopiedTopic
	tempDir string
	note    func() error // the ledger, to be called without mu
	mu      *sync.Mutex  // guards what the ledger holds
	sink    op.Sink

	total    int64
	done     atomic.Int64
	bytes    atomic.Int64
	begun    time.Time
	throttle op.Throttle
	parts    []*partCopy
}

// partCopy is a partition that is being copied.
type partCopy struct {
	k *copying
	p *CopiedPartition

	all  table.Digest // of what was sent
	sent int64        // position in the copy behind the last record that was sent

	mu    sync.Mutex
	acked int64       // position behind the last record that was confirmed
	queue []sentBlock // not confirmed yet
	err   error
}

// sentBlock is a piece of the old partition that was handed to the producer.
type sentBlock struct {
	runs    []run
	oldNext int64
	sent    int64
	all     table.Digest
}

// copyAll copies what is left to copy of all partitions, several at once.
func (k *copying) copyAll(ctx context.Context) (err error) {
	k.begun = time.Now()
	ends, err := k.client.Offsets(ctx, k.topic.New, nil)
	if err != nil {
		return err
	}
	codec := ""
	for i := range k.topic.Partitions {
		p := &k.topic.Partitions[i]
		_, at := p.Map.End()
		pc := &partCopy{k: k, p: p, sent: at, acked: at, all: p.All}
		k.parts = append(k.parts, pc)
		old, _ := p.Map.End()
		k.total += p.End - old
	}
	if codec, err = k.codec(ctx); err != nil {
		return err
	}
	prod, err := k.client.OpenProducer(ctx, kafka.ProducerOptions{Topic: k.topic.New, Compression: codec, OnAck: k.acked})
	if err != nil {
		return err
	}
	defer prod.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	noted := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(noted)
		tick := time.NewTicker(noteEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if err := k.note(); err != nil {
					cancel(err)
					return
				}
			}
		}
	}()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(k.parts)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(k.parts) {
					return
				}
				if err := k.parts[i].copy(ctx, prod, ends[k.parts[i].p.Partition].End); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	if err = context.Cause(ctx); err == nil {
		err = prod.Flush(ctx)
	}
	close(stop)
	<-noted
	// What was confirmed is noted also when the rest failed.
	return errors.Join(err, k.settle(err == nil), k.note())
}

// settle checks, when all went well, that all was confirmed.
func (k *copying) settle(well bool) error {
	for _, pc := range k.parts {
		pc.mu.Lock()
		pc.promote()
		err, open := pc.err, len(pc.queue)
		pc.mu.Unlock()
		if err != nil {
			return err
		}
		if well && open > 0 {
			return op.Errorf(op.Failed, "copy %s-%d: the broker has confirmed %d records of %d", k.topic.Old, pc.p.Partition, pc.acked, pc.sent)
		}
	}
	return nil
}

// acked notes a confirmed record. The copy has no gaps and no other writer, so
// its place is known beforehand.
func (k *copying) acked(partition int32, offset, _ int64) {
	pc := k.parts[partition]
	pc.mu.Lock()
	defer pc.mu.Unlock()
	if offset != pc.acked {
		pc.err = cmp.Or(pc.err, error(op.Errorf(op.Precondition, "record %d of the copy %s-%d was written at offset %d: somebody else writes to it, or "+twice, pc.acked, k.topic.New, partition, offset).
			WithTry("stop what writes there, then run it again: when the copy holds nothing but records twice it goes on; nothing old was changed")))
		return
	}
	pc.acked++
	if len(pc.queue) > 0 && pc.queue[0].sent <= pc.acked {
		pc.promote()
	}
}

// promote takes what is confirmed over into what the ledger notes.
func (pc *partCopy) promote() {
	if pc.err != nil {
		return
	}
	pc.k.mu.Lock()
	defer pc.k.mu.Unlock()
	for len(pc.queue) > 0 && pc.queue[0].sent <= pc.acked {
		b := &pc.queue[0]
		for _, r := range b.runs {
			pc.p.Map.addRun(r)
		}
		pc.p.Map.Skip(b.oldNext, b.sent)
		pc.p.All = b.all
		pc.queue = pc.queue[1:]
	}
}

// copy copies what is left of the partition; the copy ends at newEnd now. What
// the copy holds beyond the ledger is compared, not written again.
func (pc *partCopy) copy(ctx context.Context, prod *kafka.Producer, newEnd int64) error {
	k, p := pc.k, pc.p
	from, at := p.Map.End()
	if newEnd < at {
		return k.damaged(p, "it ends at offset %d, %d records were copied: the brokers lost some", newEnd, at)
	}
	var there *copied
	if newEnd > at {
		r, err := openHashes(ctx, k.client, kafka.ReadOptions{Topic: k.topic.New, Partition: p.Partition, From: at, To: newEnd, MaxBytes: fetchBytes})
		if err != nil {
			return err
		}
		defer r.close()
		there = &copied{pc: pc, r: r}
	}
	for from < p.End {
		next, err := pc.copyFrom(ctx, prod, from, &there)
		if moved, ok := asMoved(err); ok {
			k.sink.Warn(k.topic.Old, fmt.Sprintf("partition %d: the log start moved to offset %d while it was copied: retention removed records before it", p.Partition, moved))
			next, err = min(moved, p.End), nil
		}
		if err != nil {
			return err
		}
		from = next
	}
	if there != nil {
		if err := there.end(ctx); err != nil {
			return err
		}
	}
	pc.push(nil, p.End)
	return nil
}

// copyFrom copies until the end, or until the reader fails.
func (pc *partCopy) copyFrom(ctx context.Context, prod *kafka.Producer, from int64, there **copied) (int64, error) {
	k, p := pc.k, pc.p
	name := fmt.Sprintf("%s-%d", k.topic.Old, p.Partition)
	reader, err := k.client.OpenPartition(ctx, kafka.ReadOptions{Topic: k.topic.Old, Partition: p.Partition, From: from, To: p.End, ReadCommitted: true,
		MaxBytes: fetchBytes, Prefetch: 2, OnEvent: func(e kafka.ReadEvent) { k.sink.Warn(name, e.Text()) }})
	if err != nil {
		return from, err
	}
	defer reader.Close()
	var dec kafka.Decoder
	for {
		b, err := reader.Next(ctx)
		if isEOF(err) {
			return p.End, nil
		}
		if err != nil {
			return from, err
		}
		var runs OffsetMap
		st, err := dec.Decode(b, func(r *kafka.Record) error {
			h := hashRecord(r)
			is := false
			if *there != nil {
				if is, err = (*there).next(ctx, &h); err != nil {
					return err
				}
				if !is {
					*there = nil // all that it had
				}
			}
			h.add(&pc.all)
			runs.Add(r.Offset, pc.sent)
			pc.sent++
			if is {
				return nil
			}
			return prod.Send(ctx, kafka.ProduceRecord{Partition: p.Partition, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, Headers: r.Headers, Tag: r.Offset})
		})
		if err != nil {
			return from, err
		}
		from = b.Next
		pc.push(runs.runs, b.Next)
		k.progress(st.Records, int64(b.WireBytes))
		reader.Release(b)
	}
}

// push queues a piece until the broker has it.
func (pc *partCopy) push(runs []run, oldNext int64) {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	pc.queue = append(pc.queue, sentBlock{runs: runs, oldNext: oldNext, sent: pc.sent, all: pc.all})
	pc.promote()
}

// codec is how the old topic's newest batches are compressed: so is the copy.
func (k *copying) codec(ctx context.Context) (string, error) {
	for i := range k.topic.Partitions {
		p := &k.topic.Partitions[i]
		if p.End <= p.Map.Start() {
			continue
		}
		r, err := k.client.OpenPartition(ctx, kafka.ReadOptions{Topic: k.topic.Old, Partition: p.Partition, From: max(p.Map.Start(), p.End-1000), To: p.End, MaxBytes: 1 << 20})
		if err != nil {
			return "", err
		}
		codec := ""
		b, err := r.Next(ctx)
		if err == nil {
			b.Batches(func(i kafka.BatchInfo) {
				if !i.Control {
					codec = i.Codec
				}
			})
		}
		r.Close()
		if codec != "" {
			return codec, nil
		}
		if err != nil && !isEOF(err) {
			if _, moved := asMoved(err); !moved {
				return "", err
			}
		}
	}
	return "", nil
}

// progress tells how far the topic is.
func (k *copying) progress(records, bytes int64) {
	done, b := k.done.Add(records), k.bytes.Add(bytes)
	now := time.Now()
	if k.sink == nil || !k.throttle.Ready(now) {
		return
	}
	e := op.Event{Type: op.Progress, Name: k.topic.New, Done: min(done, k.total), Total: k.total, Unit: "records", Bytes: b}
	if s := now.Sub(k.begun).Seconds(); s > 0 {
		if e.Rate = float64(done) / s; e.Rate > 0 {
			e.ETA = time.Duration(float64(k.total-e.Done) / e.Rate * float64(time.Second))
		}
	}
	k.sink.Emit(e)
}
