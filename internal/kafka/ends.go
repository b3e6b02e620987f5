package kafka

import "time"

// Ends is what the leader said of the partition's log in its last answer.
type Ends struct {
	At            time.Time // when the request was sent
	Position      int64     // which it asked for
	HighWatermark int64
	LastStable    int64
	LogStart      int64
}

// Ends is the newest answer's, also of answers without records; false while
// there was none. It may be called while another goroutine is in Next.
func (r *PartitionReader) Ends() (Ends, bool) {
	e := r.ends.Load()
	if e == nil {
		return Ends{}, false
	}
	return *e, true
}
