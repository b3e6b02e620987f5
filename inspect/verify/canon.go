package verify

import (
	"math"

	"github.com/zeebo/xxh3"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// canon brings rows and records into one form. It is for one goroutine; keys and
// entries that it hands out are borrowed.
type canon struct {
	store  streams.Store
	family string             // of the rows that records become
	conv   *streams.Converter // nil: versioned
	value  streams.RowValue   //
	yield  func(*streams.Row) error
	take   func(key []byte, e *entry) error // of the record that is being converted
	rec    *kafka.Record
	e      entry
	clock  int64 // stream time of a versioned store's changelog, in the order of offsets
}

func newCanon(s streams.Store) (*canon, error) {
	families := s.ColumnFamilies()
	c := &canon{store: s, family: families[len(families)-1], clock: -1}
	if s.Kind == streams.Versioned {
		return c, nil
	}
	var err error
	c.conv, err = streams.NewConverter(s)
	c.yield = c.converted
	return c, err
}

// numbered says whether the keys of the kind's rows end in a number that keeps
// duplicates apart. The changelog may count otherwise than the store: a null
// value takes a number there and none here (SI/ChangeLoggingWindowBytesStore,
// RocksDBWindowStore).
func numbered(k streams.Kind) bool {
	return k == streams.Window || k == streams.TimestampedWindow || k == streams.TimeOrderedWindow
}

const seqBytes = 4

// indexRow says whether a row of a time-ordered store is of its index.
func indexRow(k streams.Kind, key []byte) bool {
	return (k == streams.TimeOrderedWindow || k == streams.TimeOrderedSession) && len(key) > 0 && key[0] == 1
}

// keyTime is the time in a key of the table by which its row expires.
func keyTime(k streams.Kind, key []byte) (int64, bool) {
	if numbered(k) {
		key = append(key[:len(key):len(key)], 0, 0, 0, 0)
	}
	r, err := streams.SplitRowKey(k, key)
	switch {
	case err != nil:
		return 0, false
	case numbered(k):
		return r.Start, true
	case k == streams.Session || k == streams.TimeOrderedSession:
		return r.End, true
	}
	return 0, false
}

// row calls take with the entry of a row on disk, of a versioned store's history
// row with one for each version.
func (c *canon) row(family string, key, value []byte, take func(key []byte, e *entry) error) error {
	c.e = entry{local: true}
	if c.store.Kind == streams.Versioned {
		return c.versions(key, value, take)
	}
	key, err := c.fill(family, key, value)
	if err != nil {
		return err
	}
	return take(key, &c.e)
}

// fill takes a row apart into c.e and returns the key of the table.
func (c *canon) fill(family string, key, value []byte) ([]byte, error) {
	kind := c.store.Kind
	if value == nil {
		c.e.null = true
	} else if indexRow(kind, key) {
		c.e.value = hashOf(value)
	} else {
		v := &c.value
		if err := v.Split(kind, family, value); err != nil {
			return nil, err
		}
		c.e.value, c.e.timed, c.e.time = hashOf(v.Value), v.HasTime, v.Time
		switch family {
		case streams.TimestampHeadersFamily, streams.WindowHeadersFamily, streams.SessionHeadersFamily:
			c.e.headed, c.e.headers = true, xxh3.Hash(v.Headers)
		}
	}
	if !numbered(kind) {
		return key, nil
	}
	n := len(key) - seqBytes
	if n < 0 {
		return nil, op.Errorf(op.Corrupt, "a %s row's key of %d bytes: %x", kind, len(key), key)
	}
	for _, b := range key[n:] {
		c.e.aux = c.e.aux<<8 | uint64(b)
	}
	return key[:n], nil
}

// always is the end of validity of a version that is valid now.
const always = math.MaxInt64

func (c *canon) versions(key, value []byte, take func(key []byte, e *entry) error) error {
	k, err := streams.SplitRowKey(streams.Versioned, key)
	if err != nil {
		return err
	}
	e := &c.e
	if k.Segment == streams.LatestSegment {
		if err := c.value.Split(streams.Versioned, c.family, value); err != nil {
			return err
		}
		e.timed, e.time, e.offset, e.value = true, c.value.Time, always, hashOf(c.value.Value)
		return take(k.Key, e)
	}
	s, err := streams.ParseSegmentValue(value)
	if err != nil {
		return err
	}
	for i, v := range s.Versions {
		*e = entry{local: true, timed: true, time: v.ValidFrom, offset: s.Next, null: v.Value == nil}
		if i+1 < len(s.Versions) {
			e.offset = s.Versions[i+1].ValidFrom
		}
		if !e.null {
			e.value = hashOf(v.Value)
		}
		if err := take(k.Key, e); err != nil {
			return err
		}
	}
	return nil
}

// record calls take with the entries of the rows that a record becomes, and says
// which time it has to the store: that of its window, session or version.
// Versioned stores need the records in order.
func (c *canon) record(r *kafka.Record, part int32, later bool, take func(key []byte, e *entry) error) (int64, error) {
	c.e = entry{later: later, part: part, offset: r.Offset}
	if c.conv == nil {
		c.clock = max(c.clock, r.Timestamp)
		c.e.timed, c.e.time, c.e.aux, c.e.null = true, r.Timestamp, uint64(c.clock), r.Value == nil
		if r.Value != nil {
			c.e.value = hashOf(r.Value)
		}
		return r.Timestamp, take(r.Key, &c.e)
	}
	c.take, c.rec = take, r
	at, err := c.conv.Rows(r.Key, r.Value, r.Headers, r.Timestamp, c.yield)
	if err != nil {
		return 0, &op.Error{Kind: op.KindOf(err), What: "changelog record", Err: err, Try: "check --kind"}
	}
	return at, nil
}

// converted is handed the rows of a record.
func (c *canon) converted(row *streams.Row) error {
	e := c.e
	value := row.Value
	if row.Delete {
		value = nil
	} else if value == nil {
		value = []byte{}
	}
	key, err := c.fill(c.family, row.Key, value)
	if err != nil {
		return err
	}
	c.e.time = c.rec.Timestamp // also where the row does not say it
	err = c.take(key, &c.e)
	c.e = e // the next row of the record begins as this did
	return err
}
