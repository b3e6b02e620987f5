package lsm

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkScanFiles verifies every SST file of SSTOOL_BENCH_DB, a database or
// any folder with *.sst, on one and on two goroutines.
func BenchmarkScanFiles(b *testing.B) {
	dir := os.Getenv("SSTOOL_BENCH_DB")
	if dir == "" {
		b.Skip("SSTOOL_BENCH_DB is not set: it names a RocksDB directory to read")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no SST files in %s: %v", dir, err)
	}
	for name, parallel := range map[string]int{"one": 1, "two": 2} {
		b.Run(name, func(b *testing.B) {
			var size, entries int64
			for b.Loop() {
				size, entries = 0, 0
				ScanFiles(files, parallel, ScanOptions{}, func(_ int, info SSTInfo, errs []error) bool {
					if len(errs) > 0 {
						b.Error(errs[0])
					}
					size += info.Size
					entries += info.Entries
					return true
				})
			}
			b.SetBytes(size)
			b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// BenchmarkOpenTables opens every SST file and reads its properties.
func BenchmarkOpenTables(b *testing.B) {
	root, _ := unpackVariants(b)
	files, err := filepath.Glob(filepath.Join(root, "*", "*.sst"))
	if err != nil || len(files) == 0 {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t, err := OpenTableFile(files[i%len(files)])
		if err != nil {
			b.Fatal(err)
		}
		if t.Info().FormatVersion == 0 {
			b.Fatal("no format version")
		}
		if err := t.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTableIter steps through every entry, forward and backward.
func BenchmarkTableIter(b *testing.B) {
	dir := os.Getenv("SSTOOL_BENCH_DB")
	if dir == "" {
		b.Skip("SSTOOL_BENCH_DB is not set: it names a RocksDB directory to read")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no SST files in %s: %v", dir, err)
	}
	t := openFor(b, files[0])
	for name, d := range map[string]direction{"forward": forward, "backward": backward} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				it := t.Iter()
				ok, step := it.First(), it.Next
				if d == backward {
					ok, step = it.Last(), it.Prev
				}
				for rows = 0; ok; ok = step() {
					rows++
				}
				if it.Err() != nil {
					b.Fatal(it.Err())
				}
				it.Close()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
		})
	}
}
