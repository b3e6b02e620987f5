package inspect

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// scanned scans a store that may be damaged.
func scanned(t *testing.T, o RowsOptions) (rows []string, res *RowsResult, err error) {
	t.Helper()
	r, err := OpenRows(context.Background(), o)
	if err != nil {
		return nil, nil, err
	}
	res, err = r.Scan(context.Background(), RowsScan{}, func(row *Row) error {
		row.Task = ""
		rows = append(rows, string(row.AppendJSON(nil)))
		return nil
	})
	return rows, res, err
}

// TestScanOfCutManifest: wherever a MANIFEST is cut off, a scan shows all rows
// or says that something is wrong.
func TestScanOfCutManifest(t *testing.T) {
	for _, store := range []string{"0_0/rocksdb/ts-kv", "0_0/rocksdb/plain-kv", "0_0/rocksdb/versioned"} {
		_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
		dir := filepath.Join(app, store)
		whole, _, err := scanned(t, RowsOptions{Path: dir})
		if err != nil || len(whole) == 0 {
			t.Fatal(len(whole), err)
		}
		manifest := one(t, filepath.Join(dir, "MANIFEST-*"))
		b, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		silent, lost := 0, 0
		for n := range b {
			write(t, manifest, string(b[:n]))
			rows, res, err := scanned(t, RowsOptions{Path: dir})
			if slices.Equal(rows, whole) {
				continue
			}
			lost++
			if err == nil && len(res.Warnings) == 0 {
				silent++
				t.Errorf("%s: MANIFEST of %d bytes: %d of %d rows and not a word", store, n, len(rows), len(whole))
			}
		}
		if lost < 10 {
			t.Errorf("%s: only %d cuts of %d lose rows", store, lost, len(b))
		}
	}
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %q %v", pattern, list, err)
	}
	return list[0]
}

// TestRowsWithoutManifest: SST files on their own, whatever their names, are
// read as one store, by one file, and as files of another system.
func TestRowsWithoutManifest(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	store := filepath.Join(app, "0_0/rocksdb/ts-kv")
	whole, _, err := scanned(t, RowsOptions{Path: store})
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "ts-kv")
	b, err := os.ReadFile(one(t, filepath.Join(store, "*.sst")))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(bare, "000010.sst"), string(b))
	rows, res, err := scanned(t, RowsOptions{Path: bare})
	if err != nil || !slices.Equal(rows, whole) || *res.StoreKind != string(streams.TimestampedKV) || !strings.Contains(strings.Join(res.Warnings, "\n"), "no MANIFEST tells which of its 1 SST files are live") {
		t.Errorf("bare: %d of %d rows, %v, %v", len(rows), len(whole), res, err)
	}
	rows, res, err = scanned(t, RowsOptions{Path: one(t, filepath.Join(store, "*.sst"))})
	if err != nil || !slices.Equal(rows, whole) || !strings.Contains(strings.Join(res.Warnings, "\n"), "000010.sst alone is read") {
		t.Errorf("one file: %d of %d rows, %v, %v", len(rows), len(whole), res, err)
	}

	foreign := filepath.Join(t.TempDir(), "chk", "shared")
	write(t, filepath.Join(foreign, "7f3a1b0e-0001"), string(b))
	write(t, filepath.Join(foreign, "_metadata"), "of Flink")
	for _, path := range []string{foreign, filepath.Dir(foreign), filepath.Join(foreign, "7f3a1b0e-0001")} {
		rows, res, err = scanned(t, RowsOptions{Path: path})
		if err != nil || len(rows) != len(whole) || res.StoreKind != nil || !strings.Contains(rows[0], `{"task":"","key_hex":"6b303031"`) {
			t.Errorf("%s: %d of %d rows, %+v, %v", path, len(rows), len(whole), res, err)
		}
		m := mapOf(t, MapOptions{Path: path})
		if s := m.AllStores(); len(s) != 1 || s[0].Kind.Certainty != Unknown || s[0].Entries == 0 || m.Damaged > 0 {
			t.Errorf("map of %s: %+v", path, s)
		}
		levels, err := InspectLevels(context.Background(), LevelsOptions{Select: Selection{Path: path}}, nil)
		if err != nil || len(levels.Families) != 1 || levels.Families[0].LevelsKnown || levels.Families[0].Runs[0].Level != -1 || len(Failed(levels.Problems)) > 0 {
			t.Errorf("levels of %s: %+v, %v", path, levels, err)
		}
	}
	if rows, _, err := scanned(t, RowsOptions{Path: foreign, Kind: streams.TimestampedKV}); err != nil || !slices.Equal(rows, whole) {
		t.Errorf("as stated: %d of %d rows, %v", len(rows), len(whole), err)
	}

	// Files of two databases are not one.
	other, err := os.ReadFile(one(t, filepath.Join(app, "0_0/rocksdb/plain-kv/*.sst")))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(bare, "000012.sst"), string(other))
	if _, _, err := scanned(t, RowsOptions{Path: bare}); op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "are of 2 databases") {
		t.Errorf("two databases: %v", err)
	}
	levels, err := InspectLevels(context.Background(), LevelsOptions{Select: Selection{Path: bare}}, nil)
	if err != nil || len(levels.Families) != 2 || levels.Families[0].DBID == levels.Families[1].DBID || levels.Families[0].DBID == "" || len(levels.Families[0].Runs) != 1 || len(Failed(levels.Problems)) > 0 {
		t.Errorf("levels of two databases: %+v, %v", levels, err)
	}
	if got := strings.Join(remarks(mapOf(t, MapOptions{Path: bare})), "\n"); !strings.Contains(got, "has SST files of 2 databases: they are not one store") {
		t.Errorf("map of two databases: %s", got)
	}
}

// TestScanPastDamage: a damaged task does not hide the others; without the
// files that are lost the rest is read when that is asked for.
func TestScanPastDamage(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	o := RowsOptions{Path: app, Store: "ts-win"}
	whole, _, err := scanned(t, o)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := filepath.Glob(filepath.Join(app, "0_0/ts-win/*/*.sst"))
	if len(first) < 2 {
		t.Fatal(first)
	}
	if err := os.Truncate(first[0], 700); err != nil {
		t.Fatal(err)
	}
	rows, res, err := scanned(t, o)
	if op.KindOf(err) != op.Corrupt || res.Complete || len(rows) == 0 || len(rows) >= len(whole) {
		t.Errorf("%d of %d rows, %v", len(rows), len(whole), err)
	}
	o.KeepGoing = true
	more, res, err := scanned(t, o)
	if op.KindOf(err) != op.Corrupt || !slices.Equal(more, rows) || !strings.Contains(strings.Join(res.Warnings, "\n"), "rows are missing, and older or deleted ones may show") {
		t.Errorf("keep going: %d rows, want %d; %q, %v", len(more), len(rows), res.Warnings, err)
	}

	r := openRows(t, RowsOptions{Path: app, Store: "ts-win", Key: o.Key})
	if _, err := r.Get(context.Background(), RowsGet{Key: "k001"}, func(*Row) error { return nil }); op.KindOf(err) != op.Corrupt {
		t.Errorf("get: %v", err)
	}
}

// TestStatedKindAgainstTheFiles: a kind that the files contradict is told.
func TestStatedKindAgainstTheFiles(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	for _, c := range []struct {
		store string
		kind  streams.Kind
		warns bool
	}{
		{"plain-kv", streams.Versioned, true}, {"plain-kv", streams.TimestampedKV, true}, {"ts-kv", streams.KV, true}, {"versioned", streams.KV, true},
		{"plain-win", streams.Session, true}, {"ts-win", streams.Window, true},
		{"plain-kv", streams.KV, false}, {"ts-kv", streams.TimestampedKV, false}, {"ts-kv", streams.FKSubscription, false}, {"session", streams.Session, false},
	} {
		_, res, err := scanned(t, RowsOptions{Path: app, Store: c.store, Tasks: []string{"0_0"}, Kind: c.kind})
		if err != nil {
			t.Fatal(err)
		}
		warns := slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.Contains(w, "but the files of store "+c.store+" say") })
		if warns != c.warns {
			t.Errorf("%s as %s: %q", c.store, c.kind, res.Warnings)
		}
	}
}

// TestGetFromDamagedBlock: that keys do not look like anything because none can
// be read is told as what it is.
func TestGetFromDamagedBlock(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	path := one(t, filepath.Join(app, "0_0/rocksdb/ts-kv/*.sst"))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[700] ^= 4
	write(t, path, string(b))
	r := openRows(t, RowsOptions{Path: filepath.Dir(path)})
	_, err = r.Get(context.Background(), RowsGet{Key: "k001"}, func(*Row) error { return nil })
	if op.KindOf(err) != op.Corrupt || !strings.Contains(err.Error(), "checksum") || len(op.Tries(err)) == 0 {
		t.Errorf("get: %v", err)
	}
}
