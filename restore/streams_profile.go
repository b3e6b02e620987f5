package restore

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// batchRecord is one record of a poll batch; its slices live in the batch's
// arena.
type batchRecord struct {
	offset, ts          int64
	key, value, headers []byte
}

// pollBatch gathers what one poll of the restore consumer returns: the unit in
// which Kafka Streams writes (StoreChangelogReader.restoreChangelog).
type pollBatch struct {
	arena   []byte
	records []batchRecord
}

func (b *pollBatch) reset() { b.arena, b.records = b.arena[:0], b.records[:0] }

func (b *pollBatch) add(r *kafka.Record, headers bool) {
	n := len(r.Key) + len(r.Value)
	if headers {
		n += len(r.Headers)
	}
	if cap(b.arena)-len(b.arena) < n {
		// A fresh arena: records already in the batch keep theirs.
		b.arena = make([]byte, 0, max(256<<10, 2*n))
	}
	copyOf := func(p []byte) []byte {
		if p == nil {
			return nil
		}
		i := len(b.arena)
		b.arena = append(b.arena, p...)
		return b.arena[i:len(b.arena):len(b.arena)]
	}
	x := batchRecord{offset: r.Offset, ts: r.Timestamp, key: copyOf(r.Key), value: copyOf(r.Value)}
	if headers {
		x.headers = copyOf(r.Headers)
	}
	b.records = append(b.records, x)
}

// batchStore applies poll batches to a store the way its Kafka Streams class
// does.
type batchStore interface {
	apply(recs []batchRecord, c *Counts) error
	flush() error
	stall() (int64, error) // nanoseconds, cumulative
	close() error
	// expired is the number of records that no live segment holds any more.
	expired() int64
	databases() []string
	// checkpoint makes a copy of each database below to, as it lies below from.
	checkpoint(from, to string) error
}

// replayStreams replays one unit as a Kafka Streams restore does: one thread,
// poll batches, WriteBatch per database, the store's own RocksDB options.
func (r *run) replayStreams(ctx context.Context, u *Unit, taskDir string, w *op.Stopwatch) (map[int32]Counts, Counts, error) {
	st, err := r.openBatchStore(u, taskDir)
	if err != nil {
		return nil, newCounts(), err
	}
	defer st.close()
	perPart := map[int32]Counts{}
	total := newCounts()
	var batch pollBatch
	for _, part := range u.Parts {
		c, err := r.replayPartition(ctx, u, part, st, &batch, w)
		if err != nil {
			return nil, total, err
		}
		perPart[part.Partition] = c
		total.add(c)
	}
	w.Enter(op.Flush)
	if err := st.flush(); err != nil {
		return nil, total, err
	}
	if ns, err := st.stall(); err == nil {
		w.Move(op.Write, op.Stall, durationNS(ns))
	}
	total.Expired = st.expired()
	total.SegmentsLive = len(st.databases())
	return perPart, total, st.close()
}

func (r *run) replayPartition(ctx context.Context, u *Unit, part PartRange, st batchStore, batch *pollBatch, w *op.Stopwatch) (Counts, error) {
	c := newCounts()
	c.Offsets = part.Records()
	if part.Records() == 0 {
		return c, nil
	}
	opened := time.Now()
	reader, err := r.open(ctx, u, part, w)
	if err != nil {
		return c, err
	}
	defer reader.Close()
	var dec kafka.Decoder
	maxPoll := r.consumerInt("max.poll.records", DefaultMaxPoll)
	headers := u.Request.Headers
	// What a versioned store keeps depends on where batches end. They are
	// windows of offsets there, so that both profiles give the same rows.
	windows := u.Request.Kind == streams.Versioned
	window := int64(0)
	write := func() error {
		if len(batch.records) == 0 {
			return nil
		}
		was := w.Enter(op.Write)
		err := st.apply(batch.records, &c)
		w.Enter(was)
		batch.reset()
		return err
	}
	for {
		w.Enter(op.Network)
		b, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, err
		}
		if c.FirstFetch == 0 {
			c.FirstFetch = time.Since(opened)
		}
		w.Enter(op.Decode)
		stats, err := dec.Decode(b, func(rec *kafka.Record) error {
			if !c.record(rec) {
				return nil
			}
			if n := (rec.Offset - part.From) / int64(maxPoll); windows && n != window {
				if err := write(); err != nil {
					return err
				}
				window = n
			}
			batch.add(rec, headers)
			if len(batch.records) >= maxPoll {
				return write()
			}
			return nil
		})
		if err == nil && !windows {
			err = write() // a poll does not wait for the next fetch
		}
		if err != nil {
			return c, err
		}
		c.block(b, stats)
		if err := r.checkTransactions(u, stats); err != nil {
			return c, err
		}
		r.progress(u, w, b.Next-b.First, int64(b.WireBytes))
		reader.Release(b)
	}
	err = write()
	return c, err
}

// openBatchStore opens the store for its kind, fresh or resumed.
func (r *run) openBatchStore(u *Unit, taskDir string) (batchStore, error) {
	s := u.Request.Store
	if !s.Kind.OnDisk() {
		return &memoryStore{}, nil
	}
	if s.Kind == streams.Versioned {
		if r.plan.Options.follow && u.Resume != "" {
			return openFollowedVersioned(taskDir, s, r.plan.checksum())
		}
		return openVersioned(taskDir, s, r.plan.checksum())
	}
	conv, err := streams.NewConverter(s)
	if err != nil {
		return nil, err
	}
	if u.Resume != "" {
		dual, err := isDual(taskDir, s)
		if err != nil {
			return nil, err
		}
		conv.SetDual(dual)
	}
	if s.Kind.Segmented() {
		return openSegmented(taskDir, s, conv, r.plan.checksum())
	}
	dir := streams.DatabaseDir(taskDir, s, 0)
	db, err := openDB(dir, s.ColumnFamilies(), r.plan.checksum())
	if err != nil {
		return nil, err
	}
	return &plainStore{db: db, dir: dir, conv: conv, batch: db.Batch()}, nil
}

// openDB opens the store's database, or makes it.
func openDB(dir string, families []string, sum rocks.Checksum) (*rocks.DB, error) {
	o := rocks.Options{Families: families, Checksum: sum}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if files.Exists(filepath.Join(dir, "CURRENT")) {
		return rocks.Open(dir, o)
	}
	return rocks.Create(dir, o)
}

// plainStore is a store of one database: key-value, timestamped, list,
// foreign-key subscription.
type plainStore struct {
	db    *rocks.DB
	dir   string
	conv  *streams.Converter
	batch *rocks.Batch
}

func (p *plainStore) apply(recs []batchRecord, c *Counts) error {
	for i := range recs {
		r := &recs[i]
		_, err := p.conv.Rows(r.key, r.value, r.headers, r.ts, func(row *streams.Row) error {
			if row.Delete {
				p.batch.Delete(row.Family, row.Key)
			} else {
				p.batch.Put(row.Family, row.Key, row.Value)
			}
			return nil
		})
		if err != nil {
			return recordError(err, r)
		}
	}
	return p.db.Write(p.batch)
}

func (p *plainStore) flush() error                     { return p.db.Flush() }
func (p *plainStore) stall() (int64, error)            { d, err := p.db.StallTime(); return int64(d), err }
func (p *plainStore) expired() int64                   { return 0 }
func (p *plainStore) databases() []string              { return []string{p.dir} }
func (p *plainStore) checkpoint(from, to string) error { return checkpointDB(p.db, from, to) }
func (p *plainStore) close() error                     { p.batch.Close(); return p.db.Close() }

// memoryStore stands for stores that keep nothing on disk: the replay is
// fetched and decoded, and that is its time.
type memoryStore struct{}

func (*memoryStore) apply([]batchRecord, *Counts) error { return nil }
func (*memoryStore) flush() error                       { return nil }
func (*memoryStore) stall() (int64, error)              { return 0, nil }
func (*memoryStore) expired() int64                     { return 0 }
func (*memoryStore) databases() []string                { return nil }
func (*memoryStore) checkpoint(_, _ string) error       { return nil }
func (*memoryStore) close() error                       { return nil }

func recordError(err error, r *batchRecord) error {
	return op.Errorf(op.Corrupt, "record at offset %d: %w", r.offset, err).
		WithTry("check that --kind is the store's kind")
}
