package table

import (
	"bytes"
	"os"
	"testing"
)

// FuzzHeader: what is written is read back, and nothing else makes it panic.
func FuzzHeader(f *testing.F) {
	f.Add([]byte{40, 109}, uint32(20), uint32(108), false, false, uint32(0), uint32(0))
	f.Add([]byte{0x81, 1, 3, 7, 0, 9}, uint32(1<<31-1), uint32(1<<31-1), true, true, uint32(1<<32-1), uint32(maxSeq))
	f.Fuzz(func(t *testing.T, b []byte, klen, vlen uint32, tombstone, keepAll bool, group, seq uint32) {
		var at place
		if h, n, err := parseHeader(b, keepAll, &at); n > len(b) || n < 0 || err != nil && n != 0 || h.klen > maxSeq || h.vlen > maxSeq {
			t.Fatalf("%x: %+v, %d, %v", b, h, n, err)
		}
		want := header{klen: klen & maxSeq, vlen: vlen & maxSeq, tombstone: tombstone}
		if tombstone && !keepAll {
			want.vlen = 0
		}
		for _, last := range []place{{}, {group, 1}, {1, seq & maxSeq}, {group, seq & maxSeq}} {
			var out [maxHeader]byte
			to, was := place{group, seq & maxSeq}, last
			n := putHeader(out[:], want.klen, want.vlen, tombstone, keepAll, &was, to)
			if was != to {
				t.Fatalf("writer is at %v, not %v", was, to)
			}
			for short := range n {
				at := last
				if _, m, err := parseHeader(out[:short], keepAll, &at); m != 0 || err != nil || at != last {
					t.Fatalf("%d of %d bytes: %d, %v", short, n, m, err)
				}
			}
			was = last
			if h, m, err := parseHeader(out[:n], keepAll, &was); h != want || m != n || err != nil || was != to {
				t.Fatalf("%+v, %d of %d, %v, at %v; want %+v at %v", h, m, n, err, was, want, to)
			}
		}
	})
}

// FuzzSpilled loads a bucket and merges a run out of any bytes: damaged
// temporary files give errors.
func FuzzSpilled(f *testing.F) {
	f.Add([]byte{2, 2, 'k', 'v', 2, 0, 'k'}, false)
	f.Add([]byte{2, 0, 1, 'k', 'v', 3, 2, 'k', 1}, true)
	f.Add([]byte{3, 5, 9, 2, 'k', 'v', 0x80, 0x80, 4}, false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, keepAll bool) {
		if len(b) == 0 {
			return
		}
		tb := newTable(Options{TempDir: dir, KeepAll: keepAll, Memory: 1 << 20, Workers: 1}, shape{buckets: 1, chunk: 64, slab: 64, batch: 2, share: 8 << 10})
		defer tb.Close()
		r := tb.NewRouter()
		off, err := r.file.append(1, b)
		if err != nil {
			t.Fatal(err)
		}
		r.seal(0, segment{off: off, n: uint32(len(b))})
		r.open[0].rows, r.open[0].bytes = uint64(len(b)), uint64(len(b))
		s := tb.NewSorter()
		inside := func(bk *Bucket) error {
			for _, x := range bk.Rows {
				_, _ = bk.Key(x), bk.Value(x)
			}
			return nil
		}
		_, _ = s.Load(0, inside)
		if off, err = s.runs.append(1, b); err != nil {
			t.Fatal(err)
		}
		_ = s.merge([]run{{off: off, n: int64(len(b))}}, 0, inside)
	})
}

// FuzzTable checks workloads spelled by bytes against the model.
func FuzzTable(f *testing.F) {
	f.Add([]byte("some keys, some values, and some more of them"), uint8(0))
	f.Add(bytes.Repeat([]byte{0, 1, 2, 255}, 300), uint8(7))
	dir, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		var c []change
		seq := int64(0)
		for len(b) > 2 {
			x := change{seq: seq, group: uint32(b[0] & 3), tombstone: b[0]&4 != 0}
			seq += int64(b[0] >> 7)
			k, v := int(b[0]>>3&7), int(b[1]&63)
			b = b[2:]
			k = min(k, len(b))
			x.key, b = b[:k], b[k:]
			if !x.tombstone || how&1 != 0 {
				v = min(v, len(b))
				x.value = b[:v]
			}
			c = append(c, x)
		}
		o := Options{TempDir: dir, KeepAll: how&1 != 0, Memory: 1 << 20, Workers: 1}
		if how&2 != 0 {
			o.Samples = samples(c)
		}
		tb := newTable(o, shape{buckets: 1 + int(how>>4), chunk: 64, slab: 64, batch: 2, share: 4 << 10 << (how >> 2 & 3)})
		defer tb.Close()
		route(t, tb, c, 1)
		tb.Finish()
		got, st := load(t, tb, 1)
		want, wantStats := model(c, o.KeepAll, 0)
		if st != wantStats {
			t.Errorf("%+v, want %+v", st, wantStats)
		}
		compare(t, got, want)
	})
}
