package table

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var benchRows = flag.Int("rows", 2_000_000, "rows of the benchmark's changelog")

// BenchmarkTable routes and loads the changelog of the restore benchmark
// (-rows 8000000 is its full size): a quarter as many keys as rows, 5 %
// tombstones, 20 + 100 bytes, on one core. Reported: CPU time per row to
// route and to load.
func BenchmarkTable(b *testing.B) {
	for _, c := range []struct {
		name   string
		memory int64
		key    func(r *rand.Rand, n int) uint64
		text   string
	}{
		{"digits", 128 << 20, func(r *rand.Rand, n int) uint64 { return r.Uint64N(uint64(n / 4)) }, "account-%012d"},
		{"digits-unspilled", 4 << 30, func(r *rand.Rand, n int) uint64 { return r.Uint64N(uint64(n / 4)) }, "account-%012d"},
		{"unique", 128 << 20, func(r *rand.Rand, n int) uint64 { return r.Uint64N(uint64(n) * 50) }, "account-%012d"},
		{"binary", 128 << 20, func(r *rand.Rand, n int) uint64 { return mix(r.Uint64N(uint64(n / 4))) }, "%020x"},
		{"long-suffix", 128 << 20, func(r *rand.Rand, n int) uint64 { return r.Uint64N(uint64(n / 4)) }, "%012d-and-then-some"},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := *benchRows
			keys := make([]byte, 0, n*31)
			end := make([]uint32, n+1)
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range n {
				keys = fmt.Appendf(keys, c.text, c.key(rnd, n))
				end[i+1] = uint32(len(keys))
			}
			value := make([]byte, 100)
			var places [][]Sample
			for i := range 16 {
				var p []Sample
				for j := i * n / 16; j < i*n/16+100; j++ {
					p = append(p, Sample{Key: keys[end[j]:end[j+1]]})
				}
				places = append(places, p)
			}
			var route, load time.Duration
			var st Stats
			var tb *Table
			for b.Loop() {
				var err error
				tb, err = New(Options{Memory: c.memory, TempDir: b.TempDir(), EstimatedBytes: int64(n) * 128, Samples: places})
				if err != nil {
					b.Fatal(err)
				}
				st = Stats{}
				t0 := cpuTime()
				r := tb.NewRouter()
				for i := 0; i < n; {
					r.Begin(int64(i))
					for m := min(i+120_000, n); i < m; i++ {
						value[i%100] = byte(i)
						r.AddTimestamped(0, keys[end[i]:end[i+1]], int64(i), value, i%20 == 0)
					}
					if err := r.End(); err != nil {
						b.Fatal(err)
					}
				}
				tb.Finish()
				t1 := cpuTime()
				s := tb.NewSorter()
				for i := range tb.Buckets() {
					one, err := s.Load(i, func(*Bucket) error { return nil })
					if err != nil {
						b.Fatal(err)
					}
					st.Add(one)
				}
				route += t1 - t0
				load += cpuTime() - t1
				if err := tb.Close(); err != nil {
					b.Fatal(err)
				}
			}
			rows := float64(b.N) * float64(n)
			b.ReportMetric(float64(route.Nanoseconds())/rows, "route-ns/row")
			b.ReportMetric(float64(load.Nanoseconds())/rows, "load-ns/row")
			b.ReportMetric(float64(st.Live)/float64(n), "live/row")
			b.ReportMetric(float64(tb.MemoryPeak())/(1<<20), "MiB")
			b.ReportMetric(float64(tb.DiskPeak())/float64(n), "disk-B/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkMisled is the cost of sorting what no plan fits: one bucket holds
// everything and is sorted in pieces and merged.
func BenchmarkMisled(b *testing.B) {
	for _, c := range []struct {
		name string
		row  func(i int) uint64
	}{
		{"sorted", func(i int) uint64 { return uint64(i) }},
		{"random", func(i int) uint64 { return mix(uint64(i)) >> 20 }},
		{"quarter", func(i int) uint64 { return mix(uint64(i)%uint64(*benchRows/4)) >> 20 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := *benchRows
			key, value := []byte("account-0000000000000"), make([]byte, 100)
			var route, load time.Duration
			var tb *Table
			for b.Loop() {
				var err error
				if tb, err = New(Options{TempDir: b.TempDir(), EstimatedBytes: int64(n) * 128}); err != nil {
					b.Fatal(err)
				}
				t0 := cpuTime()
				r := tb.NewRouter()
				r.Begin(0)
				for i := range n {
					x := c.row(i)
					for j := len(key) - 1; j >= 8; j-- {
						key[j] = byte('0' + x%10)
						x /= 10
					}
					r.AddTimestamped(0, key, int64(i), value, false)
				}
				if err := r.End(); err != nil {
					b.Fatal(err)
				}
				tb.Finish()
				t1 := cpuTime()
				if _, err := tb.NewSorter().Load(0, func(*Bucket) error { return nil }); err != nil {
					b.Fatal(err)
				}
				route += t1 - t0
				load += cpuTime() - t1
				if err := tb.Close(); err != nil {
					b.Fatal(err)
				}
			}
			rows := float64(b.N) * float64(n)
			b.ReportMetric(float64(route.Nanoseconds())/rows, "route-ns/row")
			b.ReportMetric(float64(load.Nanoseconds())/rows, "load-ns/row")
			b.ReportMetric(float64(tb.MemoryPeak())/(1<<20), "MiB")
			b.ReportMetric(float64(tb.DiskPeak())/float64(n), "disk-B/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// mix scrambles a number one to one.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
