package streams

import (
	"math"
	"time"

	"sstool/internal/op"
)

// Store is one state store, as a restore needs to know it.
type Store struct {
	Name    string
	Kind    Kind
	Headers bool // the form that keeps record headers (Kafka >= 4.3, opt-in)

	Retention        time.Duration // segmented kinds
	SegmentInterval  time.Duration // segmented kinds and versioned
	HistoryRetention time.Duration // versioned

	// WithIndex says that a time-ordered-window store writes index rows:
	// sliding windows do, tumbling and hopping ones only with Headers.
	WithIndex bool

	Global bool // fills global/ from all partitions of its topic
}

// Column families of Kafka Streams' stores (SI/RocksDBTimestampedStore and,
// since 4.3, the WithHeaders stores).
const (
	DefaultFamily                = "default"
	TimestampFamily              = "keyValueWithTimestamp"
	TimestampHeadersFamily       = "keyValueWithTimestampAndHeaders"
	WindowHeadersFamily          = "windowKeyValueWithHeaders"
	SessionHeadersFamily         = "sessionKeyValueWithHeaders"
	OffsetsFamily                = "offsets" // every database, Kafka >= 4.3 (KIP-1035)
	latestPrefix           int64 = -1        // segment id of a versioned store's latest rows
)

// ColumnFamilies are the families that every database of the store has,
// "default" first, without "offsets". Rows go to the last one; "default" of a
// store that has another is there but empty.
func (s Store) ColumnFamilies() []string {
	if f := s.rowFamily(); f != DefaultFamily {
		return []string{DefaultFamily, f}
	}
	return []string{DefaultFamily}
}

func (s Store) rowFamily() string {
	if s.Headers {
		switch s.Kind {
		case TimestampedKV, FKSubscription, Window, TimestampedWindow:
			return TimestampHeadersFamily
		case TimeOrderedWindow:
			return WindowHeadersFamily
		case Session, TimeOrderedSession:
			return SessionHeadersFamily
		}
	}
	switch s.Kind {
	case TimestampedKV, FKSubscription, TimestampedWindow:
		return TimestampFamily
	}
	return DefaultFamily
}

// Validate says what is missing or contradictory for writing the store.
func (s Store) Validate() error {
	fail := func(format string, args ...any) error {
		e := op.Errorf(op.Usage, format, args...)
		e.What = "store " + s.Name
		return e
	}
	if _, err := ParseKind(string(s.Kind)); err != nil {
		return err
	}
	if s.Headers && !s.Kind.HasHeaders() {
		return fail("%s store has no form with headers", WithArticle(string(s.Kind)))
	}
	if s.Kind.Windowed() {
		if s.Retention.Milliseconds() <= 0 {
			return fail("%s store needs its retention", WithArticle(string(s.Kind)))
		}
		if s.SegmentInterval.Milliseconds() <= 0 {
			return fail("%s store needs its segment interval", WithArticle(string(s.Kind)))
		}
	}
	if s.Kind == Versioned {
		if s.HistoryRetention.Milliseconds() < 0 {
			return fail("history retention is negative")
		}
		if s.SegmentInterval.Milliseconds() <= 0 {
			return fail("a versioned store needs its segment interval")
		}
	}
	return nil
}

// intervalMs is the segment interval in milliseconds. The grace buffer's is
// Long.MAX_VALUE (SI/RocksDBTimeOrderedKeyValueBytesStoreSupplier), which a
// Duration cannot hold.
func (s Store) intervalMs() int64 {
	if s.Kind == GraceBuffer {
		return math.MaxInt64
	}
	return s.SegmentInterval.Milliseconds()
}

func (s Store) retentionMs() int64 {
	switch s.Kind {
	case GraceBuffer:
		return math.MaxInt64
	case Versioned:
		return s.HistoryRetention.Milliseconds()
	}
	return s.Retention.Milliseconds()
}

// SegmentID is the segment a time falls into: a Java division, so it
// truncates towards zero (SI/AbstractSegments.segmentId). 0 for stores without
// an interval.
func (s Store) SegmentID(ts int64) int64 {
	iv := s.intervalMs()
	if iv <= 0 {
		return 0
	}
	return ts / iv
}

// MinLiveSegment is the oldest segment still kept at the given stream time
// (SI/AbstractSegments.getOrCreateSegmentIfLive). A row whose segment is
// older is dropped, and the segment with it. Stream time is -1 before the
// first record.
func (s Store) MinLiveSegment(streamTime int64) int64 {
	return s.SegmentID(streamTime - s.retentionMs())
}
