package inspect

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sstool/internal/lsm/lsmtest"
)

// TestMapTouchesNothing maps a directory nobody may write to and compares
// names, sizes, times, modes and links before and after.
func TestMapTouchesNothing(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.4.0-opt-alos")
	chmod(t, app, 0o555, 0o444)
	before := listing(t, app)
	mapOf(t, MapOptions{Path: app})
	mapOf(t, MapOptions{Path: filepath.Dir(app), SumBy: SumByStore})
	if after := listing(t, app); before != after {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func chmod(t *testing.T, root string, dirs, files fs.FileMode) {
	t.Helper()
	set := func(d, f fs.FileMode) {
		var all []string
		filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			if err == nil {
				all = append(all, p)
			}
			return nil
		})
		for _, p := range all {
			mode := f
			if st, err := os.Lstat(p); err == nil && st.IsDir() {
				mode = d
			}
			if err := os.Chmod(p, mode); err != nil {
				t.Error(err)
			}
		}
	}
	set(dirs, files)
	t.Cleanup(func() { set(0o755, 0o644) })
}

func listing(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		if err != nil {
			return err
		}
		sys := st.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&b, p, st.Mode(), st.Size(), st.ModTime().UnixNano(), sys.Ctim, sys.Ino, sys.Nlink)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
