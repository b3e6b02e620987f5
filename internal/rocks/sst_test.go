//go:build cgo

package rocks

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/internal/op"
)

// arenaOf lays rows of ascending keys out in random order, as a restore does.
func arenaOf(n, keyLen, valLen int) (arena []byte, rows []Ref) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows = make([]Ref, n)
	arena = make([]byte, 0, n*(keyLen+valLen))
	key := make([]byte, keyLen)
	for _, i := range rng.Perm(n) {
		binary.BigEndian.PutUint64(key[keyLen-8:], uint64(i)*7919)
		rows[i] = Ref{KeyOff: uint32(len(arena)), KeyLen: uint32(keyLen), ValOff: uint32(len(arena) + keyLen), ValLen: uint32(valLen)}
		arena = append(arena, key...)
		for range valLen {
			arena = append(arena, byte('a'+i%26))
		}
	}
	return arena, rows
}

func TestSSTWriteAndIngest(t *testing.T) {
	t.Run("crc32c", func(t *testing.T) { testWriteAndIngest(t, CRC32C, 1) })
	t.Run("xxh3", func(t *testing.T) { testWriteAndIngest(t, XXH3, 4) })
}

func testWriteAndIngest(t *testing.T, sum Checksum, sumType byte) {
	db := create(t, Options{Families: []string{DefaultFamily, "other"}, Bulk: true, Checksum: sum})
	arena, rows := arenaOf(5000, 16, 90)
	tmp := filepath.Join(db.Dir(), "..")
	var files []string
	want := map[string]string{}
	for i, part := range [][]Ref{rows[:2000], rows[2000:]} {
		path := filepath.Join(tmp, fmt.Sprintf("%d.sst", i))
		w, err := NewSSTWriterWith(path, Options{Checksum: sum})
		must(t, err)
		must(t, w.PutSorted(arena, part[:1000]))
		must(t, w.PutSorted(arena, nil))
		must(t, w.PutSorted(arena, part[1000:]))
		if w.Size() < 50_000 {
			t.Errorf("size while writing: %d", w.Size())
		}
		info, err := w.Finish()
		must(t, err)
		w.Abandon() // nothing, it is finished
		st, err := os.Stat(path)
		must(t, err)
		key := func(r Ref) []byte { return arena[r.KeyOff:][:r.KeyLen] }
		if wantInfo := (SSTInfo{path, int64(len(part)), st.Size(), key(part[0]), key(part[len(part)-1])}); !reflect.DeepEqual(info, wantInfo) {
			t.Errorf("info %+v, want %+v", info, wantInfo)
		}
		files = append(files, path)
	}
	for _, r := range rows {
		want[string(arena[r.KeyOff:][:r.KeyLen])] = string(arena[r.ValOff:][:r.ValLen])
	}
	must(t, db.Ingest(1, files))
	must(t, db.Ingest(1, nil))
	if got := rowsOf(t, db, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if got := rowsOf(t, db, 0); len(got) != 0 {
		t.Errorf("%d rows in default", len(got))
	}
	for _, f := range files {
		if _, err := os.Stat(f); !os.IsNotExist(err) {
			t.Errorf("%s was not moved: %v", f, err)
		}
	}
	// What is inside the files is what Kafka 3.0 can read.
	must(t, db.Close())
	db, err := Open(db.Dir(), Options{})
	must(t, err)
	defer db.Close()
	if got := rowsOf(t, db, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("after reopening: %d rows, want %d", len(got), len(want))
	}
	ssts, _ := filepath.Glob(filepath.Join(db.Dir(), "*.sst"))
	for _, f := range ssts {
		data, err := os.ReadFile(f)
		must(t, err)
		foot := data[len(data)-53:]
		if v := binary.LittleEndian.Uint32(foot[41:]); v != 5 || foot[0] != sumType {
			t.Errorf("%s: format version %d, checksum type %d, want 5 and %d", f, v, foot[0], sumType)
		}
		if !bytes.Contains(data, []byte("bloomfilter")) && !bytes.Contains(data, []byte("fullfilter.")) {
			t.Errorf("%s has no Bloom filter", f)
		}
	}
	if len(ssts) != 2 {
		t.Errorf("%d SST files", len(ssts))
	}
}

func TestSSTWriterErrors(t *testing.T) {
	dir := t.TempDir()
	newWriter := func() *SSTWriter {
		w, err := NewSSTWriter(filepath.Join(dir, "1.sst"))
		must(t, err)
		t.Cleanup(w.Abandon)
		return w
	}
	arena, rows := arenaOf(10, 8, 4)
	t.Run("order", func(t *testing.T) {
		w := newWriter()
		must(t, w.PutSorted(arena, rows[5:]))
		if err := w.PutSorted(arena, rows[:5]); err == nil || !strings.Contains(err.Error(), "1.sst") {
			t.Errorf("descending keys: %v", err)
		}
		if w.Entries() != 5 {
			t.Errorf("%d entries", w.Entries())
		}
	})
	t.Run("same key", func(t *testing.T) {
		w := newWriter()
		must(t, w.Put([]byte("k"), nil))
		if err := w.Put([]byte("k"), nil); err == nil {
			t.Error("the same key twice was taken")
		}
	})
	t.Run("outside the arena", func(t *testing.T) {
		for _, bad := range []Ref{{KeyOff: uint32(len(arena)), KeyLen: 1}, {KeyLen: 1, ValOff: 1<<32 - 1, ValLen: 1<<32 - 1}} {
			w := newWriter()
			if err := w.PutSorted(arena, []Ref{bad}); err == nil || !strings.Contains(err.Error(), "outside") {
				t.Errorf("%+v: %v", bad, err)
			}
			w.Abandon()
		}
	})
	t.Run("no rows", func(t *testing.T) {
		w := newWriter()
		info, err := w.Finish()
		if err != nil || !reflect.DeepEqual(info, SSTInfo{}) {
			t.Errorf("%+v, %v", info, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("left behind: %v", entries)
		}
		_, errFinish := w.Finish()
		for _, err := range []error{errFinish, w.Put(nil, nil), w.PutSorted(arena, rows)} {
			if err == nil {
				t.Error("a finished writer took more")
			}
		}
	})
	t.Run("empty key", func(t *testing.T) {
		w := newWriter()
		must(t, w.Put(nil, []byte("v")))
		must(t, w.Put([]byte{0}, nil))
		info, err := w.Finish()
		if err != nil || info.Entries != 2 || len(info.Smallest) != 0 || !bytes.Equal(info.Largest, []byte{0}) {
			t.Errorf("%+v, %v", info, err)
		}
		os.Remove(info.Path)
	})
	if _, err := NewSSTWriter(filepath.Join(dir, "none", "1.sst")); err == nil || op.KindOf(err) != op.Failed {
		t.Errorf("no folder: %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		w, err := NewSSTWriter("/dev/full")
		if err == nil {
			big, refs := arenaOf(100_000, 16, 100)
			err = w.PutSorted(big, refs)
			if err == nil {
				_, err = w.Finish()
			} else {
				w.free()
			}
		}
		if err == nil || !strings.Contains(strings.Join(op.Tries(err), ""), "free some space") {
			t.Errorf("full disk: %v", err)
		}
	}
}

func BenchmarkSSTPutSorted(b *testing.B) {
	for _, c := range []struct {
		key, val int
		sum      Checksum
	}{{16, 108, CRC32C}, {16, 108, XXH3}, {24, 32, XXH3}, {16, 1000, XXH3}} {
		arena, rows := arenaOf(70_000, c.key, c.val)
		b.Run(fmt.Sprintf("key=%d/value=%d/%s", c.key, c.val, c.sum.name()), func(b *testing.B) {
			dir, n, cpu := b.TempDir(), 0, cpuTime()
			for b.Loop() {
				w, err := NewSSTWriterWith(filepath.Join(dir, "bench.sst"), Options{Checksum: c.sum})
				must(b, err)
				must(b, w.PutSorted(arena, rows))
				_, err = w.Finish()
				must(b, err)
				n += len(rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
			b.ReportMetric(float64(cpuTime()-cpu)/float64(n), "cpu-ns/row")
		})
	}
}

func BenchmarkBatchPut(b *testing.B) {
	arena, rows := arenaOf(70_000, 16, 108)
	db := create(b, Options{})
	batch := db.Batch()
	defer batch.Close()
	n, cpu := 0, cpuTime()
	for b.Loop() {
		for _, r := range rows {
			batch.Put(0, arena[r.KeyOff:][:r.KeyLen], arena[r.ValOff:][:r.ValLen])
			if batch.Count() == 1000 {
				must(b, db.Write(batch))
			}
		}
		n += len(rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(n), "cpu-ns/row")
}

// cpuTime is what the process has used: on a shared machine the clock tells
// more of the neighbours than of the code.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
