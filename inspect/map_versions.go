package inspect

import (
	"fmt"
	"slices"

	"sstool/internal/streams"
)

// oldestKafka is the oldest Kafka Streams that can open the store as it lies
// there, as far as its files tell: the RocksDB it ships must read the SST
// format and checksum, and its class of store must know the column families
// (each is fatal when it does not, findings §1). 3.0 is the oldest that is told
// apart.
func oldestKafka(m *MapStore) (*string, string) {
	oldest, why := streams.OldestTarget, "nothing in it asks for a newer one"
	need := func(v streams.Version, because string) {
		if oldest.Less(v) {
			oldest, why = v, because
		}
	}
	for _, f := range m.Formats {
		switch {
		case f > 6:
			return nil, fmt.Sprintf("SST format version %d: the RocksDB of no Kafka Streams up to %d.%d reads it", f, streams.NewestTarget.Major, streams.NewestTarget.Minor)
		case f == 6:
			need(streams.Version{Major: 4}, "SST format version 6")
		}
	}
	if slices.ContainsFunc(m.Checksums, func(c string) bool { return c == "kXXH3" }) {
		need(streams.Version{Major: 3, Minor: 2}, "SST checksum XXH3")
	}
	if m.Kind.Kind != nil {
		need(streams.Kind(*m.Kind.Kind).Since(), "kind "+*m.Kind.Kind)
	}
	for _, f := range m.Families {
		switch f.Name {
		case streams.OffsetsFamily:
			need(streams.Version{Major: 4, Minor: 3}, "column family "+f.Name)
		case streams.TimestampHeadersFamily, streams.WindowHeadersFamily, streams.SessionHeadersFamily:
			need(streams.Version{Major: 4, Minor: 3}, "column family "+f.Name)
		}
	}
	s := fmt.Sprintf("%d.%d", oldest.Major, oldest.Minor)
	return &s, why
}

// oldestOf is the oldest Kafka Streams that can open all stores.
func oldestOf(stores []MapStore) (*string, string) {
	var oldest streams.Version
	why := ""
	for _, s := range stores {
		if s.Oldest == nil {
			return nil, fmt.Sprintf("store %s of task %s: %s", s.Name, s.Task, s.OldestWhy)
		}
		v, err := streams.ParseVersion(*s.Oldest)
		if err == nil && oldest.Less(v) {
			oldest, why = v, s.OldestWhy
			if v != streams.OldestTarget {
				why += fmt.Sprintf(" (store %s of task %s)", s.Name, s.Task)
			}
		}
	}
	if oldest.IsZero() {
		return nil, "there is no store"
	}
	s := fmt.Sprintf("%d.%d", oldest.Major, oldest.Minor)
	return &s, why
}
