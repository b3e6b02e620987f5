// Package bigtest makes the state directories of large applications for tests
// of what looking at them costs. Only tests import it; it is not in lsmtest
// because that is imported by lsm's own tests.
package bigtest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
)

// manifest is a MANIFEST whose one edit names files at level 0, all with the
// key range of one (db/log_format.h, db/version_edit.h).
func manifest(like lsm.File, files int) []byte {
	var e []byte
	str := func(b []byte) { e = append(binary.AppendUvarint(e, uint64(len(b))), b...) }
	e = append(e, 1)
	str([]byte("leveldb.BytewiseComparator"))
	e = append(e, 2, 0, 3)
	e = binary.AppendUvarint(e, uint64(files+20))
	e = append(e, 4)
	e = binary.AppendUvarint(e, 1<<20)
	for i := range files {
		e = append(e, 103, 0)
		e = binary.AppendUvarint(e, uint64(10+i))
		e = binary.AppendUvarint(e, uint64(like.Size))
		str(binary.LittleEndian.AppendUint64(append([]byte{}, like.Smallest...), 1<<8|1))
		str(binary.LittleEndian.AppendUint64(append([]byte{}, like.Largest...), 1<<8|1))
		e = binary.AppendUvarint(e, 1)
		e = binary.AppendUvarint(e, uint64(1+i))
		e = append(e, 1)
	}
	const block, head = 32 << 10, 7
	var out []byte
	for first := true; len(e) > 0; first = false {
		n := min(len(e), block-len(out)%block-head)
		kind := byte(3) // middle
		switch {
		case first && n == len(e):
			kind = 1
		case first:
			kind = 2
		case n == len(e):
			kind = 4
		}
		sum := crc32.Checksum(append([]byte{kind}, e[:n]...), crc32.MakeTable(crc32.Castagnoli))
		sum = (sum>>15 | sum<<17) + 0xa282ead8
		out = binary.LittleEndian.AppendUint32(out, sum)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = append(append(out, kind), e[:n]...)
		e = e[n:]
	}
	return out
}

// Application is the directory of an application of many stores and files, all
// hard links to one file.
func Application(tb testing.TB, stores, files int) string {
	tb.Helper()
	_, app := lsmtest.Unpack(tb, "4.0.2-papi-alos")
	src := filepath.Join(app, "0_0", "rocksdb", "ts-kv")
	v, err := lsm.ReadManifest(src)
	if err != nil {
		tb.Fatal(err)
	}
	fam, ok := v.Family("keyValueWithTimestamp")
	if !ok || len(fam.Files) != 1 {
		tb.Fatalf("%s has other files than expected: %v", src, fam)
	}
	text := manifest(fam.Files[0], files)
	options, err := filepath.Glob(filepath.Join(src, "OPTIONS-*"))
	if err != nil || len(options) == 0 {
		tb.Fatalf("no OPTIONS: %v", err)
	}
	root := filepath.Join(tb.TempDir(), "big")
	for i := range stores {
		dir := filepath.Join(root, fmt.Sprintf("0_%d", i/10), "rocksdb", fmt.Sprintf("store-%d", i%10))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		for j := range files {
			if err := os.Link(v.Path(fam.Files[0]), filepath.Join(dir, fmt.Sprintf("%06d.sst", 10+j))); err != nil {
				tb.Fatal(err)
			}
		}
		for name, b := range map[string][]byte{"MANIFEST-000005": text, "CURRENT": []byte("MANIFEST-000005\n")} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				tb.Fatal(err)
			}
		}
		if err := os.Link(options[0], filepath.Join(dir, filepath.Base(options[0]))); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}
