//go:build cgo && !race

package verify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// TestMemory: a comparison takes no more memory than it may, whatever the sizes.
// SSTOOL_VERIFY_ROWS makes it a measurement.
func TestMemory(t *testing.T) {
	if dir := os.Getenv("SSTOOL_MEMORY_DIR"); dir != "" {
		verifyAlone(dir)
		return
	}
	rows, memory, most := 300_000, 24<<20, int64(112<<20)
	if n, err := strconv.Atoi(os.Getenv("SSTOOL_VERIFY_ROWS")); err == nil {
		rows, memory, most = n, 0, 256<<20
	}
	k, c := open1(t)
	dir := t.TempDir()
	task := streams.TaskDir(dir, appID, "", streams.TaskID{})
	s := streams.Store{Name: "st", Kind: streams.TimestampedKV}
	topic := streams.ChangelogTopic(appID, "st")
	must(t, k.Topic(topic, 1, "cleanup.policy", "compact"))
	must(t, mkdirs(filepath.Join(task, streams.RocksDir)))
	db, err := rocks.Create(streams.DatabaseDir(task, s, 0), rocks.Options{Families: s.ColumnFamilies(), Bulk: true})
	must(t, err)
	b := db.Batch()
	must(t, k.Produce(t.Context(), topic, "", func(yield func(*kafkatest.Record) bool) {
		var row []byte
		for i := range rows {
			r := kafkatest.Record{Key: fmt.Appendf(nil, "%08x key %d", uint32(i)*0x9e3779b1, i), Value: fmt.Appendf(nil, "the value of row %d, and some more", i), Timestamp: modelStart + int64(i)}
			row = append(streams.EncodeOffset(r.Timestamp), r.Value...)
			b.Put(1, r.Key, row)
			if b.Count() == 5000 {
				must(t, db.Write(b))
			}
			if !yield(&r) {
				return
			}
		}
	}))
	must(t, db.Write(b))
	b.Close()
	must(t, db.Flush())
	must(t, db.Close())
	cp := streams.Checkpoint{{Topic: topic}: int64(rows) - 1}
	must(t, cp.Write(filepath.Join(task, streams.CheckpointFile)))

	begun := time.Now()
	_, n, err := c.RawConsume(t.Context(), topic)
	must(t, err)
	raw := time.Since(begun)
	begun = time.Now()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$")
	cmd.Env = append(os.Environ(), "SSTOOL_MEMORY_DIR="+filepath.Join(dir, appID), "SSTOOL_MEMORY_BROKER="+k.Addrs()[0], fmt.Sprint("SSTOOL_MEMORY_BUDGET=", memory), "GOGC=50")
	out, err := cmd.CombinedOutput()
	took := time.Since(begun)
	var same, peak int64
	if _, serr := fmt.Sscanf(string(out), "same %d, peak %d KiB, error <nil>", &same, &peak); err != nil || serr != nil || same != int64(rows) || n != same {
		t.Fatalf("%v, want %d rows:\n%s", err, rows, out)
	}
	t.Logf("%d rows: %d MiB; %.1f s, a raw consume %.1f s", rows, peak>>10, took.Seconds(), raw.Seconds())
	if peak<<10 > most {
		t.Errorf("it took %d MiB", peak>>10)
	}
}

func verifyAlone(dir string) {
	ctx := context.Background()
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{os.Getenv("SSTOOL_MEMORY_BROKER")}})
	res := &Result{}
	if err == nil {
		defer c.Close()
		budget, _ := strconv.ParseInt(os.Getenv("SSTOOL_MEMORY_BUDGET"), 10, 64)
		res, err = Changelog(ctx, c, Options{Rows: inspect.RowsOptions{Path: dir}, Memory: budget}, nil)
	}
	if err == nil && res.Total.Findings()+res.Total.Unverifiable+res.Total.Ahead > 0 {
		err = fmt.Errorf("%+v", res.Total)
	}
	status, _ := os.ReadFile("/proc/self/status")
	peak := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1]
	same := int64(0)
	if res != nil {
		same = res.Total.Same
	}
	fmt.Printf("same %d, peak %s KiB, error %v\n", same, peak, err)
}
