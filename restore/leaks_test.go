//go:build cgo && linux

package restore

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/streams"
)

// Restores that succeed, fail and are interrupted leave no goroutine and no
// open file behind.
func TestNoLeaks(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 2, nil)
	k.produceSingly(t, topic, bigValues(6))
	w := streams.Store{Name: "w", Kind: streams.Window, Retention: time.Hour, SegmentInterval: time.Minute}
	recs := numbered(0, 0, 300, 300)
	for i := range recs {
		recs[i].Key = windowKey("k", int64(i)*10_000, 0)
	}
	recs[299].Key = []byte("bad")
	k.changelog(t, "w", 1, recs)
	round := func() {
		for _, p := range profiles {
			k.OnFetch(1, func() {})
			k.mustRestore(t, smallFetches(options(memDir(t), kv("s")), p))
			if _, err := k.restore(t, smallFetches(options(memDir(t), w), p)); err == nil {
				t.Fatal("the bad key was taken")
			}
			ctx, cancel := context.WithCancel(t.Context())
			k.AtFetch(4, cancel)
			if _, err := k.restoreTo(ctx, smallFetches(options(memDir(t), kv("s")), p), nil); err == nil {
				t.Fatal("not interrupted")
			}
			cancel()
		}
	}
	files := func() int {
		es, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(es)
	}
	// Connections are kept for the next reader, as many as were ever needed at
	// once, which is a matter of timing; so are RocksDB's threads and files.
	round()
	round()
	goroutines, open := runtime.NumGoroutine(), files()
	const rounds, kept = 14, 12
	for range rounds {
		round()
	}
	var g, f int
	for range 600 { // what is closing takes a moment
		if g, f = runtime.NumGoroutine(), files(); g <= goroutines+kept && f <= open+kept {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d goroutines and %d files, were %d and %d", g, f, goroutines, open)
}
