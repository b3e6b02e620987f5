package lsm

import (
	"archive/tar"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpackVariants writes the databases that testdata/gen made with RocksDB.
func unpackVariants(t testing.TB) (root string, names []string) {
	t.Helper()
	return unpack(t, "variants")
}

// unpack writes the databases of one of testdata/gen's archives.
func unpack(t testing.TB, archive string) (root string, names []string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", archive+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	seen := map[string]bool{}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if dir := filepath.Dir(h.Name); !seen[dir] {
			seen[dir] = true
			names = append(names, dir)
		}
		path := filepath.Join(root, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root, names
}

// TestVariants reads databases in every table format RocksDB 10.10.1 writes:
// format versions, checksums, compressions with and without dictionaries,
// index kinds, range deletions, dropped families, ingested files.
func TestVariants(t *testing.T) {
	root, names := unpackVariants(t)
	if len(names) < 30 {
		t.Fatalf("%d databases, want all of testdata/gen", len(names))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, name)
			want, err := os.ReadFile(filepath.Join(dir, "rows.txt"))
			if err != nil {
				t.Fatal(err)
			}
			info, err := VerifyDB(dir, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(info.Families) != 2 {
				t.Errorf("families %+v, want default and other", info.Families)
			}
			if f, _ := info.Family("default"); f.RangeDels == 0 || f.Deletes == 0 || f.Files < 4 {
				t.Errorf("default %+v, want range deletions, deletes and several files", f)
			}
			var got strings.Builder
			for _, family := range []string{"default", "other"} {
				err := Rows(dir, family, func(key, value []byte) error {
					fmt.Fprintf(&got, "%s %x %x\n", family, key, value)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != string(want) {
				t.Errorf("rows differ from RocksDB's: %s", firstDifference(got.String(), string(want)))
			}
		})
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %s, want %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(x), len(y))
}

// TestFormats checks what the variants are: a variant that quietly became
// another one would test nothing.
func TestFormats(t *testing.T) {
	root, _ := unpackVariants(t)
	for _, c := range []struct {
		name       string
		version    int
		checksum   string
		compressed bool
	}{
		{"fv2", 2, "kXXH3", false}, {"fv3", 3, "kXXH3", false}, {"fv4", 4, "kXXH3", false},
		{"fv5", 5, "kXXH3", false}, {"fv6", 6, "kXXH3", false}, {"fv7", 7, "kXXH3", false},
		{"kNoChecksum-fv6", 6, "kNoChecksum", false}, {"kCRC32c-fv5", 5, "kCRC32c", false},
		{"kxxHash-fv6", 6, "kxxHash", false}, {"kxxHash64-fv5", 5, "kxxHash64", false},
		{"kSnappyCompression", 6, "kXXH3", true}, {"kZlibCompression", 6, "kXXH3", true},
		{"kLZ4Compression", 6, "kXXH3", true}, {"kZSTD", 6, "kXXH3", true},
		{"zstd-trained", 6, "kXXH3", true}, {"zstd-raw-dict", 6, "kXXH3", true},
		{"lz4-dict", 6, "kXXH3", true}, {"zlib-dict", 6, "kXXH3", true}, {"zstd-fv7", 7, "kXXH3", true},
	} {
		files, err := filepath.Glob(filepath.Join(root, c.name, "*.sst"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no SST files, %v", c.name, err)
		}
		var compressed, dicts int64
		for _, f := range files {
			info, err := VerifySST(f)
			if err != nil {
				t.Fatal(err)
			}
			if info.FormatVersion != c.version || info.ChecksumType != c.checksum {
				t.Errorf("%s: format %d, checksum %s; want %d, %s", c.name, info.FormatVersion, info.ChecksumType, c.version, c.checksum)
			}
			compressed += info.Compressed
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			dicts += int64(strings.Count(string(b), "rocksdb.compression_dict"))
		}
		if (compressed > 0) != c.compressed {
			t.Errorf("%s: %d compressed blocks, want some: %v", c.name, compressed, c.compressed)
		}
		if strings.Contains(c.name, "dict") && dicts == 0 || c.name == "zstd-trained" && dicts == 0 {
			t.Errorf("%s: no dictionary", c.name)
		}
	}
}

// TestXXH32 has the vectors of the reference implementation.
func TestXXH32(t *testing.T) {
	for in, want := range map[string]uint32{
		"":    0x02cc5d05,
		"a":   0x550d7456,
		"abc": 0x32d153ff,
		"Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("%q: %#x, want %#x", in, got, want)
		}
	}
}

// TestSeparatedBlock reads a block with keys and values apart, which RocksDB
// 11 writes: two restart points, values back to back in entry order.
func TestSeparatedBlock(t *testing.T) {
	b, err := hex.DecodeString(
		"000302" + "00" + "616161" + // restart 0: "aaa", value of 2 at 0
			"020101" + "62" + // "aab", value of 1 follows
			"000303" + "03" + "626262" + // restart 2: "bbb", value of 3 at 3
			"5859" + "5a" + "313233" + // values
			"00000000" + "0b000000" + // restart array
			"12000000" + // values begin at 18
			"02000010") // two restarts, separated
	if err != nil {
		t.Fatal(err)
	}
	var e entries
	if err := e.reset(b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for e.next() {
		got = append(got, string(e.key)+"="+string(e.value))
	}
	if s := strings.Join(got, " "); e.err != nil || s != "aaa=XY aab=Z bbb=123" {
		t.Errorf("%s, %v", s, e.err)
	}
}
