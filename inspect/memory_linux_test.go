//go:build cgo && !race

package inspect

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// maxPeak is what each command may take of memory, for a store of any size.
const maxPeak = 128 << 20

// bigStore makes a store of some 240 MB in several files, a tenth of its rows
// deleted. It returns the number of rows.
func bigStore(t *testing.T, dir string) (rows int64) {
	t.Helper()
	db, err := rocks.Create(dir, rocks.Options{Families: []string{streams.DefaultFamily, streams.TimestampFamily}, Bulk: true})
	if err != nil {
		t.Fatal(err)
	}
	const first, value = 240_000, 1000
	batch := db.Batch()
	write := func(n int) {
		if batch.Count() < n {
			return
		}
		if err := db.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch.Close()
		batch = db.Batch()
	}
	v := make([]byte, 8+value)
	for i := range first {
		for j := 8; j+8 <= len(v); j += 8 {
			binary.LittleEndian.PutUint64(v[j:], uint64(i*j)*0x9e3779b97f4a7c15)
		}
		batch.Put(1, fmt.Appendf(nil, "key-%08d", i), v)
		write(2000)
	}
	write(1)
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range first {
		if i%10 == 0 {
			batch.Delete(1, fmt.Appendf(nil, "key-%08d", i))
		}
	}
	write(1)
	batch.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return first - first/10
}

// memoryTasks are run each in a process of its own, and return how many rows
// they know of: the map and the files know of deleted ones too.
var memoryTasks = map[string]func(ctx context.Context, dir string) (rows int64, err error){
	"map": func(ctx context.Context, dir string) (int64, error) {
		m, err := MapPath(ctx, MapOptions{Path: dir}, nil)
		if err != nil {
			return 0, err
		}
		s := m.Apps[0].Stores[0]
		return s.Entries - s.Deletes, nil
	},
	"sst --verify": func(ctx context.Context, dir string) (int64, error) {
		f, err := InspectSST(ctx, SSTOptions{Select: []Selection{{Path: dir}}, Verify: true, Parallel: 2}, nil)
		if err != nil {
			return 0, err
		}
		return f.Total.Entries - f.Total.Tombstones, nil
	},
	"tombstones": func(ctx context.Context, dir string) (int64, error) {
		x, err := InspectTombstones(ctx, TombstonesOptions{Select: Selection{Path: dir}, Parallel: 2}, nil)
		if err != nil {
			return 0, err
		}
		return x.Total.Entries - *x.Total.ReclaimEntries, nil
	},
	"scan": func(ctx context.Context, dir string) (n int64, err error) {
		r, err := OpenRows(ctx, RowsOptions{Path: dir})
		if err != nil {
			return 0, err
		}
		var buf []byte
		_, err = r.Scan(ctx, RowsScan{}, func(row *Row) error {
			n++
			buf = row.AppendJSON(buf[:0])
			return nil
		})
		return n, err
	},
}

// TestMemory: no command takes more memory for a store that is larger.
func TestMemory(t *testing.T) {
	if name := os.Getenv("SSTOOL_MEMORY_TASK"); name != "" {
		n, err := memoryTasks[name](context.Background(), os.Getenv("SSTOOL_MEMORY_DIR"))
		status, _ := os.ReadFile("/proc/self/status")
		peak := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1] // the parent's counts in what wait tells
		fmt.Printf("rows %d, peak %s KiB, error %v\n", n, peak, err)
		return
	}
	dir := filepath.Join(t.TempDir(), "app", "0_0", "rocksdb", "big")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	want := bigStore(t, dir)
	for name := range memoryTasks {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
		cmd.Env = append(os.Environ(), "SSTOOL_MEMORY_TASK="+name, "SSTOOL_MEMORY_DIR="+dir)
		out, err := cmd.CombinedOutput()
		rows, peak := int64(-1), int64(0)
		_, serr := fmt.Sscanf(string(out), "rows %d, peak %d KiB, error <nil>", &rows, &peak)
		exact := name == "scan" || name == "tombstones"
		if err != nil || serr != nil || rows < want || exact && rows > want {
			t.Errorf("%s: %v, want %d rows:\n%s", name, err, want, out)
			continue
		}
		if peak<<10 > maxPeak {
			t.Errorf("%s took %d MiB, for a store of 240", name, peak>>10)
		}
		t.Logf("%s: %d rows, %d MiB", name, rows, peak>>10)
	}
}
