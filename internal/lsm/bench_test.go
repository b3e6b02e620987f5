package lsm

import (
	"os"
	"testing"
)

// benchDB is a database to measure on: SSTOOL_BENCH_DB, for the ones in
// testdata are too small.
func benchDB(b *testing.B) (dir string, size int64) {
	dir = os.Getenv("SSTOOL_BENCH_DB")
	if dir == "" {
		b.Skip("SSTOOL_BENCH_DB is not set: it names a RocksDB directory to read")
	}
	v, err := ReadManifest(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range v.Families {
		for _, x := range f.Files {
			size += x.Size
		}
	}
	return dir, size
}

func BenchmarkVerifyDB(b *testing.B) {
	dir, size := benchDB(b)
	b.SetBytes(size)
	for b.Loop() {
		if _, err := VerifyDB(dir, 2); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	dir, size := benchDB(b)
	b.SetBytes(size)
	rows := 0
	for b.Loop() {
		rows = 0
		if err := Rows(dir, "default", func(_, _ []byte) error { rows++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
