package lsm

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"
)

// tables are the SST files of all variants.
func tables(t testing.TB) (root string, files []string) {
	t.Helper()
	root, _ = unpackVariants(t)
	files, err := filepath.Glob(filepath.Join(root, "*", "*.sst"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d SST files, %v", len(files), err)
	}
	for _, archive := range []string{"newer", "older"} {
		other, _ := unpack(t, archive)
		more, err := filepath.Glob(filepath.Join(other, "*", "*.sst"))
		if err != nil || len(more) < 10 {
			t.Fatalf("%d %s SST files, %v", len(more), archive, err)
		}
		files = append(files, more...)
	}
	return root, files
}

func openFor(t testing.TB, path string) *Table {
	t.Helper()
	x, err := OpenTableFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func cloned(e Entry) Entry {
	e.Key, e.Value = append([]byte{}, e.Key...), append([]byte{}, e.Value...)
	return e
}

func shown(e Entry) string {
	return fmt.Sprintf("%x %d %s %x", e.Key, e.Seq, e.Kind, e.Value)
}

// scanned is every entry of a table, by Scan.
func scanned(t testing.TB, x *Table) []Entry {
	t.Helper()
	var out []Entry
	_, errs := x.Scan(ScanOptions{}, func(e Entry) error { out = append(out, cloned(e)); return nil })
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return out
}

// TestTableIter walks every table forward and backward, and in a random walk
// that turns around, and compares with Scan.
func TestTableIter(t *testing.T) {
	_, files := tables(t)
	for _, path := range files {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			x := openFor(t, path)
			want := scanned(t, x)
			it := x.Iter()
			defer it.Close()
			check := func(what string, i int, ok bool) {
				t.Helper()
				if it.Err() != nil || ok != (i >= 0 && i < len(want)) {
					t.Fatalf("%s to entry %d of %d: %v, %v", what, i, len(want), ok, it.Err())
				}
				if ok && shown(it.Entry()) != shown(want[i]) {
					t.Fatalf("%s to entry %d: %s, want %s", what, i, shown(it.Entry()), shown(want[i]))
				}
			}
			i, ok := 0, it.First()
			for check("first or next", i, ok); ok; check("next", i, ok) {
				i, ok = i+1, it.Next()
			}
			i, ok = len(want)-1, it.Last()
			for check("last or prev", i, ok); ok; check("prev", i, ok) {
				i, ok = i-1, it.Prev()
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			i, ok = 0, it.First()
			for range 4 * len(want) {
				if !ok {
					break
				}
				if rnd.IntN(2) == 0 && i > 0 {
					i, ok = i-1, it.Prev()
					check("walk back", i, ok)
				} else if i < len(want)-1 {
					i, ok = i+1, it.Next()
					check("walk on", i, ok)
				}
			}
			for n := range 200 {
				key := []byte(fmt.Sprintf("key%05d", rnd.IntN(260)))
				switch n % 4 {
				case 1:
					key = key[:rnd.IntN(len(key)+1)]
				case 2:
					key = append(key, byte(rnd.IntN(256)))
				}
				at := sort.Search(len(want), func(i int) bool { return bytes.Compare(want[i].Key, key) >= 0 })
				check(fmt.Sprintf("seek ≥ %q", key), at, it.SeekGE(key))
				check(fmt.Sprintf("seek < %q", key), at-1, it.SeekLT(key))
				if it.Valid() {
					check("next after seek", at, it.Next())
				}
			}
		})
	}
}

// TestTableFromMemory reads a table from memory, from the middle of a larger
// range, and from a file with the name a Flink checkpoint gives it.
func TestTableFromMemory(t *testing.T) {
	root, _ := unpackVariants(t)
	path := smallest(t, filepath.Join(root, "fv6"))
	want := scanned(t, openFor(t, path))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(t.TempDir(), "8b5fe0a4-9bb1-4ab4-8a1c-6d0ec3d0c26a")
	if err := os.WriteFile(odd, b, 0o444); err != nil {
		t.Fatal(err)
	}
	inside := slices.Concat(make([]byte, 1234), b, []byte("more behind it"))
	size := int64(len(b))
	for name, open := range map[string]func() (*Table, error){
		"memory": func() (*Table, error) { return OpenTable("memory", bytes.NewReader(b), size) },
		"range": func() (*Table, error) {
			return OpenTable("range", io.NewSectionReader(bytes.NewReader(inside), 1234, size), size)
		},
		"uuid": func() (*Table, error) { return OpenTableFile(odd) },
	} {
		x, err := open()
		if err != nil {
			t.Fatal(name, err)
		}
		if got := scanned(t, x); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: other entries than the file", name)
		}
		if _, errs := x.Verify(ScanOptions{}, nil); errs != nil {
			t.Error(name, errs)
		}
		if err := x.Close(); err != nil {
			t.Error(name, err)
		}
	}
}
