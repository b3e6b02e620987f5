package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/op"
)

// dataHandles lists a table's data blocks, partitions the index blocks below
// the top one.
func dataHandles(t *testing.T, x *Table) (data, partitions []handle) {
	t.Helper()
	ix, err := x.newIndex()
	if err != nil {
		t.Fatal(err)
	}
	for ok := ix.begin(forward); ok; ok = ix.move(forward) {
		data = append(data, ix.at())
		if p := ix.top.at(); ix.twoLevel && (len(partitions) == 0 || partitions[len(partitions)-1] != p) {
			partitions = append(partitions, p)
		}
	}
	if ix.err != nil {
		t.Fatal(ix.err)
	}
	return data, partitions
}

// damaged opens a copy of a file with the byte at off changed.
func damaged(t *testing.T, path string, change func(b []byte)) *Table {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	x, err := OpenTable(path, bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// collect scans on past damage.
func collect(x *Table) (entries []string, info SSTInfo, errs []error) {
	info, errs = x.Verify(ScanOptions{KeepGoing: true}, func(e Entry) error {
		entries = append(entries, shown(e))
		return nil
	})
	return entries, info, errs
}

func TestScanGoesOn(t *testing.T) {
	root, _ := unpackVariants(t)
	for _, name := range []string{"fv2", "fv5", "fv6", "fv7", "two-level", "first-key", "kZSTD", "zlib-dict", "kNoChecksum-fv6"} {
		t.Run(name, func(t *testing.T) {
			path := smallest(t, filepath.Join(root, name))
			good := openFor(t, path)
			all, _, errs := collect(good)
			if errs != nil {
				t.Fatal(errs)
			}
			blocks, _ := dataHandles(t, good)
			for i, h := range blocks {
				x := damaged(t, path, func(b []byte) {
					if good.foot.sum == sumNone { // only what does not decode is found
						clear(b[h.off : h.off+h.size])
						return
					}
					b[h.off+h.size/2] ^= 0x10
				})
				got, info, errs := collect(x)
				if len(errs) != 1 || info.BadBlocks != 1 || len(got) >= len(all) || len(got) == 0 && len(blocks) > 1 {
					t.Fatalf("block %d: %d of %d entries, %d bad blocks, %v", i, len(got), len(all), info.BadBlocks, errs)
				}
				wantCorrupt(t, fmt.Sprintf("block %d", i), filepath.Base(path), errs[0])
				text := errs[0].Error()
				for _, part := range []string{fmt.Sprintf("offset %d:", h.off), "data block", "expected ", "good key"} {
					if !strings.Contains(text, part) {
						t.Errorf("block %d: %s: want %q in it", i, text, part)
					}
				}
				same := 0 // entries before the lost ones
				for same < len(got) && got[same] == all[same] {
					same++
				}
				if lost := len(all) - len(got); !slices.Equal(got[same:], all[same+lost:]) {
					t.Errorf("block %d: not all entries behind it", i)
				}
				if i > 0 {
					key, _, _ := strings.Cut(all[same-1], " ")
					if !strings.Contains(text, "last good key "+key) {
						t.Errorf("block %d: %s: want last good key %s", i, text, key)
					}
				}
				if _, errs := x.Scan(ScanOptions{}, nil); len(errs) != 1 {
					t.Errorf("block %d: without going on %v", i, errs)
				}
			}
		})
	}
}

// TestScanPastIndexPartition loses the blocks of one index partition.
func TestScanPastIndexPartition(t *testing.T) {
	root, _ := unpack(t, "entries")
	for _, name := range []string{"two-level", "two-level-fv2", "two-level-restart-16"} {
		files, err := filepath.Glob(filepath.Join(root, name, "*.sst"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		path := files[0] // the one with the most data
		for _, f := range files {
			if a, b := openFor(t, f), openFor(t, path); a.Info().DataBlocks > b.Info().DataBlocks {
				path = f
			}
		}
		good := openFor(t, path)
		all := scanned(t, good)
		_, parts := dataHandles(t, good)
		if len(parts) < 2 {
			t.Fatalf("%s: %d index partitions", name, len(parts))
		}
		for _, p := range parts {
			x := damaged(t, path, func(b []byte) { b[p.off] ^= 1 })
			got, _, errs := collect(x)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "index partition") || len(got) == 0 || len(got) >= len(all) {
				t.Errorf("%s: partition at %d: %d of %d entries, %v", name, p.off, len(got), len(all), errs)
			}
		}
	}
}

// TestUnknownCompression gives one block a compression that is not ours: no
// damage, and everything else is told.
func TestUnknownCompression(t *testing.T) {
	root, _ := unpackVariants(t)
	path := smallest(t, filepath.Join(root, "fv6"))
	good := openFor(t, path)
	blocks, _ := dataHandles(t, good)
	for ctype, name := range map[byte]string{0x06: "Xpress", 0x85: "custom(0x85)", 0x33: "unknown(0x33)"} {
		h := blocks[0]
		x := damaged(t, path, func(b []byte) {
			b[h.off+h.size] = ctype
			sum := good.foot.sum.sum(b[h.off:h.off+h.size+1]) + contextModifier(good.foot.base, h.off)
			binary.LittleEndian.PutUint32(b[h.off+h.size+1:], sum)
		})
		got, info, errs := collect(x)
		if len(errs) != 1 || op.KindOf(errs[0]) != op.Failed || !strings.Contains(errs[0].Error(), name) || len(got) == 0 {
			t.Errorf("%s: %d entries, %v", name, len(got), errs)
		}
		if x.Info().Entries == 0 || info.DataBlocks != int64(len(blocks)-1) {
			t.Errorf("%s: %+v", name, info)
		}
		it := x.Iter()
		if it.First() || op.KindOf(it.Err()) != op.Failed {
			t.Errorf("%s: iterator %v", name, it.Err())
		}
	}
}

// TestDamagedFilter is found by verifying, and does not hide rows.
func TestDamagedFilter(t *testing.T) {
	root, _ := unpack(t, "entries")
	for _, name := range []string{"bloom-fv5", "two-level"} {
		files, err := filepath.Glob(filepath.Join(root, name, "*.sst"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		good := openFor(t, files[0])
		m, prefix := good.filterBlock()
		at := m.at
		if prefix == metaPartFilter {
			parts, err := good.partitions(m.name, m.at)
			if err != nil {
				t.Fatal(err)
			}
			at = parts[0]
		}
		x := damaged(t, files[0], func(b []byte) { clear(b[at.off : at.off+at.size-filterTail]) })
		first := scanned(t, good)[0].Key
		if !x.MayContain(first) {
			t.Errorf("%s: a damaged filter denies %x", name, first)
		}
		_, _, errs := collect(x)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "ilter") {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestStreamSum verifies blocks in pieces of every size.
func TestStreamSum(t *testing.T) {
	root, _ := unpackVariants(t)
	for _, name := range []string{"kNoChecksum-fv6", "kCRC32c-fv5", "kxxHash-fv6", "kxxHash64-fv5", "kXXH3-fv6"} {
		path := smallest(t, filepath.Join(root, name))
		x := openFor(t, path)
		blocks, _ := dataHandles(t, x)
		h := blocks[0]
		bad := damaged(t, path, func(b []byte) { b[h.off+h.size-1] ^= 1 })
		for n := blockTrailer; n < int(h.size)+10; n += 97 {
			if err := x.verifyBlock("data", h, make([]byte, n)); err != nil {
				t.Fatalf("%s in pieces of %d: %v", name, n, err)
			}
			if err := bad.verifyBlock("data", h, make([]byte, n)); (err == nil) != (x.foot.sum == sumNone) {
				t.Fatalf("%s damaged, in pieces of %d: %v", name, n, err)
			}
		}
	}
}

// TestEveryKind has entries of the kinds that RocksDB's C interface cannot
// write: the type of a block's first entry is changed.
func TestEveryKind(t *testing.T) {
	root, _ := unpackVariants(t)
	path := smallest(t, filepath.Join(root, "kCRC32c-fv5"))
	good := openFor(t, path)
	blocks, _ := dataHandles(t, good)
	for _, k := range Kinds() {
		x := damaged(t, path, func(b []byte) {
			h := blocks[0]
			p := b[h.off:h.end()]
			p[3+int(p[1])-keyTrailer] = byte(k) // of the three lengths the second is the key's
			binary.LittleEndian.PutUint32(p[h.size+1:], good.foot.sum.sum(p[:h.size+1]))
		})
		info, errs := x.Scan(ScanOptions{}, nil)
		if k == KindRangeDelete { // not in a data block
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "0x0f") {
				t.Errorf("%s in a data block: %v", k, errs)
			}
			continue
		}
		it := x.Iter()
		if len(errs) > 0 || info.Kinds.Of(k) == 0 || !it.First() || it.Entry().Kind != k {
			t.Errorf("%s: counts %v, first entry %s, %v %v", k, info.Kinds, it.Entry().Kind, errs, it.Err())
		}
	}
	for _, k := range []EntryKind{3, 0x19, 0x80, 0xff} {
		if k.isPoint() || !strings.HasPrefix(k.String(), "unknown") {
			t.Errorf("%s is a point entry", k)
		}
	}
}

func TestScanStops(t *testing.T) {
	root, _ := unpackVariants(t)
	x := openFor(t, smallest(t, filepath.Join(root, "fv6")))
	enough := errors.New("enough")
	n := 0
	info, errs := x.Scan(ScanOptions{KeepGoing: true}, func(Entry) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if n != 3 || len(errs) != 1 || !errors.Is(errs[0], enough) || info.Entries != 3 {
		t.Errorf("%d calls, %v, %d entries", n, errs, info.Entries)
	}
}

func TestScanFiles(t *testing.T) {
	_, files := tables(t)
	files = append(slices.Clone(files), filepath.Join(t.TempDir(), "missing.sst"))
	seen := make([]int, len(files))
	ScanFiles(files, 2, ScanOptions{}, func(i int, info SSTInfo, errs []error) bool {
		seen[i]++
		missing := i == len(files)-1
		if info.Path != files[i] || (len(errs) > 0) != missing || missing && op.KindOf(errs[0]) != op.NotFound {
			t.Errorf("%s: %v", files[i], errs)
		}
		return true
	})
	for i, n := range seen {
		if n != 1 {
			t.Errorf("%s was done %d times", files[i], n)
		}
	}
}
