package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
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
func (m *MapStore) expiry(stated streams.Derived, now time.Time) *MapExpiry {
	if !m.expires() {
		return nil
	}
	const minute = int64(60_000)
	e := &MapExpiry{Retention: stated.Value.Milliseconds(), RetentionWhy: stated.From}
	interval := max(e.Retention/2, minute)
	switch {
	case m.Interval != nil && stated.Value > 0:
		interval = *m.Interval
	case m.Interval != nil && *m.Interval >= minute:
		interval = *m.Interval
		e.Retention, e.RetentionWhy = 2*interval, "likely twice the segment interval, as Kafka Streams has it"
		if interval == minute {
			e.RetentionWhy = "likely at most twice the segment interval, as Kafka Streams has it"
		}
	case stated.Value <= 0:
		return nil
	}
	e.StreamTime = m.Segments[len(m.Segments)-1].StartMs
	for i := range m.Segments {
		s := &m.Segments[i]
		s.Expired = ""
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

// expires says whether the store has segments that are dropped by time.
func (m *MapStore) expires() bool {
	if m.Kind.Kind == nil || len(m.Segments) == 0 {
		return false
	}
	k := streams.Kind(*m.Kind.Kind)
	return windows(k) || sessions(k)
}

// expiryByTopic judges the segments anew by the configuration of the store's
// changelog, which Kafka Streams made from the retention. Where that does not
// tell it, what the disk says stays, with the reason.
func (m *MapStore) expiryByTopic(config map[string]string, err error, held bool, now time.Time) {
	d := streams.Derived{}
	switch topic := changelogOf(m); {
	case err != nil:
	case !strings.Contains(config["cleanup.policy"], "delete"):
		err = op.Errorf(op.Usage, "topic %s is not one that deletes by time", topic)
	default:
		d, err = streams.DeriveRetention(topic, config, 0)
	}
	if err == nil && !m.fits(d.Value) {
		err = op.Errorf(op.Usage, "%s does not fit segments of %s: windowstore.changelog.additional.retention.ms is not the default, or somebody changed the topic", d.From, time.Duration(*m.Interval)*time.Millisecond)
	}
	if err != nil {
		if m.Expiry != nil {
			e := *m.Expiry
			e.RetentionWhy += "; not from the changelog: " + err.Error()
			m.Expiry = &e
		}
		return
	}
	old := m.Expiry.remarks(m, held)
	m.Remarks = slices.DeleteFunc(slices.Clone(m.Remarks), func(r Remark) bool { return slices.Contains(old, r) })
	m.Segments = slices.Clone(m.Segments)
	m.Expiry = m.expiry(d, now)
	m.Remarks = append(m.Remarks, m.Expiry.remarks(m, held)...)
}

// fits says whether segments of a retention can begin where these do: their
// interval as told from a few may be a multiple of what it is.
func (m *MapStore) fits(retention time.Duration) bool {
	d, ok := streams.DeriveSegmentInterval(streams.Kind(*m.Kind.Kind), retention)
	return m.Interval == nil || !ok || *m.Interval%d.Value.Milliseconds() == 0
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
