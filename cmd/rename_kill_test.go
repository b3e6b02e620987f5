package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/streams"
	"sstool/migrate"
)

// TestRenameKilled kills the program itself at random moments of a rename, with
// -9: whatever it was doing, the old topic and directory are as they were, and
// the same command ends in the same state as without the kill.
func TestRenameKilled(t *testing.T) {
	kills := 4
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		kills = 50
	}
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	exe, err := os.Executable() // it is sstool as well, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	w, err := kafkatest.Start(kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: w.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const old = "app-st-changelog"
	if err := w.Topic(old, 2, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	recs := make([]kafkatest.Record, 0, 40_000)
	for i := range cap(recs) {
		r := kafkatest.Record{Partition: int32(i % 2), Timestamp: 1_700_000_000_000 + int64(i), Key: fmt.Appendf(nil, "key-%d", i%15_000)}
		if i%9 != 0 {
			r.Value = fmt.Appendf(nil, "%d-%s", i, strings.Repeat("x", 200))
		}
		recs = append(recs, r)
	}
	if err := w.ProduceAll(t.Context(), old, recs...); err != nil {
		t.Fatal(err)
	}
	want := recordsOf(t, c, old)
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	sstool := func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, exe, append(args, "--bootstrap-server", w.Addrs()[0], "--application-id", "app")...)
		cmd.Args[0] = "sstool"
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := sstool(t.Context(), "restore", "--into", state, "--store", "st", "--kind", "timestamped-kv", "--subtopology", "0", "--target-kafka", "4.0", "--processing-guarantee", "at_least_once"); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, filepath.Join(state, "app", "0_0", "rocksdb", "st"))
	begun := time.Now()
	rename := func(ctx context.Context, name string) error {
		return sstool(ctx, "rename", "st", name, "--state-dir", state, "--yes")
	}
	if err := rename(t.Context(), "whole"); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begun)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	done := map[string]int{}
	for i := range kills {
		name := fmt.Sprint("new-", i)
		for again := range 1 + r.IntN(3) { // some are killed more than once
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Float64()*1.1*float64(whole)))
			err := rename(ctx, name)
			cancel()
			if err != nil && ctx.Err() == nil {
				t.Fatalf("kill %d, run %d: %v", i, again, err)
			}
			if got := recordsOf(t, c, old); !reflect.DeepEqual(got, want) {
				t.Fatalf("kill %d: the old topic has changed", i)
			}
			if now := filesBelow(t, filepath.Join(state, "app", "0_0", "rocksdb", "st")); !reflect.DeepEqual(now, before) {
				t.Fatalf("kill %d: the old directory has changed: %v, was %v", i, now, before)
			}
		}
		files, _ := filepath.Glob(filepath.Join(state, ".sstool", "rename-*.json"))
		steps := 0
		for _, f := range files {
			if m, err := migrate.ReadMigration(f); err == nil && m.Moves[0].NewStore == name {
				steps = len(m.Done)
			}
		}
		done[fmt.Sprint(steps, " steps")]++
		if err := rename(t.Context(), name); err != nil {
			t.Fatalf("kill %d, after it: %v", i, err)
		}
		topic := streams.ChangelogTopic("app", name)
		if got := recordsOf(t, c, topic); !reflect.DeepEqual(got, want) {
			t.Fatalf("kill %d: the copy differs", i)
		}
		for task := range 2 {
			dir := filepath.Join(state, "app", fmt.Sprint("0_", task))
			cp, err := streams.ReadCheckpoint(filepath.Join(dir, streams.CheckpointFile))
			if last := cp[streams.TopicPartition{Topic: topic, Partition: int32(task)}]; err != nil || last != int64(len(want[task]))-1 {
				t.Fatalf("kill %d: the checkpoint of the copy is %d, %d records were copied: %v", i, last, len(want[task]), err)
			}
			if !sameFiles(filesBelow(t, filepath.Join(dir, "rocksdb", name)), filesBelow(t, filepath.Join(dir, "rocksdb", "st"))) {
				t.Fatalf("kill %d: the clone of task %d differs", i, task)
			}
		}
	}
	t.Logf("a whole run takes %s; the killed ones were stopped after %v", whole.Round(time.Millisecond), done)
}

// recordsOf are the records of each partition, as a copy must have them.
func recordsOf(t *testing.T, c *kafka.Client, topic string) [][]string {
	t.Helper()
	ends, err := c.Offsets(t.Context(), topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]string, len(ends))
	for p, e := range ends {
		r, err := c.OpenPartition(t.Context(), kafka.ReadOptions{Topic: topic, Partition: p, From: e.Start, To: e.End, ReadCommitted: true})
		if err != nil {
			t.Fatal(err)
		}
		var d kafka.Decoder
		for {
			b, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				_, err = d.Decode(b, func(r *kafka.Record) error {
					out[p] = append(out[p], fmt.Sprintf("%d %x %t %s %x", r.Timestamp, r.Key, r.Value == nil, r.Value, r.Headers))
					return nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	return out
}

// filesBelow are the files below a directory with their sizes.
func filesBelow(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		out[strings.TrimPrefix(path, dir)] = info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameFiles compares the SST files.
func sameFiles(a, b map[string]int64) bool {
	for name, size := range b {
		if strings.HasSuffix(name, ".sst") && a[name] != size {
			return false
		}
	}
	return len(a) > 0
}
