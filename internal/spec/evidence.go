package spec

import (
	"encoding/binary"

	"sstool/internal/streams"
)

// evidence is what a sample of a store's rows says about its kind.
type evidence struct {
	families map[string]bool
	segments int   // distinct segment starts
	divisor  int64 // their greatest common divisor, in ms

	rows   int
	fits   map[streams.Kind]int   // rows that have the form of a kind
	latest map[streams.Kind]int64 // greatest distance of a row's time from its segment's start
	index  int                    // index rows of time-ordered stores

	low, high int64 // bounds of a versioned store's interval; high 0: none
	conflict  bool
}

// row counts one row. Segmented rows are tried against the segment they lie in.
func (e *evidence) row(segmented bool, start int64, family string, key, value []byte) {
	e.rows++
	if segmented {
		e.segmentRow(start, key, value)
		return
	}
	if family == streams.DefaultFamily {
		if e.versionedRow(key, value) {
			e.fits[streams.Versioned]++
		}
		if isListRow(key, value) {
			e.fits[streams.List]++
		}
		return
	}
	if family == streams.TimestampHeadersFamily {
		if _, rest, err := streams.SplitHeadersPrefix(value); err == nil {
			value = rest
		}
	}
	if isSubscriptionRow(key, value) {
		e.fits[streams.FKSubscription]++
	}
}

func int64At(b []byte, i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }

// segmentRow tries the forms of SI/WindowKeySchema, SessionKeySchema and their
// prefixed, time-ordered variants.
func (e *evidence) segmentRow(start int64, key, value []byte) {
	n := len(key)
	inside := func(i int) (int64, bool) {
		ts := int64At(key, i)
		// Without a second segment the end is not known: a year is generous.
		span := e.divisor
		if e.segments < 2 {
			span = 366 * 24 * 3_600_000
		}
		return ts - start, ts >= start && ts-start < span
	}
	fit := func(k streams.Kind, at int64) {
		e.fits[k]++
		if e.latest == nil {
			e.latest = map[streams.Kind]int64{}
		}
		e.latest[k] = max(e.latest[k], at)
	}
	if n >= 12 {
		if at, ok := inside(n - 12); ok {
			fit(streams.Window, at)
			fit(streams.TimestampedWindow, at)
		}
	}
	if n >= 16 {
		if at, ok := inside(n - 16); ok && int64At(key, n-8) <= int64At(key, n-16) {
			fit(streams.Session, at)
		}
	}
	if n < 13 {
		return
	}
	switch key[0] {
	case 0: // base row
		at, ok := inside(1)
		if !ok {
			return
		}
		if binary.BigEndian.Uint32(key[n-4:]) == 0 {
			fit(streams.TimeOrderedWindow, at)
		}
		if n >= 17 && int64At(key, 9) >= 0 && int64At(key, 9) <= int64At(key, 1) {
			fit(streams.TimeOrderedSession, at)
		}
	case 1: // index row
		isIndex := false
		if at, ok := inside(n - 12); ok && binary.BigEndian.Uint32(key[n-4:]) == 0 {
			fit(streams.TimeOrderedWindow, at)
			isIndex = true
		}
		if n >= 17 {
			if at, ok := inside(n - 16); ok && int64At(key, n-8) <= int64At(key, n-16) {
				fit(streams.TimeOrderedSession, at)
				isIndex = true
			}
		}
		if isIndex {
			e.index++
		}
	}
	_ = value // under HEADERS an index row has the headers prefix: the value tells nothing
}

// versionedRow says whether a row is one of a versioned store: the latest
// value behind FF*8, or a history row behind its segment's id (SI/
// LogicalKeyValueSegment). History rows bound the interval: their validity
// ends in their segment.
func (e *evidence) versionedRow(key, value []byte) bool {
	if len(key) < 8 {
		return false
	}
	id := int64At(key, 0)
	if id == -1 {
		return len(value) >= 8
	}
	if id < 0 {
		return false
	}
	v, err := streams.ParseSegmentValue(value)
	if err != nil || v.Next < 0 {
		return false
	}
	if id > 0 {
		// id = next / interval, so next/(id+1) < interval <= next/id.
		low, high := v.Next/(id+1)+1, v.Next/id
		if e.high == 0 {
			e.low, e.high = low, high
		}
		e.low, e.high = max(e.low, low), min(e.high, high)
		e.conflict = e.conflict || e.low > e.high
	}
	return true
}

// versionedInterval is what history rows leave possible.
func (e *evidence) versionedInterval() (low, high int64, ok bool) {
	return e.low, e.high, e.high > 0 && !e.conflict
}

// isListRow says whether a row is one of a join's shared store: ts8 | side |
// key, and a list of side | value (SI/TimestampedKeyAndJoinSideSerializer,
// ListSerializer with variable sizes).
func isListRow(key, value []byte) bool {
	if len(key) < 9 || key[8] > 1 || int64At(key, 0) < 0 {
		return false
	}
	if len(value) < 5 || value[0] != 1 {
		return false
	}
	n := int64(binary.BigEndian.Uint32(value[1:]))
	b := value[5:]
	if n > int64(len(b))/4 {
		return false
	}
	for range n {
		if len(b) < 4 {
			return false
		}
		size := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if size == -1 {
			continue
		}
		if size < 1 || int(size) > len(b) || b[0] > 1 {
			return false
		}
		b = b[size:]
	}
	return len(b) == 0
}

// isSubscriptionRow says whether a row is one of a foreign-key join: length4 |
// foreign key | key, and ts8 | version | instruction … (KI/foreignkeyjoin/
// CombinedKeySchema, SubscriptionWrapperSerde).
func isSubscriptionRow(key, value []byte) bool {
	if len(key) < 4 || uint64(binary.BigEndian.Uint32(key)) > uint64(len(key)-4) {
		return false
	}
	return len(value) >= 10 && value[8]&0x7f <= 1 && value[9] <= 3
}
