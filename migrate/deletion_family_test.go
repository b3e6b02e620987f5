//go:build cgo

package migrate

import (
	"fmt"
	"path/filepath"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// A family without rows stays without entries: delete entries in it would look
// like a store that has rows in two forms.
func TestDeletionSparesEmptyFamilies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := rocks.Create(dir, rocks.Options{Families: []string{streams.DefaultFamily, streams.TimestampFamily}})
	if err != nil {
		t.Fatal(err)
	}
	b := db.Batch()
	defer b.Close()
	w, err := newKeySet(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		key := fmt.Appendf(nil, "k%d", i)
		b.Put(1, key, []byte("v"))
		if err := w.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Write(b); err != nil {
		t.Fatal(err)
	}
	keys, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := deleteKeys(t.Context(), db, keys); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	if some, err := hasRows(db, 1); some || err != nil {
		t.Error(some, err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	version, err := lsm.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range version.Families {
		if f.Name == streams.DefaultFamily && len(f.Files) > 0 {
			t.Errorf("%d files in the family without rows", len(f.Files))
		}
	}
}
