package streams

import "slices"

// VersionedRecord is one changelog record of a versioned store.
type VersionedRecord struct {
	TS              int64
	Value           []byte // nil = tombstone, which is a version like any other
	StreamTime      int64  // largest timestamp of the partition so far, this record included
	BatchStreamTime int64  // largest timestamp at the end of the batch that holds this record
}

// LatestSegment is the segment prefix of a versioned store's latest rows.
const LatestSegment = latestPrefix

// VersionedReplay replays the changelog records of one key after the other
// against an in-memory picture of that key's rows, and gives the rows that a
// restore by Kafka Streams leaves behind (SI/RocksDBVersionedStore.restoreBatch
// with SI/RocksDBVersionedStoreRestoreWriteBuffer).
//
// Keys do not influence each other except through time: StreamTime decides
// whether a record is too old to be written at all, and BatchStreamTime which
// segments are live when it is written, because Kafka Streams moves the
// latter to the end of a polled batch before it applies the batch's first
// record. Segments older than MinLiveSegment of that time are destroyed there
// and then, for all keys. So after the last record exactly the segments from
// MinLiveSegment(final stream time) on remain; older rows are not yielded.
// Records without a key do not count for either time: Kafka Streams skips them
// before they form a batch.
//
// What may differ from a given run of Kafka Streams is where its batches
// ended: a batch is what one poll returned for the partition, at most
// max.poll.records (1000), less when a fetch ends. The effects, all of
// records that arrive out of order by nearly the whole history retention:
//   - history rows that lie in the oldest live segment but ended before
//     stream time minus history retention may hold a version more or less.
//     No query can see them;
//   - a deletion whose segment has expired at the end of its batch is not
//     written. When an older value of that key follows in the same batch, it
//     becomes the latest row: the key lives again. The live store, which
//     knows no batches (BatchStreamTime = StreamTime), keeps it deleted.
//
// Keys whose records are in order of time are never affected.
type VersionedReplay struct {
	put    versionedPut
	view   memKey
	out    []byte
	rowKey []byte
}

// NewVersionedReplay makes a replay for a versioned store.
func NewVersionedReplay(s Store) *VersionedReplay {
	return &VersionedReplay{put: newVersionedPut(s)}
}

// Key replays the records of one key, in offset order, and yields its final
// rows: history by ascending segment, then the latest, whose segment prefix is
// LatestSegment and sorts last. dropped counts records older than the grace
// period. Slices given to yield are borrowed.
func (v *VersionedReplay) Key(key []byte, recs []VersionedRecord, finalStreamTime int64,
	yield func(segmentPrefix int64, rowKey, value []byte) error) (dropped int64, err error) {
	v.Begin()
	for i := range recs {
		ok, err := v.Add(recs[i])
		if err != nil {
			return dropped, err
		}
		if !ok {
			dropped++
		}
	}
	return dropped, v.End(key, finalStreamTime, yield)
}

// Begin starts a key whose records come one by one through Add.
func (v *VersionedReplay) Begin() { v.view.reset() }

// Add replays one record; ok is false when it was older than the grace period.
// The value is kept until End.
func (v *VersionedReplay) Add(r VersionedRecord) (ok bool, err error) {
	if v.put.expired(r.TS, r.StreamTime) {
		return false, nil
	}
	v.view.expire(v.put.minLive(r.BatchStreamTime))
	return true, v.put.put(&v.view, r.Value, r.TS, r.BatchStreamTime)
}

// End yields the final rows of the key begun; see Key.
func (v *VersionedReplay) End(key []byte, finalStreamTime int64,
	yield func(segmentPrefix int64, rowKey, value []byte) error) error {
	v.view.expire(v.put.minLive(finalStreamTime))
	for _, s := range v.view.history {
		v.rowKey = appendRowKey(v.rowKey[:0], s.segment, key)
		v.out = s.row.Append(v.out[:0])
		if err := yield(s.segment, v.rowKey, v.out); err != nil {
			return err
		}
	}
	if !v.view.hasLatest {
		return nil
	}
	v.rowKey = appendRowKey(v.rowKey[:0], LatestSegment, key)
	v.out = appendLatest(v.out[:0], v.view.latestTS, v.view.latestValue)
	return yield(LatestSegment, v.rowKey, v.out)
}

// VersionedClock follows stream time through one partition in offset order.
type VersionedClock struct {
	put        versionedPut
	streamTime int64
}

// NewVersionedClock starts before the first record.
func NewVersionedClock(s Store) *VersionedClock {
	return &VersionedClock{put: newVersionedPut(s), streamTime: -1}
}

// StreamTime is the largest timestamp so far, -1 before the first record.
func (c *VersionedClock) StreamTime() int64 { return c.streamTime }

// Batch fills in the times of the records of one batch and reports how many
// are too old to be written; those may be left out of the replay.
func (c *VersionedClock) Batch(recs []VersionedRecord) (expired int64) {
	end := c.streamTime
	for i := range recs {
		end = max(end, recs[i].TS)
	}
	for i := range recs {
		r := &recs[i]
		if c.put.expired(r.TS, c.streamTime) {
			expired++
		}
		c.streamTime = max(c.streamTime, r.TS)
		r.StreamTime, r.BatchStreamTime = c.streamTime, end
	}
	return expired
}

// Expired reports whether r is older than the grace period at its time.
func (c *VersionedClock) Expired(r VersionedRecord) bool { return c.put.expired(r.TS, r.StreamTime) }

// memKey is one key's rows in memory.
type memKey struct {
	hasLatest   bool
	latestTS    int64
	latestValue []byte
	history     []memRow // ascending segments
	ids         []int64
	free        []*SegmentValue
}

type memRow struct {
	segment int64
	row     *SegmentValue
}

func (m *memKey) reset() {
	m.hasLatest, m.latestValue = false, nil
	for _, r := range m.history {
		m.recycle(r.row)
	}
	m.history = m.history[:0]
}

// expire forgets segments older than the given one.
func (m *memKey) expire(minLive int64) {
	n := 0
	for n < len(m.history) && m.history[n].segment < minLive {
		m.recycle(m.history[n].row)
		n++
	}
	if n > 0 {
		m.history = slices.Delete(m.history, 0, n)
	}
}

func (m *memKey) latest() (int64, []byte, bool, error) {
	return m.latestTS, m.latestValue, m.hasLatest, nil
}

func (m *memKey) setLatest(ts int64, value []byte) {
	m.hasLatest, m.latestTS, m.latestValue = value != nil, ts, value
}

func (m *memKey) segments(from int64) []int64 {
	m.ids = m.ids[:0]
	for i := len(m.history) - 1; i >= 0 && m.history[i].segment >= from; i-- {
		m.ids = append(m.ids, m.history[i].segment)
	}
	return m.ids
}

func (m *memKey) touch(int64) {}

// recycle keeps a row's memory for the next, unless a huge key made it huge.
func (m *memKey) recycle(v *SegmentValue) {
	if cap(v.Versions) <= 1024 && len(m.free) < 1024 {
		clear(v.Versions)
		m.free = append(m.free, v)
	}
}

func (m *memKey) newRow() *SegmentValue {
	if n := len(m.free); n > 0 {
		v := m.free[n-1]
		m.free = m.free[:n-1]
		return v
	}
	return &SegmentValue{}
}

func (m *memKey) find(segment int64) (int, bool) {
	return slices.BinarySearchFunc(m.history, segment, func(r memRow, s int64) int {
		switch {
		case r.segment < s:
			return -1
		case r.segment > s:
			return 1
		}
		return 0
	})
}

func (m *memKey) row(segment int64) (*SegmentValue, error) {
	if i, ok := m.find(segment); ok {
		return m.history[i].row, nil
	}
	return nil, nil
}

func (m *memKey) setRow(segment int64, v *SegmentValue) {
	i, ok := m.find(segment)
	if !ok {
		m.history = slices.Insert(m.history, i, memRow{segment: segment})
	}
	m.history[i].row = v
}
