package streams

import (
	"encoding/binary"

	"sstool/internal/op"
)

// Row is one change of one database. Slices are borrowed: they are valid
// until the yield function returns.
type Row struct {
	Segment    int64 // segment id; 0 when the store is not segmented
	Family     int   // index into ColumnFamilies
	Key, Value []byte
	Delete     bool
}

// Converter turns changelog records into rows, the way a restore does
// (PI/StateManagerUtil.converterForStore and the stores' restore callbacks).
// It says nothing about expiry: the caller drops rows whose segment is older
// than MinLiveSegment of the final stream time. A segment of which only
// deletes were seen still exists as a database. Versioned stores need
// VersionedReplay instead. Not safe for concurrent use; scratch buffers make
// it free of allocations.
type Converter struct {
	store  Store
	shape  shape
	family int
	prefix bool // value gets the record's headers before it
	stamp  bool // value gets the record's timestamp before it
	index  bool // each row has an index row
	dual   bool
	row    Row
	key    []byte
	val    []byte
	ival   int64
}

// shape is how the key of a record becomes keys of rows.
type shape uint8

const (
	shapePlain shape = iota
	shapeWindow
	shapeSession
	shapeTimeFirstWindow
	shapeTimeFirstSession
)

// NewConverter makes a Converter for a store with rows of its own on disk.
func NewConverter(s Store) (*Converter, error) {
	if s.Kind == Versioned || !s.Kind.OnDisk() {
		return nil, op.Errorf(op.Failed, "store %s: %s store has no record-by-record conversion", s.Name, WithArticle(string(s.Kind)))
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	c := &Converter{store: s, ival: s.intervalMs(), family: len(s.ColumnFamilies()) - 1}
	switch s.Kind {
	case Window, TimestampedWindow:
		c.shape = shapeWindow
	case Session:
		c.shape = shapeSession
	case TimeOrderedWindow:
		c.shape = shapeTimeFirstWindow
		c.index = s.WithIndex || s.Headers
	case GraceBuffer:
		c.shape = shapeTimeFirstWindow
	case TimeOrderedSession:
		c.shape, c.index = shapeTimeFirstSession, true
	}
	switch s.Kind {
	case TimestampedKV, FKSubscription, TimestampedWindow, TimeOrderedWindow:
		c.stamp, c.prefix = true, s.Headers
	case Window: // with headers there is always a timestamp too
		c.stamp, c.prefix = s.Headers, s.Headers
	case Session:
		c.prefix = s.Headers
		// TimeOrderedSession writes plain values into its headers family: the
		// supplier of 4.4 makes a store that is not headers-aware
		// (SI/RocksDbTimeOrderedSessionHeadersBytesStoreSupplier).
	}
	return c, nil
}

// SetDual says that the store's default family still holds rows from before
// the application moved to timestamped stores. Kafka Streams looks once, when
// it opens the database, and then takes each key it writes out of there
// (SI/RocksDBTimestampedStore). Only a store that is resumed can be dual.
func (c *Converter) SetDual(dual bool) { c.dual = dual && c.family > 0 }

// Rows calls yield for each row of the record; a nil value deletes. headers is
// the record's header section as on the wire (record format v2: varint count,
// then the headers) and read only for stores with Headers; ts is the record's
// timestamp. For segmented kinds segTime is the time that raises stream time.
func (c *Converter) Rows(key, value, headers []byte, ts int64, yield func(*Row) error) (segTime int64, err error) {
	if key == nil {
		return 0, op.Errorf(op.Corrupt, "store %s: changelog record without a key", c.store.Name)
	}
	r := &c.row
	r.Family, r.Delete = c.family, value == nil
	switch {
	case value == nil || !c.stamp && !c.prefix:
		r.Value = value
	case !c.prefix: // by far the most frequent, so it comes before any call
		n := 8 + len(value)
		if cap(c.val) < n {
			c.val = make([]byte, 2*n)
		}
		b := c.val[:n]
		binary.BigEndian.PutUint64(b, uint64(ts))
		copy(b[8:], value)
		r.Value = b
	default:
		if r.Value, err = c.withHeaders(value, headers, ts); err != nil {
			return 0, err
		}
	}
	if c.shape == shapePlain {
		r.Key, r.Segment = key, 0
		if c.dual {
			return 0, c.emit(yield)
		}
		return 0, yield(r)
	}
	return c.segmented(key, yield)
}

// withHeaders is headers | value or headers | ts8 | value.
func (c *Converter) withHeaders(value, headers []byte, ts int64) (b []byte, err error) {
	if b, err = AppendHeadersPrefix(c.val[:0], headers); err != nil {
		return nil, err
	}
	if c.stamp {
		b = binary.BigEndian.AppendUint64(b, uint64(ts))
	}
	c.val = append(b, value...)
	return c.val, nil
}

// segmented yields the rows of a record whose key holds a time.
func (c *Converter) segmented(key []byte, yield func(*Row) error) (int64, error) {
	split, err := c.split(key)
	if err != nil {
		return 0, err
	}
	r := &c.row
	r.Segment = split.time / c.ival
	if c.index {
		if err := c.yieldIndex(key, yield); err != nil {
			return 0, err
		}
	}
	switch c.shape {
	case shapeTimeFirstWindow:
		// base: 00 | start8 | key | seq4 (SI/PrefixedWindowKeySchemas.TimeFirstWindowKeySchema)
		n := split.keyLen
		c.key = append(c.key[:0], 0)
		c.key = append(c.key, key[n:n+8]...)
		c.key = append(c.key, key[:n]...)
		r.Key = append(c.key, key[n+8:]...)
		c.key = r.Key
	case shapeTimeFirstSession:
		// base: 00 | end8 | start8 | key (SI/PrefixedSessionKeySchemas.TimeFirstSessionKeySchema)
		n := split.keyLen
		c.key = append(c.key[:0], 0)
		c.key = append(c.key, key[n:]...)
		r.Key = append(c.key, key[:n]...)
		c.key = r.Key
	default:
		r.Key = key
	}
	return split.time, c.emit(yield)
}

// emit yields the row, in a dual store after the deletion of its older form.
func (c *Converter) emit(yield func(*Row) error) error {
	if c.dual {
		old := Row{Segment: c.row.Segment, Key: c.row.Key, Delete: true}
		if err := yield(&old); err != nil {
			return err
		}
	}
	return yield(&c.row)
}

// yieldIndex yields the key-first index row: 01 | record key, empty value; deleted
// together with its base row.
func (c *Converter) yieldIndex(key []byte, yield func(*Row) error) error {
	r := &c.row
	base := r.Value
	c.key = append(append(c.key[:0], 1), key...)
	r.Key, r.Value = c.key, nil
	if !r.Delete {
		r.Value = c.key[:0] // empty, not nil
	}
	err := c.emit(yield)
	r.Value = base
	return err
}

type keySplit struct {
	keyLen int
	time   int64 // the time that selects the segment
}

// split finds the times in a windowed record key: key | start8 | seq4
// (SI/WindowKeySchema) or key | end8 | start8 (SI/SessionKeySchema).
func (c *Converter) split(key []byte) (keySplit, error) {
	tail := 12
	if c.shape == shapeSession || c.shape == shapeTimeFirstSession {
		tail = 16
	}
	n := len(key) - tail
	if n < 0 {
		return keySplit{}, op.Errorf(op.Corrupt, "store %s: a %s key has at least %d bytes, this one %d: %x",
			c.store.Name, c.store.Kind, tail, len(key), key).WithTry("check the kind of the store")
	}
	return keySplit{n, int64(binary.BigEndian.Uint64(key[n:]))}, nil
}
