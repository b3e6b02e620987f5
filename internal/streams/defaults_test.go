package streams

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSegmentInterval(t *testing.T) {
	for _, c := range []struct {
		kind      Kind
		keep, out time.Duration
	}{
		{Window, 20 * time.Minute, 10 * time.Minute},
		{Session, 6 * time.Minute, 3 * time.Minute},
		{TimestampedWindow, time.Minute, time.Minute},
		{TimeOrderedSession, 90001 * time.Millisecond, time.Minute},
		{TimeOrderedWindow, 6*time.Minute + time.Millisecond, 180000 * time.Millisecond},
		{Versioned, 3 * time.Second, 2 * time.Second},
		{Versioned, time.Minute, 20 * time.Second},
		{Versioned, 5 * time.Minute, time.Minute},
		{Versioned, 30 * time.Minute, 150 * time.Second},
		{Versioned, time.Hour, 5 * time.Minute},
		{Versioned, 24 * time.Hour, time.Hour},
		{GraceBuffer, 0, math.MaxInt64},
		{KV, time.Hour, 0},
	} {
		if got := DefaultSegmentInterval(c.kind, c.keep); got != c.out {
			t.Errorf("%s %s: %s, want %s", c.kind, c.keep, got, c.out)
		}
	}
	if d, ok := DeriveSegmentInterval(Versioned, 30*time.Minute); !ok || !strings.Contains(d.From, "/ 12") {
		t.Errorf("%v, %v", d, ok)
	}
}

func TestDerive(t *testing.T) {
	d, err := DeriveRetention("t", map[string]string{"retention.ms": "87600000"}, 0)
	if err != nil || d.Value != 20*time.Minute || !strings.Contains(d.From, "retention.ms=87600000 of topic t") {
		t.Errorf("%v, %v", d, err)
	}
	if d, err := DeriveRetention("t", map[string]string{"retention.ms": "87600000"}, time.Hour); err != nil || d.Value != 83_999_999*time.Millisecond+time.Millisecond {
		t.Errorf("%v, %v", d, err)
	}
	d, err = DeriveHistoryRetention("t", map[string]string{"min.compaction.lag.ms": "88200000"})
	if err != nil || d.Value != 30*time.Minute {
		t.Errorf("%v, %v", d, err)
	}
	for _, v := range []string{"-1", "86400000", "x", "", "9223372036854775807"} {
		if d, err := DeriveRetention("t", map[string]string{"retention.ms": v}, 0); err == nil {
			t.Errorf("%q: %v", v, d)
		}
	}
	if _, err := DeriveHistoryRetention("t", nil); err == nil {
		t.Error("derived from nothing")
	}
	m := time.Minute
	for _, c := range []struct {
		got  Derived
		want time.Duration
	}{
		{TimeWindowsRetention(m, 5*m), 6 * m}, {SlidingWindowsRetention(m, 5*m), 7 * m},
		{SessionWindowsRetention(90*time.Second, 5*m), 390 * time.Second}, {JoinWindowsRetention(2*m, 2*m, 30*m), 34 * m},
	} {
		if c.got.Value != c.want || c.got.From == "" {
			t.Errorf("%v, want %s", c.got, c.want)
		}
	}
}

func TestRestoreStartTime(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		ts    int64
		keep  time.Duration
		start int64
		seek  bool
	}{
		{Window, 1000, 600 * time.Millisecond, 400, true},
		{Session, 1000, time.Second, 0, false},
		{Window, -1, time.Second, 0, false},
		{Window, 1000, 0, 0, false},
		{Window, 1000, math.MaxInt64, 0, false},
		{GraceBuffer, 1000, time.Millisecond, 0, false},
		{Versioned, 1000, time.Millisecond, 0, false},
		{KV, 1000, time.Millisecond, 0, false},
	} {
		start, seek := RestoreStartTime(c.kind, c.ts, c.keep)
		if seek != c.seek || seek && start != c.start {
			t.Errorf("%+v: %d, %v", c, start, seek)
		}
	}
}
