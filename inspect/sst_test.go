package inspect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/serde"
)

// stateOf unpacks one of the fixtures and returns its state directory.
func stateOf(t *testing.T, name string) string {
	dir, _ := lsmtest.Unpack(t, name)
	return filepath.Join(dir, "state")
}

// treeState is every path below dir with size and time.
func treeState(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		fmt.Fprintln(&b, path, st.Size(), st.ModTime().UnixNano(), st.Mode())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFilesAgreeWithRows compares the three views of each fixture with each
// other and with the rows that the reader shows, and holds that nothing in the
// directory changes.
func TestFilesAgreeWithRows(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			state := stateOf(t, name)
			before := treeState(t, state)
			sel := Selection{Path: state}
			files, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{sel}, Verify: true, Parallel: 2}, nil)
			if err != nil {
				t.Fatal(err)
			}
			tombs, err := InspectTombstones(t.Context(), TombstonesOptions{Select: sel, Parallel: 2}, nil)
			if err != nil {
				t.Fatal(err)
			}
			levels, err := InspectLevels(t.Context(), LevelsOptions{Select: sel, Parallel: 2}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if failed := append(Failed(files.Problems), append(Failed(tombs.Problems), Failed(levels.Problems)...)...); len(failed) > 0 {
				t.Fatal(failed)
			}
			if n := tombs.Total.Files; n != files.Total.Files || n != levels.Total.Files || n == 0 {
				t.Errorf("%d, %d and %d files", n, files.Total.Files, levels.Total.Files)
			}
			if tombs.Total.Tombstones != files.Total.Tombstones || tombs.Total.Entries != files.Total.Entries || tombs.Total.Size != files.Total.Size {
				t.Errorf("tombstones %+v, files %+v", tombs.Total, files.Total)
			}
			for _, f := range tombs.Families {
				rows := int64(0)
				if err := lsm.Rows(f.Database, f.Family, func(_, _ []byte) error { rows++; return nil }); err != nil {
					t.Fatal(err)
				}
				if f.Entries-*f.ReclaimEntries != rows || f.Estimated != "" {
					t.Errorf("%s %s: %d entries of which %d can go, but %d rows", f.Database, f.Family, f.Entries, *f.ReclaimEntries, rows)
				}
			}
			for _, f := range files.Files {
				if f.Smallest == nil || f.WrittenBy == "" || f.Family == "" || !f.Verified.OK || f.Verified.Entries != f.Entries || strings.Contains(f.Smallest.Text, "not a") {
					t.Errorf("%+v", f)
				}
			}
			if after := treeState(t, state); after != before {
				t.Errorf("the directory changed:\n%s\n%s", before, after)
			}
		})
	}
}

// TestRangeDeletesAgreeWithRows compares the counts with the rows of databases
// that RocksDB wrote with every option, range deletes and overwritten rows among
// them (internal/lsm/testdata/gen).
func TestRangeDeletesAgreeWithRows(t *testing.T) {
	dir := t.TempDir()
	unpack(t, filepath.Join("..", "internal", "lsm", "testdata", "variants.tar.gz"), dir)
	tombs, err := InspectTombstones(t.Context(), TombstonesOptions{Select: Selection{Path: dir}, Parallel: 2}, nil)
	if err != nil || len(Failed(tombs.Problems)) > 0 {
		t.Fatal(err, tombs.Problems)
	}
	if tombs.Total.RangeDeletes < 100 || tombs.Total.Deletes < 100 || *tombs.Total.ShadowedRows < 100 || *tombs.Total.SupersededRows < 100 {
		t.Errorf("too little of something: %+v", tombs.Total)
	}
	listed := false
	for _, f := range tombs.Families {
		rows, size := int64(0), int64(0)
		if err := lsm.Rows(f.Database, f.Family, func(k, v []byte) error { rows++; size += int64(len(k) + 8 + len(v)); return nil }); err != nil {
			t.Fatal(err)
		}
		if f.Entries-*f.ReclaimEntries != rows {
			t.Errorf("%s %s: %d entries of which %d can go, but %d rows", f.Database, f.Family, f.Entries, *f.ReclaimEntries, rows)
		}
		if held := *f.ReclaimBytes - f.TombstoneBytes - *f.ShadowedBytes - *f.SupersededBytes; held != 0 {
			t.Errorf("%s %s: %d bytes to reclaim are neither tombstones nor hidden rows", f.Database, f.Family, held)
		}
		listed = listed || len(f.Ranges) > 0 && f.Ranges[0].Start.Text < f.Ranges[0].End.Text
	}
	if !listed {
		t.Error("no range delete is listed")
	}
}

// unpack writes a tar.gz archive to dir.
func unpack(t *testing.T, archive, dir string) {
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEstimate holds that properties alone give the same counts, and say that
// they are an estimate.
func TestEstimate(t *testing.T) {
	sel := Selection{Path: stateOf(t, "4.0.2-papi-alos")}
	exact, err := InspectTombstones(t.Context(), TombstonesOptions{Select: sel}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := InspectTombstones(t.Context(), TombstonesOptions{Select: sel, Estimate: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total.Tombstones != exact.Total.Tombstones || *got.Total.AtBottom != *exact.Total.AtBottom || got.Total.Estimated == "" || exact.Total.Estimated != "" {
		t.Errorf("estimate %+v, exact %+v", got.Total, exact.Total)
	}
	if got.Total.SupersededRows != nil || len(got.Dense) > 0 {
		t.Errorf("properties do not tell superseded rows nor ranges: %+v", got.Total)
	}
}

// oneFile is the first SST file of a store in the fixture.
func oneFile(t *testing.T, state, store string) string {
	files, err := filepath.Glob(filepath.Join(state, "*", "0_0", "rocksdb", store, "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files[0]
}

func TestInspectOneFile(t *testing.T) {
	path := oneFile(t, stateOf(t, "4.0.2-papi-alos"), "ts-kv")
	res, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{{Path: path}}, Properties: true}, nil)
	if err != nil || len(res.Files) != 1 {
		t.Fatal(res, err)
	}
	f := res.Files[0]
	if f.Store != "ts-kv" || f.StoreKind != "timestamped-kv" || f.Task != "0_0" || f.Level == nil || *f.Level != 0 || f.Puts+f.Deletes != f.Entries {
		t.Errorf("%+v", f)
	}
	want := map[string]string{"rocksdb.num.entries": fmt.Sprint(f.Entries), "rocksdb.comparator": "leveldb.BytewiseComparator", "rocksdb.block.based.table.index.type": "0", "rocksdb.block.based.table.whole.key.filtering": "1"}
	for _, p := range f.Properties {
		if v, ok := want[p.Name]; ok && v != p.Value {
			t.Errorf("%s is %q, want %q", p.Name, p.Value, v)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("no property %v", want)
	}
	// Without its MANIFEST, and with another system's name.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "5761f0b3-6020-4585-aab7-1f96b22661c7")
	if err := os.WriteFile(alone, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{alone, filepath.Dir(alone)} {
		res, err = InspectSST(t.Context(), SSTOptions{Select: []Selection{{Path: p}}}, nil)
		if err != nil || len(res.Files) != 1 {
			t.Fatal(res, err)
		}
		g := res.Files[0]
		if g.Entries != f.Entries || g.Level != nil || g.Store != "" || g.Smallest.Hex != f.Smallest.Hex || g.Largest.Hex != f.Largest.Hex || g.Family != f.Family {
			t.Errorf("%+v", g)
		}
	}
}

func TestCorruptFile(t *testing.T) {
	state := stateOf(t, "4.0.2-papi-alos")
	path := oneFile(t, state, "ts-kv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1 // in the first data block
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	sel := Selection{Path: filepath.Dir(path)}
	for _, keep := range []bool{false, true} {
		res, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{sel}, Verify: true, KeepGoing: keep}, nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := Failed(res.Problems)
		if len(failed) != 1 || Worst(failed) != op.Corrupt || !strings.Contains(failed[0].What, "checksum") || res.Files[0].Verified.OK {
			t.Errorf("keep going %v: %+v", keep, res.Problems)
		}
	}
	tombs, err := InspectTombstones(t.Context(), TombstonesOptions{Select: sel}, nil)
	if err != nil || tombs.Total.Estimated == "" || Worst(Failed(tombs.Problems)) != op.Corrupt || tombs.Total.Tombstones == 0 {
		t.Errorf("%+v, %v: expected an estimate and the problem", tombs, err)
	}
	// Cut short, nothing is known of it.
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	res, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{{Path: path}}}, nil)
	if err != nil || len(res.Files) != 1 || res.Files[0].Error == "" || Worst(Failed(res.Problems)) != op.Corrupt {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestUnfinishedFile holds that a file which RocksDB is writing is no damage,
// whether or not the application runs.
func TestUnfinishedFile(t *testing.T) {
	path := oneFile(t, stateOf(t, "4.0.2-papi-alos"), "ts-kv")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(filepath.Dir(path), "000999.sst")
	if err := os.WriteFile(half, b[:len(b)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	sel := Selection{Path: filepath.Dir(path)}
	res, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{sel}, Verify: true}, nil)
	if err != nil || len(Failed(res.Problems)) > 0 || len(res.Files) != 2 || res.Total.Files != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if f := res.Files[1]; *f.Live || !strings.Contains(f.Error, "not whole") {
		t.Errorf("%+v", f)
	}
	if _, err := ScanSST(t.Context(), SSTScanOptions{Select: []Selection{sel}}, func(*SSTEntry) error { return nil }); err != nil {
		t.Error(err)
	}
	tombs, err := InspectTombstones(t.Context(), TombstonesOptions{Select: sel}, nil)
	if err != nil || tombs.Obsolete.Files != 1 || tombs.Obsolete.Bytes != int64(len(b)/2) {
		t.Errorf("%+v, %v: expected one file that is not live", tombs.Obsolete, err)
	}
	// Asked for by name, it is what it is.
	res, err = InspectSST(t.Context(), SSTOptions{Select: []Selection{{Path: half}}}, nil)
	if err != nil || Worst(Failed(res.Problems)) != op.Corrupt {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestScanSST(t *testing.T) {
	path := oneFile(t, stateOf(t, "4.0.2-papi-alos"), "ts-kv")
	sel := Selection{Path: path}
	info, err := lsm.VerifySST(path)
	if err != nil {
		t.Fatal(err)
	}
	var last []byte
	n, deletes := int64(0), int64(0)
	_, err = ScanSST(t.Context(), SSTScanOptions{Select: []Selection{sel}}, func(e *SSTEntry) error {
		if bytes.Compare(e.Key, last) < 0 {
			t.Errorf("%x after %x", e.Key, last)
		}
		last = append(last[:0], e.Key...)
		n++
		if e.Kind.IsDelete() {
			deletes++
		}
		if _, has := e.ValueText(); has == e.Kind.IsDelete() {
			t.Errorf("%s has a value: %v", e.Kind, has)
		}
		return nil
	})
	if err != nil || n != info.Entries || deletes != info.Deletes {
		t.Errorf("%d entries, %d deletes, %v; want %d, %d", n, deletes, err, info.Entries, info.Deletes)
	}
	res, err := ScanSST(t.Context(), SSTScanOptions{Select: []Selection{sel}, Limit: 3}, func(*SSTEntry) error { return nil })
	if err != nil || res.Entries != 3 {
		t.Errorf("%+v, %v; want 3 entries", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := InspectTombstones(ctx, TombstonesOptions{Select: sel}, nil); op.KindOf(err) != op.Declined {
		t.Errorf("cancelled: %v", err)
	}
}

// TestKeyText holds the keys of every kind: the fixtures' smallest keys.
func TestKeyText(t *testing.T) {
	state := stateOf(t, "4.0.2-papi-alos")
	for store, want := range map[string]string{
		"plain-kv": "k0", "plain-win": " @ 2026-11-29T", "session": "Z/2026-11-29T", "versioned": "(latest)", "dup-win": "#",
	} {
		res, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{{Path: state, Stores: []string{store}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		texts := ""
		for _, f := range res.Files {
			texts += f.Smallest.Text + " … " + f.Largest.Text + "\n"
		}
		if !strings.Contains(texts, want) {
			t.Errorf("%s: no %q in\n%s", store, want, texts)
		}
	}
	long, err := serde.Parse("long")
	if err != nil {
		t.Fatal(err)
	}
	p := &Place{keys: long}
	if got := keyText(p, "default", []byte{0, 0, 0, 0, 0, 0, 0, 7}); got != "7" {
		t.Errorf("long key: %s", got)
	}
	if got := keyText(p, "default", []byte("abc\x00")); got != "0x61626300" {
		t.Errorf("a key that is no long: %s", got)
	}
}

// TestDocuments holds the form of the JSON: no null lists, times as RFC 3339.
func TestDocuments(t *testing.T) {
	res, err := InspectSST(t.Context(), SSTOptions{Select: []Selection{{Path: oneFile(t, stateOf(t, "4.0.2-papi-alos"), "ts-kv")}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(res.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"application", "task", "store", "store_kind", "segment_start", "database", "path", "live", "level", "column_family", "smallest_key", "tombstone_share", "compression_ratio", "written_by", "verified"} {
		if _, ok := doc[name]; !ok {
			t.Errorf("no field %s in %v", name, slices.Sorted(maps.Keys(doc)))
		}
	}
}

// FuzzText holds that any key and property can be shown, on a terminal too.
func FuzzText(f *testing.F) {
	f.Add("window", "default", []byte("k\x00\x00\x01\x8b\xcf\xe5\x68\x00\x00\x00\x00\x00"))
	f.Add("fk-subscription", "keyValueWithTimestamp", []byte("\x00\x00\x00\x02abkey"))
	f.Add("", "offsets", []byte("\xff\x1b[31m"))
	f.Fuzz(func(t *testing.T, kind, family string, b []byte) {
		p := &Place{StoreKind: kind}
		for _, text := range []string{keyText(p, family, b), valueText(p, family, b), propertyText("rocksdb."+family, b), propertyText(family, b)} {
			if strings.ContainsAny(text, "\x1b\x00\n") && !strings.ContainsAny(kind, "\x1b\x00\n") {
				t.Errorf("%q", text)
			}
		}
	})
}
