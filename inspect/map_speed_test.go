package inspect

import (
	"context"
	"runtime"
	"testing"
	"time"

	"sstool/internal/lsm/bigtest"
)

// TestMapOfManyFiles holds that the map's cost is one small read a file: its
// memory is bounded, and its time far below what reading the data would take.
func TestMapOfManyFiles(t *testing.T) {
	root := bigtest.Application(t, 40, 100)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := mapOf(t, MapOptions{Path: root})
	runtime.GC()
	runtime.ReadMemStats(&after)
	stores := m.AllStores()
	if len(stores) != 40 {
		t.Fatalf("%d stores", len(stores))
	}
	for _, s := range stores {
		if s.Files != 100 || s.Keys.Exact || len(s.Levels) != 1 || s.Levels[0].Files != 100 || !s.LiveSet {
			t.Fatalf("%s/%s: %d files, levels %v, %s", s.Task, s.Name, s.Files, s.Levels, showKeys(s.Keys))
		}
		if *s.Keys.AtMost*2 < s.Entries || *s.Keys.Count > *s.Keys.AtMost {
			t.Fatalf("%s: estimate %s of %d entries", s.Name, showKeys(s.Keys), s.Entries)
		}
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 8<<20 {
		t.Errorf("the map of 4000 files keeps %d bytes", kept)
	}
}

// BenchmarkMap is the figure of the issue: 200 stores, 20,000 files.
func BenchmarkMap(b *testing.B) {
	root := bigtest.Application(b, 200, 100)
	b.ResetTimer()
	for b.Loop() {
		begun := time.Now()
		if _, err := MapPath(context.Background(), MapOptions{Path: root}, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(20_000/time.Since(begun).Seconds(), "files/s")
	}
}
