package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// The counter against a plain map: several writers, spilling or not, hot keys,
// several passes.
func TestKeyCounterModel(t *testing.T) {
	for _, tc := range []struct {
		name            string
		memory, records int64
		workers, keys   int
		estimate        int64
	}{
		{"in memory", 32 << 20, 50_000, 2, 9_000, 50_000},
		{"spilled", 1 << 20, 200_000, 2, 50_000, 200_000},
		{"one writer", 1 << 20, 100_000, 1, 100_000, 100_000},
		{"no estimate, several passes", 1 << 20, 200_000, 2, 150_000, 0},
		{"one key", 1 << 20, 100_000, 3, 1, 100_000},
		{"none", 1 << 20, 0, 2, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := NewKeyCounter(KeyOptions{Memory: tc.memory, TempDir: t.TempDir(), Workers: tc.workers, Records: tc.estimate})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			type record struct {
				key   string
				at    int64
				size  int
				class KeyClass
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			var all []record
			at := int64(0)
			for range tc.records {
				at += 1 + rnd.Int64N(3)
				r := record{key: fmt.Sprint("key-", rnd.IntN(tc.keys)), at: at, size: rnd.IntN(1000), class: KeyClass(rnd.IntN(3))}
				if rnd.IntN(4) == 0 {
					r.key = "hot"
				}
				all = append(all, r)
			}
			tail := at / 2
			want := KeyStats{FirstRepeat: -1}
			newest, times := map[string]record{}, map[string]int{}
			for _, r := range all {
				if old, ok := newest[r.key]; ok {
					want.Superseded++
					want.SupersededBytes += int64(old.size)
					if old.at >= tail {
						want.TailSuperseded++
						want.TailBytes += int64(old.size)
					}
					if want.FirstRepeat < 0 {
						want.FirstRepeat = r.at
					}
				}
				newest[r.key] = r
				times[r.key]++
			}
			for key, r := range newest {
				want.Keys++
				if r.class == KeyTombstone {
					want.Deleted++
					want.DeletedBytes += int64(r.size)
				} else {
					want.Live++
					want.LiveBytes += int64(r.size)
					if r.class == KeyEmpty {
						want.LiveEmpty++
					}
				}
				if r.at >= tail {
					want.TailKeys++
				}
				switch times[key] {
				case 1:
					want.Once++
				case 2:
					want.Twice++
				}
			}
			// Blocks of records, taken by the writers in turn at random.
			const block = 700
			shares := make([][]record, tc.workers)
			for lo := 0; lo < len(all); lo += block {
				i := rnd.IntN(tc.workers)
				shares[i] = append(shares[i], all[lo:min(lo+block, len(all))]...)
			}
			var wg sync.WaitGroup
			for _, share := range shares {
				w := c.NewWriter()
				wg.Go(func() {
					for _, r := range share {
						if err := w.Add([]byte(r.key), r.at, r.size, r.class); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			got, err := c.Count(context.Background(), tail)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if peak := c.t.mem.gauge.peak.Load(); peak > tc.memory {
				t.Errorf("%d bytes of memory, the limit is %d", peak, tc.memory)
			}
			if spilled := c.DiskPeak() > 0; spilled != (tc.memory == 1<<20 && tc.records > 0) {
				t.Errorf("spilled: %v (%d bytes)", spilled, c.DiskPeak())
			}
		})
	}
}

func TestKeyCounterErrors(t *testing.T) {
	if _, err := NewKeyCounter(KeyOptions{Memory: 1000}); err == nil {
		t.Error("1000 bytes are enough")
	}
	c, err := NewKeyCounter(KeyOptions{Memory: 1 << 20, TempDir: "/nonexistent", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := c.NewWriter()
	for i := range int64(1 << 20) {
		if err = w.Add(fmt.Append(nil, i), i, 1, KeyValue); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("spilled into a directory that does not exist")
	}
}

func BenchmarkKeyCounter(b *testing.B) {
	const records = 2 << 20
	for b.Loop() {
		c, err := NewKeyCounter(KeyOptions{TempDir: b.TempDir(), Workers: 1, Records: records})
		if err != nil {
			b.Fatal(err)
		}
		w := c.NewWriter()
		rnd := rand.New(rand.NewPCG(1, 2))
		var key [24]byte
		for i := range int64(records) {
			n := copy(key[:], "customer-")
			for j, v := n, rnd.IntN(500_000); j < n+8; j, v = j+1, v/10 {
				key[j] = '0' + byte(v%10)
			}
			if err := w.Add(key[:n+8], i, 100, KeyValue); err != nil {
				b.Fatal(err)
			}
		}
		if s, err := c.Count(context.Background(), 0); err != nil || s.Keys < 400_000 {
			b.Fatal(s, err)
		}
		c.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
