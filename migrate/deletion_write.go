package migrate

import (
	"context"
	"io"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

const (
	// roundKeys are written between two looks at the group and the ends: some
	// tenths of a second, in which no instance starts, restores and writes.
	roundKeys = 400_000
	// openParts bounds how many key files are read at once.
	openParts = 64
)

// tombWriter writes the tombstones of one store.
type tombWriter struct {
	c     *kafka.Client
	o     *DeletionOptions
	app   string
	store *DeletionStore
	save  func() error
	tell  func(done int64) // tombstones confirmed since the last call

	ends  map[int32]int64 // where each partition must end now
	begun time.Time
	sent  int64
	// moved is the partition where the broker put a tombstone elsewhere than
	// behind the last one, -1: none.
	moved int32
}

// partWriter is a partition that still lacks tombstones.
type partWriter struct {
	part     *DeletionPart
	progress *partProgress
	rd       *keyReader
	sending  int64 // of this round
}

// write sends what is left of the given partitions, some at a time.
func (w *tombWriter) write(ctx context.Context, parts []*partWriter) error {
	p, err := w.c.OpenProducer(ctx, kafka.ProducerOptions{Topic: w.store.Topic, OnAck: w.acked})
	if err != nil {
		return err
	}
	defer p.Close()
	w.begun, w.moved = time.Now(), -1
	for len(parts) > 0 {
		n := min(len(parts), openParts)
		if err := w.some(ctx, p, parts[:n]); err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// some writes partitions side by side, in rounds.
func (w *tombWriter) some(ctx context.Context, p *kafka.Producer, active []*partWriter) (err error) {
	for _, pw := range active {
		if pw.rd, err = pw.part.Keys.open(); err != nil {
			return err
		}
		defer pw.rd.close()
		if err := pw.rd.skip(pw.progress.Written); err != nil {
			return err
		}
	}
	for len(active) > 0 {
		if err := w.throttle(ctx); err != nil {
			return err
		}
		// Right before every batch, so that nobody is written over who has just started.
		if err := checkIdle(ctx, w.c, w.app); err != nil {
			return err
		}
		if err := checkEnds(ctx, w.c, w.store.Topic, w.ends); err != nil {
			return err
		}
		if err := w.round(ctx, p, active); err != nil {
			return err
		}
		var rest []*partWriter
		for _, pw := range active {
			if pw.progress.Written < pw.part.Keys.Keys {
				rest = append(rest, pw)
			}
		}
		active = rest
	}
	return nil
}

// throttle waits until the rate allows more.
func (w *tombWriter) throttle(ctx context.Context) error {
	if w.o.Rate <= 0 {
		return ctx.Err()
	}
	due := w.begun.Add(time.Duration(float64(w.sent) / w.o.Rate * float64(time.Second)))
	select {
	case <-time.After(time.Until(due)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// round writes one batch and waits until the brokers have it.
func (w *tombWriter) round(ctx context.Context, p *kafka.Producer, active []*partWriter) error {
	budget := int64(roundKeys)
	if w.o.round > 0 {
		budget = w.o.round
	}
	if w.o.Rate > 0 {
		budget = min(budget, max(1, int64(w.o.Rate/2)))
	}
	ts := w.o.Timestamp
	if ts == 0 {
		ts = time.Now().UnixMilli()
	}
	share := max(1, budget/int64(len(active)))
	total := int64(0)
	for _, pw := range active {
		for pw.sending = 0; pw.sending < share && total < budget; pw.sending++ {
			key, err := pw.rd.next()
			if err == io.EOF {
				break
			}
			if err == nil {
				err = p.Send(ctx, kafka.ProduceRecord{Partition: pw.part.Partition, Timestamp: ts, Key: key})
			}
			if err != nil {
				return err
			}
			total++
		}
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}
	w.sent += total
	for _, pw := range active {
		pw.progress.Written += pw.sending
	}
	w.tell(total)
	if w.moved >= 0 {
		return w.stranger(ctx)
	}
	return w.save()
}

// acked hears where the broker has put a tombstone.
func (w *tombWriter) acked(partition int32, offset, _ int64) {
	if w.ends[partition] != offset {
		w.moved = partition
	}
	w.ends[partition] = offset + 1
}

// stranger finds out what has come between the tombstones: a transaction
// marker, or a batch of an earlier run that came late, does no harm.
func (w *tombWriter) stranger(ctx context.Context) error {
	partition := w.moved
	w.moved = -1
	for i := range w.store.Parts {
		if p := &w.store.Parts[i]; p.Partition == partition {
			_, err := walkTombstones(ctx, w.c, w.store.Topic, p, w.ends[partition])
			if err != nil {
				return err
			}
			return w.save()
		}
	}
	return op.Errorf(op.Failed, "%s: an answer about partition %d", w.store.Topic, partition)
}

// verifyTombstones reads a partition back up to end, which is behind its last
// tombstone, and compares it with what was to be written.
func verifyTombstones(ctx context.Context, c *kafka.Client, topic string, p *DeletionPart, end int64) (walked, error) {
	w, err := walkTombstones(ctx, c, topic, p, end)
	if err == nil && w.written != p.Keys.Keys {
		err = op.Errorf(op.Failed, "%s-%d: %d of %d tombstones were read back", topic, p.Partition, w.written, p.Keys.Keys).
			WithTry("run it again: it writes what is missing")
	}
	return w, err
}
