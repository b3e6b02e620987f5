package streams

import (
	"encoding/binary"
	"math"

	"sstool/internal/op"
)

// versionedPut is the write algorithm of SI/RocksDBVersionedStore.doPut, shared
// by the replay of one key and by the store that works in batches.
type versionedPut struct {
	intervalMs int64
	historyMs  int64 // history retention, which is the grace period too
}

func newVersionedPut(s Store) versionedPut {
	return versionedPut{s.intervalMs(), s.HistoryRetention.Milliseconds()}
}

// versionedKey is what the algorithm sees: the rows of one key.
type versionedKey interface {
	// latest is the latest row; ok is false when there is none.
	latest() (ts int64, value []byte, ok bool, err error)
	// setLatest replaces the latest row; a nil value deletes it.
	setLatest(ts int64, value []byte)
	// segments lists the known segments from the given one on, newest first.
	// The slice is valid until the next call of segments.
	segments(from int64) []int64
	// touch makes a segment known, as getting or creating it does.
	touch(segment int64)
	// row is the key's history row in a segment; nil when there is none.
	row(segment int64) (*SegmentValue, error)
	// newRow is an unused history row.
	newRow() *SegmentValue
	// setRow stores a new or changed history row.
	setRow(segment int64, v *SegmentValue)
}

// noTime marks "nothing newer found": any impossible timestamp will do.
const noTime = math.MinInt64

func (p versionedPut) segment(ts int64) int64 {
	if p.intervalMs <= 0 {
		return 0
	}
	return ts / p.intervalMs
}

func (p versionedPut) minLive(streamTime int64) int64 { return p.segment(streamTime - p.historyMs) }

// expired is the grace check that precedes a put.
func (p versionedPut) expired(ts, streamTime int64) bool { return ts < streamTime-p.historyMs }

// live makes a segment known and reports true unless it has expired.
func (p versionedPut) live(k versionedKey, segment, streamTime int64) bool {
	if segment < p.minLive(streamTime) {
		return false
	}
	k.touch(segment)
	return true
}

// put applies one record. streamTime decides which segments are live; in a
// restore it is that of the end of the batch.
func (p versionedPut) put(k versionedKey, value []byte, ts, streamTime int64) error {
	if ts < 0 {
		return op.Errorf(op.Corrupt, "versioned record with timestamp %d", ts)
	}
	latestTS, latestValue, ok, err := k.latest()
	if err != nil {
		return err
	}
	found := int64(noTime) // the start of the next newer version, as far as known
	if ok {
		if ts >= latestTS {
			if ts > latestTS {
				if err := p.push(k, latestValue, latestTS, ts, streamTime); err != nil {
					return err
				}
			}
			k.setLatest(ts, value)
			return nil
		}
		found = latestTS
	}
	for _, segment := range k.segments(p.segment(ts)) {
		row, err := k.row(segment)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if row.Next <= ts {
			break // nothing older is affected
		}
		if row.Min <= ts {
			return p.putInto(k, segment, row, value, ts, streamTime)
		}
		if row.Min < streamTime-p.historyMs {
			return nil // ended before the history that is kept
		}
		found = row.Min
	}
	return p.finish(k, value, ts, found, streamTime)
}

// push moves a version into the segment of its end.
func (p versionedPut) push(k versionedKey, value []byte, from, to, streamTime int64) error {
	segment := p.segment(to)
	if !p.live(k, segment, streamTime) {
		return nil
	}
	row, err := k.row(segment)
	if err != nil {
		return err
	}
	if row == nil {
		row = k.newRow()
		row.reset(value, from, to)
	} else {
		row.insertLatest(from, to, value)
	}
	k.setRow(segment, row)
	return nil
}

// putInto inserts into a row that spans ts.
func (p versionedPut) putInto(k versionedKey, segment int64, row *SegmentValue, value []byte, ts, streamTime int64) error {
	i, ok := row.find(ts)
	if !ok {
		return op.Errorf(op.Corrupt, "history row of segment %d spans %d..%d but holds no version for %d", segment, row.Min, row.Next, ts)
	}
	old := row.Versions[i]
	switch {
	case old.ValidFrom == ts:
		row.update(i, ts, value)
	case p.segment(ts) != segment:
		// The old version now ends in an older segment: move it there.
		if err := p.push(k, old.Value, old.ValidFrom, ts, streamTime); err != nil {
			return err
		}
		row.update(i, ts, value)
	default:
		row.insertAfter(i, ts, value)
	}
	k.setRow(segment, row)
	return nil
}

// finish puts a record that no row spans: as the latest, or below found.
func (p versionedPut) finish(k versionedKey, value []byte, ts, found, streamTime int64) error {
	if found == noTime && value != nil {
		k.setLatest(ts, value)
		return nil
	}
	end := found
	if found == noTime {
		end = ts // a deletion that is the latest lives in the segment of its own time
	}
	segment := p.segment(end)
	if !p.live(k, segment, streamTime) {
		return nil
	}
	row, err := k.row(segment)
	if err != nil {
		return err
	}
	switch {
	case row == nil:
		row = k.newRow()
		row.reset(value, ts, end)
	case found == noTime:
		if row.Next == ts {
			return nil // the end of the newest version already says deleted
		}
		row.insertLatest(row.Next, ts, nil)
	case row.Next <= ts:
		row.insertLatest(ts, found, value)
	default:
		row.insertEarliest(ts, value)
	}
	k.setRow(segment, row)
	return nil
}

// appendRowKey appends the key of a row: segment8 | key. The latest rows have
// segment -1 (SI/LogicalKeyValueSegment).
func appendRowKey(dst []byte, segment int64, key []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(segment))
	return append(dst, key...)
}
