package streams

import (
	"encoding/binary"

	"sstool/internal/op"
)

// RowKey is the key of a row, or of a changelog record, taken apart. Slices are
// borrowed; what a kind does not have is zero.
type RowKey struct {
	Key        []byte // what the application calls the key
	ForeignKey []byte // FKSubscription: Key subscribes to it
	Start, End int64  // of a window (Start only) or a session, in ms
	Seq        uint32 // windows: a counter where duplicates are kept, else 0
	Time       int64  // List, GraceBuffer: time of the record
	Left       bool   // List: side of the join
	Segment    int64  // Versioned: LatestSegment, or the id of a history row's segment
	Index      bool   // an index row of a time-ordered store: its value is empty
}

// SplitRowKey takes a row's key apart: SI/WindowKeySchema, SessionKeySchema,
// PrefixedWindowKeySchemas, PrefixedSessionKeySchemas, LogicalKeyValueSegment,
// TimestampedKeyAndJoinSideSerializer, KI/foreignkeyjoin/CombinedKeySchema.
func SplitRowKey(k Kind, key []byte) (RowKey, error) {
	n := len(key)
	short := func(least int) error {
		return op.Errorf(op.Corrupt, "a %s row's key has at least %d bytes, this one %d: %x", k, least, n, key)
	}
	switch k {
	case Window, TimestampedWindow, Session, FKSubscription:
		return SplitRecordKey(k, key)
	case TimeOrderedWindow, GraceBuffer: // 00 | start8 | key | seq4, index 01 | key | start8 | seq4
		if n < 13 {
			return RowKey{}, short(13)
		}
		if key[0] == 1 && k == TimeOrderedWindow {
			r, err := SplitRecordKey(Window, key[1:])
			r.Index = true
			return r, err
		}
		r := RowKey{Key: key[9 : n-4], Start: getInt64(key[1:]), Seq: binary.BigEndian.Uint32(key[n-4:])}
		if k == GraceBuffer {
			r.Time, r.Start = r.Start, 0
		}
		return r, prefix(k, key)
	case TimeOrderedSession: // 00 | end8 | start8 | key, index 01 | key | end8 | start8
		if n < 17 {
			return RowKey{}, short(17)
		}
		if key[0] == 1 {
			r, err := SplitRecordKey(Session, key[1:])
			r.Index = true
			return r, err
		}
		return RowKey{Key: key[17:], End: getInt64(key[1:]), Start: getInt64(key[9:])}, prefix(k, key)
	case Versioned: // segment8 | key
		if n < 8 {
			return RowKey{}, short(8)
		}
		return RowKey{Key: key[8:], Segment: getInt64(key)}, nil
	case List: // ts8 | side1 | key
		if n < 9 {
			return RowKey{}, short(9)
		}
		if key[8] > 1 {
			return RowKey{}, op.Errorf(op.Corrupt, "a list row's key has the side %d, expected 0 or 1: %x", key[8], key)
		}
		return RowKey{Key: key[9:], Time: getInt64(key), Left: key[8] == 1}, nil
	}
	return RowKey{Key: key}, nil
}

func prefix(k Kind, key []byte) error {
	if key[0] != 0 {
		return op.Errorf(op.Corrupt, "a %s row's key begins with %#02x, expected 0 or 1: %x", k, key[0], key)
	}
	return nil
}

// SplitRecordKey takes the key of a changelog record apart. It differs from the
// row's for time-ordered stores (no prefix), versioned ones (the key alone) and
// the grace buffer, whose changelog has the row's key as it is.
func SplitRecordKey(k Kind, key []byte) (RowKey, error) {
	n := len(key)
	switch k {
	case Window, TimestampedWindow, TimeOrderedWindow: // key | start8 | seq4
		if n < 12 {
			return RowKey{}, op.Errorf(op.Corrupt, "a %s key has at least 12 bytes, this one %d: %x", k, n, key)
		}
		return RowKey{Key: key[:n-12], Start: getInt64(key[n-12:]), Seq: binary.BigEndian.Uint32(key[n-4:])}, nil
	case Session, TimeOrderedSession: // key | end8 | start8
		if n < 16 {
			return RowKey{}, op.Errorf(op.Corrupt, "a %s key has at least 16 bytes, this one %d: %x", k, n, key)
		}
		return RowKey{Key: key[:n-16], End: getInt64(key[n-16:]), Start: getInt64(key[n-8:])}, nil
	case FKSubscription: // length4 | foreign key | key
		if n < 4 || uint64(binary.BigEndian.Uint32(key)) > uint64(n-4) {
			return RowKey{}, op.Errorf(op.Corrupt, "a key of %d bytes has no foreign key of the length it says: %x", n, key)
		}
		end := 4 + int(binary.BigEndian.Uint32(key))
		return RowKey{ForeignKey: key[4:end:end], Key: key[end:]}, nil
	case List, GraceBuffer:
		return SplitRowKey(k, key)
	}
	return RowKey{Key: key}, nil
}
