//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linxGnu/grocksdb"

	"sstool/internal/lsm"
)

// manyFiles is a leveled database of small files: more than an iterator opens
// beforehand.
func manyFiles(t testing.TB) (dir string, db *grocksdb.DB, put func(key, value string)) {
	dir = filepath.Join(t.TempDir(), "db")
	o, err := grocksdb.GetOptionsFromString(nil, "create_if_missing=true;compaction_style=kCompactionStyleLevel;write_buffer_size=65536;target_file_size_base=16384;"+
		"compression=kNoCompression;block_based_table_factory={block_size=512;filter_policy=bloomfilter:10:false}")
	must(t, err)
	db, err = grocksdb.OpenDb(o, dir)
	must(t, err)
	w := grocksdb.NewDefaultWriteOptions()
	w.DisableWAL(true)
	t.Cleanup(func() { db.Close(); w.Destroy(); o.Destroy() })
	return dir, db, func(key, value string) { must(t, db.Put(w, []byte(key), []byte(value))) }
}

func flushed(t testing.TB, db *grocksdb.DB) {
	o := grocksdb.NewDefaultFlushOptions()
	defer o.Destroy()
	must(t, db.Flush(o))
	c := grocksdb.NewWaitForCompactOptions()
	defer c.Destroy()
	must(t, db.WaitForCompact(c))
}

const liveKeys = 3000

func liveKey(i int) string { return fmt.Sprintf("key-%06d", i) }

// TestFilesVanish replaces all files under an iterator that has opened few of
// them: it goes on in the newer state, in both directions, and says so.
func TestFilesVanish(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		all := !reverse // both ways of going on, in two runs
		t.Run(fmt.Sprintf("reverse %v all %v", reverse, all), func(t *testing.T) {
			dir, db, put := manyFiles(t)
			fill(t, db, put, "old")
			d, err := lsm.OpenDB(dir)
			must(t, err)
			fam, err := d.Family(DefaultFamily)
			must(t, err)
			if len(fam.Files) < 150 {
				t.Fatalf("%d files, want more than are opened beforehand", len(fam.Files))
			}
			it, err := d.Iter(DefaultFamily, lsm.IterOptions{All: all})
			must(t, err)
			defer it.Close()
			start, step := it.First, it.Next
			if reverse {
				start, step = it.Last, it.Prev
			}
			n := 0
			for ok := start(); ok; ok = step() {
				want := n
				if reverse {
					want = liveKeys - 1 - n
				}
				if k := string(it.Entry().Key); k != liveKey(want) {
					t.Fatalf("row %d: %s, want %s", n, k, liveKey(want))
				}
				if n == 1000 || n == 2000 {
					replaceFiles(t, dir, db, put, n)
				}
				n++
			}
			if it.Err() != nil || n != liveKeys || it.Retried < 2 {
				t.Errorf("%d rows, retried %d times, %v; want %d and at least 2", n, it.Retried, it.Err(), liveKeys)
			}
			// The old snapshot still answers, by looking again.
			if _, ok, err := d.Get(DefaultFamily, []byte(liveKey(7))); !ok || err != nil || d.Retried == 0 {
				t.Errorf("get: %v, %v, retried %d", ok, err, d.Retried)
			}
		})
	}
}

// fill writes all rows in an order that makes every flush overlap the others,
// and compacts.
func fill(t *testing.T, db *grocksdb.DB, put func(k, v string), tag string) {
	for i := range liveKeys {
		put(liveKey(i*1117%liveKeys), tag+strings.Repeat(" ", 1000))
	}
	flushed(t, db)
	db.CompactRange(grocksdb.Range{})
}

// replaceFiles writes all rows again and waits until no old file is left.
func replaceFiles(t *testing.T, dir string, db *grocksdb.DB, put func(k, v string), n int) {
	old, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	must(t, err)
	fill(t, db, put, fmt.Sprint("new ", n))
	for _, f := range old {
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(f); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is still there", f)
			}
		}
	}
}

// TestLiveWriter reads again and again while an application writes, flushes and
// compacts: always whole rows, in order, and never older than before.
func TestLiveWriter(t *testing.T) {
	dir, db, put := manyFiles(t)
	for i := range liveKeys {
		put(liveKey(i), "0")
	}
	flushed(t, db)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := 1; !stop.Load(); round++ {
			for i := round % 3; i < liveKeys && !stop.Load(); i += 3 {
				put(liveKey(i), strconv.Itoa(round))
			}
		}
	}()
	defer func() { stop.Store(true); <-done }()
	seen := make([]int, liveKeys)
	retried := 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		d, err := lsm.OpenDB(dir)
		must(t, err)
		if len(d.Problems)+len(d.Missing) > 0 {
			t.Fatalf("problems %v, missing %v", d.Problems, d.Missing)
		}
		it, err := d.Iter(DefaultFamily, lsm.IterOptions{})
		must(t, err)
		n := 0
		for ok := it.First(); ok; ok = it.Next() {
			e := it.Entry()
			v, err := strconv.Atoi(string(e.Value))
			if err != nil || string(e.Key) != liveKey(n) || v < seen[n] {
				t.Fatalf("row %d: %s = %s after %d, %v", n, e.Key, e.Value, seen[n], err)
			}
			seen[n] = v
			n++
		}
		if it.Err() != nil || n != liveKeys {
			t.Fatalf("%d rows, %v", n, it.Err())
		}
		retried += it.Retried + d.Retried
		it.Close()
		for _, i := range []int{0, n / 2, n - 1} {
			if _, ok, err := d.Get(DefaultFamily, []byte(liveKey(i))); !ok || err != nil {
				t.Fatalf("get %s: %v, %v", liveKey(i), ok, err)
			}
		}
	}
	t.Logf("retried %d times", retried)
}
