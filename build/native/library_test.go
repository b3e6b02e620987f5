package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func layOut(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("not a library"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOwnRocksDB(t *testing.T) {
	for _, lib := range []string{"lib/", "lib64/", "lib/x86_64-linux-gnu/"} {
		dir := layOut(t, "include/rocksdb/c.h", lib+libraryName())
		l, err := own(dir)
		if err != nil || l.File != filepath.Join(dir, lib, libraryName()) || l.Include != filepath.Join(dir, "include") {
			t.Errorf("%s: %+v, %v", lib, l, err)
		}
	}
	for _, tc := range []struct {
		files []string
		want  string
	}{
		{nil, "there is no include/rocksdb/c.h"},
		{[]string{"lib/" + libraryName()}, "there is no include/rocksdb/c.h"},
		{[]string{"include/rocksdb/c.h", "lib/librocksdb.a"}, "there is no lib/" + libraryName()},
	} {
		dir := layOut(t, tc.files...)
		if _, err := own(dir); err == nil || !strings.Contains(err.Error(), "ROCKSDB_DIR="+dir) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v", tc.files, err)
		}
	}
}

func TestCopyToRefusesWhatIsNoLibrary(t *testing.T) {
	dir := layOut(t, "include/rocksdb/c.h", "lib/"+libraryName())
	l, err := own(dir)
	if err != nil {
		t.Fatal(err)
	}
	if libraryName() == "librocksdb.so" {
		if err := l.copyTo(t.TempDir()); err == nil {
			t.Error("a text file was taken for a library")
		}
	}
}
