package restore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"sstool/internal/kafka"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// versionedStore replays a versioned store batch by batch (one database, rows
// prefixed by segment).
type versionedStore struct {
	db      *rocks.DB
	dir     string
	backend *versionedBackend
	replay  *streams.VersionedStore
	in      []streams.VersionedInput
	dropped int64
}

func openVersioned(taskDir string, s streams.Store, sum rocks.Checksum) (*versionedStore, error) {
	dir := streams.DatabaseDir(taskDir, s, 0)
	db, err := openDB(dir, s.ColumnFamilies(), sum)
	if err != nil {
		return nil, err
	}
	v := &versionedStore{db: db, dir: dir}
	v.backend = &versionedBackend{db: db, batch: db.Batch()}
	v.replay = streams.NewVersionedStore(s, v.backend)
	return v, nil
}

// openFollowedVersioned opens a store to go on with it as a standby that was
// never stopped, with all the history that it has.
func openFollowedVersioned(taskDir string, s streams.Store, sum rocks.Checksum) (*versionedStore, error) {
	segments, err := versionedSegments(streams.DatabaseDir(taskDir, s, 0))
	if err != nil {
		return nil, err
	}
	v, err := openVersioned(taskDir, s, sum)
	if err == nil {
		v.replay.Continue(segments)
	}
	return v, err
}

// versionedSegments are the ids of the segments that have rows, ascending: one
// seek for each.
func versionedSegments(dir string) ([]int64, error) {
	d, err := lsm.OpenDB(dir)
	switch {
	case op.KindOf(err) == op.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	it, err := d.Iter(streams.DefaultFamily, lsm.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var out []int64
	var from [8]byte
	for it.SeekGE(from[:]) {
		key, _ := it.Row()
		if len(key) < 8 {
			return nil, op.Errorf(op.Corrupt, "%s: row key %x has no segment", dir, key)
		}
		id := int64(binary.BigEndian.Uint64(key))
		if id < 0 { // the latest rows
			break
		}
		out = append(out, id)
		binary.BigEndian.PutUint64(from[:], uint64(id+1))
	}
	return out, it.Err()
}

func (v *versionedStore) apply(recs []batchRecord, c *Counts) error {
	v.in = v.in[:0]
	for i := range recs {
		v.in = append(v.in, streams.VersionedInput{Key: recs[i].key, Value: recs[i].value, TS: recs[i].ts})
	}
	n, err := v.replay.Restore(v.in)
	v.dropped += n
	c.StreamTime = max(c.StreamTime, v.replay.StreamTime())
	return err
}

func (v *versionedStore) flush() error                     { return v.db.Flush() }
func (v *versionedStore) stall() (int64, error)            { d, err := v.db.StallTime(); return int64(d), err }
func (v *versionedStore) expired() int64                   { return v.dropped }
func (v *versionedStore) databases() []string              { return []string{v.dir} }
func (v *versionedStore) checkpoint(from, to string) error { return checkpointDB(v.db, from, to) }
func (v *versionedStore) close() error                     { v.backend.batch.Close(); return v.db.Close() }

// versionedSpan is one routed block: where it begins and how new its newest
// record is.
type versionedSpan struct {
	first, streamTime int64
}

// versionedTimes answers, for any offset, the stream time when the record was
// applied and that at the end of its poll batch. Batches are offset windows of
// max.poll.records, so that both profiles cut them alike.
type versionedTimes struct {
	from    int64
	window  int64
	blocks  []versionedSpan // streamTime: largest before the block
	windows []int64         // largest up to the window's end
}

func (t *versionedTimes) add(off, ts int64) {
	k := (off - t.from) / t.window
	for int64(len(t.windows)) <= k {
		t.windows = append(t.windows, math.MinInt64)
	}
	t.windows[k] = max(t.windows[k], ts)
}

// merge takes over what another worker saw.
func (t *versionedTimes) merge(o *versionedTimes) {
	for int64(len(t.windows)) < int64(len(o.windows)) {
		t.windows = append(t.windows, math.MinInt64)
	}
	for i, w := range o.windows {
		t.windows[i] = max(t.windows[i], w)
	}
}

// seal turns maxima of parts into running maxima.
func (t *versionedTimes) seal(spans []versionedSpan) {
	run := int64(-1)
	for i, w := range t.windows {
		run = max(run, w)
		t.windows[i] = run
	}
	run = -1
	for _, s := range spans {
		t.blocks = append(t.blocks, versionedSpan{first: s.first, streamTime: run})
		run = max(run, s.streamTime)
	}
}

func (t *versionedTimes) at(off, local int64) (applied, batch int64) {
	i := sort.Search(len(t.blocks), func(i int) bool { return t.blocks[i].first > off }) - 1
	if i >= 0 {
		local = max(local, t.blocks[i].streamTime)
	}
	return local, t.windows[(off-t.from)/t.window]
}

// versionedRow routes a record with what its replay needs:
// offset − from, stream time so far in the block − ts, tombstone flag, ts, value.
func (rt *router) versionedRow(r *kafka.Record) error {
	rt.local = max(rt.local, r.Timestamp)
	rt.counts.StreamTime = max(rt.counts.StreamTime, r.Timestamp)
	rt.times.add(r.Offset, r.Timestamp)
	b := binary.AppendUvarint(rt.scratch[:0], uint64(r.Offset-rt.times.from))
	b = binary.AppendUvarint(b, uint64(rt.local-r.Timestamp))
	flag := byte(0)
	if r.Value == nil {
		flag = 1
	}
	b = append(b, flag)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Timestamp))
	b = append(b, r.Value...)
	rt.scratch = b
	rt.to.Add(groupBase, r.Key, b, false)
	return nil
}

func parseVersionedRow(b []byte) (delta, local int64, r streams.VersionedRecord, err error) {
	d, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0, r, fmt.Errorf("spilled row: bad offset")
	}
	b = b[n:]
	l, n := binary.Uvarint(b)
	if n <= 0 || len(b) < n+9 {
		return 0, 0, r, fmt.Errorf("spilled row: cut short")
	}
	b = b[n:]
	r.TS = int64(binary.BigEndian.Uint64(b[1:]))
	if b[0] == 0 {
		r.Value = b[9:]
		if r.Value == nil {
			r.Value = []byte{}
		}
	}
	return int64(d), r.TS + int64(l), r, nil
}

// writeVersioned replays every key in order and writes the rows that remain:
// one key's rows lie in several segments, so they are sorted a second time.
func (b *bulkRun) writeVersioned(ctx context.Context, total *Counts) error {
	b.times.seal(b.spans)
	second, err := table.New(table.Options{Memory: max(b.r.tableMemory(b.largest)/3, b.r.leastTable()), TempDir: b.tmp, Workers: b.workers, EstimatedBytes: total.Bytes + 24*total.Records, Samples: b.versionedSamples(total.StreamTime)})
	if err != nil {
		return err
	}
	defer second.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var firstErr error
	n := b.table.Buckets()
	for i := range b.workers {
		lo, hi := n*i/b.workers, n*(i+1)/b.workers
		wg.Add(1)
		go func() {
			defer wg.Done()
			dropped, err := b.replayBuckets(ctx, i, lo, hi, second, total.StreamTime)
			mu.Lock()
			defer mu.Unlock()
			total.Expired += dropped
			if err != nil && firstErr == nil {
				firstErr = err
			}
		}()
	}
	wg.Wait()
	if firstErr != nil {
		return firstErr
	}
	second.Finish()
	files, stats, err := b.sortBuckets(ctx, second)
	if err != nil {
		return err
	}
	total.Rows = stats.Live
	total.TempPeak += second.DiskPeak()
	w := b.watches[0]
	w.Enter(op.Flush)
	defer w.Enter(op.Idle)
	return b.build(0, files[0])
}

func (b *bulkRun) replayBuckets(ctx context.Context, worker, lo, hi int, to *table.Table, streamTime int64) (dropped int64, err error) {
	w := b.watches[worker]
	defer w.Enter(op.Idle)
	sorter := b.table.NewSorter()
	defer sorter.Close()
	k := &keyReplay{b: b, to: to.NewRouter(), replay: streams.NewVersionedReplay(b.store), streamTime: streamTime}
	seq := int64(lo) << 16
	for i := lo; i < hi; i++ {
		if ctx.Err() != nil {
			return k.dropped, ctx.Err()
		}
		w.Enter(op.Sort)
		_, err := sorter.Load(i, func(bk *table.Bucket) error {
			was := w.Enter(op.Write)
			defer w.Enter(was)
			k.to.Begin(seq)
			seq++
			if err := k.bucket(bk); err != nil {
				return err
			}
			return k.to.End()
		})
		if err != nil {
			return k.dropped, err
		}
	}
	return k.dropped, nil
}

// keyReplay replays keys as their rows come, possibly in several pieces.
type keyReplay struct {
	b          *bulkRun
	to         *table.Router
	replay     *streams.VersionedReplay
	streamTime int64
	dropped    int64
	key        []byte // of the key that is open; a copy
	open       bool
}

func (k *keyReplay) bucket(bk *table.Bucket) error {
	for _, row := range bk.Rows {
		key, value := bk.Key(row), bk.Value(row)
		if !k.open || !bytes.Equal(key, k.key) {
			if err := k.end(); err != nil {
				return err
			}
			k.replay.Begin()
			k.key, k.open = append(k.key[:0], key...), true
		}
		if bk.More {
			value = bytes.Clone(value) // the key may go on in the next piece
		}
		delta, local, rec, err := parseVersionedRow(value)
		if err != nil {
			return err
		}
		rec.StreamTime, rec.BatchStreamTime = k.b.times.at(delta+k.b.times.from, local)
		ok, err := k.replay.Add(rec)
		if err != nil {
			return err
		}
		if !ok {
			k.dropped++
		}
	}
	if bk.More {
		return nil
	}
	return k.end()
}

func (k *keyReplay) end() error {
	if !k.open {
		return nil
	}
	k.open = false
	return k.replay.End(k.key, k.streamTime, func(_ int64, rowKey, value []byte) error {
		k.to.Add(groupBase, rowKey, value, false)
		return nil
	})
}

// versionedSamples says where the final rows will fall: a latest row for every
// sampled key, and history spread over the live segments.
func (b *bulkRun) versionedSamples(streamTime int64) [][]table.Sample {
	var out []table.Sample
	oldest, newest := b.store.MinLiveSegment(streamTime), b.store.SegmentID(streamTime)
	for i, s := range slices.Concat(b.samples...) {
		out = append(out, table.Sample{Group: groupBase, Key: prefixed(streams.LatestSegment, s.Key)})
		if n := newest - oldest + 1; n > 0 {
			out = append(out, table.Sample{Group: groupBase, Key: prefixed(oldest+int64(i)%n, s.Key)})
		}
	}
	return [][]table.Sample{out}
}

func prefixed(segment int64, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(segment)), key...)
}

// versionedBackend gives the replay its database.
type versionedBackend struct {
	db    *rocks.DB
	batch *rocks.Batch
}

func (v *versionedBackend) Get(rowKey []byte) ([]byte, error) {
	value, ok, err := v.db.Get(0, rowKey)
	if !ok {
		return nil, err
	}
	if value == nil {
		value = []byte{}
	}
	return value, err
}

func (v *versionedBackend) Write(rows []streams.VersionedRow) error {
	for i := range rows {
		if r := &rows[i]; r.Delete {
			v.batch.Delete(0, r.Key)
		} else {
			v.batch.Put(0, r.Key, r.Value)
		}
	}
	return v.db.Write(v.batch)
}

func (v *versionedBackend) DeleteRange(from, to []byte) error {
	v.batch.DeleteRange(0, from, to)
	return v.db.Write(v.batch)
}
