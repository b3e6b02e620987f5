package migrate

import (
	"context"
	"runtime"
	"sync"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/table"
)

// contents is what a partition holds: all of its records, and the table that
// they make, the newest record of each key. Both are digests that do not depend
// on the order. A deleted key is as good as none: brokers drop tombstones.
type contents struct {
	all, table table.Digest
}

// verifyMemory bounds the tables of a verification; readers and decoders come
// on top.
const verifyMemory = 96 << 20

// read digests [from, to) of a partition. It decodes on all cores, keeps 32
// bytes of each record, and spills them where memory ends.
func readContents(ctx context.Context, c *kafka.Client, topic string, p int32, from, to int64, tempDir string, progress func(records, bytes int64)) (contents, error) {
	var out contents
	if from >= to {
		return out, nil
	}
	workers := runtime.GOMAXPROCS(0)
	rows := to - from
	tab, err := table.New(table.Options{Memory: verifyMemory, TempDir: tempDir, Workers: workers, EstimatedBytes: 34 * rows, EstimatedRows: rows, Samples: hashSamples()})
	if err != nil {
		return out, err
	}
	defer tab.Close()
	o := kafka.ReadOptions{Topic: topic, Partition: p, From: from, To: to, ReadCommitted: true, MaxBytes: fetchBytes, Prefetch: 2}
	type worker struct {
		to  *table.Router
		dec kafka.Decoder
		all table.Digest
	}
	all := make([]worker, workers)
	for i := range all {
		all[i].to = tab.NewRouter()
	}
	err = c.EachBlock(ctx, o, workers, func(i int, n int64, b *kafka.Block) error {
		w := &all[i]
		w.to.Begin(n)
		st, err := w.dec.Decode(b, func(r *kafka.Record) error {
			h := hashRecord(r)
			h.add(&w.all)
			if !h.keyless {
				w.to.Add(0, h.key[:], h.rest[:], h.tombstone)
			}
			return nil
		})
		if e := w.to.End(); err == nil {
			err = e
		}
		if progress != nil {
			progress(st.Records, int64(b.WireBytes))
		}
		return err
	})
	if err != nil {
		return out, err
	}
	for i := range all {
		out.all.Merge(all[i].all)
	}
	tab.Finish()
	out.table, err = digestTable(ctx, tab, workers)
	return out, err
}

// digestTable sums the newest rows up.
func digestTable(ctx context.Context, tab *table.Table, workers int) (table.Digest, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu   sync.Mutex
		next int
		sum  table.Digest
		wg   sync.WaitGroup
	)
	for range workers {
		s := tab.NewSorter()
		wg.Go(func() {
			defer s.Close()
			var d table.Digest
			for ctx.Err() == nil {
				mu.Lock()
				b := next
				next++
				mu.Unlock()
				if b >= tab.Buckets() {
					break
				}
				if _, err := s.Load(b, func(bk *table.Bucket) error { d.AddBucket(bk); return nil }); err != nil {
					cancel(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Merge(d)
		})
	}
	wg.Wait()
	return sum, context.Cause(ctx)
}

// verify compares a copy with what it is a copy of, in two ways. All records of
// the copy are those that were read from the old topic while it was copied: no
// version is lost where history counts. And the tables that the two topics make
// now are the same: a cleaner that went over the old one meanwhile has changed
// nothing that counts.
func (k *copying) verify(ctx context.Context) error {
	t := k.topic
	ends, err := k.client.Offsets(ctx, t.New, nil)
	if err != nil {
		return err
	}
	old, err := k.client.Offsets(ctx, t.Old, nil)
	if err != nil {
		return err
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		oldEnd, newEnd := p.Map.End()
		if e := ends[p.Partition]; e.End != newEnd || e.Start != 0 {
			return k.damaged(p, "it goes from offset %d to %d, %d records were copied", e.Start, e.End, newEnd)
		}
		if end := old[p.Partition].End; end != oldEnd {
			return errMoved(t.Old, p.Partition, oldEnd, end)
		}
		copied, err := readContents(ctx, k.client, t.New, p.Partition, 0, newEnd, k.tempDir, k.progress)
		if err != nil {
			return err
		}
		if copied.all != p.All {
			return k.damaged(p, "its records are not those that were copied: %s, expected %s", copied.all, p.All)
		}
		p.Verified = &VerifiedPartition{Records: copied.all.Rows, Keys: copied.table.Rows, All: copied.all.String(), Table: copied.table.String()}
		if err := k.compareTable(ctx, p, old[p.Partition].Start, copied); err != nil {
			return err
		}
	}
	return nil
}

// compareTable reads the old partition once more.
func (k *copying) compareTable(ctx context.Context, p *CopiedPartition, start int64, copied contents) error {
	oldEnd, _ := p.Map.End()
	if start > p.Map.Start() {
		p.Verified.Unmeasured = unmeasuredRetention(p.Map.Start(), start)
		return nil
	}
	was, err := readContents(ctx, k.client, k.topic.Old, p.Partition, start, oldEnd, k.tempDir, k.progress)
	if moved, ok := asMoved(err); ok {
		p.Verified.Unmeasured = unmeasuredRetention(p.Map.Start(), moved)
		return nil
	}
	if err != nil {
		return err
	}
	if was.table != copied.table {
		return op.Errorf(op.Failed, "%s-%d and its copy %s make different tables: %s and %s", k.topic.Old, p.Partition, k.topic.New, was.table, copied.table).
			WithTry("sstool migrate abort FILE removes the copy; nothing old was changed")
	}
	p.Verified.Cleaned = was.all != copied.all
	return nil
}
