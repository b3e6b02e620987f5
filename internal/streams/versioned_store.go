package streams

import (
	"encoding/binary"
	"slices"

	"sstool/internal/op"
)

// VersionedBackend is the one database of a versioned store. Row keys are
// segment8 | key, latest rows having segment -1.
type VersionedBackend interface {
	// Get returns a row, nil when there is none. The result must stay valid
	// until the next Write.
	Get(rowKey []byte) ([]byte, error)
	// Write applies rows as one batch. They are borrowed.
	Write(rows []VersionedRow) error
	// DeleteRange deletes the keys from <= key < to at once.
	DeleteRange(from, to []byte) error
}

// VersionedRow is one change of a versioned store's database.
type VersionedRow struct {
	Key, Value []byte
	Delete     bool
}

// VersionedInput is one changelog record for VersionedStore.Restore.
type VersionedInput struct {
	Key, Value []byte // nil value = tombstone
	TS         int64
}

// VersionedStore restores batch by batch against a database, the way
// SI/RocksDBVersionedStore.restoreBatch does: reads go through a write buffer
// that is flushed at the end of each batch, history first, then the latest
// rows. Segments are known only from when this store first used them, as after
// every opening of a store by Kafka Streams: history of older segments in a
// database that is resumed is neither searched nor expired, unless Continue
// tells of it.
type VersionedStore struct {
	put        versionedPut
	db         VersionedBackend
	streamTime int64
	known      []int64 // ascending ids of segments used so far
	buffer     map[string]*bufferedKey
	ids        []int64
	rowKey     []byte
	rows       []VersionedRow
	arena      []byte
}

// bufferedKey is the write buffer's view of one key.
type bufferedKey struct {
	store        *VersionedStore
	key          string
	latestLoaded bool
	latestDirty  bool
	hasLatest    bool
	latestTS     int64
	latestValue  []byte
	history      map[int64]*SegmentValue // nil: looked up, none
	dirty        []int64
}

// NewVersionedStore makes a store over a database.
func NewVersionedStore(s Store, db VersionedBackend) *VersionedStore {
	return &VersionedStore{put: newVersionedPut(s), db: db, streamTime: -1, buffer: map[string]*bufferedKey{}}
}

// Continue tells of the segments in the database, ascending, so that the store
// goes on as if it had never been closed. A store that does not know them finds
// no deletion there: a late record of before one would bring its key back. The
// newest segment is that of a version's end, so stream time had come that far.
func (s *VersionedStore) Continue(segments []int64) {
	s.known = segments
	if n := len(segments); n > 0 {
		s.streamTime = max(s.streamTime, segments[n-1]*s.put.intervalMs)
	}
}

// StreamTime is the largest timestamp seen, -1 before the first.
func (s *VersionedStore) StreamTime() int64 { return s.streamTime }

// Restore applies one batch, at most as many records as one poll returns.
// dropped counts records older than the grace period. The batch is borrowed.
func (s *VersionedStore) Restore(batch []VersionedInput) (dropped int64, err error) {
	end := s.streamTime
	for i := range batch {
		end = max(end, batch[i].TS)
	}
	for i := range batch {
		r := &batch[i]
		if s.put.expired(r.TS, s.streamTime) {
			dropped++
			continue
		}
		s.streamTime = max(s.streamTime, r.TS)
		if err := s.expire(end); err != nil {
			return dropped, err
		}
		k := s.buffer[string(r.Key)]
		if k == nil {
			k = &bufferedKey{store: s, key: string(r.Key), history: map[int64]*SegmentValue{}}
			s.buffer[k.key] = k
		}
		if err := s.put.put(k, r.Value, r.TS, end); err != nil {
			return dropped, err
		}
	}
	return dropped, s.flush()
}

// expire destroys known segments that are no longer live.
func (s *VersionedStore) expire(streamTime int64) error {
	minLive := s.put.minLive(streamTime)
	n := 0
	for ; n < len(s.known) && s.known[n] < minLive; n++ {
		from := binary.BigEndian.AppendUint64(nil, uint64(s.known[n]))
		to := binary.BigEndian.AppendUint64(nil, uint64(s.known[n]+1))
		if err := s.db.DeleteRange(from, to); err != nil {
			return err
		}
	}
	s.known = slices.Delete(s.known, 0, n)
	return nil
}

// flush writes the buffer, sorted so that a run can be repeated exactly.
func (s *VersionedStore) flush() error {
	keys := make([]*bufferedKey, 0, len(s.buffer))
	for _, k := range s.buffer {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b *bufferedKey) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	s.rows, s.arena = s.rows[:0], s.arena[:0]
	for _, k := range keys {
		for _, segment := range k.dirty {
			row := k.history[segment]
			s.add(segment, k.key, func(b []byte) []byte { return row.Append(b) })
		}
	}
	if len(s.rows) > 0 {
		if err := s.db.Write(s.rows); err != nil {
			return err
		}
	}
	s.rows, s.arena = s.rows[:0], s.arena[:0]
	for _, k := range keys {
		switch {
		case !k.latestDirty:
		case k.hasLatest:
			s.add(LatestSegment, k.key, func(b []byte) []byte { return appendLatest(b, k.latestTS, k.latestValue) })
		default:
			s.add(LatestSegment, k.key, nil)
		}
	}
	clear(s.buffer)
	if len(s.rows) == 0 {
		return nil
	}
	return s.db.Write(s.rows)
}

// add appends a row whose bytes lie in the arena; a nil value function deletes.
// Earlier rows keep the memory they point to when the arena grows.
func (s *VersionedStore) add(segment int64, key string, value func([]byte) []byte) {
	at := len(s.arena)
	s.arena = binary.BigEndian.AppendUint64(s.arena, uint64(segment))
	s.arena = append(s.arena, key...)
	mid := len(s.arena)
	r := VersionedRow{Delete: value == nil}
	if value != nil {
		s.arena = value(s.arena)
		r.Value = s.arena[mid:]
	}
	r.Key = s.arena[at:mid:mid]
	s.rows = append(s.rows, r)
}

func (s *VersionedStore) get(segment int64, key string) ([]byte, error) {
	s.rowKey = binary.BigEndian.AppendUint64(s.rowKey[:0], uint64(segment))
	s.rowKey = append(s.rowKey, key...)
	return s.db.Get(s.rowKey)
}

func appendLatest(dst []byte, ts int64, value []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(ts))
	return append(dst, value...)
}

func (k *bufferedKey) latest() (int64, []byte, bool, error) {
	if !k.latestLoaded {
		b, err := k.store.get(LatestSegment, k.key)
		if err != nil {
			return 0, nil, false, err
		}
		if b != nil {
			if len(b) < 8 {
				return 0, nil, false, op.Errorf(op.Corrupt, "latest row of key %x has %d bytes, expected at least 8", k.key, len(b))
			}
			k.hasLatest, k.latestTS, k.latestValue = true, getInt64(b), b[8:]
		}
		k.latestLoaded = true
	}
	return k.latestTS, k.latestValue, k.hasLatest, nil
}

func (k *bufferedKey) setLatest(ts int64, value []byte) {
	k.latestLoaded, k.latestDirty = true, true
	k.hasLatest, k.latestTS, k.latestValue = value != nil, ts, value
}

func (k *bufferedKey) segments(from int64) []int64 {
	s := k.store
	s.ids = s.ids[:0]
	for i := len(s.known) - 1; i >= 0 && s.known[i] >= from; i-- {
		s.ids = append(s.ids, s.known[i])
	}
	return s.ids
}

func (k *bufferedKey) touch(segment int64) {
	s := k.store
	if i, ok := slices.BinarySearch(s.known, segment); !ok {
		s.known = slices.Insert(s.known, i, segment)
	}
}

func (k *bufferedKey) row(segment int64) (*SegmentValue, error) {
	if v, ok := k.history[segment]; ok {
		return v, nil
	}
	b, err := k.store.get(segment, k.key)
	if err != nil {
		return nil, err
	}
	var v *SegmentValue
	if b != nil {
		if v, err = ParseSegmentValue(b); err != nil {
			return nil, err
		}
	}
	k.history[segment] = v
	return v, nil
}

func (k *bufferedKey) newRow() *SegmentValue { return &SegmentValue{} }

func (k *bufferedKey) setRow(segment int64, v *SegmentValue) {
	k.history[segment] = v
	if !slices.Contains(k.dirty, segment) {
		k.dirty = append(k.dirty, segment)
	}
}
