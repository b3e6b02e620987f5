package inspect

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
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
	t.r.noteEmpty(o)
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
	t.r.sayWindow(res)
	for _, p := range t.parts {
		e := t.ends[p]
		res.Sources = append(res.Sources, RowsSource{Partition: pointer(p), From: pointer(e.Start), To: pointer(e.LastStable)})
		if n := e.End - e.LastStable; n > 0 {
			t.r.note("partition %d: the last %d offsets are not decided yet (an open transaction): they are not shown", p, n)
		}
	}
	return res
}
