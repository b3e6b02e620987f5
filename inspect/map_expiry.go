package inspect

import (
	"fmt"
	"time"

	"sstool/internal/streams"
)

// MapExpiry says which segments of a store are older than its retention. They
// are dropped when stream time moves on, and only then: a partition without new
// records keeps them, and readers find them.
type MapExpiry struct {
	Retention    int64  `json:"retention_ms"`
	RetentionWhy string `json:"retention_why"`
	// StreamTime is the earliest that it can be: where the newest segment begins.
	StreamTime   int64 `json:"stream_time_at_least_ms"`
	ByStreamTime int   `json:"expired_by_stream_time"`
	ByWallClock  int   `json:"expired_by_wall_clock"`
}

// expiry judges the segments of window and session stores; nil when nothing is
// known of how long they are kept. Kafka Streams makes a segment half as long as
// the retention, and at least a minute (state/Stores.defaultSegmentInterval).
func (m *MapStore) expiry(stated time.Duration, now time.Time) *MapExpiry {
	if m.Kind.Kind == nil || len(m.Segments) == 0 {
		return nil
	}
	if k := streams.Kind(*m.Kind.Kind); !windows(k) && !sessions(k) {
		return nil
	}
	const minute = int64(60_000)
	e := &MapExpiry{Retention: stated.Milliseconds(), RetentionWhy: "as given"}
	interval := max(e.Retention/2, minute)
	switch {
	case m.Interval != nil && stated > 0:
		interval = *m.Interval
	case m.Interval != nil && *m.Interval >= minute:
		interval = *m.Interval
		e.Retention, e.RetentionWhy = 2*interval, "likely twice the segment interval, as Kafka Streams has it"
		if interval == minute {
			e.RetentionWhy = "likely at most twice the segment interval, as Kafka Streams has it"
		}
	case stated <= 0:
		return nil
	}
	e.StreamTime = m.Segments[len(m.Segments)-1].StartMs
	for i := range m.Segments {
		s := &m.Segments[i]
		end := s.StartMs + interval
		switch {
		case end <= e.StreamTime-e.Retention:
			e.ByStreamTime++
			e.ByWallClock++
			s.Expired = "stream time"
		case end <= now.UnixMilli()-e.Retention:
			e.ByWallClock++
			s.Expired = "wall clock"
		}
	}
	return e
}

// remarks are what an operator should know of expired segments. Of an
// application that does not run, all are expired some day.
func (e *MapExpiry) remarks(m *MapStore, held bool) (out []Remark) {
	if e == nil {
		return nil
	}
	kept := fmt.Sprintf("(retention %s, %s)", time.Duration(e.Retention)*time.Millisecond, e.RetentionWhy)
	if e.ByStreamTime > 0 {
		out = append(out, Remark{Warning, fmt.Sprintf("%d of %d segments have expired by stream time %s: they go when the next segment is made; until then readers find them", e.ByStreamTime, len(m.Segments), kept), m.Dir, ""})
	}
	if n := e.ByWallClock - e.ByStreamTime; n > 0 && held {
		out = append(out, Remark{Note, fmt.Sprintf("%d of %d segments have expired by wall clock but not by stream time %s: a partition without new records keeps them", n, len(m.Segments), kept), m.Dir, ""})
	}
	return out
}
