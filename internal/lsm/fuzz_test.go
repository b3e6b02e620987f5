package lsm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

// seed adds files of some variants to a fuzz target.
func seed(f *testing.F, pattern string, variants ...string) {
	seedFrom(f, "variants", pattern, variants...)
}

func seedFrom(f *testing.F, archive, pattern string, variants ...string) {
	root, _ := unpack(f, archive)
	for _, v := range variants {
		files, err := filepath.Glob(filepath.Join(root, v, pattern))
		if err != nil || len(files) == 0 {
			f.Fatalf("no %s in %s: %v", pattern, v, err)
		}
		for _, path := range files[:min(2, len(files))] {
			b, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

// FuzzSST reads damaged tables without comparing checksums, which a fuzzer
// would never get past.
func FuzzSST(f *testing.F) {
	seed(f, "*.sst", "fv2", "fv5", "fv6", "fv7", "two-level", "hash-index", "first-key", "kZSTD", "zstd-raw-dict", "kLZ4Compression", "zlib-dict", "kSnappyCompression", "kBZip2Compression")
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := verifyTable("fuzz", bytes.NewReader(b), int64(len(b)), nil, true)
		if err != nil {
			if op.KindOf(err) != op.Corrupt && !errors.Is(err, errCompression) {
				t.Errorf("%v, want a corruption error", err)
			}
			return
		}
		if info.Entries > 0 && info.OrderChecked && bytes.Compare(info.SmallestKey, info.LargestKey) > 0 {
			t.Errorf("smallest key %x after largest %x", info.SmallestKey, info.LargestKey)
		}
	})
}

// FuzzBlock walks the entries of one block in each of the forms.
func FuzzBlock(f *testing.F) {
	f.Add([]byte("\x00\x09\x01keyXXXXXXXXv\x00\x00\x00\x00\x01\x00\x00\x00"))
	f.Add([]byte("\x00\x03\x02\x00aaaXY\x00\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x10"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range []entries{{}, {ordered: true}, {index: &indexForm{delta: true, size: 1 << 20}}} {
			if e.reset(b) != nil {
				continue
			}
			for n, off := 0, -1; e.next(); n++ {
				if e.off <= off || n > len(b) {
					t.Fatalf("no progress at byte %d", e.off)
				}
				off = e.off
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	seed(f, "MANIFEST-*", "fv5", "two-level")
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseManifest("fuzz", b)
		if err != nil {
			if op.KindOf(err) != op.Corrupt {
				t.Errorf("%v, want a corruption error", err)
			}
			return
		}
		if _, ok := v.Family("default"); !ok && len(v.Families) == 0 {
			t.Error("no column family at all")
		}
	})
}

// FuzzEdit decodes records without the log around them and its checksums.
func FuzzEdit(f *testing.F) {
	root, _ := unpackVariants(f)
	path, err := filepath.Glob(filepath.Join(root, "fv6", "MANIFEST-*"))
	if err != nil || len(path) != 1 {
		f.Fatalf("MANIFEST: %v, %v", path, err)
	}
	b, err := os.ReadFile(path[0])
	if err != nil {
		f.Fatal(err)
	}
	for l := (logReader{data: b}); ; {
		rec, _, ok, err := l.next()
		if err != nil {
			f.Fatal(err)
		}
		if !ok {
			break
		}
		f.Add(bytes.Clone(rec))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEdit(b)
		if err == nil {
			_ = newBuilder().apply(e)
		}
	})
}

func FuzzOptions(f *testing.F) {
	_, app := lsmtest.Unpack(f, "4.4.0-opt-alos")
	files, err := filepath.Glob(filepath.Join(app, "0_0", "rocksdb", "j", "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no OPTIONS: %v", err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("[Version]\nrocksdb_version=1\n[CFOptions \"a\\\"b\"]\nx=y\\#z # comment\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := parseOptions("fuzz", b); err != nil && op.KindOf(err) != op.Corrupt {
			t.Errorf("%v, want a corruption error", err)
		}
	})
}
