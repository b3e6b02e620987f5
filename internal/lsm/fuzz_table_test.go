package lsm

import (
	"bytes"
	"testing"

	"sstool/internal/op"
)

// FuzzTable iterates damaged tables both ways, looks keys up and asks filters,
// without comparing checksums.
func FuzzTable(f *testing.F) {
	seed(f, "*.sst", "fv2", "fv5", "fv6", "fv7", "two-level", "two-level-fv2", "first-key", "restart-16", "hash-data", "bloom-fv4", "bloom-fv5", "ribbon", "kZSTD")
	seedFrom(f, "newer", "*.sst", "separated", "separated-two-level")
	seedFrom(f, "older", "*.sst", "fv0", "kLZ4Compression-fv1")
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := openTable("fuzz", bytes.NewReader(b), int64(len(b)), true)
		if err != nil {
			return
		}
		defer x.Close()
		_ = x.Info()
		entries := 0
		_, _ = x.Scan(ScanOptions{KeepGoing: true}, func(Entry) error { entries++; return nil })
		it := x.Iter()
		defer it.Close()
		walk := func(ok bool, step func() bool) (n int) {
			for ; ok; ok = step() {
				if n++; n > 1+len(b)*100 {
					t.Fatal("the iterator goes around in circles")
				}
			}
			if err := it.Err(); err != nil && op.KindOf(err) != op.Corrupt && op.KindOf(err) != op.Failed {
				t.Errorf("%v, want a corruption error", err)
			}
			return n
		}
		on := walk(it.First(), it.Next)
		clean := it.Err() == nil
		back := walk(it.Last(), it.Prev)
		if clean && it.Err() == nil && on != back && x.order.bytewise() {
			t.Errorf("%d entries forward, %d backward", on, back)
		}
		it.Skip(&Skips{})
		for _, first := range []func() (bool, func() bool){
			func() (bool, func() bool) { return it.First(), it.Next },
			func() (bool, func() bool) { return it.Last(), it.Prev },
		} {
			walk(first())
			if err := it.Err(); err != nil && op.KindOf(err) == op.Corrupt {
				t.Errorf("%v, although the iterator goes past it", err)
			}
		}
		for _, key := range []string{"", "key00100", "key00200x", "z"} {
			x.MayContain([]byte(key))
			if it.SeekGE([]byte(key)) {
				it.Next()
				it.Prev()
			}
			if it.SeekLT([]byte(key)) {
				it.Prev()
				it.Next()
			}
		}
	})
}

// FuzzCursor turns around in one block everywhere.
func FuzzCursor(f *testing.F) {
	f.Add([]byte("\x00\x09\x01keyXXXXXXXXv\x00\x00\x00\x00\x01\x00\x00\x00"))
	f.Add([]byte("\x00\x03\x02\x00aaaXY\x00\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x10"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range []entries{{}, {trailer: keyTrailer}, {index: &indexForm{delta: true, size: 1 << 20}}} {
			c := blockCursor{e: e}
			if c.reset(b) != nil {
				continue
			}
			on := 0
			for ok := c.first(); ok && on < 1000; ok = c.next() {
				on++
				key := bytes.Clone(c.key())
				if c.prev() && c.next() && !bytes.Equal(c.key(), key) {
					t.Fatalf("entry %d is %x after a turn, was %x", on, c.key(), key)
				}
				if c.err() != nil {
					break
				}
				if on == 1 { // before the first there is nothing to turn around at
					c.first()
				}
			}
			n := 0
			for ok := c.last(); ok; ok = c.prev() {
				if n++; n > len(b) {
					t.Fatal("no progress backward")
				}
			}
			c.seek([]byte("key"), bytes.Compare)
		}
	})
}

// FuzzInflate gives every algorithm damaged input: an error, or as many bytes
// as were announced, never more than the input can hold.
func FuzzInflate(f *testing.F) {
	f.Add(byte(snappyBlock), byte(6), []byte("\x05\x10hello"), []byte{})
	f.Add(byte(zlibBlock), byte(5), []byte("\x05\xcaH\xcd\xc9\xc9\x07\x00"), []byte("dict"))
	f.Add(byte(lz4Block), byte(2), []byte("\x05\x50hello"), []byte("dict"))
	f.Add(byte(lz4Block), byte(1), []byte("\x05\x00\x00\x00\x00\x00\x00\x00\x50hello"), []byte{})
	f.Add(byte(zstdBlock), byte(7), []byte("\x05\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello"), []byte("\x37\xa4\x30\xec"))
	f.Add(byte(bzip2Block), byte(5), []byte("\x05BZh9"), []byte{})
	f.Fuzz(func(t *testing.T, ctype, version byte, b, dict []byte) {
		inf := inflator{version: uint32(version % (maxFormat + 1)), dict: dict}
		defer inf.close()
		out, err := inf.inflate(ctype, b)
		if err == nil && len(out) > (len(b)+16)<<17 {
			t.Errorf("%d bytes from %d", len(out), len(b))
		}
	})
}

func FuzzFooter(f *testing.F) {
	seed(f, "*.sst", "fv2", "fv5", "fv6", "fv7")
	f.Fuzz(func(t *testing.T, b []byte) {
		tail := b[max(0, len(b)-footerSize):]
		foot, err := parseFooter(tail, int64(len(b)))
		if err == nil && (foot.version > maxFormat || foot.offset < 0 || foot.offset > int64(len(b))) {
			t.Errorf("%+v of %d bytes", foot, len(b))
		}
	})
}

func FuzzFilter(f *testing.F) {
	f.Add(append(bytes.Repeat([]byte{0xff}, 64), 0xff, 0, 6, 0, 0), []byte("key"))
	f.Add(append(bytes.Repeat([]byte{0xff}, 64), 6, 1, 0, 0, 0), []byte("key"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		p := parseFilter(b)
		for i := range b {
			if i < len(p.data) && b[i] != 0xff {
				p.mayContain(key)
				return
			}
		}
		if !p.mayContain(key) && p.kind != "empty" {
			t.Errorf("a %s filter of ones denies %x", p.kind, key)
		}
	})
}
