//go:build cgo

package migrate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/applock"
	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// Compacting real directories of every version keeps every row of every family
// and drops every tombstone, and what it writes is what the target reads.
func TestCompactKeepsRows(t *testing.T) {
	for i, name := range lsmtest.Names(t) {
		s := fixture(t, name)
		o := CompactOptions{Stores: []CompactStore{s}}
		checksum := "kCRC32c"
		if i%2 == 1 {
			o.Target, checksum = streams.Version{Major: 4}, "kXXH3"
		}
		before := map[string]string{}
		for _, dir := range s.Databases {
			before[dir] = rowsOf(t, dir)
		}
		p, err := PlanCompact(t.Context(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		r, err := p.Apply(t.Context(), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if r.After.Tombstones != 0 || r.After.RangeTombstones != 0 || r.After.Files == 0 || r.After.Files > r.Before.Files {
			t.Errorf("%s: before %+v, after %+v", name, r.Before, r.After)
		}
		for _, dir := range s.Databases {
			if after := rowsOf(t, dir); after != before[dir] {
				t.Errorf("%s: %s: %s, was %s", name, dir, after, before[dir])
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				table, err := lsm.OpenTableFile(f)
				if err != nil {
					t.Fatal(err)
				}
				if info := table.Info(); info.FormatVersion != 5 || info.Checksum != checksum {
					t.Errorf("%s: format %d, checksum %s", f, info.FormatVersion, info.Checksum)
				}
				table.Close()
			}
		}
	}
}

// busy makes a store with superseded rows and tombstones in several files.
func busy(t testing.TB, rows int) CompactStore {
	t.Helper()
	app := filepath.Join(t.TempDir(), "app")
	dir := filepath.Join(app, "0_0", "rocksdb", "store")
	db, err := rocks.Create(dir, rocks.Options{Families: []string{"default", streams.TimestampFamily}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for round := range 3 {
		b := db.Batch()
		for i := range rows {
			key := fmt.Appendf(nil, "key-%07d", i)
			if round == 2 && i%3 == 0 {
				b.Delete(1, key)
			} else {
				b.Put(1, key, fmt.Appendf(nil, "value %d %s", round, strings.Repeat("x", i%200)))
			}
		}
		if err := db.Write(b); err != nil {
			t.Fatal(err)
		}
		b.Close()
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return CompactStore{ApplicationID: "app", AppDir: app, Task: "0_0", Name: "store", Databases: []string{dir}}
}

func TestCompactShrinks(t *testing.T) {
	s := busy(t, 30_000)
	dir := s.Databases[0]
	before := rowsOf(t, dir)
	p, err := PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Before.Tombstones != 10_000 || p.Before.Entries != 90_000 {
		t.Errorf("before: %+v", p.Before)
	}
	var items int
	r, err := p.Apply(t.Context(), func(e op.Event) {
		if e.Type == op.Item {
			items++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.After.Tombstones != 0 || r.After.Entries != 20_000 || r.After.Bytes >= r.Before.Bytes/2 || items != 1 {
		t.Errorf("before %+v, after %+v, %d items", r.Before, r.After, items)
	}
	if after := rowsOf(t, dir); after != before {
		t.Errorf("%s, was %s", after, before)
	}
	if _, err := os.Stat(filepath.Join(s.AppDir, streams.LockFile)); err != nil {
		t.Error("the lock was not held:", err)
	}
	// Again: nothing to gain, nothing lost.
	if p, err = PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}}); err != nil {
		t.Fatal(err)
	}
	if r, err = p.Apply(t.Context(), nil); err != nil || r.After.Entries != 20_000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A compression that the application configures stays.
func TestCompactKeepsCompression(t *testing.T) {
	s := busy(t, 1000)
	db, err := rocks.Open(s.Databases[0], rocks.Options{Compression: "kLZ4Compression"})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	p, err := PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(s.Databases[0], "*.sst"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	table, err := lsm.OpenTableFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if c := table.Info().Compression; c != "LZ4" {
		t.Errorf("compression %q", c)
	}
}

func TestCompactRefuses(t *testing.T) {
	if dir := os.Getenv("COMPACT_TEST_HOLD"); dir != "" {
		if _, err := applock.Hold(dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		time.Sleep(10 * time.Minute) // until it is killed
		return
	}
	s := busy(t, 1000)
	plan := func() *CompactPlan {
		p, err := PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// Another process runs on the directory.
	p := plan()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCompactRefuses$")
	cmd.Env = append(os.Environ(), "COMPACT_TEST_HOLD="+s.AppDir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, s.Databases[0])
	if _, err := p.Apply(t.Context(), nil); op.KindOf(err) != op.InUse || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
		t.Errorf("while it is held: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if treeOf(t, s.Databases[0]) != before {
		t.Error("something was changed while the lock was held by another")
	}
	// It was asked to stop.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := p.Apply(ctx, nil)
	if op.KindOf(err) != op.Declined || r == nil || r.After != r.Before {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
	// The application has run since the plan was made.
	db, err := rocks.Open(s.Databases[0], rocks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := db.Batch()
	b.Put(1, []byte("new"), []byte("row"))
	if err := db.Write(b); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := p.Apply(t.Context(), nil); op.KindOf(err) != op.Precondition {
		t.Errorf("stale: %v", err)
	}
	if _, err := plan().Apply(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A compaction that is killed at any moment leaves a whole store with the same
// rows, and the next one completes.
func TestCompactKilled(t *testing.T) {
	if dir := os.Getenv("COMPACT_TEST_RUN"); dir != "" {
		s := CompactStore{ApplicationID: "app", AppDir: dir, Task: "0_0", Name: "store", Databases: []string{filepath.Join(dir, "0_0", "rocksdb", "store")}}
		p, err := PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 { // until it is killed
			fmt.Println("compacting")
			if _, err := p.Apply(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if p, err = PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	s := busy(t, 60_000)
	want := rowsOf(t, s.Databases[0])
	for i := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCompactKilled$")
		cmd.Env = append(os.Environ(), "COMPACT_TEST_RUN="+s.AppDir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*i*15) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if got := rowsOf(t, s.Databases[0]); got != want {
			t.Fatalf("killed after %d ms: %s, was %s", i*i*15, got, want)
		}
	}
	p, err := PlanCompact(t.Context(), CompactOptions{Stores: []CompactStore{s}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Apply(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, s.Databases[0]); got != want || r.After.Tombstones != 0 || r.After.Files != 1 {
		t.Errorf("%s, was %s; after %+v", got, want, r.After)
	}
}
