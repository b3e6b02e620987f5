package inspect

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/applock"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

// TestSettle: while an application runs, a database that is not whole yet is
// waited for, and one that goes is gone; of nobody's state both are told.
func TestSettle(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	segments, err := filepath.Glob(filepath.Join(app, "0_0", "ts-win", "ts-win.*"))
	if err != nil || len(segments) < 3 {
		t.Fatal(segments, err)
	}
	options := func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
		if len(found) == 0 {
			t.Fatal("no OPTIONS in ", dir)
		}
		return found[0]
	}
	take := func(path string) (putBack func()) {
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		return func() { _ = os.WriteFile(path, b, 0o644) }
	}
	take(options(segments[0]))
	took := time.Hour // the best of several: the machine may stand still for a while
	for range 3 {
		begun := time.Now()
		if db, err := openDatabase(segments[0]); err != nil || len(db.Problems) == 0 {
			t.Errorf("nobody runs: %v %v", db, err)
		}
		took = min(took, time.Since(begun))
	}
	if took > settleTries*settlePause/2 {
		t.Errorf("nobody runs, and it waited %s", took)
	}

	lock, err := applock.Hold(app)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	putBack := take(options(segments[1]))
	time.AfterFunc(150*time.Millisecond, putBack)
	if db, err := openDatabase(segments[1]); err != nil || len(db.Problems) > 0 {
		t.Errorf("made while we look: %v %v", db.Problems, err)
	}
	take(filepath.Join(segments[2], "CURRENT"))
	time.AfterFunc(150*time.Millisecond, func() { _ = os.RemoveAll(segments[2]) })
	if db, err := openDatabase(segments[2]); op.KindOf(err) != op.NotFound {
		t.Errorf("removed while we look: %v %v", db, err)
	}
}

// TestScanWithoutLiveSet: what a damaged store still holds is shown, but not as
// if it were the whole store.
func TestScanWithoutLiveSet(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	dir := filepath.Join(app, "0_0", "rocksdb", "ts-kv")
	scan := func() (*RowsResult, error) {
		r, err := OpenRows(context.Background(), RowsOptions{Path: dir, Kind: "timestamped-kv"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Scan(context.Background(), RowsScan{Count: true}, nil)
	}
	whole, err := scan()
	if err != nil || len(whole.Warnings) > 0 {
		t.Fatal(whole.Warnings, err)
	}
	if err := os.Remove(filepath.Join(dir, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	if res, err := scan(); op.KindOf(err) != op.Corrupt || res.Complete || res.Count != whole.Count || !strings.Contains(strings.Join(res.Warnings, "\n"), "the live set may be an older one") {
		t.Errorf("without CURRENT: %d of %d rows, %q, %v", res.Count, whole.Count, res.Warnings, err)
	}
	manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	for _, m := range manifests {
		if err := os.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
	if res, err := scan(); op.KindOf(err) != op.Corrupt || res.Complete || len(op.Tries(err)) == 0 || res.Count != whole.Count {
		t.Errorf("without MANIFEST: complete %t, %d of %d rows, %v", res.Complete, res.Count, whole.Count, err)
	}
}
