package migrate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// databasesOf lists the RocksDB directories below dir.
func databasesOf(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "CURRENT" {
			out = append(out, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d databases, %v", dir, len(out), err)
	}
	return out
}

// rowsOf is a digest of all rows of all families of a database.
func rowsOf(t testing.TB, dir string) string {
	t.Helper()
	v, err := lsm.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, n := sha256.New(), 0
	for _, f := range v.Families {
		fmt.Fprintf(h, "family %s\n", f.Name)
		if err := lsm.Rows(dir, f.Name, func(key, value []byte) error {
			n++
			fmt.Fprintf(h, "%x %x\n", key, value)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%d rows %x", n, h.Sum(nil))
}

// treeOf lists files with size and time.
func treeOf(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, st.Size(), st.ModTime().UnixNano())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fixture unpacks a real state directory as one store with all its databases.
func fixture(t testing.TB, name string) CompactStore {
	t.Helper()
	_, app := lsmtest.Unpack(t, name)
	return CompactStore{ApplicationID: filepath.Base(app), AppDir: app, Task: "all", Name: "all", Databases: databasesOf(t, app)}
}

// A plan reads real directories and leaves no trace.
func TestPlanCompactReadsOnly(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		s := fixture(t, name)
		before := treeOf(t, s.AppDir)
		p, err := PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}})
		if err != nil {
			t.Fatal(name, err)
		}
		if p.Before.Files == 0 || p.Before.Bytes == 0 || p.Before.Entries == 0 || p.SpaceNeeded == 0 || p.SpaceFree == nil {
			t.Errorf("%s: %+v", name, p)
		}
		if steps := p.Steps(); len(steps) != len(s.Databases)+2 {
			t.Errorf("%s: %d steps for %d databases: %q", name, len(steps), len(s.Databases), steps)
		}
		if after := treeOf(t, s.AppDir); after != before {
			t.Errorf("%s: the plan changed something", name)
		}
	}
}

func TestPlanCompactRefuses(t *testing.T) {
	name := lsmtest.Names(t)[0]
	for _, tc := range []struct {
		what  string
		spoil func(dir string) error
		o     CompactOptions
		kind  op.Kind
	}{
		{"nothing there", func(dir string) error { return os.RemoveAll(dir) }, CompactOptions{}, op.NotFound},
		{"a missing file", removeTables, CompactOptions{}, op.Corrupt},
		{"a broken MANIFEST", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("MANIFEST-1"), 0o644)
		}, CompactOptions{}, op.Corrupt},
		{"an impossible target", func(string) error { return nil }, CompactOptions{Target: streams.Version{Major: 2, Minor: 8}}, op.Usage},
	} {
		s := fixture(t, name)
		for _, dir := range s.Databases {
			if err := tc.spoil(dir); err != nil {
				t.Fatal(err)
			}
		}
		tc.o.Stores = []CompactStore{s}
		if _, err := PlanCompact(t.Context(), tc.o); op.KindOf(err) != tc.kind {
			t.Errorf("%s: %v (%s), want %s", tc.what, err, op.KindOf(err), tc.kind)
		}
	}
	if _, err := PlanCompact(t.Context(), CompactOptions{}); op.KindOf(err) != op.NotFound {
		t.Errorf("no store: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := PlanCompact(ctx, CompactOptions{Stores: []CompactStore{fixture(t, name)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func removeTables(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

// Without room for the largest database nothing is begun.
func TestCompactSpace(t *testing.T) {
	free := int64(100 << 20)
	p := &CompactPlan{SpaceNeeded: 50 << 20, SpaceFree: &free}
	if err := p.CheckSpace(); err != nil {
		t.Error(err)
	}
	p.SpaceNeeded = 90 << 20
	if err := p.CheckSpace(); op.KindOf(err) != op.Precondition {
		t.Error(err)
	}
	p.SpaceFree = nil
	if err := p.CheckSpace(); err != nil {
		t.Error(err)
	}
}
