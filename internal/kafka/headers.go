package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// checkHeaders tells whether a section of record headers, as Record has it, can
// be read to its end.
func checkHeaders(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if u, i := uvarint(p, 0); skipHeaders(p, i, zigzag(u)) != len(p) {
		return fmt.Errorf("unreadable record headers of %d bytes", len(p))
	}
	return nil
}

// recordHeaders reads a section that was checked. The values are slices of it.
func recordHeaders(p []byte) []kgo.RecordHeader {
	u, i := uvarint(p, 0)
	if u == 0 {
		return nil
	}
	out := make([]kgo.RecordHeader, zigzag(u))
	for j := range out {
		var key []byte
		key, i = nullable(p, i)
		out[j].Key = string(key)
		out[j].Value, i = nullable(p, i)
	}
	return out
}
