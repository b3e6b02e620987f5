package streams

import (
	"encoding/binary"
	"math"

	"sstool/internal/op"
)

// RecordVersion is one version of a key in a versioned store; a nil value says
// "deleted from here on".
type RecordVersion struct {
	ValidFrom int64
	Value     []byte
}

// SegmentValue is a history row of a versioned store: the versions of one key
// whose validity ends in the row's segment
// (SI/RocksDBVersionedStoreSegmentValueFormatter). Each version is valid until
// the next one begins, the newest until Next. A row with Next == Min is
// "degenerate": it only says that the key is deleted from then on.
type SegmentValue struct {
	Next     int64           // end of validity of the newest version
	Min      int64           // start of validity of the oldest
	Versions []RecordVersion // oldest first; on disk their list is newest first
}

const (
	segmentHeader = 16 // next8 | min8
	segmentEntry  = 12 // ts8 | size4
)

// ParseSegmentValue reads a history row. Values are slices of b.
func ParseSegmentValue(b []byte) (*SegmentValue, error) {
	if len(b) < segmentHeader+segmentEntry {
		return nil, op.Errorf(op.Corrupt, "history row has %d bytes, expected at least %d", len(b), segmentHeader+segmentEntry)
	}
	v := &SegmentValue{Next: getInt64(b), Min: getInt64(b[8:])}
	end := len(b) // values lie backwards from the end
	for at := segmentHeader; ; at += segmentEntry {
		if at+segmentEntry > end {
			return nil, op.Errorf(op.Corrupt, "history row ends within its list of versions (no version from %d, %d bytes)", v.Min, len(b))
		}
		ts, size := getInt64(b[at:]), int32(binary.BigEndian.Uint32(b[at+8:]))
		var value []byte
		if size >= 0 {
			if int(size) > end-at-segmentEntry {
				return nil, op.Errorf(op.Corrupt, "history row: the value of version %d has %d bytes, the row only %d", ts, size, len(b))
			}
			value = b[end-int(size) : end : end]
			end -= int(size)
		}
		v.Versions = append(v.Versions, RecordVersion{ts, value})
		if ts == v.Min {
			if at+segmentEntry != end {
				return nil, op.Errorf(op.Corrupt, "history row has %d bytes too many", end-at-segmentEntry)
			}
			break
		}
	}
	reverse(v.Versions)
	return v, nil
}

func reverse(v []RecordVersion) {
	for i, j := 0, len(v)-1; i < j; i, j = i+1, j-1 {
		v[i], v[j] = v[j], v[i]
	}
}

// Append appends the row's bytes to dst.
func (v *SegmentValue) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Next))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Min))
	for i := len(v.Versions) - 1; i >= 0; i-- {
		r := &v.Versions[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.ValidFrom))
		size := uint32(math.MaxUint32) // -1
		if r.Value != nil {
			size = uint32(len(r.Value))
		}
		dst = binary.BigEndian.AppendUint32(dst, size)
	}
	for i := range v.Versions {
		dst = append(dst, v.Versions[i].Value...)
	}
	return dst
}

func getInt64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

func (v *SegmentValue) degenerate() bool { return v.Next == v.Min }

// reset makes v a row of one version; with from == to and no value a
// degenerate one.
func (v *SegmentValue) reset(value []byte, from, to int64) {
	v.Next, v.Min = to, from
	v.Versions = append(v.Versions[:0], RecordVersion{from, value})
}

// find is the index of the version valid at ts; ok is false when ts lies
// outside the row, which Kafka Streams does not survive.
func (v *SegmentValue) find(ts int64) (i int, ok bool) {
	if ts < v.Min || ts >= v.Next {
		return 0, false
	}
	for i = len(v.Versions) - 1; i >= 0; i-- {
		if v.Versions[i].ValidFrom <= ts {
			return i, true
		}
	}
	return 0, false
}

// update replaces the version at i.
func (v *SegmentValue) update(i int, ts int64, value []byte) {
	if v.Versions[i].ValidFrom == v.Min {
		v.Min = ts
	}
	v.Versions[i] = RecordVersion{ts, value}
}

// insertAfter puts a version between i and the next newer one.
func (v *SegmentValue) insertAfter(i int, ts int64, value []byte) {
	v.Versions = append(v.Versions, RecordVersion{})
	copy(v.Versions[i+2:], v.Versions[i+1:])
	v.Versions[i+1] = RecordVersion{ts, value}
}

// insertLatest adds a version on top. A gap before it becomes a deletion; an
// overlap (a write that once broke off between two rows) is cut away.
func (v *SegmentValue) insertLatest(from, to int64, value []byte) {
	if from < v.Next {
		v.truncate(from)
	}
	switch gap := v.Next != from; {
	case v.degenerate() && gap:
		v.reset(nil, v.Next, from)
		v.Versions = append(v.Versions, RecordVersion{from, value})
	case v.degenerate():
		v.reset(value, from, to)
	case gap:
		v.Versions = append(v.Versions, RecordVersion{v.Next, nil}, RecordVersion{from, value})
	default:
		v.Versions = append(v.Versions, RecordVersion{from, value})
	}
	v.Next = to
}

// insertEarliest adds a version below all others.
func (v *SegmentValue) insertEarliest(ts int64, value []byte) {
	if v.degenerate() {
		v.reset(value, ts, v.Next)
		return
	}
	v.Versions = append(v.Versions, RecordVersion{})
	copy(v.Versions[1:], v.Versions)
	v.Versions[0] = RecordVersion{ts, value}
	v.Min = ts
}

// truncate removes what is valid at or after ts.
func (v *SegmentValue) truncate(ts int64) {
	if ts <= v.Min {
		v.reset(nil, ts, ts)
		return
	}
	n := len(v.Versions)
	for n > 0 && v.Versions[n-1].ValidFrom >= ts {
		n--
	}
	v.Versions = v.Versions[:n]
	v.Next = ts
}
