//go:build cgo

package migrate

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// BenchmarkTTLLocal finds the old half of two million rows in a local store:
// beside a merged scan of the same rows, and RocksDB's iterator.
func BenchmarkTTLLocal(b *testing.B) {
	const rows = 2_000_000
	dir := filepath.Join(b.TempDir(), "st")
	db, err := rocks.Create(dir, rocks.Options{Families: []string{streams.DefaultFamily, streams.TimestampFamily}})
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 108)
	batch := db.Batch()
	for i := range rows {
		binary.BigEndian.PutUint64(value, uint64(ttlNow-int64(i)*2654435761%int64(48*hour)))
		batch.Put(1, fmt.Appendf(nil, "key-%016x", uint64(i)*0x9e3779b97f4a7c15), value)
		if i%10_000 == 0 || i == rows-1 {
			if err := db.Write(batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	batch.Close()
	if err := db.CompactRange(); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	per := func(b *testing.B, n int64) {
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	}
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			local := &ttlLocal{kind: streams.TimestampedKV, copies: []*ttlCopy{{dir: dir}}}
			workers := runtime.GOMAXPROCS(0)
			if err := local.divide(workers); err != nil {
				b.Fatal(err)
			}
			rules := &ttlRules{o: &TTLOptions{}, now: ttlNow, latest: ttlNow, hasCutoff: true, cutoffs: map[int32]int64{0: ttlNow - 24*hour}, companionAt: -1, edges: []int64{hour, 24 * hour}}
			sel := &ttlSelection{rules: rules, main: local, workers: workers, out: newTTLOutput(rules, nil, b.TempDir(), 0)}
			if err := sel.run(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := sel.out.finish(); err != nil {
				b.Fatal(err)
			}
			if n := sel.out.counts[0].Rows; n < rows/3 || n > rows*2/3 || sel.tally.parts[0].rows != rows {
				b.Fatal(n, sel.tally.parts[0].rows)
			}
		}
		per(b, rows)
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if err := lsm.Rows(dir, streams.TimestampFamily, func(_, _ []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		per(b, rows)
	})
	b.Run("rocksdb", func(b *testing.B) {
		db, err := rocks.Open(dir, rocks.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		for b.Loop() {
			if err := db.Iterate(1, func(_, _ []byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		per(b, rows)
	})
}
