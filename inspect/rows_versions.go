package inspect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// version is one version of a key of a versioned store.
type version struct {
	from  int64
	to    *int64 // nil: until now
	value []byte // nil: deleted
}

// fill makes the version the row's.
func (v *version) fill(r *Rows, row *Row) {
	row.Headers, row.Time = nil, nil
	row.ValidFrom, row.ValidTo, row.Deleted = pointer(v.from), v.to, v.value == nil
	r.fillValue(row, v.value)
}

// versionsOf are the versions of a history row, oldest first. A degenerate row
// says no more than that the key is deleted from then on.
func versionsOf(s *streams.SegmentValue) []version {
	out := make([]version, len(s.Versions))
	for i, v := range s.Versions {
		end := s.Next
		if i+1 < len(s.Versions) {
			end = s.Versions[i+1].ValidFrom
		}
		out[i] = version{from: v.ValidFrom, value: v.Value}
		if end != v.ValidFrom {
			out[i].to = pointer(end)
		}
	}
	return out
}

// versions collects all versions of a key that lie on disk, oldest first: the
// latest row, and those of history rows, whose segments are found by hopping
// from one to the next.
func (d *rowsDB) versions(key []byte) ([]version, error) {
	db, gone, err := d.open()
	if gone || err != nil {
		return nil, err
	}
	i, err := db.Iter(streams.DefaultFamily, lsm.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer i.Close()
	var out []version
	rowKey := func(segment int64) []byte {
		return append(binary.BigEndian.AppendUint64(nil, uint64(segment)), key...)
	}
	for ok := i.First(); ok; {
		e := i.Entry()
		if len(e.Key) < 8 {
			ok = i.Next()
			continue
		}
		segment := int64(binary.BigEndian.Uint64(e.Key))
		if ok = i.SeekGE(rowKey(segment)); ok && bytes.Equal(i.Entry().Key, rowKey(segment)) {
			found, err := versionsInRow(segment, i.Entry().Value)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		if segment == streams.LatestSegment {
			break // FF*8 sorts last
		}
		ok = i.SeekGE(binary.BigEndian.AppendUint64(nil, uint64(segment)+1))
	}
	if err := i.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b version) int { return cmp.Compare(a.from, b.from) })
	return withDeletions(out), nil
}

// withDeletions adds what a store does not write down: where a version ends
// and none follows, the key was deleted (RocksDBVersionedStore.doPut moves the
// version into the history and keeps no latest row). Segments expire oldest
// first, so a gap is no loss. A degenerate row ends where the next begins.
func withDeletions(versions []version) []version {
	var out []version
	for i, v := range versions {
		last := i+1 == len(versions)
		if v.to == nil && !last {
			v.to = pointer(versions[i+1].from)
		}
		out = append(out, v)
		if v.to == nil || v.value == nil && last {
			continue
		}
		gap := version{from: *v.to}
		if !last {
			if gap.to = pointer(versions[i+1].from); *gap.to <= gap.from {
				continue
			}
		}
		if v.value == nil { // deleted already: one deletion, not two
			out[len(out)-1].to = gap.to
			continue
		}
		out = append(out, gap)
	}
	return out
}

// versionsInRow are the versions of one row, their values copied.
func versionsInRow(segment int64, value []byte) ([]version, error) {
	value = bytes.Clone(value)
	if segment == streams.LatestSegment {
		v, err := streams.SplitRowValue(streams.Versioned, streams.DefaultFamily, value)
		if err != nil {
			return nil, err
		}
		return []version{{from: v.Time, value: v.Value}}, nil
	}
	s, err := streams.ParseSegmentValue(value)
	if err != nil {
		return nil, err
	}
	return versionsOf(s), nil
}

// asOf is the version that is valid at a time; nil when none is, or the key
// was deleted then.
func asOf(versions []version, at int64) *version {
	var out *version
	for i := range versions {
		v := &versions[i]
		if v.from <= at && (v.to == nil || at < *v.to) {
			out = v
		}
	}
	return out
}
