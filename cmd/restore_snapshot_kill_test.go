package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// TestRestoreSnapshotKilled kills the program itself with -9 while it pulls, while
// it replays the tail, and at random moments: whatever is in place is whole, the
// same command again ends with the rows of a full restore, and what had been pulled
// is not pulled again.
func TestRestoreSnapshotKilled(t *testing.T) {
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	k := newSnapshotKill(t, "")
	t.Run("during the pull", k.duringPull)
	t.Run("during the tail", k.duringTail)
	t.Run("anywhere", k.anywhere)
}

type snapshotKill struct {
	*testing.T // of the whole test
	w          *kafkatest.Cluster
	dir        string
	bucket     string // its URL
	exe        string
	want       map[string]string // of a full restore, by task and store
	ends       streams.Checkpoint
	fetched    int64         // by a run that nobody stops
	whole      time.Duration // that it takes
}

// produce writes n records to every partition of both changelogs; the values
// cannot be compressed.
func (k *snapshotKill) produce(seed uint64, n int) {
	r := rand.New(rand.NewPCG(seed, 1))
	for _, store := range []string{"a", "b"} {
		var recs []kafkatest.Record
		for i := range 2 * n {
			value := make([]byte, 250)
			for j := range value {
				value[j] = byte(r.Uint32())
			}
			if i%19 == 3 {
				value = nil
			}
			recs = append(recs, kafkatest.Record{Partition: int32(i % 2), Timestamp: 1_700_000_000_000 + int64(i), Key: fmt.Appendf(nil, "key-%d", r.IntN(9000)), Value: value})
		}
		if err := k.w.ProduceAll(k.Context(), streams.ChangelogTopic("app", store), recs...); err != nil {
			k.Fatal(err)
		}
	}
}

// newSnapshotKill makes an application, a snapshot of it at the URL ("" is a
// directory), and what came later.
func newSnapshotKill(t *testing.T, bucket string) *snapshotKill {
	k := &snapshotKill{T: t, dir: t.TempDir(), bucket: bucket}
	if bucket == "" {
		k.bucket = "file://" + filepath.Join(k.dir, "bucket")
	}
	var err error
	if k.exe, err = os.Executable(); err != nil { // it is sstool as well, see TestMain
		t.Fatal(err)
	}
	if k.w, err = kafkatest.Start(kafkatest.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.w.Close)
	spec := "application-id: app\nprocessing-guarantee: at_least_once\nkafka-version: \"4.0\"\nstores:\n"
	for _, store := range []string{"a", "b"} {
		if err := k.w.Topic(streams.ChangelogTopic("app", store), 2, "cleanup.policy", "compact"); err != nil {
			t.Fatal(err)
		}
		spec += "  - {name: " + store + ", kind: timestamped-kv, subtopology: 0}\n"
	}
	if err := os.WriteFile(filepath.Join(k.dir, "spec.yaml"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	k.produce(1, 3000)
	old := filepath.Join(k.dir, "old")
	k.sstool(t, "restore", "--into", old, "--spec", filepath.Join(k.dir, "spec.yaml"))
	k.sstool(t, "snapshot", "push", k.bucket, "--state-dir", old, "--application-id", "app")
	k.produce(2, 300)
	full := filepath.Join(k.dir, "full")
	k.sstool(t, "restore", "--into", full, "--spec", filepath.Join(k.dir, "spec.yaml"))
	k.want, k.ends = k.state(t, full)
	if len(k.want) != 4 || len(k.ends) != 4 {
		t.Fatalf("a full restore gives %v and %v", k.want, k.ends)
	}
	start, into := time.Now(), filepath.Join(k.dir, "whole")
	k.fetched = k.complete(t, into)
	k.whole = time.Since(start)
	return k
}

// command is the restore that gets killed.
func (k *snapshotKill) command(into string, more ...string) *exec.Cmd {
	return k.program(append([]string{"restore", "--into", into, "--spec", filepath.Join(k.dir, "spec.yaml"), "--from-snapshot", k.bucket, "-o", "json"}, more...)...)
}

func (k *snapshotKill) program(args ...string) *exec.Cmd {
	cmd := exec.Command(k.exe, append(args, "--bootstrap-server", k.w.Addrs()[0])...)
	cmd.Args[0] = "sstool"
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+k.dir)
	return cmd
}

func (k *snapshotKill) sstool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := k.program(args...).CombinedOutput(); err != nil {
		t.Fatalf("sstool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// complete runs the command to its end: the rows are those of a full restore,
// and every store came from the snapshot. It returns what was downloaded.
func (k *snapshotKill) complete(t *testing.T, into string, more ...string) int64 {
	t.Helper()
	cmd := k.command(into, more...)
	var diag strings.Builder
	cmd.Stderr = &diag
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, diag.String())
	}
	var doc fromSnapshotDoc
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Snapshot.Stores {
		if s.InFull != "" {
			t.Errorf("store %s in full: %s", s.Store, s.InFull)
		}
	}
	rows, offsets := k.state(t, into)
	if fmt.Sprint(rows) != fmt.Sprint(k.want) || fmt.Sprint(offsets) != fmt.Sprint(k.ends) {
		t.Errorf("rows %v, offsets %v, wanted %v and %v", rows, offsets, k.want, k.ends)
	}
	for _, gone := range []string{"pull/app", "build-app", "journal-app.json"} {
		if _, err := os.Lstat(filepath.Join(into, ".sstool", gone)); err == nil {
			t.Errorf("%s is left", gone)
		}
	}
	return doc.Snapshot.Fetched
}

// state is a hash of the rows of each store in place, and the offsets.
func (k *snapshotKill) state(t *testing.T, into string) (map[string]string, streams.Checkpoint) {
	t.Helper()
	rows, offsets := map[string]string{}, streams.Checkpoint{}
	dbs, err := filepath.Glob(filepath.Join(into, "app", "*_*", "rocksdb", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range dbs {
		h := sha256.New()
		if err := lsm.Rows(db, streams.TimestampFamily, func(key, value []byte) error {
			_, err := fmt.Fprintf(h, "%x %x\n", key, value)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		task := filepath.Dir(filepath.Dir(db))
		rows[filepath.Base(task)+" "+filepath.Base(db)] = fmt.Sprintf("%x", h.Sum(nil))[:12]
		cp, err := streams.ReadCheckpoint(filepath.Join(task, streams.CheckpointFile))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for at, off := range cp {
			offsets[at] = off
		}
	}
	return rows, offsets
}

// honest looks at what a killed run has left in place: an offset never without
// the rows up to it.
func (k *snapshotKill) honest(t *testing.T, into string) {
	t.Helper()
	rows, offsets := k.state(t, into)
	for at, off := range offsets {
		store := fmt.Sprintf("0_%d %s", at.Partition, strings.TrimSuffix(strings.TrimPrefix(at.Topic, "app-"), "-changelog"))
		if off != k.ends[at] || rows[store] != k.want[store] {
			t.Errorf("after the kill the offset of %s is %d of %d, its rows %s, wanted %s", at, off, k.ends[at], rows[store], k.want[store])
		}
	}
}

// pulled are the sizes of the files that have arrived, by path.
func (k *snapshotKill) pulled(into string) map[string]int64 {
	out := map[string]int64{}
	root := filepath.Join(into, ".sstool", "pull")
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".part") {
			return nil
		}
		if i, err := d.Info(); err == nil {
			out[path] = i.Size()
		}
		return nil
	})
	return out
}

func size(files map[string]int64) (n int64) {
	for _, s := range files {
		n += s
	}
	return n
}

func (k *snapshotKill) duringPull(t *testing.T) {
	into := filepath.Join(k.dir, "pull")
	var last int64
	for range 2 { // the second run goes on, and is killed too
		cmd := k.command(into, "--limit", "300KB", "--parallel", "1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); size(k.pulled(into)) < last+200_000 && time.Now().Before(deadline); {
			time.Sleep(2 * time.Millisecond)
		}
		cmd.Process.Kill()
		if cmd.Wait() == nil {
			t.Fatal("it was not killed in time")
		}
		k.honest(t, into)
		got := size(k.pulled(into))
		if got <= last || got >= k.fetched {
			t.Fatalf("killed with %d bytes pulled, before it were %d, in all there are %d", got, last, k.fetched)
		}
		last = got
	}
	if n := k.complete(t, into); n != k.fetched-last {
		t.Errorf("%d bytes were downloaded: of %d there were %d", n, k.fetched, last)
	}
}

func (k *snapshotKill) duringTail(t *testing.T) {
	into := filepath.Join(k.dir, "tail")
	cmd := k.command(into, "--threads", "1")
	tail, killed, reached := make(chan bool), make(chan bool), false
	k.w.FailFetches(func() bool {
		// A store is being built from what was pulled: this fetch is of its tail.
		if built, _ := filepath.Glob(filepath.Join(into, ".sstool", "build-app", "*", "rocksdb", "*", "CURRENT")); len(built) > 0 && !reached {
			reached = true
			close(tail)
			<-killed
		}
		return false
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-tail:
	case <-time.After(time.Minute):
		t.Error("it does not get to the tail")
	}
	cmd.Process.Kill()
	err := cmd.Wait()
	close(killed)
	if err == nil {
		t.Fatal("it was not killed in time")
	}
	k.honest(t, into)
	if got := size(k.pulled(into)); got != k.fetched {
		t.Fatalf("%d of %d bytes were pulled", got, k.fetched)
	}
	if n := k.complete(t, into); n != 0 {
		t.Errorf("%d bytes were downloaded again", n)
	}
}

func (k *snapshotKill) anywhere(t *testing.T) {
	kills, done := 6, map[string]int{}
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		kills = 60
	}
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for i := range kills {
		into := filepath.Join(k.dir, fmt.Sprint("any-", i))
		for range 1 + r.IntN(2) { // some are killed more than once
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Float64()*1.1*float64(k.whole)))
			cmd := k.command(into)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
			err := cmd.Wait()
			stop()
			if err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
			cancel()
			k.honest(t, into)
		}
		rows, _ := k.state(t, into)
		done[fmt.Sprintf("%d stores in place, %d files pulled", len(rows), len(k.pulled(into)))]++
		k.complete(t, into)
	}
	t.Logf("a whole run takes %s; killed ones left %v", k.whole.Round(time.Millisecond), done)
}
