package inspect

import (
	"fmt"
	"slices"

	"sstool/internal/streams"
)

// Need is something in a store that asks for a release of Kafka Streams.
type Need struct {
	Since streams.Version
	What  string
	// Rewritable says that writing its files anew takes the need away, as
	// sstool compact does.
	Rewritable bool
}

// Needs is what a store as it lies there asks for, as far as its files tell:
// the RocksDB that Kafka Streams ships must read the SST format and checksum,
// and its class of store must know the column families (each is fatal when it
// does not, findings §1). never is why no release known can open it, else "".
func (s *MapStore) Needs() (list []Need, never string) {
	for _, f := range s.Formats {
		switch {
		case f > 6:
			return nil, fmt.Sprintf("SST format version %d: the RocksDB of no Kafka Streams up to %d.%d reads it", f, streams.NewestTarget.Major, streams.NewestTarget.Minor)
		case f == 6:
			list = append(list, Need{streams.Version{Major: 4}, "SST format version 6", true})
		}
	}
	if slices.ContainsFunc(s.Checksums, func(c string) bool { return c == "kXXH3" }) {
		list = append(list, Need{streams.Version{Major: 3, Minor: 2}, "SST checksum XXH3", true})
	}
	if s.Kind.Kind != nil {
		list = append(list, Need{streams.Kind(*s.Kind.Kind).Since(), "kind " + *s.Kind.Kind, false})
	}
	for _, f := range s.Families {
		switch f.Name {
		case streams.OffsetsFamily, streams.TimestampHeadersFamily, streams.WindowHeadersFamily, streams.SessionHeadersFamily:
			list = append(list, Need{streams.Version{Major: 4, Minor: 3}, "column family " + f.Name, false})
		}
	}
	return list, ""
}

// oldestKafka is the oldest Kafka Streams that can open the store; 3.0 is the
// oldest that is told apart.
func oldestKafka(m *MapStore) (*string, string) {
	needs, never := m.Needs()
	if never != "" {
		return nil, never
	}
	oldest, why := streams.OldestTarget, "nothing in it asks for a newer one"
	for _, n := range needs {
		if oldest.Less(n.Since) {
			oldest, why = n.Since, n.What
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
