package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/streams"
)

// TestExpiredSegments is case K21: segments by stream time and by wall clock.
func TestExpiredSegments(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	dir := filepath.Join(app, "0_0", "ts-win")
	real := segment(t, app, "ts-win")
	kept := filepath.Join(t.TempDir(), "segment")
	if err := os.Rename(real, kept); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("ts-win.%d", i*60_000)), os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
	}
	o := MapOptions{Path: app, Stores: []string{"ts-win"}, Tasks: []string{"0_0"}}
	s := mapOf(t, o).AllStores()[0]
	if e := s.Expiry; e == nil || e.Retention != 120_000 || !strings.HasPrefix(e.RetentionWhy, "likely at most") || e.StreamTime != 300_000 || e.ByStreamTime != 3 || e.ByWallClock != 6 {
		t.Errorf("retention from the interval: %+v", e)
	}
	o.Retention = 3 * time.Minute
	s = mapOf(t, o).AllStores()[0]
	if e := s.Expiry; e == nil || e.RetentionWhy != "as given" || e.ByStreamTime != 2 || e.ByWallClock != 6 {
		t.Errorf("stated retention: %+v", e)
	}
	want := []string{"stream time", "stream time", "wall clock", "wall clock", "wall clock", "wall clock"}
	for i, g := range s.Segments {
		if g.Expired != want[i] {
			t.Errorf("segment %d expired by %q, want %q", g.StartMs, g.Expired, want[i])
		}
	}
	if got := strings.Join(remarks(mapOf(t, o)), "\n"); !strings.Contains(got, "2 of 6 segments have expired by stream time (retention 3m0s, as given)") {
		t.Errorf("not told: %s", got)
	}
	o.Retention = 24 * 365 * 100 * time.Hour
	if e := mapOf(t, o).AllStores()[0].Expiry; e.ByStreamTime != 0 || e.ByWallClock != 0 {
		t.Errorf("kept for a century: %+v", e)
	}
	for _, name := range []string{"plain-kv", "versioned"} {
		if s := mapOf(t, MapOptions{Path: app, Stores: []string{name}}).AllStores()[0]; s.Expiry != nil {
			t.Errorf("%s expires: %+v", name, s.Expiry)
		}
	}
}

// TestExpiryByChangelog: the retention of a store is what its changelog was made
// with, less a day, unless the segments contradict it.
func TestExpiryByChangelog(t *testing.T) {
	const day = int64(86_400_000)
	kind, why := string(streams.TimestampedWindow), "likely at most twice the segment interval, as Kafka Streams has it"
	for name, c := range map[string]struct {
		config    map[string]string
		err       error
		interval  int64 // 0: not known
		retention int64
		why       string
		stream    int
	}{
		"as made":          {map[string]string{"cleanup.policy": "compact,delete", "retention.ms": fmt.Sprint(day + 180_000)}, nil, 90_000, 180_000, "retention.ms=86580000 of topic app-w-changelog less 24h0m0s", 1},
		"one segment":      {map[string]string{"cleanup.policy": "delete", "retention.ms": fmt.Sprint(day + 180_000)}, nil, 0, 180_000, "retention.ms=86580000", 1},
		"a larger step":    {map[string]string{"cleanup.policy": "delete", "retention.ms": fmt.Sprint(day + 180_000)}, nil, 180_000, 180_000, "retention.ms=86580000", 1},
		"another addition": {map[string]string{"cleanup.policy": "delete", "retention.ms": fmt.Sprint(day + 180_000)}, nil, 60_000, 120_000, "does not fit segments of 1m0s", 2},
		"compacted only":   {map[string]string{"cleanup.policy": "compact", "retention.ms": fmt.Sprint(7 * day)}, nil, 60_000, 120_000, "is not one that deletes by time", 2},
		"less than a day":  {map[string]string{"cleanup.policy": "delete", "retention.ms": "3600000"}, nil, 60_000, 120_000, "leaves no usable retention", 2},
		"denied":           {nil, os.ErrPermission, 60_000, 120_000, "not from the changelog: permission denied", 2},
		"nothing known":    {nil, os.ErrPermission, 0, 0, "", 0},
	} {
		m := MapStore{Kind: MapKind{Kind: &kind}, Dir: "dir", Offsets: MapOffsets{Topic: "app-w-changelog"}, Remarks: []Remark{{Note, "other", "", ""}}}
		for _, start := range []int64{0, 180_000, 360_000} {
			m.Segments = append(m.Segments, MapSegment{StartMs: start})
		}
		if c.interval > 0 {
			m.Interval = &c.interval
		}
		now := time.UnixMilli(0) // nothing by the clock
		m.Expiry = m.expiry(streams.Derived{}, now)
		if (m.Expiry != nil) != (c.interval > 0) || m.Expiry != nil && c.interval == 60_000 && m.Expiry.RetentionWhy != why {
			t.Fatalf("%s: %+v", name, m.Expiry)
		}
		m.Remarks = append(m.Remarks, m.Expiry.remarks(&m, false)...)
		before := m
		m.expiryByTopic(c.config, c.err, false, now)
		e := m.Expiry
		if e == nil {
			if c.retention > 0 {
				t.Errorf("%s: nothing expires", name)
			}
			continue
		}
		if e.Retention != c.retention || !strings.Contains(e.RetentionWhy, c.why) || e.ByStreamTime != c.stream {
			t.Errorf("%s: %+v, want %d ms (%s), %d by stream time", name, e, c.retention, c.why, c.stream)
		}
		marked := 0
		for _, s := range m.Segments {
			if s.Expired != "" {
				marked++
			}
		}
		if said := len(m.Remarks) - 1; marked != c.stream || said != min(1, c.stream) || m.Remarks[0].What != "other" {
			t.Errorf("%s: %d segments marked, want %d; remarks %+v", name, marked, c.stream, m.Remarks)
		}
		if before.Expiry != nil && before.Expiry.Retention != 2*c.interval {
			t.Errorf("%s: the map that was there changed: %+v", name, before.Expiry)
		}
	}
}

// TestRocksDBLog is case K07: what RocksDB wrote into its LOG is told.
func TestRocksDBLog(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	o := MapOptions{Path: app, Stores: []string{"ts-win", "ts-kv"}, Tasks: []string{"0_0"}}
	for _, s := range mapOf(t, o).AllStores() {
		if s.Log != nil {
			t.Errorf("%s: a LOG that is not there: %+v", s.Name, s.Log)
		}
	}
	write(t, filepath.Join(app, "0_0/rocksdb/ts-kv/LOG"), "")
	var log strings.Builder
	fmt.Fprintf(&log, "2026/11/30-01:00:00.000001 140 RocksDB version: 9.7.3\n")
	for i := range 200 {
		fmt.Fprintf(&log, "2026/11/30-01:00:%02d.000002 140 [INFO] [db/db_impl.cc:1] nothing\n", i%60)
	}
	log.WriteString("2026/11/30-01:02:03.123456 140 [ERROR] [db/flush_job.cc:1] Flush: No space left on device\n")
	log.WriteString("2026/11/30-01:02:04.123456 140 [WARN] [db/column_family.cc:1] Stalling writes because we have 20 level-0 files rate 1\n")
	write(t, filepath.Join(segment(t, app, "ts-win"), "LOG"), log.String())
	m := mapOf(t, o)
	for _, s := range m.AllStores() {
		l := s.Log
		switch {
		case l == nil:
			t.Errorf("%s: no LOG", s.Name)
		case s.Name == "ts-kv" && (l.Size != 0 || l.Errors != 0 || l.Unread != 0):
			t.Errorf("empty LOG: %+v", l)
		case s.Name == "ts-win" && (l.Files != 1 || l.Errors != 1 || l.Delays != 1 || l.Stops != 0 || len(l.LastErrors) != 1 || l.Versions[0] != "9.7.3"):
			t.Errorf("LOG: %+v", l)
		}
	}
	all := strings.Join(remarks(m), "\n")
	for _, want := range []string{"RocksDB's LOG has 1 errors since it was opened, the last at 2026/11/30-01:02:03.123456: [db/flush_job.cc:1] Flush: No space left on device",
		"writers were slowed down 1 times and stopped 0 times"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}
