package streams

import (
	"encoding/binary"

	"sstool/internal/op"
)

// RowValue is a row's value taken apart. Slices are borrowed.
type RowValue struct {
	Value   []byte // what the application calls the value
	Time    int64  // the record's timestamp, in ms
	HasTime bool   // the row says it; -1 in a row is not known
	Headers []byte // the record's header section, see ParseHeaders; nil for none
}

// SplitRowValue takes a row's value apart, by the family it lies in. History
// rows of a versioned store are ParseSegmentValue's.
func SplitRowValue(k Kind, family string, value []byte) (v RowValue, err error) {
	if err = v.Split(k, family, value); err != nil {
		return RowValue{}, err
	}
	return v, nil
}

// Split is SplitRowValue for who does it to millions of rows.
func (v *RowValue) Split(k Kind, family string, value []byte) error {
	headers, stamp := valueLayout(k, family)
	v.Value, v.Time, v.HasTime, v.Headers = value, 0, false, nil
	if headers {
		var err error
		if v.Headers, v.Value, err = SplitHeadersPrefix(value); err != nil {
			return err
		}
	}
	if stamp {
		if len(v.Value) < 8 {
			return op.Errorf(op.Corrupt, "a value of %d bytes in family %s, expected a timestamp of 8 first", len(v.Value), family)
		}
		v.Time = getInt64(v.Value)
		v.HasTime, v.Value = v.Time != -1, v.Value[8:]
	}
	return nil
}

// valueLayout says what stands before a value: headers, a timestamp.
func valueLayout(k Kind, family string) (headers, stamp bool) {
	switch family {
	case SessionHeadersFamily:
		return k != TimeOrderedSession, false // see NewConverter
	case TimestampHeadersFamily, WindowHeadersFamily:
		return true, true
	case TimestampFamily:
		return false, true
	}
	// The latest row of a versioned store begins with the start of its validity.
	return false, k == TimeOrderedWindow || k == Versioned
}

// ListEntry is one value of a join's shared store; a nil value is null.
type ListEntry struct {
	Left  bool
	Value []byte
}

// ParseListValue reads a row's value of a join's shared store: ListSerializer
// with variable sizes, 01 | count4 | { length4 | side1 | value }
// (SI/LeftOrRightValueSerializer).
func ParseListValue(b []byte) ([]ListEntry, error) {
	bad := func(what string) error { return op.Errorf(op.Corrupt, "a list value of %d bytes: %s", len(b), what) }
	if len(b) < 5 || b[0] != 1 {
		return nil, bad("expected 1, a count of 4 bytes, and entries")
	}
	count, rest := int64(binary.BigEndian.Uint32(b[1:])), b[5:]
	if count > int64(len(rest))/4 {
		return nil, bad("shorter than its count")
	}
	out := make([]ListEntry, 0, count)
	for range count {
		if len(rest) < 4 {
			return nil, bad("ends before its last entry")
		}
		n := int32(binary.BigEndian.Uint32(rest))
		rest = rest[4:]
		if n == -1 {
			out = append(out, ListEntry{})
			continue
		}
		if n < 1 || int(n) > len(rest) || rest[0] > 1 {
			return nil, bad("an entry is neither left nor right")
		}
		out = append(out, ListEntry{rest[0] == 1, rest[1:n:n]})
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return nil, bad("bytes after the last entry")
	}
	return out, nil
}

// Subscription is what a primary key of a foreign-key join subscribed with
// (KI/foreignkeyjoin/SubscriptionWrapperSerde).
type Subscription struct {
	Version     int
	Instruction int    // see InstructionName
	Hash        []byte // of the primary side's value, 16 bytes; nil for none
	PrimaryKey  []byte
	Partition   int32 // of the primary key's task; -1 when not written (version 0)
}

// InstructionName is SubscriptionWrapper.Instruction's name.
func (s Subscription) InstructionName() string {
	return [...]string{"DELETE_KEY_NO_PROPAGATE", "DELETE_KEY_AND_PROPAGATE", "PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE", "PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE"}[s.Instruction]
}

// ParseSubscription reads version1 | instruction1 | [hash16] | primary key |
// [partition4]; the highest bit of the version says that there is no hash.
func ParseSubscription(b []byte) (Subscription, error) {
	bad := func(what string) (Subscription, error) {
		return Subscription{}, op.Errorf(op.Corrupt, "a subscription of %d bytes: %s", len(b), what)
	}
	if len(b) < 2 {
		return bad("expected version and instruction")
	}
	s := Subscription{Version: int(b[0] & 0x7f), Instruction: int(b[1]), Partition: -1}
	if s.Version > 1 || s.Instruction > 3 {
		return bad("unknown version or instruction")
	}
	rest := b[2:]
	if b[0]&0x80 == 0 {
		if len(rest) < 16 {
			return bad("shorter than its hash")
		}
		s.Hash, rest = rest[:16:16], rest[16:]
	}
	if s.Version == 1 {
		if len(rest) < 4 {
			return bad("shorter than its partition")
		}
		n := len(rest) - 4
		s.Partition, rest = int32(binary.BigEndian.Uint32(rest[n:])), rest[:n]
	}
	s.PrimaryKey = rest
	return s, nil
}

// Buffered is a record that waits in a stream-table join's grace buffer.
type Buffered struct {
	Time, Offset int64 // of the record
	Topic        string
	Partition    int32
	Value        []byte // nil is null
}

// ParseBuffered reads a grace buffer's value: the record's context
// (PI/ProcessorRecordContext.serialize), then prior, old and new value, each
// length4 | bytes, -1 for null (SI/BufferValue). A changelog's, and after a
// restore a row's, has 8 zero bytes more.
func ParseBuffered(b []byte) (Buffered, error) {
	r := shortReader{b: b}
	out := Buffered{Time: int64(r.uint(8)), Offset: int64(r.uint(8))}
	out.Topic = string(r.take(int64(r.uint(4))))
	out.Partition = int32(r.uint(4))
	headers := int32(r.uint(4))
	for i := int32(0); i < headers && !r.bad; i++ {
		r.take(int64(r.uint(4)))
		r.nullable()
	}
	r.nullable() // prior
	r.nullable() // old; -2: as prior
	out.Value = r.nullable()
	if r.bad || len(r.b) != 0 && len(r.b) != 8 {
		return Buffered{}, op.Errorf(op.Corrupt, "a buffered value of %d bytes does not have the parts it should", len(b))
	}
	return out, nil
}

// shortReader reads big-endian numbers and pieces, and remembers when there
// was too little.
type shortReader struct {
	b   []byte
	bad bool
}

func (r *shortReader) take(n int64) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *shortReader) uint(size int64) uint64 {
	var n uint64
	for _, c := range r.take(size) {
		n = n<<8 | uint64(c)
	}
	return n
}

// nullable is length4 | bytes, a negative length being null.
func (r *shortReader) nullable() []byte {
	n := int32(r.uint(4))
	if n < 0 {
		return nil
	}
	return r.take(int64(n))
}
