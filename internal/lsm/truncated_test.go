package lsm

import (
	"os"
	"path/filepath"
	"testing"
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
