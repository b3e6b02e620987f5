package lsm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

// wantCorrupt checks an error about damage: its kind, and that it names the
// file, an offset and what was expected.
func wantCorrupt(t *testing.T, what, file string, err error) {
	t.Helper()
	if err == nil || op.KindOf(err) != op.Corrupt {
		t.Errorf("%s: %v, want a corruption error", what, err)
		return
	}
	if s := err.Error(); !strings.Contains(s, file) || !strings.Contains(s, "offset ") {
		t.Errorf("%s: %q names no file and offset", what, s)
	}
}

// smallest is the smallest SST file of a variant that has range deletions, as
// its flushed files do.
func smallest(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	best, size := "", int64(1<<62)
	for _, f := range files {
		info, err := VerifySST(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.RangeDels > 0 && info.DataBlocks > 1 && info.Size < size {
			best, size = f, info.Size
		}
	}
	if best == "" {
		t.Fatalf("no SST file with range deletions in %s", dir)
	}
	return best
}

// TestBitFlips flips one bit of every byte of files of two formats, and of
// every fifth byte and all of the footer of others: everything is covered by a
// checksum or a check.
func TestBitFlips(t *testing.T) {
	for archive, names := range map[string][]string{
		"variants": {"fv2", "fv5", "fv6", "fv7", "kCRC32c-fv5", "kxxHash-fv6", "kxxHash64-fv5", "two-level", "kZSTD", "zlib-dict", "ribbon", "bloom-fv4"},
		"older":    {"fv0", "fv1", "kZlibCompression-fv1", "kLZ4Compression-fv0"},
		"newer":    {"separated", "separated-two-level", "uniform"},
	} {
		root, _ := unpack(t, archive)
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				flipBits(t, smallest(t, filepath.Join(root, name)), name == "fv5" || name == "fv6")
			})
		}
	}
}

func flipBits(t *testing.T, path string, every bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(data)
	for off := range data {
		if !every && off%5 != 0 && off < len(data)-footerSize {
			continue
		}
		copy(bad, data)
		bad[off] ^= 1 << (off % 8)
		_, err := verifyTable(path, bytes.NewReader(bad), int64(len(bad)), nil, false)
		wantCorrupt(t, fmt.Sprintf("byte %d of %d", off, len(data)), filepath.Base(path), err)
	}
}

// TestTruncatedSST cuts a file after every third byte, and everywhere near its
// end.
func TestTruncatedSST(t *testing.T) {
	root, _ := unpackVariants(t)
	for _, name := range []string{"fv5", "fv6"} {
		path := smallest(t, filepath.Join(root, name))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			if n%3 != 0 && n < len(data)-2*footerSize {
				continue
			}
			_, err := verifyTable(path, bytes.NewReader(data[:n]), int64(n), nil, false)
			wantCorrupt(t, fmt.Sprintf("%s cut to %d bytes", name, n), filepath.Base(path), err)
		}
	}
}

// TestOldFormatFlip is the one flip that nobody can see: RocksDB before 9.9
// kept the format version nowhere but in the footer, and versions 4 and 5
// differ in filters alone.
func TestOldFormatFlip(t *testing.T) {
	_, app := lsmtest.Unpack(t, "3.9.2-agg-alos")
	files, err := filepath.Glob(filepath.Join(app, "0_0", "rocksdb", "cnt", "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no SST files: %v", err)
	}
	good, err := VerifySST(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if good.FormatVersion != 5 || good.ChecksumType != "kCRC32c" {
		t.Fatalf("format %d, %s; want what Kafka 3.9 writes: 5, kCRC32c", good.FormatVersion, good.ChecksumType)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-12] ^= 1 // format version 5 becomes 4
	bad, err := verifyTable(files[0], bytes.NewReader(data), int64(len(data)), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	bad.FormatVersion = 5
	if !reflect.DeepEqual(bad, good) {
		t.Errorf("%+v, want the same rows as %+v", bad, good)
	}
}

// database is a copy of a small database that a test may damage.
func database(t *testing.T) string {
	t.Helper()
	root, _ := unpackVariants(t)
	return filepath.Join(root, "fv5")
}

func TestDamagedManifest(t *testing.T) {
	dir := database(t)
	v, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, v.Manifest)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for off := range data {
		bad := slices.Clone(data)
		bad[off] ^= 1 << (off % 8)
		v, err := parseManifest(path, bad)
		if err == nil && v.Torn {
			continue // a longer record than the file holds: VerifyDB refuses it
		}
		wantCorrupt(t, fmt.Sprintf("byte %d", off), v.Manifest, err)
	}
	// Cut anywhere: an older state, marked when the cut is inside a record.
	whole := 0
	for n := 1; n < len(data); n++ {
		v, err := parseManifest(path, data[:n])
		switch {
		case err != nil:
			wantCorrupt(t, fmt.Sprintf("cut to %d bytes", n), v.Manifest, err)
		case !v.Torn:
			whole++
		}
	}
	if whole == 0 || whole > 20 {
		t.Errorf("%d of %d cuts look whole, want those between records alone", whole, len(data))
	}
	if err := os.WriteFile(path, data[:len(data)-3], 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = VerifyDB(dir, 1)
	wantCorrupt(t, "verify with a torn MANIFEST", v.Manifest, err)
}

func TestDamagedCurrent(t *testing.T) {
	dir := database(t)
	path := filepath.Join(dir, "CURRENT")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", strings.TrimSpace(string(good)), "\n", "MANIFEST-\n", "MANIFEST-x\n", "MANIFEST-999999\n", "../MANIFEST-000005\n", strings.Repeat("x", 10000)} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadManifest(dir)
		wantCorrupt(t, fmt.Sprintf("CURRENT %.20q", bad), "CURRENT", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = ReadManifest(dir)
	wantCorrupt(t, "no CURRENT beside SST files", "CURRENT", err)
	if _, err := ReadManifest(t.TempDir()); op.KindOf(err) != op.NotFound {
		t.Errorf("an empty directory: %v, want not found", err)
	}
	if _, err := ReadManifest(filepath.Join(dir, "nowhere")); op.KindOf(err) != op.NotFound {
		t.Errorf("no directory: %v, want not found", err)
	}
}

func TestDamagedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string)
		want   string
	}{
		"missing": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "expected the file to exist"},
		"too long": {func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("x"); err != nil {
				t.Fatal(err)
			}
		}, "as the MANIFEST says"},
		"another file": {func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			v, err := ReadManifest(dir)
			if err != nil {
				t.Fatal(err)
			}
			fam, _ := v.Family("other")
			b, err := os.ReadFile(v.Path(fam.Files[0]))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "bytes as the MANIFEST says"},
		"a bit": {func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[100] ^= 4
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := database(t)
			v, err := ReadManifest(dir)
			if err != nil {
				t.Fatal(err)
			}
			path := v.Path(v.Families[0].Files[0])
			c.damage(t, path)
			_, err = VerifyDB(dir, 2)
			wantCorrupt(t, "VerifyDB", filepath.Base(path), err)
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
			if name == "missing" || name == "a bit" {
				err = Rows(dir, "default", func(_, _ []byte) error { return nil })
				wantCorrupt(t, "Rows", filepath.Base(path), err)
			}
		})
	}
}

func TestNotFound(t *testing.T) {
	dir := database(t)
	nothing := func(_, _ []byte) error { return nil }
	if err := Rows(dir, "nope", nothing); op.KindOf(err) != op.NotFound || !strings.Contains(err.Error(), `"default" "other"`) {
		t.Errorf("unknown family: %v, want not found and the families there are", err)
	}
	if _, err := VerifySST(filepath.Join(dir, "999999.sst")); op.KindOf(err) != op.NotFound {
		t.Errorf("no file: %v, want not found", err)
	}
	if _, err := VerifySST(dir); err == nil || op.KindOf(err) != op.Corrupt {
		t.Errorf("a directory in the place of a file: %v, want corrupt", err)
	}
	if _, err := ReadOptions(dir); op.KindOf(err) != op.NotFound {
		t.Errorf("no OPTIONS: %v, want not found", err)
	}
}
