package lsm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/op"
)

// large is the content of a large table.
func large(t *testing.T) []byte {
	t.Helper()
	root, _ := unpack(t, "entries")
	files, err := filepath.Glob(filepath.Join(root, "*", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for _, path := range files {
		if st, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if st.Size() <= int64(len(b)) {
			continue
		}
		if b, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(b) < 4*os.Getpagesize() {
		t.Fatalf("%d bytes, expected some pages", len(b))
	}
	return b
}

// written is a file of its own with that content.
func written(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "000001.sst")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func cutFile(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Error(err)
	}
}

func openPath(t *testing.T, path string) *Table {
	t.Helper()
	x, err := OpenTableFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.close)
	return x
}

// TestMappedIsRead compares a scan of mapped memory with one that reads.
func TestMappedIsRead(t *testing.T) {
	_, files := tables(t)
	for _, path := range files {
		x := openPath(t, path)
		mapped := scan{t: x}
		mapped.run(false)
		read, errs := x.Scan(ScanOptions{}, func(Entry) error { return nil })
		if len(errs)+len(mapped.errs) > 0 {
			t.Errorf("%s: mapped %v, read %v", path, mapped.errs, errs)
		}
		if m := mapped.info; m.Kinds != read.Kinds || m.KindBytes != read.KindBytes || m.StoredBytes != read.StoredBytes || !bytes.Equal(m.LargestKey, read.LargestKey) {
			t.Errorf("%s: mapped %+v, read %+v", path, m, read)
		}
	}
}

// TestMappedFileVanishes cuts a file short once it is mapped and being walked.
func TestMappedFileVanishes(t *testing.T) {
	path, cut := written(t, large(t)), int64(os.Getpagesize())
	x := openPath(t, path)
	m := mappingOf(x.r)
	entries := 0
	s := scan{t: x, fn: func(Entry) error {
		if entries++; entries == 1 {
			cutFile(t, path, cut)
		}
		return nil
	}}
	if m.guard(func() { s.walk(m) }) {
		t.Errorf("%d entries and no fault: %v", entries, s.errs)
	}
	if entries == 0 || m.mem != nil {
		t.Errorf("%d entries, still mapped: %t", entries, m.mem != nil)
	}
	_, errs := x.Scan(ScanOptions{}, nil)
	if len(errs) != 1 {
		t.Fatalf("after the cut: %v", errs)
	}
	wantCorrupt(t, "after the cut", path, errs[0])
}

// TestTruncatedWhileVerified races the two.
func TestTruncatedWhileVerified(t *testing.T) {
	content, cut := large(t), int64(os.Getpagesize())
	for range 100 {
		path := written(t, content)
		x := openPath(t, path)
		done := make(chan struct{})
		go func() {
			defer close(done)
			cutFile(t, path, cut)
		}()
		_, errs := x.Verify(ScanOptions{KeepGoing: true}, nil)
		<-done
		for _, err := range errs {
			wantCorrupt(t, "truncated", path, err)
		}
	}
}

// TestMappingUnavailable has a file that cannot be mapped.
func TestMappingUnavailable(t *testing.T) {
	path := written(t, large(t))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := &mapping{f: f}
	if m.view(0, 10) != nil || m.mem != nil {
		t.Error("a file opened for writing was mapped")
	}
	x := openPath(t, path)
	s := scan{t: x, o: ScanOptions{Buffer: make([]byte, 1)}}
	if !s.walk(m) || s.info.Entries == 0 || len(s.errs) > 0 {
		t.Errorf("%d entries, %v", s.info.Entries, s.errs)
	}
}

// TestGuardPassesPanicsOn knows its own faults from others.
func TestGuardPassesPanicsOn(t *testing.T) {
	path := written(t, large(t))
	m := mappingOf(openPath(t, path).r)
	for _, why := range []any{"boom", op.Errorf(op.Failed, "boom"), nil} {
		func() {
			defer func() {
				if r := recover(); r == nil || why != nil && r != why {
					t.Errorf("panic %v, expected %v", r, why)
				}
				if m.mem != nil {
					t.Error("still mapped")
				}
			}()
			m.guard(func() {
				if m.view(0, 10) == nil {
					t.Error("not mapped")
				}
				if why != nil {
					panic(why)
				}
				var nowhere *Table
				_ = nowhere.name
				t.Error("no fault")
			})
		}()
	}
}
