package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// change is one row of a workload.
type change struct {
	seq       int64
	group     uint32
	key       []byte
	value     []byte
	tombstone bool
}

// workload makes rows; samples are what an engine would have sampled.
type workload struct {
	name   string
	rows   int
	key    func(r *rand.Rand, i, n int) (uint32, []byte)
	value  func(r *rand.Rand) []byte // default: 0..40 bytes
	blind  bool                      // no samples
	sample func(c []change) [][]Sample
}

func digits(n, width int) []byte { return fmt.Appendf(nil, "%0*d", width, n) }

func workloads() []workload {
	return []workload{
		{name: "uniform", rows: 30000, key: func(r *rand.Rand, _, n int) (uint32, []byte) { return 0, digits(r.IntN(n/4), 12) }},
		{name: "unique", rows: 30000, key: func(r *rand.Rand, _, n int) (uint32, []byte) {
			return 0, binary.BigEndian.AppendUint64(nil, r.Uint64())
		}},
		{name: "sorted", rows: 30000, key: func(_ *rand.Rand, i, _ int) (uint32, []byte) { return 0, digits(i, 12) }},
		{name: "sorted blind", rows: 20000, blind: true, key: func(_ *rand.Rand, i, _ int) (uint32, []byte) { return 0, digits(i, 12) }},
		{name: "reverse", rows: 20000, key: func(_ *rand.Rand, i, n int) (uint32, []byte) { return 0, digits(n-i, 7) }},
		{name: "one key", rows: 30000, key: func(*rand.Rand, int, int) (uint32, []byte) { return 0, []byte("the one and only") }},
		{name: "hot keys", rows: 30000, key: func(r *rand.Rand, _, n int) (uint32, []byte) {
			if r.IntN(10) > 0 {
				return 0, digits(r.IntN(3), 9)
			}
			return 0, digits(r.IntN(n), 9)
		}},
		{name: "long prefix", rows: 20000, key: func(r *rand.Rand, _, n int) (uint32, []byte) {
			return 0, append(bytes.Repeat([]byte("same/"), 40), digits(r.IntN(n/2), 9)...)
		}},
		{name: "prefix and outliers", rows: 20000, key: func(r *rand.Rand, i, n int) (uint32, []byte) {
			if i%1000 == 0 {
				return 0, []byte{byte(r.IntN(256))}
			}
			return 0, append(bytes.Repeat([]byte("m"), 100), digits(r.IntN(n/2), 9)...)
		}},
		{name: "zeros", rows: 20000, key: func(r *rand.Rand, _, _ int) (uint32, []byte) {
			k := make([]byte, r.IntN(40))
			if len(k) > 0 && r.IntN(3) == 0 {
				k[r.IntN(len(k))] = 1
			}
			return uint32(r.IntN(2)), k
		}},
		{name: "tiny", rows: 40000, key: func(r *rand.Rand, _, _ int) (uint32, []byte) {
			k := make([]byte, r.IntN(3))
			for i := range k {
				k[i] = byte(r.Uint32())
			}
			return 0, k
		}, value: func(r *rand.Rand) []byte { return make([]byte, r.IntN(2)) }},
		{name: "windows", rows: 30000, key: func(r *rand.Rand, i, n int) (uint32, []byte) {
			return uint32(1000 + i*8/n + r.IntN(2)), digits(r.IntN(n/8), 10)
		}},
		{name: "many groups", rows: 20000, key: func(r *rand.Rand, _, _ int) (uint32, []byte) { return r.Uint32() >> 12, digits(r.IntN(3), 3) }},
		{name: "groups unseen", rows: 20000, key: func(r *rand.Rand, i, n int) (uint32, []byte) { return uint32(i * 50 / n), digits(r.IntN(99), 5) },
			sample: func(c []change) [][]Sample {
				return [][]Sample{{{Group: 20, Key: []byte("00050")}, {Group: 3}, {Group: 20}}}
			}},
		{name: "misled", rows: 30000, key: func(r *rand.Rand, _, n int) (uint32, []byte) { return 0, append([]byte("zz"), digits(r.IntN(n), 9)...) },
			sample: func([]change) [][]Sample {
				return [][]Sample{{{Key: []byte("aa")}, {Key: []byte("ab")}}, {{Key: []byte("ac")}, {Key: []byte("ad")}}}
			}},
		{name: "large rows", rows: 300, key: func(r *rand.Rand, _, n int) (uint32, []byte) {
			return 0, bytes.Repeat(digits(r.IntN(n/3), 4), 1+r.IntN(10000))
		}, value: func(r *rand.Rand) []byte { return make([]byte, r.IntN(1<<r.IntN(18))) }},
		{name: "empty", rows: 0, key: nil},
		{name: "few", rows: 3, key: func(_ *rand.Rand, i, _ int) (uint32, []byte) { return 0, digits(i, 1) }},
	}
}

func (w workload) make(r *rand.Rand) []change {
	var out []change
	seq := int64(0)
	for i := range w.rows {
		if r.IntN(700) == 0 {
			seq += int64(r.IntN(3))
		}
		c := change{seq: seq}
		c.group, c.key = w.key(r, i, w.rows)
		switch r.IntN(12) {
		case 0:
			c.tombstone = true
		case 1:
		default:
			if w.value != nil {
				c.value = w.value(r)
			} else {
				c.value = make([]byte, r.IntN(40))
			}
			for j := range min(len(c.value), 64) {
				c.value[j] = byte(r.Uint32())
			}
		}
		out = append(out, c)
	}
	return out
}

func samples(c []change) [][]Sample {
	var out [][]Sample
	for i := range 16 {
		var p []Sample
		for j := len(c) * i / 16; j < min(len(c)*i/16+20, len(c)); j++ {
			p = append(p, Sample{c[j].group, c[j].key})
		}
		out = append(out, p)
	}
	return out
}

// result is a row read back.
type result struct {
	group uint32
	key   string
	value string
	order uint32
}

// model is what a table must return.
func model(c []change, keepAll bool, drop uint32) ([]result, Stats) {
	var st Stats
	var out []result
	type id struct {
		group uint32
		key   string
	}
	newest := map[id]change{}
	for _, x := range c {
		st.Rows++
		if x.tombstone {
			st.Tombstones++
		}
		if x.group < drop {
			st.Dropped++
			continue
		}
		if keepAll {
			o := uint32(x.seq) << 1
			if x.tombstone {
				o |= 1
			}
			out = append(out, result{x.group, string(x.key), string(x.value), o})
			continue
		}
		i := id{x.group, string(x.key)}
		if _, ok := newest[i]; ok {
			st.Superseded++
		}
		newest[i] = x
	}
	for _, x := range newest {
		if !x.tombstone {
			out = append(out, result{x.group, string(x.key), string(x.value), uint32(x.seq) << 1})
		}
	}
	slices.SortStableFunc(out, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.key, b.key))
	})
	st.Live = int64(len(out))
	for _, x := range out {
		st.LiveBytes += int64(len(x.key) + len(x.value))
	}
	return out, st
}

// route feeds the rows to routers, whole blocks each, concurrently.
func route(t testing.TB, tb *Table, c []change, routers int) {
	t.Helper()
	type block struct{ rows []change }
	ch := make(chan block)
	var wg sync.WaitGroup
	for range routers {
		r := tb.NewRouter()
		wg.Go(func() {
			for b := range ch {
				r.Begin(b.rows[0].seq)
				for i, x := range b.rows {
					if len(x.value) >= 8 && i%2 == 0 {
						r.AddTimestamped(x.group, x.key, int64(binary.BigEndian.Uint64(x.value)), x.value[8:], x.tombstone)
					} else {
						r.Add(x.group, x.key, x.value, x.tombstone)
					}
				}
				if err := r.End(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for len(c) > 0 {
		n := 1
		for n < len(c) && c[n].seq == c[0].seq {
			n++
		}
		ch <- block{c[:n]}
		c = c[n:]
	}
	close(ch)
	wg.Wait()
}

// load reads everything back with several sorters; also how often a piece was continued.
func load(t testing.TB, tb *Table, sorters int) ([]result, Stats) {
	t.Helper()
	n := tb.Buckets()
	parts := make([][]result, n)
	stats := make([]Stats, n)
	var wg sync.WaitGroup
	for g := range sorters {
		wg.Go(func() {
			s := tb.NewSorter()
			for b := g * n / sorters; b < (g+1)*n/sorters; b++ {
				st, err := s.Load(b, func(bk *Bucket) error {
					for _, r := range bk.Rows {
						parts[b] = append(parts[b], result{r.Group, string(bk.Key(r)), string(bk.Value(r)), r.Order})
					}
					return nil
				})
				if err != nil {
					t.Errorf("bucket %d: %v", b, err)
				}
				stats[b] = st
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var all Stats
	for _, st := range stats {
		all.Add(st)
	}
	return slices.Concat(parts...), all
}

func TestModel(t *testing.T) {
	for _, w := range workloads() {
		for _, c := range []struct {
			memory  int64
			workers int
		}{{1 << 20, 1}, {1 << 20, 3}, {64 << 20, 2}} {
			for _, keepAll := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%dMiB/workers=%d/keepAll=%t", w.name, c.memory>>20, c.workers, keepAll), func(t *testing.T) {
					if c.memory > 1<<20 {
						w.rows /= 5
					}
					check(t, w, c.memory, keepAll, c.workers, 0)
				})
			}
		}
	}
}

// TestModelCramped leaves so little room that everything is split, spilled and
// merged, in several passes.
func TestModelCramped(t *testing.T) {
	for _, w := range workloads() {
		for i, sh := range []shape{
			{buckets: 5, chunk: 256, slab: 1024, batch: 3, share: 48 << 10},
			{buckets: 2, chunk: 1024, slab: 1024, batch: 1, share: 20 << 10},
			{buckets: 40, chunk: 64, slab: 640, batch: 9, share: 12 << 10},
		} {
			for _, keepAll := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/keepAll=%t", w.name, i, keepAll), func(t *testing.T) {
					w.rows = min(w.rows, 4000)
					checkShape(t, w, &sh, 1<<20, keepAll, 1+i, 0)
				})
			}
		}
	}
}

// TestDropGroup drops some, none and all groups.
func TestDropGroup(t *testing.T) {
	for _, w := range workloads() {
		if w.name != "windows" && w.name != "many groups" && w.name != "groups unseen" && w.name != "zeros" {
			continue
		}
		for _, drop := range []uint32{1, 25, 1004, 500_000} {
			for _, keepAll := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/keepAll=%t", w.name, drop, keepAll), func(t *testing.T) {
					check(t, w, 1<<20, keepAll, 2, drop)
				})
			}
		}
	}
}

func check(t *testing.T, w workload, memory int64, keepAll bool, workers int, drop uint32) {
	checkShape(t, w, nil, memory, keepAll, workers, drop)
}

func checkShape(t *testing.T, w workload, sh *shape, memory int64, keepAll bool, workers int, drop uint32) {
	r := rand.New(rand.NewPCG(uint64(w.rows), uint64(workers)))
	c := w.make(r)
	size := int64(0)
	for _, x := range c {
		size += int64(len(x.key) + len(x.value))
	}
	o := Options{Memory: memory, TempDir: t.TempDir(), Workers: workers, EstimatedBytes: size, KeepAll: keepAll}
	switch {
	case w.sample != nil:
		o.Samples = w.sample(c)
	case !w.blind:
		o.Samples = samples(c)
	}
	tb, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if sh != nil {
		tb = newTable(o, *sh)
	}
	route(t, tb, c, workers)
	tb.Finish()
	tb.DropGroup(drop)
	got, gotStats := load(t, tb, workers)
	want, wantStats := model(c, keepAll, drop)
	if t.Failed() {
		return
	}
	if gotStats != wantStats {
		t.Errorf("stats %+v, want %+v", gotStats, wantStats)
	}
	compare(t, got, want)
	if err := errors.Join(tb.Close(), tb.Close()); err != nil {
		t.Error(err)
	}
}

func compare(t *testing.T, got, want []result) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d of %d: %.200q, want %.200q", i, len(want), fmt.Sprint(got[i]), fmt.Sprint(want[i]))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
}
