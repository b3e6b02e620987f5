package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/lsm/lsmtest"
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
