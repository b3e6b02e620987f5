package lsm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEntries compares every entry of databases that RocksDB wrote under
// snapshots with what was written: key, sequence number, kind, value, in
// every table format, entries of every kind included.
func TestEntries(t *testing.T) {
	kinds := map[EntryKind]int{}
	testEntries(t, "entries", kinds)
	for _, k := range []EntryKind{KindPut, KindDelete, KindSingleDelete, KindMerge, KindRangeDelete, KindBlobIndex} {
		if kinds[k] == 0 {
			t.Errorf("no entry of kind %s", k)
		}
	}
}

// TestNewerEntries reads what RocksDB 11.1.2 wrote in forms that older ones do
// not know: keys and values apart, evenly spread index keys, aligned blocks.
func TestNewerEntries(t *testing.T) {
	testEntries(t, "newer", map[EntryKind]int{})
	root, names := unpack(t, "newer")
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(root, name, "*.sst"))
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		x := openFor(t, files[1])
		apart, _ := x.props.Uint("rocksdb.separate.key.value.in.data.block")
		if want := strings.HasPrefix(name, "separated"); (apart == 1) != want || x.Info().WrittenBy != ">= 11.0" {
			t.Errorf("%s: values apart %d, want %v; written by %s", name, apart, want, x.Info().WrittenBy)
		}
	}
}

// TestOlderEntries reads format versions 0 and 1, written by RocksDB 7.8.3 in
// every compression: what Kafka Streams up to 2.8 left behind.
func TestOlderEntries(t *testing.T) {
	testEntries(t, "older", map[EntryKind]int{})
	root, names := unpack(t, "older")
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(root, name, "*.sst"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			x := openFor(t, f)
			info, errs := x.Verify(ScanOptions{}, nil)
			plain := !strings.Contains(name, "Compression") && !strings.Contains(name, "ZSTD")
			if len(errs) > 0 || fmt.Sprint("fv", info.FormatVersion) != name[len(name)-3:] || !plain && info.Compressed == 0 {
				t.Errorf("%s: format version %d, %d blocks compressed, %v", name, info.FormatVersion, info.Compressed, errs)
			}
		}
	}
}

func testEntries(t *testing.T, archive string, kinds map[EntryKind]int) {
	root, names := unpack(t, archive)
	filterOf := map[string]string{"ribbon": "ribbon", "bloom-fv4": "legacy bloom", "bloom-fv5": "bloom", "prefix-bloom": "bloom", "two-level": "bloom", "two-level-fv3": "legacy bloom"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, name)
			text, err := os.ReadFile(filepath.Join(dir, "entries.txt"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				want[strings.TrimSuffix(line, "\n")] = true
			}
			v, err := ReadManifest(dir)
			if err != nil {
				t.Fatal(err)
			}
			total := len(want)
			fragments := map[uint64][]RangeDelete{}
			found := func(key []byte, seq uint64, kind EntryKind, value []byte) {
				line := fmt.Sprintf("%x %d %s ", key, seq, kind)
				if kind == KindBlobIndex {
					line += "*"
				} else {
					line += fmt.Sprintf("%x", value)
				}
				if !want[line] {
					t.Errorf("%s was never written, or is there twice", line)
				}
				delete(want, line)
				kinds[kind]++
			}
			for _, f := range v.Families[0].Files {
				x := openFor(t, v.Path(f))
				info, errs := x.Verify(ScanOptions{}, func(e Entry) error {
					found(e.Key, e.Seq, e.Kind, e.Value)
					return nil
				})
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				ranges, err := x.RangeDeletes()
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range ranges {
					fragments[d.Seq] = append(fragments[d.Seq], d)
				}
				checkCounts(t, x.Info(), info)
				checkFilter(t, x)
				if want := filterOf[name]; want != "" && x.Filter().Kind != want {
					t.Errorf("filter %+v, want %s", x.Filter(), want)
				}
			}
			for _, f := range fragments { // where tombstones overlap, RocksDB cuts them
				slices.SortFunc(f, func(a, b RangeDelete) int { return bytes.Compare(a.Start, b.Start) })
				for i := range f[1:] {
					if !bytes.Equal(f[i].End, f[i+1].Start) {
						t.Errorf("range delete %d has a gap from %x to %x", f[i].Seq, f[i].End, f[i+1].Start)
					}
				}
				found(f[0].Start, f[0].Seq, KindRangeDelete, f[len(f)-1].End)
			}
			if len(want) > 0 {
				t.Errorf("%d of %d entries are missing, %s for one", len(want), total, slices.Sorted(maps.Keys(want))[0])
			}
		})
	}
}

// checkCounts compares what properties say with what a scan counted.
func checkCounts(t *testing.T, p TableInfo, s SSTInfo) {
	t.Helper()
	if p.Entries != s.Entries+s.RangeDels || p.RangeDels != s.RangeDels || p.Merges != s.Kinds.Of(KindMerge) || p.Deletes != s.Deletes+s.RangeDels {
		t.Errorf("%s: properties count %d entries, %d range deletes, %d merges, %d deletes; a scan %d, %d, %d, %d", p.Path,
			p.Entries, p.RangeDels, p.Merges, p.Deletes, s.Entries, s.RangeDels, s.Kinds.Of(KindMerge), s.Deletes)
	}
	if raw := s.KeyBytes + keyTrailer*s.Entries; p.RangeDels == 0 && p.RawKeySize != raw {
		t.Errorf("%s: property says %d bytes of keys, a scan %d", p.Path, p.RawKeySize, raw)
	}
}

// TestSSTDump compares every entry with what Debian's sst_dump (RocksDB 7.8,
// format versions up to 5) prints.
func TestSSTDump(t *testing.T) {
	tool, err := exec.LookPath("sst_dump")
	if err != nil {
		t.Skip("sst_dump is not installed (Debian, Ubuntu: apt-get install rocksdb-tools)")
	}
	var files []string
	for _, archive := range []string{"entries", "older"} {
		root, _ := unpack(t, archive)
		list, err := filepath.Glob(filepath.Join(root, "*", "*.sst"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	compared := 0
	for _, path := range files {
		x := openFor(t, path)
		if x.Info().FormatVersion > 5 {
			continue
		}
		out, err := exec.Command(tool, "--file="+path, "--command=scan", "--output_hex").Output()
		if err != nil {
			t.Fatalf("sst_dump %s: %v", path, err)
		}
		var got bytes.Buffer
		for _, e := range scanned(t, x) {
			fmt.Fprintf(&got, "'%X' seq:%d, type:%d => %X\n", e.Key, e.Seq, e.Kind, e.Value)
			compared++
		}
		var want bytes.Buffer
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "'") {
				want.WriteString(line)
			}
		}
		if got.String() != want.String() {
			t.Errorf("%s: %s", path, firstDifference(got.String(), want.String()))
		}
	}
	if compared < 1000 {
		t.Errorf("%d entries compared, want many", compared)
	}
}
