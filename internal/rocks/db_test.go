//go:build cgo

package rocks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sstool/internal/op"
)

func create(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Create(filepath.Join(t.TempDir(), "rocksdb", "store"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t testing.TB, db *DB, family int) map[string]string {
	t.Helper()
	rows := map[string]string{}
	last := []byte(nil)
	must(t, db.Iterate(family, func(k, v []byte) error {
		if last != nil && bytes.Compare(last, k) >= 0 {
			t.Errorf("key %q after %q", k, last)
		}
		last = append([]byte{}, k...)
		rows[string(k)] = string(v)
		return nil
	}))
	return rows
}

func TestWriteReadReopen(t *testing.T) {
	db := create(t, Options{Families: []string{DefaultFamily, "keyValueWithTimestamp"}})
	b := db.Batch()
	defer b.Close()
	b.Put(0, []byte("a"), []byte("1"))
	b.Put(1, []byte("a"), []byte{})
	b.Put(1, []byte("b"), []byte("2"))
	b.Put(1, []byte(""), nil)
	if b.Count() != 4 || b.Bytes() == 0 {
		t.Errorf("count %d, bytes %d", b.Count(), b.Bytes())
	}
	must(t, db.Write(b))
	if b.Count() != 0 {
		t.Errorf("count %d after Write", b.Count())
	}
	must(t, db.Write(b)) // an empty batch is nothing to do
	b.Delete(1, []byte("b"))
	b.Put(1, []byte("c"), []byte("3"))
	must(t, db.Write(b))

	want := []map[string]string{{"a": "1"}, {"": "", "a": "", "c": "3"}}
	check := func(db *DB) {
		t.Helper()
		for f, w := range want {
			if got := rowsOf(t, db, f); !reflect.DeepEqual(got, w) {
				t.Errorf("family %d: %v, want %v", f, got, w)
			}
		}
		if v, ok, err := db.Get(1, []byte("a")); err != nil || !ok || v == nil || len(v) != 0 {
			t.Errorf("empty value: %v %v %v", v, ok, err)
		}
		if v, ok, err := db.Get(1, []byte("b")); err != nil || ok || v != nil {
			t.Errorf("deleted: %v %v %v", v, ok, err)
		}
	}
	check(db)
	must(t, db.Flush())
	wal, _ := filepath.Glob(filepath.Join(db.Dir(), "*.log"))
	for _, f := range wal {
		if st, err := os.Stat(f); err != nil || st.Size() != 0 {
			t.Errorf("%s: %d bytes, %v: the WAL is off", f, st.Size(), err)
		}
	}
	must(t, db.Close())
	must(t, db.Close())

	db, err := Open(db.Dir(), Options{})
	must(t, err)
	defer db.Close()
	if got := db.Families(); !reflect.DeepEqual(got, []string{"default", "keyValueWithTimestamp"}) {
		t.Errorf("families %q", got)
	}
	check(db)
	must(t, db.CompactRange())
	must(t, db.WaitForCompact())
	check(db)
}

func TestOpenAddsAndReordersFamilies(t *testing.T) {
	db := create(t, Options{Families: []string{DefaultFamily, "old"}})
	b := db.Batch()
	b.Put(1, []byte("k"), []byte("in old"))
	must(t, db.Write(b))
	b.Close()
	must(t, db.Flush())
	must(t, db.Close())

	db, err := Open(db.Dir(), Options{Families: []string{"new", DefaultFamily}})
	must(t, err)
	if got := db.Families(); !reflect.DeepEqual(got, []string{"new", "default", "old"}) {
		t.Errorf("families %q", got)
	}
	if got := rowsOf(t, db, 2); got["k"] != "in old" {
		t.Errorf("rows of old: %v", got)
	}
	must(t, db.Close())
	names, err := Families(db.Dir())
	if err != nil || !reflect.DeepEqual(names, []string{"default", "old", "new"}) {
		t.Errorf("Families: %q, %v", names, err)
	}
}

func TestPlacesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); op.KindOf(err) != op.NotFound {
		t.Errorf("no store: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Options{}); op.KindOf(err) != op.NotFound {
		t.Errorf("no folder: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("Open left %v behind", entries)
	}
	db := create(t, Options{})
	must(t, db.Close())
	if _, err := Create(db.Dir(), Options{}); op.KindOf(err) != op.Precondition {
		t.Errorf("create twice: %v", err)
	}
	// The MANIFEST is a log of checksummed records: zeros are not.
	manifests, _ := filepath.Glob(filepath.Join(db.Dir(), "MANIFEST-*"))
	must(t, os.WriteFile(manifests[0], bytes.Repeat([]byte{7}, 4096), 0o600))
	if _, err := Open(db.Dir(), Options{}); op.KindOf(err) != op.Corrupt {
		t.Errorf("damaged MANIFEST: kind %v: %v", op.KindOf(err), err)
	}
}

func TestCorruptBlockIsCorrupt(t *testing.T) {
	db := create(t, Options{})
	b := db.Batch()
	for i := range 1000 {
		b.Put(0, []byte(strconv.Itoa(i)), bytes.Repeat([]byte("x"), 100))
	}
	must(t, db.Write(b))
	b.Close()
	must(t, db.Flush())
	must(t, db.Close())
	ssts, _ := filepath.Glob(filepath.Join(db.Dir(), "*.sst"))
	data, err := os.ReadFile(ssts[0])
	must(t, err)
	data[100] ^= 1
	must(t, os.WriteFile(ssts[0], data, 0o600))
	db, err = Open(db.Dir(), Options{})
	must(t, err)
	defer db.Close()
	if err := db.Iterate(0, func(_, _ []byte) error { return nil }); op.KindOf(err) != op.Corrupt {
		t.Errorf("kind %v: %v", op.KindOf(err), err)
	}
}

// TestLockedByAnother holds the store in a process of its own: RocksDB's locks
// are per process.
func TestLockedByAnother(t *testing.T) {
	const env = "SSTOOL_TEST_HOLD"
	if dir := os.Getenv(env); dir != "" {
		db, err := Open(dir, Options{})
		fmt.Println("holding", err)
		os.Stdin.Read(make([]byte, 1))
		if err == nil {
			db.Close()
		}
		return
	}
	db := create(t, Options{})
	_, err := Open(db.Dir(), Options{})
	if op.KindOf(err) != op.InUse || !strings.Contains(err.Error(), "this process") {
		t.Errorf("opened twice: kind %v: %v", op.KindOf(err), err)
	}
	must(t, db.Close())

	cmd := exec.Command(os.Args[0], "-test.run=^TestLockedByAnother$")
	cmd.Env = append(os.Environ(), env+"="+db.Dir())
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line := make([]byte, 64)
	n, _ := out.Read(line)
	if got := string(line[:n]); !strings.HasPrefix(got, "holding <nil>") {
		t.Fatalf("other process: %q", got)
	}
	_, err = Open(db.Dir(), Options{})
	if op.KindOf(err) != op.InUse || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d", cmd.Process.Pid)) {
		t.Errorf("kind %v: %v", op.KindOf(err), err)
	}
	in.Close()
	cmd.Wait()
	db, err = Open(db.Dir(), Options{})
	must(t, err)
	db.Close()
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	db := create(t, Options{})
	b := db.Batch()
	b.Put(0, []byte("k"), nil)
	must(t, db.Close())
	_, errStall := db.StallTime()
	_, _, errGet := db.Get(0, nil)
	for name, err := range map[string]error{
		"Write": db.Write(b), "Flush": db.Flush(), "StallTime": errStall, "Get": errGet, "CompactRange": db.CompactRange(),
		"WaitForCompact": db.WaitForCompact(), "Iterate": db.Iterate(0, nil), "Ingest": db.Ingest(0, []string{"x"}),
	} {
		if err == nil || !strings.Contains(err.Error(), "is closed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Close()
	b.Close()
	b.Put(0, nil, nil)
	if err := db.Write(b); err == nil {
		t.Error("a closed batch was written")
	}
}

func TestWrongFamilyIsAnError(t *testing.T) {
	db := create(t, Options{})
	for _, f := range []int{-1, 1} {
		b := db.Batch()
		b.Put(f, []byte("k"), nil)
		b.Put(0, []byte("k"), nil)
		_, _, errGet := db.Get(f, nil)
		for _, err := range []error{db.Write(b), errGet, db.Iterate(f, nil), db.Ingest(f, nil)} {
			if err == nil || !strings.Contains(err.Error(), "no column family number") {
				t.Errorf("family %d: %v", f, err)
			}
		}
		b.Close()
	}
}

func TestIterateStops(t *testing.T) {
	db := create(t, Options{})
	b := db.Batch()
	defer b.Close()
	b.Put(0, []byte("a"), nil)
	b.Put(0, []byte("b"), nil)
	must(t, db.Write(b))
	stop, n := errors.New("stop"), 0
	if err := db.Iterate(0, func(_, _ []byte) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%v after %d rows", err, n)
	}
}

func TestStallTime(t *testing.T) {
	db := create(t, Options{})
	if d, err := db.StallTime(); err != nil || d != 0 {
		t.Errorf("fresh store: %v, %v", d, err)
	}
}

func TestVersion(t *testing.T) {
	v := Version()
	if v == "" || v != versionFromOptions() {
		t.Errorf("Version() = %q, OPTIONS file says %q", v, versionFromOptions())
	}
}

// TestNoLeak opens and closes often: a handle that is not freed costs at least
// its memtable (1 MB each).
func TestNoLeak(t *testing.T) {
	const rounds = 1000
	// In memory where that is possible: this is about handles, and the syncs
	// of a thousand stores take a minute on a disk.
	tmp, err := os.MkdirTemp("/dev/shm", "sstool-rocks-")
	if err != nil {
		tmp = t.TempDir()
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "s")
	db, err := Create(dir, Options{Families: []string{DefaultFamily, "other"}})
	must(t, err)
	must(t, db.Close())
	sst := filepath.Join(tmp, "1.sst")
	round := func(i int) {
		db, err := Open(dir, Options{})
		must(t, err)
		b := db.Batch()
		b.Put(1, []byte("k"), []byte("v"))
		must(t, db.Write(b))
		b.Close()
		_, _, err = db.Get(1, []byte("k"))
		must(t, err)
		must(t, db.Iterate(1, func(_, _ []byte) error { return nil }))
		must(t, db.Close())
		w, err := NewSSTWriter(sst)
		must(t, err)
		must(t, w.Put([]byte("k"), []byte("v")))
		if i%2 == 0 {
			w.Abandon()
		} else if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		round(i)
	}
	before := rss(t)
	for i := range rounds {
		round(i)
	}
	if grown := rss(t) - before; grown > 32<<20 {
		t.Errorf("%d rounds grew the process by %d MB", rounds, grown>>20)
	}
}

func rss(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("resident memory is read from /proc, which this system lacks")
	}
	n, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	must(t, err)
	return n * int64(os.Getpagesize())
}

// A checkpoint holds what was written, flushed or not, and nothing that came
// later; SST files are the same files.
func TestCheckpoint(t *testing.T) {
	db := create(t, Options{Families: []string{DefaultFamily, "keyValueWithTimestamp"}})
	b := db.Batch()
	defer b.Close()
	write := func(key string) {
		t.Helper()
		b.Put(1, []byte(key), []byte("v"))
		must(t, db.Write(b))
	}
	write("a")
	must(t, db.Flush())
	write("b")
	dir := filepath.Join(filepath.Dir(db.Dir()), "copy")
	must(t, db.Checkpoint(dir))
	write("c")
	must(t, db.Flush())
	must(t, db.CompactRange())
	if err := db.Checkpoint(dir); err == nil {
		t.Error("into a directory that is there")
	}
	copied, err := Open(dir, Options{Families: []string{DefaultFamily, "keyValueWithTimestamp"}})
	must(t, err)
	defer copied.Close()
	if got := rowsOf(t, copied, 1); !reflect.DeepEqual(got, map[string]string{"a": "v", "b": "v"}) {
		t.Errorf("%v", got)
	}
	must(t, db.Close())
	if err := db.Checkpoint(dir + "2"); err == nil {
		t.Error("of a closed store")
	}
}
