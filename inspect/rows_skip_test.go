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
)

// TestKeepGoing flips bits all over the files of real stores of several kinds,
// one after the other: what is shown is rows of the store, in order, both ways,
// and when one is missing, what was skipped says so.
func TestKeepGoing(t *testing.T) {
	skipped := 0
	for archive, stores := range map[string][]string{"4.0.2-papi-alos": {"0_0/rocksdb/ts-kv", "0_0/rocksdb/versioned", "0_0/ts-win"}, "4.4.0-opt-alos": {"0_0/rocksdb/j"}} {
		_, app := lsmtest.Unpack(t, archive)
		for _, store := range stores {
			o := RowsOptions{Path: filepath.Join(app, store), KeepGoing: true}
			whole, res, err := scanned(t, o)
			if err != nil || len(whole) == 0 || len(res.Skipped) > 0 || res.SkippedMore {
				t.Fatal(store, len(whole), res, err)
			}
			o.Kind, o.Key, o.Value = openRows(t, o).kind, mustParse(t, "string"), mustParse(t, "hex")
			whole, _, _ = scanned(t, o)
			files, _ := filepath.Glob(filepath.Join(o.Path, "*.sst"))
			if len(files) == 0 {
				files, _ = filepath.Glob(filepath.Join(o.Path, "*", "*.sst"))
			}
			for _, path := range files[:min(2, len(files))] {
				good, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for off := 0; off < len(good); off += max(1, len(good)/30) {
					bad := slices.Clone(good)
					bad[off] ^= 1 << (off % 8)
					write(t, path, string(bad))
					rows, res, err := scanned(t, o)
					i := 0
					for _, row := range rows {
						for i < len(whole) && whole[i] != row {
							i++
						}
						if i == len(whole) {
							t.Fatalf("%s byte %d: not a row of the store, or out of order: %s", path, off, row)
						}
					}
					if lost := len(rows) < len(whole); lost && len(res.Skipped) == 0 || (err == nil) == (len(res.Skipped) > 0) || err != nil && op.KindOf(err) != op.Corrupt {
						t.Errorf("%s byte %d: %d of %d rows, skipped %+v, %v", path, off, len(rows), len(whole), res.Skipped, err)
					}
					skipped += len(res.Skipped)
					back := []string{}
					r := openRows(t, o)
					if _, err := r.Scan(context.Background(), RowsScan{Reverse: true}, func(row *Row) error {
						row.Task = ""
						back = append(back, string(row.AppendJSON(nil)))
						return nil
					}); (err == nil) != (len(res.Skipped) == 0) {
						t.Errorf("%s byte %d in reverse: %v", path, off, err)
					}
					if slices.Reverse(back); !slices.Equal(back, rows) {
						t.Errorf("%s byte %d: %d rows in reverse, %d forward", path, off, len(back), len(rows))
					}
				}
				write(t, path, string(good))
			}
		}
	}
	if skipped == 0 {
		t.Error("nothing was ever skipped")
	}
}

// TestKeepGoingSays: the result names what was skipped, in the text and in
// JSON, and a key that may have been there is no key that does not exist.
func TestKeepGoingSays(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	path := one(t, filepath.Join(app, "0_0/rocksdb/ts-kv/*.sst"))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[700] ^= 4
	write(t, path, string(b))
	for _, bare := range []bool{false, true} {
		if bare { // without a MANIFEST as well
			dir := filepath.Join(t.TempDir(), "ts-kv")
			write(t, filepath.Join(dir, "000010.sst"), string(b))
			path = filepath.Join(dir, "000010.sst")
		}
		o := RowsOptions{Path: filepath.Dir(path), KeepGoing: true}
		_, res, err := scanned(t, o)
		if op.KindOf(err) != op.Corrupt || !strings.Contains(err.Error(), "1 corrupt part skipped") || len(op.Tries(err)) == 0 {
			t.Fatalf("bare %v: %v", bare, err)
		}
		if res.Complete || len(res.Skipped) != 1 || res.Skipped[0].File != path || res.Skipped[0].What != "data block" || res.Skipped[0].Offset != 0 ||
			res.Skipped[0].LastKey != nil || !strings.Contains(res.Skipped[0].Error, "checksum") {
			t.Errorf("bare %v: %+v", bare, res.Skipped)
		}
		if !slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.HasPrefix(w, "skipped: "+path+": offset 0: data block") }) {
			t.Errorf("bare %v: %q", bare, res.Warnings)
		}
		for _, key := range []string{"", "string"} {
			if o.Key = nil; key != "" {
				o.Key = mustParse(t, key)
			}
			o.Kind = "timestamped-kv"
			r := openRows(t, o)
			if _, err := r.Get(context.Background(), RowsGet{Key: "k001"}, func(*Row) error { return nil }); op.KindOf(err) != op.Corrupt {
				t.Errorf("bare %v: get with --key %q: %v", bare, key, err)
			}
		}
	}
}
