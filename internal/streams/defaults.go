package streams

import (
	"math"
	"time"
)

// DefaultSegmentInterval is the segment interval Kafka Streams chooses for a
// retention (for versioned stores: history retention) when the application
// gives none.
func DefaultSegmentInterval(kind Kind, retention time.Duration) time.Duration {
	switch {
	case kind == GraceBuffer: // SI/RocksDBTimeOrderedKeyValueBytesStoreSupplier: Long.MAX_VALUE
		return math.MaxInt64
	case kind == Versioned: // SI/RocksDbVersionedKeyValueBytesStoreSupplier
		ms := retention.Milliseconds()
		switch {
		case ms <= 60_000:
			ms = max(ms/3, 2_000)
		case ms <= 300_000:
			ms = max(ms/5, 20_000)
		case ms <= 3_600_000:
			ms = max(ms/12, 60_000)
		default:
			ms = max(ms/24, 300_000)
		}
		return time.Duration(ms) * time.Millisecond
	case kind.Segmented(): // Stores.persistentWindowStore, SI/RocksDbSessionBytesStoreSupplier
		return time.Duration(max(retention.Milliseconds()/2, 60_000)) * time.Millisecond
	}
	return 0
}
