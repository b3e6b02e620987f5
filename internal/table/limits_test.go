package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sstool/internal/op"
)

// feedRows feeds generated rows without keeping them; it returns the bytes that
// the same records take in a changelog, uncompressed.
func feedRows(t testing.TB, tb *Table, workers, rows int, row func(r *rand.Rand, i int) (key, value []byte)) (wire int64) {
	t.Helper()
	const block = 5000
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := 0
	for range workers {
		rt := tb.NewRouter()
		wg.Go(func() {
			size := int64(0)
			for {
				mu.Lock()
				b := next
				next++
				mu.Unlock()
				if b*block >= rows {
					break
				}
				r := rand.New(rand.NewPCG(uint64(b), 3))
				rt.Begin(int64(b))
				for i := b * block; i < min((b+1)*block, rows); i++ {
					k, v := row(r, i)
					rt.AddTimestamped(1, k, int64(i), v, i%50 == 0)
					size += wireSize(k, v)
				}
				if err := rt.End(); err != nil {
					t.Error(err)
					return
				}
			}
			mu.Lock()
			wire += size
			mu.Unlock()
		})
	}
	wg.Wait()
	tb.Finish()
	return wire
}

// wireSize is the size of a record of batch format v2, its batch's header spread
// over 100 records.
func wireSize(key, value []byte) int64 {
	n := 1 + 2 + 2 + len(key) + len(value) + 1 // attributes, timestamp and offset deltas, headers
	for _, x := range []int{len(key), len(value), n} {
		n += len(binary.AppendVarint(nil, int64(x)))
	}
	return int64(n)
}

// drain loads everything and checks the order; it returns what was found.
func drain(t testing.TB, tb *Table, workers int) (st Stats, parts int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := tb.Buckets()
	for g := range workers {
		s := tb.NewSorter()
		wg.Go(func() {
			var last []byte
			for b := g * n / workers; b < (g+1)*n/workers; b++ {
				one, err := s.Load(b, func(bk *Bucket) error {
					mu.Lock()
					parts++
					mu.Unlock()
					for _, r := range bk.Rows {
						k := bk.Key(r)
						if last != nil && bytes.Compare(last, k) >= 0 {
							return fmt.Errorf("key %x after %x", k, last)
						}
						last = append(last[:0], k...)
						if last == nil {
							last = []byte{}
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				st.Add(one)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return st, parts
}

// hostile are workloads of a known number of distinct keys that no plan fits.
var hostile = []struct {
	name  string
	rows  int
	blind bool
	keys  int // distinct; 0: one per row
	row   func(r *rand.Rand, i int) (key, value []byte)
}{
	{name: "as planned", rows: 150_000, row: func(_ *rand.Rand, i int) ([]byte, []byte) {
		return fmt.Appendf(nil, "%020d", mix(uint64(i))), make([]byte, 80)
	}},
	{name: "blind", rows: 150_000, blind: true, row: func(_ *rand.Rand, i int) ([]byte, []byte) {
		return fmt.Appendf(nil, "%020d", mix(uint64(i))), make([]byte, 80)
	}},
	{name: "sorted and blind", rows: 150_000, blind: true, row: func(_ *rand.Rand, i int) ([]byte, []byte) {
		return fmt.Appendf(nil, "%020d", i), make([]byte, 80)
	}},
	{name: "one key", rows: 200_000, keys: 1, row: func(*rand.Rand, int) ([]byte, []byte) { return []byte("k"), make([]byte, 60) }},
	{name: "tiny", rows: 600_000, row: func(_ *rand.Rand, i int) ([]byte, []byte) {
		return binary.BigEndian.AppendUint32(nil, uint32(i)*2654435761), []byte{1}
	}},
	{name: "tiny and blind", rows: 400_000, blind: true, row: func(_ *rand.Rand, i int) ([]byte, []byte) {
		return binary.BigEndian.AppendUint32(nil, uint32(i)*2654435761), []byte{1}
	}},
	{name: "alike", rows: 60_000, row: func(_ *rand.Rand, i int) ([]byte, []byte) {
		return append(bytes.Repeat([]byte{'x'}, 300), fmt.Sprint(mix(uint64(i)))...), make([]byte, 20)
	}},
}

// TestBounds measures memory and temporary disk.
func TestBounds(t *testing.T) {
	for _, w := range hostile {
		t.Run(w.name, func(t *testing.T) {
			const workers, memory = 2, 4 << 20
			o := Options{Memory: memory, Workers: workers, TempDir: t.TempDir()}
			r := rand.New(rand.NewPCG(1, 1))
			for p := range 16 {
				var s []Sample
				for i := range 60 {
					k, v := w.row(r, p*(w.rows-60)/15+i)
					s = append(s, Sample{1, k})
					o.EstimatedBytes += int64(len(k) + len(v) + 8)
				}
				if !w.blind {
					o.Samples = append(o.Samples, s)
				}
			}
			o.EstimatedBytes *= int64(w.rows) / (16 * 60)
			tb, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer tb.Close()
			wire := feedRows(t, tb, workers, w.rows, w.row)
			st, parts := drain(t, tb, workers)
			keys := int64(w.rows)
			if w.keys > 0 {
				keys = int64(w.keys)
			}
			dead := int64(w.rows/50) * keys / int64(w.rows)
			if st.Rows != int64(w.rows) || st.Live != keys-dead || st.Superseded != int64(w.rows)-keys {
				t.Errorf("%+v; want %d live", st, keys-dead)
			}
			t.Logf("%d buckets, %d pieces; wire %d KiB, memory %d KiB, disk %d KiB", tb.Buckets(), parts, wire>>10, tb.MemoryPeak()>>10, tb.DiskPeak()>>10)
			if m := tb.MemoryPeak(); m > memory {
				t.Errorf("%d KiB of memory, %d allowed", m>>10, memory>>10)
			}
			most := wire * 11 / 10
			if w.name == "tiny and blind" { // rows of a few bytes carry their block's number when merged
				most = wire * 13 / 10
			}
			if d := tb.DiskPeak(); d > most {
				t.Errorf("%d KiB on disk for %d KiB of changelog", d>>10, wire>>10)
			}
		})
	}
}

// TestHugeRows: keys and values of 10 MB in a table of 1 MiB.
func TestHugeRows(t *testing.T) {
	for _, keepAll := range []bool{false, true} {
		t.Run(fmt.Sprintf("keepAll=%t", keepAll), func(t *testing.T) {
			tb, err := New(Options{Memory: 1 << 20, TempDir: t.TempDir(), KeepAll: keepAll})
			if err != nil {
				t.Fatal(err)
			}
			defer tb.Close()
			const huge = 10 << 20
			big := func(c byte, last string) []byte { return append(bytes.Repeat([]byte{c}, huge), last...) }
			c := []change{
				{key: big('k', "1"), value: []byte("old")},
				{key: []byte("a"), value: big('v', "1")},
				{key: []byte("small"), value: []byte("first")},
				{key: big('k', "2"), value: big('v', "2")},
				{key: []byte("small"), value: []byte("second"), seq: 1},
				{key: big('k', "1"), value: big('w', "new"), seq: 1},
				{key: big('k', "0"), value: []byte("x"), seq: 1},
				{key: big('k', "2"), tombstone: true, seq: 2},
				{key: []byte("a"), value: big('v', "3"), seq: 2},
				{key: []byte("small"), tombstone: true, seq: 3},
				{key: []byte("z"), seq: 3},
			}
			route(t, tb, c, 1)
			tb.Finish()
			got, st := load(t, tb, 1)
			want, wantStats := model(c, keepAll, 0)
			if st != wantStats {
				t.Errorf("%+v, want %+v", st, wantStats)
			}
			compare(t, got, want)
			// The largest row, twice: while it is copied from one buffer to another.
			if m := tb.MemoryPeak(); m > 1<<20+5*huge {
				t.Errorf("%d MiB of memory", m>>20)
			}
		})
	}
}

// TestContinuedKey: the rows of one key of a table that keeps all arrive in
// order, in pieces that say so.
func TestContinuedKey(t *testing.T) {
	tb, err := New(Options{Memory: 1 << 20, TempDir: t.TempDir(), KeepAll: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer tb.Close()
	const rows = 100_000
	feedRows(t, tb, 2, rows, func(*rand.Rand, int) ([]byte, []byte) { return []byte("key"), make([]byte, 30) })
	next, pieces, more := int64(0), 0, false
	st, err := tb.NewSorter().Load(0, func(b *Bucket) error {
		pieces++
		for _, r := range b.Rows {
			ts := int64(binary.BigEndian.Uint64(b.Value(r)))
			if ts != next || r.Tombstone() != (ts%50 == 0) {
				return fmt.Errorf("row %d (tombstone %t), want %d", ts, r.Tombstone(), next)
			}
			next++
		}
		if more = b.More; more == (next == rows) {
			return fmt.Errorf("piece %d ends at row %d: more %t", pieces, next, more)
		}
		return nil
	})
	if err != nil || next != rows || st.Live != rows || pieces < 3 || st.Tombstones != rows/50 {
		t.Errorf("%v: %d rows in %d pieces, %+v", err, next, pieces, st)
	}
}

func TestDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	full := func() *os.File {
		f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	is := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) || len(op.Tries(err)) == 0 || !strings.Contains(err.Error(), "write rows to /") {
			t.Errorf("got %v, try %q", err, op.Tries(err))
		}
	}
	value := make([]byte, 1000)
	t.Run("routing", func(t *testing.T) {
		tb, err := New(Options{Memory: 1 << 20, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		r := tb.NewRouter()
		r.file.f = full()
		r.Begin(0)
		for i := range 5000 {
			r.Add(0, fmt.Append(nil, i), value, false)
		}
		is(t, r.End())
		r.Begin(1)
		r.Add(0, nil, make([]byte, 1<<20), false)
		is(t, r.End())
		r.file.f.Close()
		r.file.f = nil
		if err := tb.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("sorting", func(t *testing.T) {
		tb, err := New(Options{Memory: 1 << 20, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		feedRows(t, tb, 1, 5000, func(_ *rand.Rand, i int) ([]byte, []byte) { return fmt.Append(nil, i), value })
		s := tb.NewSorter()
		s.runs.f = full()
		_, err = s.Load(0, func(*Bucket) error { return nil })
		is(t, err)
		s.runs.f.Close()
		s.runs.f = nil
		if err := tb.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestNoTempDir(t *testing.T) {
	tb, err := New(Options{Memory: 1 << 20, TempDir: filepath.Join(t.TempDir(), "missing")})
	if err != nil {
		t.Fatal(err)
	}
	defer tb.Close()
	r := tb.NewRouter()
	r.Begin(0)
	for i := range 5000 {
		r.Add(0, fmt.Append(nil, i), make([]byte, 1000), false)
	}
	if err := r.End(); !errors.Is(err, os.ErrNotExist) || len(op.Tries(err)) == 0 {
		t.Errorf("got %v", err)
	}
}

func TestTooLittleMemory(t *testing.T) {
	for _, o := range []Options{{Memory: 1000}, {Memory: 2 << 20, Workers: 100}, {Memory: -1}} {
		if _, err := New(o); op.KindOf(err) != op.Usage || len(op.Tries(err)) == 0 {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestCloseAnywhere closes at each stage; the directory is empty, the memory
// free, and later calls fail instead of crashing.
func TestCloseAnywhere(t *testing.T) {
	for stage := range 6 {
		t.Run(strconv.Itoa(stage), func(t *testing.T) {
			dir := t.TempDir()
			tb, err := New(Options{Memory: 1 << 20, TempDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			r := tb.NewRouter()
			s := tb.NewSorter()
			load := func(fn func(*Bucket) error) error { _, err := s.Load(0, fn); return err }
			add := func() {
				for i := range 3000 {
					r.Add(0, fmt.Append(nil, i), make([]byte, 700), false)
				}
			}
			if stage > 0 {
				r.Begin(0)
			}
			if stage > 1 {
				add()
			}
			if stage > 2 {
				if err := r.End(); err != nil {
					t.Fatal(err)
				}
			}
			if stage > 3 {
				tb.Finish()
			}
			if stage == 4 { // the caller gives up
				if err := load(func(*Bucket) error { return os.ErrClosed }); !errors.Is(err, os.ErrClosed) {
					t.Fatal(err)
				}
			}
			if stage > 4 {
				if err := load(func(*Bucket) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(tb.Close(), tb.Close()); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if n := tb.mem.gauge.now.Load(); n != 0 {
				t.Errorf("%d bytes of memory are not free", n)
			}
			add()
			r.Add(0, []byte("k"), make([]byte, 1<<20), false)
			if r.End() == nil {
				t.Error("rows were added to a closed table")
			}
			r.Begin(9)
			if r.End() == nil {
				t.Error("a block was added to a closed table")
			}
			if err := load(func(*Bucket) error { return nil }); err == nil {
				t.Error("a closed table was read")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBlocksOutOfOrder: misuse is an error, not a wrong answer.
func TestBlocksOutOfOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*Table, *Router)
	}{
		{"no block", func(_ *Table, r *Router) { r.Add(0, nil, nil, false) }},
		{"negative", func(_ *Table, r *Router) { r.Begin(-1) }},
		{"too many", func(_ *Table, r *Router) { r.Begin(1 << 31) }},
		{"descending", func(_ *Table, r *Router) { r.Begin(3); _ = r.End(); r.Begin(2) }},
		{"two at once", func(_ *Table, r *Router) { r.Begin(3); r.Begin(4) }},
		{"sealed", func(tb *Table, r *Router) { tb.Finish(); r.Begin(0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			tb, err := New(Options{Memory: 1 << 20, TempDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer tb.Close()
			r := tb.NewRouter()
			if c.do(tb, r); r.End() == nil {
				t.Error("no error")
			}
		})
	}
}
