package streams

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sstool/internal/op"
)

// Derived is a setting nobody stated, and where it comes from.
type Derived struct {
	Value time.Duration
	From  string
}

// Additions that Kafka Streams makes when it creates a changelog.
const (
	// DefaultAdditionalRetention is windowstore.changelog.additional.retention.ms.
	DefaultAdditionalRetention = 24 * time.Hour
	// VersionedAdditionalLag is added to history retention for
	// min.compaction.lag.ms (PI/VersionedChangelogTopicConfig).
	VersionedAdditionalLag = 24 * time.Hour
)

// DefaultSegmentInterval is the segment interval Kafka Streams chooses for a
// retention (for versioned stores: history retention) when the application
// gives none; 0 for kinds without segments.
func DefaultSegmentInterval(kind Kind, retention time.Duration) time.Duration {
	d, _ := DeriveSegmentInterval(kind, retention)
	return d.Value
}

// DeriveSegmentInterval is DefaultSegmentInterval with the formula used; ok is
// false for kinds without segments.
func DeriveSegmentInterval(kind Kind, retention time.Duration) (d Derived, ok bool) {
	ms := retention.Milliseconds()
	var formula string
	switch {
	case kind == GraceBuffer: // SI/RocksDBTimeOrderedKeyValueBytesStoreSupplier
		return Derived{math.MaxInt64, "a grace buffer has one segment"}, true
	case kind == Versioned: // SI/RocksDbVersionedKeyValueBytesStoreSupplier
		switch {
		case ms <= 60_000:
			ms, formula = max(ms/3, 2_000), "max(history retention / 3, 2s)"
		case ms <= 300_000:
			ms, formula = max(ms/5, 20_000), "max(history retention / 5, 20s)"
		case ms <= 3_600_000:
			ms, formula = max(ms/12, 60_000), "max(history retention / 12, 1m)"
		default:
			ms, formula = max(ms/24, 300_000), "max(history retention / 24, 5m)"
		}
	case kind.Segmented(): // Stores.persistentWindowStore, SI/RocksDbSessionBytesStoreSupplier
		ms, formula = max(ms/2, 60_000), "max(retention / 2, 1m)"
	default:
		return Derived{}, false
	}
	return Derived{time.Duration(ms) * time.Millisecond, "default formula " + formula}, true
}

// DeriveRetention takes a windowed store's retention out of its changelog's
// configuration: retention.ms less additional, which is what the application
// has as windowstore.changelog.additional.retention.ms; 0 means the default of
// one day (PI/WindowedChangelogTopicConfig).
func DeriveRetention(topic string, config map[string]string, additional time.Duration) (Derived, error) {
	if additional == 0 {
		additional = DefaultAdditionalRetention
	}
	ms, err := configMs(topic, config, "retention.ms")
	if err != nil {
		return Derived{}, err
	}
	return less(topic, "retention.ms", ms, additional)
}

// DeriveHistoryRetention takes a versioned store's history retention out of its
// changelog's configuration: min.compaction.lag.ms less 24 hours
// (PI/VersionedChangelogTopicConfig).
func DeriveHistoryRetention(topic string, config map[string]string) (Derived, error) {
	ms, err := configMs(topic, config, "min.compaction.lag.ms")
	if err != nil {
		return Derived{}, err
	}
	return less(topic, "min.compaction.lag.ms", ms, VersionedAdditionalLag)
}

func configMs(topic string, config map[string]string, name string) (int64, error) {
	v, ok := config[name]
	if !ok {
		return 0, op.Errorf(op.Usage, "topic %s does not tell its %s", topic, name)
	}
	ms, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		return 0, op.Errorf(op.Usage, "topic %s: %s=%q is not a number", topic, name, v)
	}
	return ms, nil
}

func less(topic, name string, ms int64, extra time.Duration) (Derived, error) {
	left := ms - extra.Milliseconds()
	if ms < 0 || left <= 0 || left > math.MaxInt64/int64(time.Millisecond) {
		return Derived{}, op.Errorf(op.Usage, "topic %s: %s=%d less %s leaves no usable retention; somebody changed the topic",
			topic, name, ms, extra)
	}
	return Derived{time.Duration(left) * time.Millisecond,
		fmt.Sprintf("%s=%d of topic %s less %s", name, ms, topic, extra)}, nil
}

// The retentions the DSL gives its stores when Materialized.withRetention does
// not (TimeWindowedKStreamImpl, SlidingWindowedKStreamImpl,
// SessionWindowedKStreamImpl, KStreamImplJoin).

// TimeWindowsRetention is that of tumbling and hopping windows.
func TimeWindowsRetention(size, grace time.Duration) Derived {
	return Derived{size + grace, fmt.Sprintf("window size %s + grace %s", size, grace)}
}

// SlidingWindowsRetention is that of sliding windows.
func SlidingWindowsRetention(difference, grace time.Duration) Derived {
	return Derived{2*difference + grace, fmt.Sprintf("2 × time difference %s + grace %s", difference, grace)}
}

// SessionWindowsRetention is that of session windows.
func SessionWindowsRetention(gap, grace time.Duration) Derived {
	return Derived{gap + grace, fmt.Sprintf("inactivity gap %s + grace %s", gap, grace)}
}

// JoinWindowsRetention is that of both window stores of a stream-stream join.
func JoinWindowsRetention(before, after, grace time.Duration) Derived {
	return Derived{before + after + grace, fmt.Sprintf("before %s + after %s + grace %s", before, after, grace)}
}

// RestoreStartTime is where Kafka Streams >= 4.4 begins to restore a windowed
// store that has no stored offset: at the first record with a timestamp of at
// least startMs; when seek is false, or no record is that young, at the log
// start (KAFKA-13499, PI/StoreChangelogReader.seekNewPartitions).
//
// lastTimestamp is that of the record at the end offset - 1, not the largest.
// Kafka Streams reads it with a single poll: when that is empty it starts at
// the log start. So it does under exactly-once, where the last offset is a
// transaction marker, and by chance when the poll runs into its timeout.
func RestoreStartTime(kind Kind, lastTimestamp int64, retention time.Duration) (startMs int64, seek bool) {
	ms := retention.Milliseconds()
	if !kind.Windowed() || ms <= 0 || retention == math.MaxInt64 {
		return 0, false
	}
	startMs = lastTimestamp - ms
	return startMs, startMs > 0
}
