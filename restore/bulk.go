package restore

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// groupBase is the table group of the first segment seen in the sample: groups
// are unsigned and segments may be older than the sample.
const groupBase = 1 << 31

// errFarApart says that times in a changelog are too far apart to sort by
// segment.
var errFarApart = errors.New("the times of records are ages apart (one is not in milliseconds?)")

// sstTarget is the size at which a new SST file is begun.
const sstTarget = 64 << 20

// bulkRun is one unit on its way through the table: records are routed to key
// ranges as they arrive, then every range is deduplicated, sorted and written
// straight into SST files, which RocksDB ingests. No memtable, no compaction.
type bulkRun struct {
	r        *run
	u        *Unit
	store    streams.Store
	taskDir  string
	tmp      string
	workers  int
	table    *table.Table
	base     int64 // segment id of group groupBase
	haveBase bool
	largest  int64     // bytes of a batch, as sampled
	ahead    *openedDB // the database, for a store that is one
	family   int

	segments map[int64]bool // every segment a record of which was seen
	watches  []*op.Stopwatch
	routers  []*router
	samples  [][]table.Sample
	times    versionedTimes
	spans    []versionedSpan
}

func (r *run) replayBulk(ctx context.Context, u *Unit, taskDir, tmp string, workers int) (_ map[int32]Counts, _ Counts, watches []*op.Stopwatch, err error) {
	b := &bulkRun{r: r, u: u, store: u.Request.Store, taskDir: taskDir, tmp: tmp, workers: workers, segments: map[int64]bool{}}
	b.family = len(b.store.ColumnFamilies()) - 1
	for range workers {
		b.watches = append(b.watches, op.StartWatch(op.Idle))
	}
	watches = b.watches
	total := newCounts()
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, total, watches, err
	}
	defer os.RemoveAll(tmp)
	if !b.store.Kind.Segmented() {
		b.ahead = b.openAhead(streams.DatabaseDir(taskDir, b.store, 0))
		defer b.ahead.close()
	}
	sample, err := b.sample(ctx)
	if err != nil {
		return nil, total, watches, err
	}
	b.samples = sample.places
	b.largest = sample.largest
	memory := r.tableMemory(b.largest)
	if b.store.Kind == streams.Versioned {
		memory = max(memory*2/3, r.leastTable()) // the rest is for the second table
	}
	opt := table.Options{Memory: memory, TempDir: tmp, Workers: workers, EstimatedBytes: sample.rowBytes, Samples: sample.places, KeepAll: b.store.Kind == streams.Versioned,
		KeepTombstones: u.Resume != "", EstimatedRows: sample.rows}
	if b.table, err = table.New(opt); err != nil {
		return nil, total, watches, err
	}
	defer b.table.Close()
	for _, w := range watches {
		rt, err := b.newRouter(w)
		if err != nil {
			return nil, total, watches, err
		}
		b.routers = append(b.routers, rt)
	}
	perPart := map[int32]Counts{}
	var seq int64
	for _, part := range u.Parts {
		c, err := b.route(ctx, part, &seq)
		if err != nil {
			return nil, total, watches, err
		}
		perPart[part.Partition] = c
		total.add(c)
	}
	b.table.Finish()
	if b.store.Kind == streams.Versioned {
		err = b.writeVersioned(ctx, &total)
	} else {
		err = b.write(ctx, &total)
	}
	total.TempPeak += b.table.DiskPeak()
	return perPart, total, watches, err
}

// group is the table group of a segment.
func (b *bulkRun) group(segment int64) (uint32, error) {
	g := segment - b.base + groupBase
	if g < 0 || g > math.MaxUint32 {
		return 0, op.Errorf(op.Failed, "segments %d and %d: %w", segment, b.base, errFarApart)
	}
	return uint32(g), nil
}

func (b *bulkRun) segment(group uint32) int64 { return int64(group) - groupBase + b.base }

// route reads one partition and routes its rows; several workers decode
// blocks at once.
func (b *bulkRun) route(ctx context.Context, part PartRange, seq *int64) (Counts, error) {
	total := newCounts()
	total.Offsets = part.Records()
	if part.Records() == 0 {
		return total, nil
	}
	opened := time.Now()
	reader, err := b.r.open(ctx, b.u, part, nil)
	if err != nil {
		return total, err
	}
	defer reader.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.times = versionedTimes{from: part.From, window: int64(b.r.consumerInt("max.poll.records", DefaultMaxPoll))}
	var next, spans sync.Mutex
	spanOf := map[int64]versionedSpan{}
	first := *seq
	take := func() (*kafka.Block, int64, error) {
		next.Lock()
		defer next.Unlock()
		blk, err := reader.Next(ctx)
		if err != nil {
			return nil, 0, err
		}
		if total.FirstFetch == 0 {
			total.FirstFetch = time.Since(opened)
		}
		n := *seq
		*seq++
		return blk, n, nil
	}
	var wg sync.WaitGroup
	for _, rt := range b.routers {
		rt.counts = newCounts()
		rt.times = versionedTimes{from: b.times.from, window: b.times.window}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer rt.w.Enter(op.Idle)
			for {
				rt.w.Enter(op.Network)
				blk, n, err := take()
				if errors.Is(err, io.EOF) {
					return
				}
				if err == nil {
					var sp versionedSpan
					sp, err = rt.block(blk, n)
					spans.Lock()
					spanOf[n] = sp
					spans.Unlock()
				}
				if err != nil {
					cancel(err)
					return
				}
				b.r.progress(b.u, rt.w, blk.Next-blk.First, int64(blk.WireBytes))
				reader.Release(blk)
			}
		}()
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return total, err
	}
	for _, rt := range b.routers {
		total.add(rt.counts)
		b.times.merge(&rt.times)
		for s := range rt.segments {
			b.segments[s] = true
		}
	}
	for n := first; n < *seq; n++ {
		b.spans = append(b.spans, spanOf[n])
	}
	return total, nil
}

// router is one worker's way from block to table.
type router struct {
	b        *bulkRun
	w        *op.Stopwatch
	dec      kafka.Decoder
	conv     *streams.Converter
	to       *table.Router
	counts   Counts
	segments map[int64]bool
	lastSeg  int64
	haveSeg  bool
	lastGrp  uint32
	local    int64 // running stream time within the block (versioned)
	times    versionedTimes
	scratch  []byte
}

func (b *bulkRun) newRouter(w *op.Stopwatch) (*router, error) {
	rt := &router{b: b, w: w, to: b.table.NewRouter(), counts: newCounts(), segments: map[int64]bool{}}
	if b.store.Kind != streams.Versioned {
		var err error
		if rt.conv, err = streams.NewConverter(b.store); err != nil {
			return nil, err
		}
	}
	return rt, nil
}

func (rt *router) block(blk *kafka.Block, seq int64) (versionedSpan, error) {
	rt.w.Enter(op.Decode)
	rt.to.Begin(seq)
	rt.local = math.MinInt64
	add := rt.row()
	stats, err := rt.dec.Decode(blk, func(rec *kafka.Record) error {
		if !rt.counts.record(rec) {
			return nil
		}
		return add(rec)
	})
	if err != nil {
		return versionedSpan{}, err
	}
	rt.counts.block(blk, stats)
	if err := rt.b.r.checkTransactions(rt.b.u, stats); err != nil {
		return versionedSpan{}, err
	}
	rt.w.Enter(op.Sort)
	return versionedSpan{first: blk.First, streamTime: rt.local}, rt.to.End()
}

// row is the shortest way from a record to the table for the store's kind.
func (rt *router) row() func(*kafka.Record) error {
	s := rt.b.store
	switch {
	case s.Kind == streams.Versioned:
		return rt.versionedRow
	case (s.Kind == streams.TimestampedKV || s.Kind == streams.FKSubscription) && !s.Headers:
		return func(r *kafka.Record) error {
			rt.to.AddTimestamped(groupBase, r.Key, r.Timestamp, r.Value, r.Value == nil)
			return nil
		}
	case !s.Kind.Segmented() && !s.Headers:
		return func(r *kafka.Record) error {
			rt.to.Add(groupBase, r.Key, r.Value, r.Value == nil)
			return nil
		}
	}
	addRow := func(row *streams.Row) error {
		if !rt.haveSeg || row.Segment != rt.lastSeg {
			g, err := rt.b.group(row.Segment)
			if err != nil {
				return err
			}
			rt.lastSeg, rt.lastGrp, rt.haveSeg = row.Segment, g, true
			rt.segments[row.Segment] = true
		}
		rt.to.Add(rt.lastGrp, row.Key, row.Value, row.Delete)
		return nil
	}
	return func(r *kafka.Record) error {
		t, err := rt.conv.Rows(r.Key, r.Value, r.Headers, r.Timestamp, addRow)
		if err != nil {
			return recordError(err, &batchRecord{offset: r.Offset})
		}
		rt.counts.StreamTime = max(rt.counts.StreamTime, t)
		return nil
	}
}
