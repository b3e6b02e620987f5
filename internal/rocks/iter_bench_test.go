//go:build cgo

package rocks

import (
	"os"
	"testing"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/lsm"
)

// BenchmarkScan compares the merged scan of live rows of package lsm with a
// RocksDB iterator driven from Go, on the database that SSTOOL_BENCH_DB names.
// Only the ratio counts.
func BenchmarkScan(b *testing.B) {
	dir := os.Getenv("SSTOOL_BENCH_DB")
	if dir == "" {
		b.Skip("SSTOOL_BENCH_DB is not set: it names a RocksDB directory to read")
	}
	b.Run("rocksdb", func(b *testing.B) {
		o, err := grocksdb.GetOptionsFromString(nil, optionString(Options{})+";disable_auto_compactions=true")
		if err != nil {
			b.Fatal(err)
		}
		defer o.Destroy()
		db, err := grocksdb.OpenDbForReadOnly(o, dir, false)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		ro := grocksdb.NewDefaultReadOptions()
		defer ro.Destroy()
		ro.SetFillCache(false)
		rows, size := 0, 0
		for b.Loop() {
			rows = 0
			it := db.NewIterator(ro)
			for it.SeekToFirst(); it.Valid(); it.Next() {
				size += len(it.KeySlice().Data()) + len(it.ValueSlice().Data())
				rows++
			}
			if err := it.Err(); err != nil {
				b.Fatal(err)
			}
			it.Close()
		}
		b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	})
	for _, reverse := range []bool{false, true} {
		name := "lsm"
		if reverse {
			name = "lsm reverse"
		}
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				rows = scan(b, dir, reverse)
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func scan(b *testing.B, dir string, reverse bool) (rows int) {
	db, err := lsm.OpenDB(dir)
	if err != nil {
		b.Fatal(err)
	}
	it, err := db.Iter(DefaultFamily, lsm.IterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer it.Close()
	if reverse {
		for ok := it.Last(); ok; ok = it.Prev() {
			rows++
		}
	} else {
		for ok := it.First(); ok; ok = it.Next() {
			rows++
		}
	}
	if it.Err() != nil {
		b.Fatal(it.Err())
	}
	return rows
}
