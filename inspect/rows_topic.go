package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// TopicRowsOptions says which changelog is read as a table.
type TopicRowsOptions struct {
	Topic      string
	Partitions []int32      // only these; empty for all
	Kind       streams.Kind // of the store: how its records' keys and values are laid out; "" is KV
	WindowSize int64        // ms; 0: not known

	Key, ForeignKey, Value serde.Serde // nil is guessed

	Memory       int64  // 0: DefaultChangelogMemory
	TempDir      string // for rows that do not fit; "": the system's
	StallTimeout time.Duration
}

// TopicRows is a changelog read as the table it is: the newest record of each
// key, by offset. Every call reads the topic anew, read committed: records of
// aborted transactions are not rows.
type TopicRows struct {
	r      *Rows // its kind and columns
	c      *kafka.Client
	o      TopicRowsOptions
	sink   op.Sink
	ends   map[int32]kafka.PartitionOffsets
	parts  []int32
	sample topicSample
}

// OpenTopicRows looks the topic up.
func OpenTopicRows(ctx context.Context, c *kafka.Client, o TopicRowsOptions, sink op.Sink) (*TopicRows, error) {
	if o.Memory == 0 {
		o.Memory = DefaultChangelogMemory
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	r := &Rows{name: o.Topic, kind: o.Kind, kindWhy: "as given", o: RowsOptions{WindowSize: o.WindowSize, Key: o.Key, ForeignKey: o.ForeignKey, Value: o.Value}}
	if r.kind == "" {
		r.kind, r.kindWhy = streams.KV, "not given: keys and values as the records have them"
	}
	r.columns()
	t := &TopicRows{r: r, c: c, o: o, sink: sink}
	if err := t.lookUp(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// lookUp finds where the partitions begin and end.
func (t *TopicRows) lookUp(ctx context.Context) (err error) {
	if _, err = t.c.Topic(ctx, t.o.Topic); err != nil {
		return err
	}
	if t.ends, err = t.c.Offsets(ctx, t.o.Topic, t.o.Partitions); err != nil {
		return err
	}
	t.parts = t.parts[:0]
	for p := range t.ends {
		t.parts = append(t.parts, p)
	}
	slices.Sort(t.parts)
	return nil
}

// KeyBytes is Rows.KeyBytes.
func (t *TopicRows) KeyBytes(ctx context.Context, text string) ([]byte, error) {
	if err := t.look(ctx); err != nil {
		return nil, err
	}
	return t.r.encodeKey(text)
}

// Get is Rows.Get: a key's record, or those of its windows or sessions.
func (t *TopicRows) Get(ctx context.Context, o RowsGet, fn func(*Row) error) (*RowsResult, error) {
	if o.AsOf != nil || o.History {
		return nil, op.Errorf(op.Usage, "topic %s: a compacted topic does not keep history", t.o.Topic).WithTry("look into the versioned store itself")
	}
	key, err := t.KeyBytes(ctx, o.Key)
	if err != nil {
		return nil, err
	}
	if o.Partitions > 0 {
		p := serde.Partition(key, o.Partitions)
		if !slices.Contains(t.parts, p) {
			return nil, op.Errorf(op.NotFound, "topic %s: the key belongs to partition %d of %d, which is not among those read", t.o.Topic, p, o.Partitions)
		}
		t.parts = []int32{p}
	}
	return t.Scan(ctx, RowsScan{From: key, To: key, Times: o.Times, Limit: o.Limit, Query: o.Query, Deleted: o.Deleted}, fn)
}

// Scan calls fn with the rows, partition by partition, by key. Reverse and
// History are not for topics.
func (t *TopicRows) Scan(ctx context.Context, o RowsScan, fn func(*Row) error) (*RowsResult, error) {
	if err := t.look(ctx); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		res, begun, err := t.scanOnce(ctx, o, fn)
		if start, ok := movedTo(err); ok && !begun && try < logRestarts && ctx.Err() == nil {
			t.sink.Warn(t.o.Topic, fmt.Sprintf("a log start moved to %d while the topic was read: read again", start))
			if err = t.lookUp(ctx); err == nil {
				continue
			}
		}
		return res, err
	}
}

// topicMemory is what the table gets of the budget; the rest is fetch buffers
// and the runtime.
func (t *TopicRows) topicMemory(workers int) (tableBytes int64, fetch int32) {
	buffers := int64(4 * workers)
	fetch = int32(min(max(t.o.Memory/8/buffers, 1<<20), 16<<20))
	rest := t.o.Memory - buffers*int64(fetch) - changelogReserve
	return max(max(rest, t.o.Memory/4), int64(workers)<<20), fetch
}

// scanOnce reads the topic into a table and shows it; begun says that rows
// were shown.
func (t *TopicRows) scanOnce(ctx context.Context, o RowsScan, fn func(*Row) error) (res *RowsResult, begun bool, err error) {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(t.parts)))
	memory, fetch := t.topicMemory(workers)
	tab, err := table.New(table.Options{Memory: memory, TempDir: t.o.TempDir, Workers: workers,
		EstimatedBytes: t.sample.bytes, EstimatedRows: t.sample.rows, Samples: t.sample.places})
	if err != nil {
		return nil, false, err
	}
	defer tab.Close()
	run := &topicRun{t: t, o: o, fetch: fetch, started: time.Now()}
	for _, p := range t.parts {
		run.total += max(0, t.ends[p].LastStable-t.ends[p].Start)
	}
	if err := run.read(ctx, tab, workers); err != nil {
		return nil, false, err
	}
	tab.Finish()
	p := &pass{ctx: ctx, r: t.r, res: t.result(), limit: o.Limit, count: o.Count, keys: o.KeysOnly, query: o.Query, fn: fn}
	if n := run.nullKeys.Load(); n > 0 {
		t.r.note("%d records without a key are not rows: Kafka Streams passes over them too", n)
	}
	err = run.show(tab, p)
	res, err = p.finish(err)
	return res, true, err
}

func (t *TopicRows) result() *RowsResult {
	res := &RowsResult{Store: t.o.Topic, Topic: &t.o.Topic, StoreKind: pointer(string(t.r.kind)), KindWhy: t.r.kindWhy}
	if t.o.WindowSize > 0 {
		res.WindowSize = &t.o.WindowSize
	}
	for _, p := range t.parts {
		e := t.ends[p]
		res.Sources = append(res.Sources, RowsSource{Partition: pointer(p), From: pointer(e.Start), To: pointer(e.LastStable)})
		if n := e.End - e.LastStable; n > 0 {
			t.r.note("partition %d: the last %d offsets are not decided yet (an open transaction): they are not shown", p, n)
		}
	}
	return res
}

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
		u.t.r.fillKey(row, k)
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
