package inspect

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"sstool/internal/lsm/lsmtest"
)

// TestMapCache: only databases whose files differ are read again, and what is
// told is the same as without a cache.
func TestMapCache(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	cache := NewMapCache()
	now := time.Now()
	look := func() {
		t.Helper()
		m, err := MapPath(context.Background(), MapOptions{Path: app, Cache: cache}, nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := MapPath(context.Background(), MapOptions{Path: app}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.At = fresh.At
		if !reflect.DeepEqual(m, fresh) {
			t.Errorf("with a cache\n%+v\nwithout\n%+v", m, fresh)
		}
	}
	look()
	all := len(cache.Dirs())
	if cache.hits != 0 || all < 8 {
		t.Fatalf("%d hits of %d databases at first", cache.hits, all)
	}
	db := filepath.Join(app, "0_0", "rocksdb", "plain-kv")
	if !slices.Contains(cache.Dirs(), db) {
		t.Errorf("%s is not among %v", db, cache.Dirs())
	}
	expect := func(hits int, why string) {
		t.Helper()
		look()
		if cache.hits != hits {
			t.Errorf("%s: %d hits, want %d", why, cache.hits, hits)
		}
	}
	expect(all, "nothing changed")

	// RocksDB's log says nothing of the state, but counts in sizes: they are a
	// little late.
	log := filepath.Join(db, "LOG")
	if err := os.WriteFile(log, []byte("a line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := MapPath(context.Background(), MapOptions{Path: app, Cache: cache}, nil); err != nil || cache.hits != all {
		t.Errorf("only the log was written: %d hits of %d, %v", cache.hits, all, err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}

	current := filepath.Join(db, "CURRENT")
	later := now.Add(time.Hour)
	if err := os.Chtimes(current, later, later); err != nil {
		t.Fatal(err)
	}
	expect(all-1, "a file has another time")
	expect(all, "nothing changed since")

	// What could not be read is tried again, and told as soon as it can be.
	text, err := os.ReadFile(current)
	if err == nil {
		err = os.WriteFile(current, []byte("MANIFEST-999999\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	look()
	if err := os.WriteFile(current, text, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(all-1, "mended")

	if err := os.RemoveAll(db); err != nil {
		t.Fatal(err)
	}
	expect(all-1, "a store is gone")
	if slices.Contains(cache.Dirs(), db) {
		t.Error("a store that is gone is remembered")
	}
}
