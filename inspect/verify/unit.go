package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// unit is a store in one task, with what is known of its changelog.
type unit struct {
	o     *Options
	c     *kafka.Client
	sink  op.Sink
	rows  *inspect.Rows
	task  *inspect.RawTask
	store streams.Store

	topic      string
	compacted  bool  // cleanup.policy has compact; also when it is not known
	deletes    bool  // … delete
	appendTime bool  // records have the broker's time, rows do not
	retention  int64 // ms; 0: nothing expires
	parts      []*part
	running    bool            // an application has the store open, or may have
	own        map[int64]int64 // last offsets that segments say themselves; nil: they say none
	patience   time.Duration   // that records of rows on disk get to arrive

	workers  int
	number   atomic.Int64 // of blocks in the table
	progress progress

	mu         sync.Mutex
	local      table.Digest
	rowCount   int64
	indexed    bool  // there are index rows
	streamTime int64 // of the store: newest window, session or version; -1 before the first
	newest     int64 // time of the newest record
}

// part is a partition that fills the store.
type part struct {
	Partition
	applied int64 // last offset applied; -1: none
	known   bool  // it is stored, or was given
}

func (u *unit) reset() {
	u.number.Store(0)
	u.local, u.rowCount, u.streamTime, u.newest = table.Digest{}, 0, -1, -1
	for _, p := range u.parts {
		p.Records, p.Later, p.Aborted, p.NullKeys = 0, 0, 0, 0
	}
}

// compare is the whole of it; it begins anew when the changelog was cut or
// cleaned meanwhile, so that what it was compared with is gone.
func (u *unit) compare(ctx context.Context) (*Task, error) {
	for try := 1; ; try++ {
		t, err := u.once(ctx)
		var moved *kafka.LogStartMovedError
		again := errors.As(err, &moved) || errors.Is(err, errCleaned)
		if !again || try == maxTries || ctx.Err() != nil {
			if errors.Is(err, errCleaned) {
				return nil, op.Errorf(op.Failed, "%s was cleaned again and again while it was read", u.topic).WithTry("again, when less is written to it")
			}
			return t, err
		}
		u.sink.Warn(u.name(), "the changelog was cut or cleaned while it was read: compared anew")
	}
}

func (u *unit) name() string { return cmp.Or(u.task.Task, u.store.Name) }

func (u *unit) once(ctx context.Context) (*Task, error) {
	u.reset()
	if err := u.ownOffsets(); err != nil {
		return nil, err
	}
	pieces, keys, err := u.task.Pieces(pieceBytes)
	if err != nil {
		return nil, err
	}
	tab, err := u.newTable(ctx, keys)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	routers := make([]*table.Router, u.workers)
	for i := range routers {
		routers[i] = tab.NewRouter()
	}
	if err := u.readRows(ctx, pieces, routers); err != nil {
		return nil, err
	}
	if err := u.settle(ctx); err != nil {
		return nil, err
	}
	if err := u.readChangelog(ctx, routers); err != nil {
		return nil, err
	}
	tab.Finish()
	u.progress.phase("compare")
	found, err := u.judge(ctx, tab)
	if err != nil {
		return nil, err
	}
	return u.result(ctx, found)
}

// inFlight is longer than a producer keeps a record that it can send: Kafka
// Streams sets linger.ms to 100.
const inFlight = 3 * time.Second

// settle waits for records whose rows have been read.
func (u *unit) settle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(u.patience):
		return nil
	}
}

// ownOffsets reads what each segment says, where segments do; before its rows.
func (u *unit) ownOffsets() (err error) {
	u.own = nil
	if !u.running || !u.store.Kind.Segmented() || len(u.parts) != 1 || u.parts[0].OffsetBy != inspect.KeptInFamily {
		return nil
	}
	u.own, err = u.task.OwnOffsets(u.topic, u.parts[0].Partition.Partition)
	return err
}

const (
	pieceBytes = 8 << 20
	blockRows  = 4096
	reserve    = 72 << 20 // fetched blocks, decoders, files being read, the runtime
)

func (u *unit) newTable(ctx context.Context, keys [][]byte) (*table.Table, error) {
	var offsets int64
	var places [][]table.Sample
	if len(keys) > 0 {
		var list []table.Sample
		for _, k := range keys {
			list = append(list, table.Sample{Key: u.tableKey(k)})
		}
		places = append(places, list)
	}
	for _, p := range u.parts {
		ends, err := u.c.Offsets(ctx, u.topic, []int32{p.Partition.Partition})
		if err != nil {
			return nil, err
		}
		e := ends[p.Partition.Partition]
		offsets += e.End - e.Start
		more, err := u.peek(ctx, p, e)
		if err != nil {
			return nil, err
		}
		places = append(places, more...)
	}
	rows := offsets + int64(len(keys)+1)*pieceBytes/100
	return table.New(table.Options{Memory: max(u.o.Memory-reserve, u.o.Memory/3), TempDir: u.o.TempDir, Workers: u.workers, KeepAll: true,
		EstimatedRows: rows, EstimatedBytes: 64 * rows, Samples: places})
}

// tableKey is the key of the table for a row's.
func (u *unit) tableKey(key []byte) []byte {
	switch {
	case u.store.Kind == streams.Versioned && len(key) >= 8:
		return key[8:]
	case numbered(u.store.Kind) && len(key) >= seqBytes:
		return key[:len(key)-seqBytes]
	}
	return key
}

// peek samples a few records of both ends.
func (u *unit) peek(ctx context.Context, p *part, e kafka.PartitionOffsets) (places [][]table.Sample, err error) {
	const keep = 256
	starts := []int64{e.Start}
	if e.End-e.Start > 2*keep {
		starts = append(starts, (e.Start+e.End)/2, e.End-keep)
	}
	c, err := newCanon(u.store)
	if err != nil {
		return nil, err
	}
	for _, from := range starts {
		if from >= e.End {
			continue
		}
		list := []table.Sample{}
		err := u.c.Peek(ctx, u.o.readOptions(u.topic, p.Partition.Partition, from, e.End, false), keep, func(r *kafka.Record) error {
			if r.Key == nil {
				return nil
			}
			_, err := c.record(r, 0, false, func(key []byte, _ *entry) error {
				list = append(list, table.Sample{Key: append([]byte(nil), key...)})
				return nil
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		places = append(places, list)
	}
	return places, nil
}

// readRows puts all rows on disk into the table.
func (u *unit) readRows(ctx context.Context, pieces []inspect.RawPiece, routers []*table.Router) error {
	u.progress.phase("rows")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range u.workers {
		wg.Go(func() {
			r := rowReader{u: u}
			if routers != nil {
				r.to = routers[w]
			}
			if err := r.run(ctx, pieces, &next); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	u.store.WithIndex = u.store.WithIndex || u.indexed // a young store had no row when its kind was told
	return u.rows.Wrong()
}

// rowReader is one worker's way from rows to the table.
type rowReader struct {
	u      *unit
	to     *table.Router // nil: only the digest is wanted
	digest table.Digest
	rows   int64
	index  bool
	buf    []byte
	rest   []byte
}

// begin and end enclose a block of rows.
func (r *rowReader) begin() {
	if r.to != nil {
		r.to.Begin(r.u.number.Add(1))
	}
}

func (r *rowReader) end() error {
	if r.to == nil {
		return nil
	}
	return r.to.End()
}

func (r *rowReader) run(ctx context.Context, pieces []inspect.RawPiece, next *atomic.Int64) error {
	c, err := newCanon(r.u.store)
	if err != nil {
		return err
	}
	take := func(key []byte, e *entry) error {
		r.rest = e.rest(r.rest)
		r.digest.Add(0, key, r.rest)
		if r.to != nil {
			r.buf = e.append(r.buf[:0])
			r.to.Add(0, key, r.buf, false)
		}
		return nil
	}
	for i := next.Add(1) - 1; i < int64(len(pieces)); i = next.Add(1) - 1 {
		n := 0
		r.begin()
		err := pieces[i].Each(func(family string, key, value []byte) error {
			if n++; n%blockRows == 0 {
				if err := errors.Join(ctx.Err(), r.end()); err != nil {
					return err
				}
				r.u.progress.add(blockRows, 0)
				r.begin()
			}
			r.rows++
			r.index = r.index || indexRow(r.u.store.Kind, key)
			if err := c.row(family, key, value, take); err != nil {
				return &op.Error{Kind: op.Corrupt, What: r.u.task.Dir, Err: fmt.Errorf("row %x: %w", key, err), Try: "check --kind"}
			}
			return nil
		})
		if err := errors.Join(err, r.end()); err != nil {
			return err
		}
	}
	r.u.mu.Lock()
	defer r.u.mu.Unlock()
	r.u.local.Merge(r.digest)
	r.u.rowCount += r.rows
	r.u.indexed = r.u.indexed || r.index
	return nil
}

// readChangelog puts all records into the table: those up to the store's offset
// as a restore under the application's guarantee sees them; those behind it all,
// since the application may have applied what is not committed yet.
func (u *unit) readChangelog(ctx context.Context, routers []*table.Router) error {
	u.progress.phase("changelog")
	bufs := make([][]byte, len(routers))
	for _, p := range u.parts {
		err := u.ranges(ctx, p, func(from, to int64, committed, later bool) error {
			base, last := u.number.Load()+1, atomic.Int64{}
			err := u.eachRecord(ctx, p, from, to, committed, later, func(w int, n int64) (func(key []byte, e *entry) error, func() error) {
				r := routers[w]
				r.Begin(base + n)
				for old := last.Load(); old < n && !last.CompareAndSwap(old, n); old = last.Load() {
				}
				return func(key []byte, e *entry) error {
					bufs[w] = e.append(bufs[w][:0])
					r.Add(0, key, bufs[w], false)
					return nil
				}, r.End
			})
			u.number.Store(base + last.Load())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ranges calls fn with the two parts of a partition, up to the store's offset and
// behind it.
func (u *unit) ranges(ctx context.Context, p *part, fn func(from, to int64, committed, later bool) error) error {
	ends, err := u.c.Offsets(ctx, u.topic, []int32{p.Partition.Partition})
	if err != nil {
		return err
	}
	e := ends[p.Partition.Partition]
	p.LogStart, p.End = e.Start, e.End
	border := min(max(p.applied+1, e.Start), e.End)
	committed := u.o.ExactlyOnce == nil || *u.o.ExactlyOnce
	if committed {
		border = min(border, e.LastStable)
	}
	if err := fn(e.Start, border, committed, false); err != nil {
		return err
	}
	return fn(border, e.End, false, true)
}

// recordReader is one worker's way from blocks to entries.
type recordReader struct {
	c                     *canon
	dec                   kafka.Decoder
	streamTime, newest    int64
	records, nulls, abort int64
}

// eachRecord hands out the entries of all records of a range. begin is called for
// each block, with the worker and the block's number; done, which may be nil, is
// called at the block's end.
func (u *unit) eachRecord(ctx context.Context, p *part, from, to int64, committed, later bool, begin func(w int, n int64) (take func(key []byte, e *entry) error, done func() error)) error {
	if from >= to {
		return nil
	}
	workers := u.workers
	if u.store.Kind == streams.Versioned {
		workers = 1 // stream time goes in the order of offsets
	}
	all := make([]recordReader, workers)
	for i := range all {
		c, err := newCanon(u.store)
		if err != nil {
			return err
		}
		c.clock = u.streamTime
		all[i] = recordReader{c: c, streamTime: -1, newest: -1}
	}
	err := u.c.EachBlock(ctx, u.o.readOptions(u.topic, p.Partition.Partition, from, to, committed), workers, func(w int, n int64, b *kafka.Block) error {
		r := &all[w]
		take, done := begin(w, n)
		stats, err := r.dec.Decode(b, func(rec *kafka.Record) error {
			r.records++
			if rec.Key == nil {
				r.nulls++
				return nil
			}
			at, err := r.c.record(rec, p.Partition.Partition, later, take)
			r.streamTime, r.newest = max(r.streamTime, at), max(r.newest, rec.Timestamp)
			return err
		})
		r.abort += stats.Aborted
		u.progress.add(b.Next-b.First, int64(b.WireBytes))
		if done != nil {
			err = errors.Join(err, done())
		}
		return err
	})
	for i := range all {
		r := &all[i]
		u.streamTime, u.newest = max(u.streamTime, r.streamTime), max(u.newest, r.newest)
		p.Records, p.NullKeys, p.Aborted = p.Records+r.records, p.NullKeys+r.nulls, p.Aborted+r.abort
		if later {
			p.Later += r.records
		}
	}
	return err
}

// expired says whether the row of a key is past retention, so that no query sees
// it and a restore may leave it out.
func (u *unit) expired(key []byte, e *entry) bool {
	if u.retention <= 0 || !u.store.Kind.Windowed() {
		return false
	}
	if at, ok := keyTime(u.store.Kind, key); ok && at < u.streamTime-u.retention {
		return true
	}
	// From 4.4 on a restore begins with the first record that is younger than
	// the last one by no more than the retention (KAFKA-13499).
	return e != nil && !e.local && e.time < u.newest-u.retention
}

func threads() int { return runtime.GOMAXPROCS(0) }

// progress tells how far the work is.
type progress struct {
	sink     op.Sink
	name     string
	unit     string
	throttle op.Throttle
	started  time.Time
	done     atomic.Int64
	bytes    atomic.Int64
}

func (p *progress) phase(name string) {
	p.done.Store(0)
	p.bytes.Store(0)
	p.started = time.Now()
	p.unit = "rows"
	if name == "changelog" {
		p.unit = "records"
	}
	p.sink.Emit(op.Event{Type: op.Phase, Name: strings.TrimSpace(p.name + " " + name)})
}

func (p *progress) add(n, bytes int64) {
	done, b := p.done.Add(n), p.bytes.Add(bytes)
	now := time.Now()
	if p.sink == nil || !p.throttle.Ready(now) {
		return
	}
	ev := op.Event{Type: op.Progress, Name: p.name, Done: done, Unit: p.unit, Bytes: b}
	if s := now.Sub(p.started).Seconds(); s > 0 {
		ev.Rate = float64(done) / s
	}
	p.sink.Emit(ev)
}
