package op

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, size, err := OpenFile(path)
	if err != nil || size != 4 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	_ = f.Close()
	if _, _, err := OpenFile(dir); err == nil {
		t.Error("a directory was opened")
	}
	if _, _, err := OpenFile(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := OpenFile(pipe)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a named pipe was opened")
		}
	case <-time.After(time.Minute):
		t.Error("waits for a writer of the named pipe")
	}
}
