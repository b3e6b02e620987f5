package migrate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/table"
)

// ttlChangelog reads a changelog up to its end into a table: the newest record
// of each key, in bounded memory.
type ttlChangelog struct {
	c         *kafka.Client
	topic     string
	ends      map[int32]kafka.PartitionOffsets
	parts     []int32
	committed bool // read_committed, and so up to the last stable offset
	values    bool // values are kept: a query needs them
	wanted    func(key []byte) bool
	stall     time.Duration
	sink      op.Sink
	workers   int
	memory    int64 // of the table
	fetch     int32
	tempDir   string
	// ahead is how far timestamps may be ahead of the clock and count for stream
	// time.
	latest int64

	samples  [][]table.Sample
	rows     int64 // estimates
	rowBytes int64

	tab *table.Table

	mu         sync.Mutex
	streamTime map[int32]int64 // newest timestamp of a row, up to latest; -1: none
	stats      kafka.BlockStats
	nullKeys   int64

	started  time.Time
	total    int64
	done     atomic.Int64
	wire     atomic.Int64
	throttle op.Throttle
}

const (
	ttlSampleRows = 256 // of one place of a partition
	// ttlReserve is what runtime and client take of the memory.
	ttlReserve = 64 << 20
	// logRestarts bounds how often a log start that moves on is followed.
	logRestarts = 5
)

// end is what is read up to.
func (t *ttlChangelog) end(p int32) int64 {
	if t.committed {
		return t.ends[p].LastStable
	}
	return t.ends[p].End
}

// look samples both ends of each partition, for the table's shape and for what
// else the records tell.
func (t *ttlChangelog) look(ctx context.Context, fn func(*kafka.Record)) error {
	var seen, bytes int64
	t.samples, t.rows = nil, 0
	for _, p := range t.parts {
		start, end := t.ends[p].Start, t.end(p)
		if end <= start {
			continue
		}
		t.rows += end - start
		places := []int64{start}
		if end-start > 2*ttlSampleRows {
			places = append(places, end-ttlSampleRows)
		}
		for _, from := range places {
			place := []table.Sample{}
			err := t.c.Peek(ctx, t.readOptions(p, from), ttlSampleRows, func(r *kafka.Record) error {
				if r.Key == nil {
					return nil
				}
				seen++
				bytes += int64(len(r.Key)) + ttlRowHead
				if t.values {
					bytes += int64(len(r.Value))
				}
				place = append(place, table.Sample{Group: uint32(p), Key: slices.Clone(r.Key)})
				fn(r)
				return nil
			})
			if _, moved := logMoved(err); err != nil && !moved {
				return err
			}
			t.samples = append(t.samples, place)
		}
	}
	if seen > 0 {
		t.rowBytes = bytes * t.rows / seen
	}
	return nil
}

func logMoved(err error) (int64, bool) {
	var moved *kafka.LogStartMovedError
	if errors.As(err, &moved) {
		return moved.LogStart, true
	}
	return 0, false
}

func (t *ttlChangelog) readOptions(p int32, from int64) kafka.ReadOptions {
	name := fmt.Sprintf("%s-%d", t.topic, p)
	return kafka.ReadOptions{Topic: t.topic, Partition: p, From: from, To: t.end(p), ReadCommitted: t.committed, MaxBytes: t.fetch, Prefetch: 2,
		StallTimeout: t.stall, OnEvent: func(ev kafka.ReadEvent) { t.sink.Warn(name, ev.Text()) }}
}

// read fills the table.
func (t *ttlChangelog) read(ctx context.Context) error {
	t.started = time.Now()
	for _, p := range t.parts {
		t.total += max(0, t.end(p)-t.ends[p].Start)
	}
	var err error
	t.tab, err = table.New(table.Options{Memory: t.memory, TempDir: t.tempDir, Workers: t.workers,
		EstimatedBytes: t.rowBytes, EstimatedRows: t.rows, Samples: t.samples})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := &ttlQueue{t: t, ctx: ctx}
	defer q.close()
	var wg sync.WaitGroup
	for range t.workers {
		to := t.tab.NewRouter()
		wg.Go(func() {
			w := ttlReadWorker{t: t, to: to, newest: map[int32]int64{}}
			if err := w.run(ctx, q); err != nil {
				cancel(err)
			}
			w.merge()
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	t.tab.Finish()
	return nil
}

func (t *ttlChangelog) progress(offsets, bytes int64) {
	done, wire := t.done.Add(offsets), t.wire.Add(bytes)
	now := time.Now()
	if t.sink == nil || !t.throttle.Ready(now) {
		return
	}
	ev := op.Event{Type: op.Progress, Name: t.topic, Done: done, Total: t.total, Unit: "records", Bytes: wire}
	if s := now.Sub(t.started).Seconds(); s > 0 {
		if ev.Rate = float64(done) / s; ev.Rate > 0 {
			ev.ETA = time.Duration(float64(t.total-done) / ev.Rate * float64(time.Second))
		}
	}
	t.sink.Emit(ev)
}

// units are the table's buckets.
func (t *ttlChangelog) units() int { return t.tab.Buckets() }

func (t *ttlChangelog) close() error {
	if t.tab == nil {
		return nil
	}
	return t.tab.Close()
}

func (t *ttlChangelog) reader() ttlReader {
	return &ttlTableReader{sorter: t.tab.NewSorter(), values: t.values}
}

// ttlTableReader reads buckets.
type ttlTableReader struct {
	sorter *table.Sorter
	values bool
	row    ttlRow
}

func (r *ttlTableReader) close() error { return r.sorter.Close() }

func (r *ttlTableReader) each(unit int, fn func(*ttlRow) error) error {
	_, err := r.sorter.Load(unit, func(b *table.Bucket) error {
		for _, ref := range b.Rows {
			packed := b.Value(ref)
			if len(packed) < ttlRowHead {
				return op.Errorf(op.Corrupt, "the table of the topic: a row of %d bytes is not as it was written", len(packed))
			}
			key := b.Key(ref)
			r.row = ttlRow{partition: int32(ref.Group), key: key, time: int64(binary.BigEndian.Uint64(packed)),
				size: int64(len(key)) + int64(binary.BigEndian.Uint32(packed[8:]))}
			if r.values {
				r.row.value = packed[ttlRowHead:]
			}
			if err := fn(&r.row); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
