package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// topicRun is one reading of a topic.
type topicRun struct {
	t        *TopicRows
	o        RowsScan
	fetch    int32
	started  time.Time
	total    int64
	done     atomic.Int64
	bytes    atomic.Int64
	nullKeys atomic.Int64
	throttle op.Throttle
}

// read reads all partitions, several at once.
func (u *topicRun) read(ctx context.Context, tab *table.Table, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, block atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		to := tab.NewRouter()
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(u.t.parts) {
					return
				}
				if err := u.partition(ctx, u.t.parts[i], to, &block); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (u *topicRun) partition(ctx context.Context, p int32, to *table.Router, block *atomic.Int64) error {
	t := u.t
	e := t.ends[p]
	if e.Start >= e.LastStable {
		return nil
	}
	name := fmt.Sprintf("%s-%d", t.o.Topic, p)
	reader, err := t.c.OpenPartition(ctx, kafka.ReadOptions{Topic: t.o.Topic, Partition: p, From: e.Start, To: e.LastStable, ReadCommitted: true,
		MaxBytes: u.fetch, Prefetch: 2, StallTimeout: t.o.StallTimeout, OnEvent: func(ev kafka.ReadEvent) { t.sink.Warn(name, ev.Text()) }})
	if err != nil {
		return err
	}
	defer reader.Close()
	var dec kafka.Decoder
	var packed []byte
	for {
		b, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		to.Begin(block.Add(1))
		_, err = dec.Decode(b, func(rec *kafka.Record) error {
			switch {
			case rec.Key == nil:
				u.nullKeys.Add(1)
			case u.wanted(rec.Key):
				packed = packRecord(packed[:0], rec)
				to.Add(uint32(p), rec.Key, packed, false)
			}
			return nil
		})
		if err := errors.Join(err, to.End()); err != nil {
			return err
		}
		u.progress(b.Next-b.First, int64(b.WireBytes))
		reader.Release(b)
	}
}

// wanted says whether a record's key lies in the bounds. A key that is not the
// kind's is wanted: it will be shown as what it is.
func (u *topicRun) wanted(key []byte) bool {
	if u.o.From == nil && u.o.To == nil && u.o.Prefix == nil {
		return true
	}
	k, err := streams.SplitRecordKey(u.t.r.kind, key)
	if err != nil {
		return false
	}
	f := filter{o: u.o}
	if u.t.r.kind == streams.FKSubscription {
		return f.keyOK(k.ForeignKey)
	}
	return f.keyOK(k.Key)
}

func (u *topicRun) progress(offsets, bytes int64) {
	done, n := u.done.Add(offsets), u.bytes.Add(bytes)
	now := time.Now()
	if u.t.sink == nil || !u.throttle.Ready(now) {
		return
	}
	ev := op.Event{Type: op.Progress, Name: u.t.o.Topic, Done: done, Total: u.total, Unit: "records", Bytes: n}
	if s := now.Sub(u.started).Seconds(); s > 0 {
		if ev.Rate = float64(done) / s; ev.Rate > 0 {
			ev.ETA = time.Duration(float64(u.total-done) / ev.Rate * float64(time.Second))
		}
	}
	u.t.sink.Emit(ev)
}

// show hands the table's rows on, in order.
func (u *topicRun) show(tab *table.Table, p *pass) error {
	sorter := tab.NewSorter()
	defer sorter.Close()
	row := Row{Kind: u.t.r.kind}
	for b := range tab.Buckets() {
		_, err := sorter.Load(b, func(bk *table.Bucket) error {
			for _, ref := range bk.Rows {
				if err := u.showRecord(&row, int32(ref.Group), bk.Key(ref), bk.Value(ref), p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *topicRun) showRecord(row *Row, partition int32, key, packed []byte, p *pass) error {
	rec, err := unpackRecord(packed)
	if err != nil {
		return err
	}
	if rec.Value == nil && !u.o.Deleted {
		return nil
	}
	*row = Row{Kind: row.Kind, Partition: &partition, Offset: &rec.Offset, Deleted: rec.Value == nil, Headers: nil}
	k, kerr := streams.SplitRecordKey(row.Kind, key)
	if kerr != nil {
		row.Key = Cell{Bytes: key, Err: kerr.Error()}
	} else {
		u.t.r.fillKey(row, &k)
	}
	if row.Kind == streams.Versioned {
		row.ValidFrom = &rec.Timestamp
	} else {
		row.Time = &rec.Timestamp
	}
	if u.o.Times.isSet() {
		if at := u.t.r.timeOf(row); at == nil || !u.o.Times.has(*at) {
			return nil
		}
	}
	if row.Headers, err = streams.ParseHeaders(rec.Headers); err != nil {
		return err
	}
	u.t.r.fillValue(row, rec.Value)
	p.src = &p.res.Sources[slices.Index(u.t.parts, partition)]
	return p.show(row)
}
