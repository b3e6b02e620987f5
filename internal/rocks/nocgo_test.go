//go:build !cgo

package rocks

import (
	"strings"
	"testing"
)

func TestWithoutCgoEverythingSaysSo(t *testing.T) {
	var db DB
	var w SSTWriter
	_, e1 := Create(t.TempDir(), Options{})
	_, e2 := Open(t.TempDir(), Options{})
	_, e3 := Families(t.TempDir())
	_, e4 := NewSSTWriter(t.TempDir() + "/1.sst")
	_, e5 := w.Finish()
	_, e6 := db.StallTime()
	_, _, e7 := db.Get(0, nil)
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, db.Flush(), db.CompactRange(), db.WaitForCompact(), db.Iterate(0, nil), db.Ingest(0, nil), db.Write(db.Batch()), w.Put(nil, nil), w.PutSorted(nil, nil)} {
		if err == nil || !strings.Contains(err.Error(), "without RocksDB") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if v := Version(); v != "" {
		t.Errorf("Version() = %q", v)
	}
}
