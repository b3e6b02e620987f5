package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fakeCache is a cache whose jar holds a small file instead of RocksDB.
func fakeCache(t *testing.T) (c cache, fetched *atomic.Int32) {
	t.Helper()
	if runtime.GOOS == "darwin" {
		t.Skip("on macOS the library is signed, which a made-up one cannot be")
	}
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	w, err := z.Create("librocksdbjni-x.so")
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("library"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(t.TempDir(), "c.h")
	if err := os.WriteFile(header, []byte("header"), 0o600); err != nil {
		t.Fatal(err)
	}
	fetched = new(atomic.Int32)
	return cache{
		base:   filepath.Join(t.TempDir(), "native"),
		name:   "1-test",
		pin:    pin{"x", hash(jar.Bytes()), "librocksdbjni-x.so", hash([]byte("library"))},
		header: header,
		fetch: func(_ pin, tmp string) (string, error) {
			fetched.Add(1)
			path := filepath.Join(tmp, "x.jar")
			return path, os.WriteFile(path, jar.Bytes(), 0o600)
		},
	}, fetched
}

func TestCacheFetchesOnceForAll(t *testing.T) {
	c, fetched := fakeCache(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			lib, err := c.ensure()
			if err != nil {
				t.Error(err)
				return
			}
			if data, err := os.ReadFile(lib.File); err != nil || string(data) != "library" {
				t.Errorf("library: %q, %v", data, err)
			}
			if data, err := os.ReadFile(filepath.Join(lib.Include, "rocksdb", "c.h")); err != nil || string(data) != "header" {
				t.Errorf("header: %q, %v", data, err)
			}
		})
	}
	wg.Wait()
	if n := fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if left, _ := filepath.Glob(filepath.Join(c.base, ".fetch-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCacheRepairsItself(t *testing.T) {
	c, fetched := fakeCache(t)
	lib, err := c.ensure()
	if err != nil {
		t.Fatal(err)
	}
	for i, damage := range []func() error{
		func() error { return os.WriteFile(lib.File, []byte("librarz"), 0o600) },
		func() error { return os.Remove(lib.File) },
		func() error { return os.WriteFile(c.header, []byte("newer header"), 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ensure(); err != nil {
			t.Fatal(err)
		}
		if n := fetched.Load(); n != int32(i)+2 {
			t.Errorf("damage %d: fetched %d times", i, n)
		}
		if data, _ := os.ReadFile(lib.File); string(data) != "library" {
			t.Errorf("damage %d: library is %q", i, data)
		}
	}
}

func TestCacheRefusesWhatIsNotPinned(t *testing.T) {
	for name, spoil := range map[string]func(*pin){
		"jar":     func(p *pin) { p.jarSHA256 = strings.Repeat("0", 64) },
		"library": func(p *pin) { p.fileSHA256 = strings.Repeat("0", 64) },
		"missing": func(p *pin) { p.file = "none.so" },
	} {
		c, _ := fakeCache(t)
		spoil(&c.pin)
		if _, err := c.ensure(); err == nil {
			t.Errorf("%s: accepted", name)
		}
		entries, err := os.ReadDir(c.base)
		if err != nil || len(entries) != 1 || entries[0].Name() != ".lock" {
			t.Errorf("%s: left behind %v, %v", name, entries, err)
		}
	}
}

func TestPinsAreComplete(t *testing.T) {
	for platform, p := range pins() {
		goos, goarch, _ := strings.Cut(platform, "/")
		if got, err := pinFor(goos, goarch); err != nil || got != p {
			t.Errorf("%s: %v, %v", platform, got, err)
		}
		if len(p.jarSHA256) != 64 || len(p.fileSHA256) != 64 {
			t.Errorf("%s: %+v", platform, p)
		}
	}
	if _, err := pinFor("plan9", "386"); err == nil || !strings.Contains(err.Error(), "ROCKSDB_DIR") {
		t.Errorf("unknown platform: %v", err)
	}
}
