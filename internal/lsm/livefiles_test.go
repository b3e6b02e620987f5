package lsm_test

import (
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

func TestLiveFiles(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	dir := filepath.Join(app, "0_0", "rocksdb", "ts-kv")
	for _, stray := range []string{"LOCK", "LOG", "999999.sst", "MANIFEST-000001", "OPTIONS-000001.dbtmp", "note.txt"} {
		if err := os.WriteFile(filepath.Join(dir, stray), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	live, err := lsm.LiveFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	tables, current := 0, false
	for _, f := range live.Files {
		switch f.Name {
		case "LOCK", "LOG", "999999.sst", "MANIFEST-000001", "OPTIONS-000001.dbtmp", "note.txt":
			t.Errorf("%s goes along", f.Name)
		case "CURRENT":
			current = true
		}
		if f.Immutable {
			tables++
		}
	}
	if tables == 0 || !current {
		t.Errorf("%d tables, CURRENT %v", tables, current)
	}
	for _, f := range live.Files {
		if f.Immutable {
			if err := os.Truncate(filepath.Join(dir, f.Name), f.Size-1); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if _, err := lsm.LiveFiles(dir); op.KindOf(err) != op.Corrupt {
		t.Errorf("a short file: %v", err)
	}
}
