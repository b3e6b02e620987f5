//go:build cgo

package cmd

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/lsm"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/migrate"
)

// TestMigrateKilledWorld kills the program itself, with -9, at random moments of
// whole migrations of a real application on a real broker. Whatever it was
// doing, all that is old is as it was, and the old version starts on it; the
// same command ends in the same state as a run that nobody killed; abort leaves
// what was there before.
func TestMigrateKilledWorld(t *testing.T) {
	worldtest.Require(t)
	kills, commands := 3, []string{"topology"}
	if worldtest.Full() {
		kills, commands = 17, append(commands, "rename", "application") // 50 together
	}
	b := worldtest.StartBroker(t, worldtest.Options{})
	h := worldtest.Streams(t, worldtest.Newest) // its offsets are in the databases
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, how := range commands {
		t.Run(how, func(t *testing.T) {
			k := killed{t: t, h: h, c: c, v1: worldtest.ProfileNamed("agg").App("killed-"+how, b.Bootstrap, t.TempDir(), false)}
			if _, err := h.Build(t.Context(), k.v1, worldtest.Input{Records: 5000}); err != nil {
				t.Fatal(err)
			}
			k.run(how, kills)
		})
	}
}

// killed is one application and the command that migrates it.
type killed struct {
	t      *testing.T
	h      *worldtest.Harness
	c      *kafka.Client
	v1, v2 worldtest.App
	args   []string
}

func (k *killed) run(how string, kills int) {
	t := k.t
	k.command(how)
	before := k.state()
	begun := time.Now()
	k.must(k.migrate(t.Context()))
	whole := time.Since(begun)
	want := k.state()
	k.still(before, want)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	stopped := map[string]int{}
	for i, done := 0, 0; done < kills; i++ {
		k.abort()
		k.same("aborted", before, k.state())
		for range 1 + r.IntN(2) { // some are killed more than once
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Float64()*1.05*float64(whole)))
			err := k.migrate(ctx)
			if cancel(); err != nil && ctx.Err() == nil {
				t.Fatalf("kill %d: %v", i, err)
			}
			if err != nil {
				done++
			}
			k.still(before, k.state())
		}
		stopped[k.reached()]++
		if i%10 == 0 {
			k.oldStarts()
		}
		k.must(k.migrate(t.Context()))
		k.same("killed and run again", want, k.state())
	}
	t.Logf("a whole run takes %s; %d kills, and runs stopped after %v", whole.Round(time.Millisecond), kills, stopped)
	if how == "rename" {
		return // it gives names that no release of this application has
	}
	if k.v2.Shift > 0 {
		k.must(worldtest.CreateTopic(t.Context(), k.v1.Bootstrap, k.v1.ID+"-extra", 2, nil))
	}
	k.starts(k.v2)
}

// command makes the command line: with the names of a later release, or for
// rename with some that it makes up.
func (k *killed) command(how string) {
	k.v2 = k.v1
	switch how {
	case "rename":
		k.args = []string{"rename", "cnt", "cnt-new", "vtbl", "vtbl-new", "KSTREAM-REDUCE-STATE-STORE-0000000005", "reduced", "--application-id", k.v1.ID}
	case "application":
		k.v2.ID, k.v2.Topics = k.v1.ID+"-v2", k.v1.ID
		k.args = []string{"migrate", "application", k.v1.ID, k.v2.ID}
	case "topology":
		k.v2.Suffix, k.v2.Shift = "-b", 70
		k.args = []string{"migrate", "topology"}
		dir := k.t.TempDir()
		for _, a := range []struct {
			name string
			app  worldtest.App
		}{{"old.txt", k.v1}, {"new.txt", k.v2}} {
			text, err := k.h.Describe(k.t.Context(), a.app)
			k.must(err)
			path := filepath.Join(dir, a.name)
			k.must(os.WriteFile(path, []byte(text), 0o644))
			k.args = append(k.args, path)
		}
		k.args = append(k.args, "--application-id", k.v1.ID)
	}
	k.args = append(k.args, "--state-dir", k.v1.StateDir, "--wait", "1m", "--yes")
}

func (k *killed) migrate(ctx context.Context) error { return k.sstool(ctx, k.args...) }

// abort removes what the migration made.
func (k *killed) abort() {
	k.must(k.sstool(k.t.Context(), "migrate", "abort", k.ledger(), "--state-dir", k.v1.StateDir, "--yes"))
}

// sstool runs the program in a process of its own.
func (k *killed) sstool(ctx context.Context, args ...string) error {
	exe, err := os.Executable() // it is sstool as well, see TestMain
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, append(args, "--bootstrap-server", k.v1.Bootstrap)...)
	cmd.Args[0] = "sstool"
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+k.t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sstool %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (k *killed) ledger() string {
	found, err := filepath.Glob(filepath.Join(k.v1.StateDir, ".sstool", "*-"+k.v1.ID+"-*.json"))
	found = slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(filepath.Base(f), "clone-") })
	if err != nil || len(found) != 1 {
		k.t.Fatalf("migration files %v, %v", found, err)
	}
	return found[0]
}

// reached is how many steps a killed run has done.
func (k *killed) reached() string {
	m, err := migrate.ReadMigration(k.ledger())
	k.must(err)
	if m.Aborted != nil {
		return "0 steps" // it is the one before
	}
	return fmt.Sprint(len(m.Done), " steps")
}

// oldStarts starts the old version on a copy of its directory.
func (k *killed) oldStarts() {
	dir := k.t.TempDir()
	k.must(os.CopyFS(filepath.Join(dir, k.v1.ID), os.DirFS(k.v1.Dir())))
	k.starts(k.v1.In(dir))
}

// starts starts an application, which must restore nothing that it has on disk.
func (k *killed) starts(app worldtest.App) {
	k.t.Helper()
	is, err := k.h.Handoff(k.t.Context(), app)
	k.must(err)
	if is.Error != "" {
		k.t.Fatal(is.Error)
	}
	for _, p := range is.Partitions {
		onDisk, _ := filepath.Glob(filepath.Join(app.Dir(), "*", "rocksdb", p.Store))
		segmented, _ := filepath.Glob(filepath.Join(app.Dir(), "*", p.Store))
		if len(onDisk)+len(segmented) > 0 && p.TotalRestored != 0 {
			k.t.Errorf("%s restored: %+v", app.ID, p)
		}
	}
}

// state is all that a migration may change: topics with their records and
// settings, committed offsets, directories with what RocksDB has in them.
func (k *killed) state() map[string]string {
	k.t.Helper()
	ctx, out := k.t.Context(), map[string]string{}
	all, err := k.c.Topics(ctx)
	k.must(err)
	for _, topic := range all {
		if !strings.HasPrefix(topic.Name, k.v1.ID) || !strings.HasSuffix(topic.Name, "-changelog") && !strings.HasSuffix(topic.Name, "-repartition") {
			continue
		}
		conf, err := k.c.TopicOverrides(ctx, topic.Name)
		k.must(err)
		out["topic "+topic.Name] = fmt.Sprintf("%x %v", sha256.Sum256(fmt.Append(nil, recordsOf(k.t, k.c, topic.Name))), conf)
	}
	for _, group := range []string{k.v1.ID, k.v2.ID} {
		offsets, err := k.c.GroupOffsets(ctx, group)
		k.must(err)
		for _, o := range offsets {
			o.LeaderEpoch = 0
			out[fmt.Sprintf("group %s %s-%d", group, o.Topic, o.Partition)] = fmt.Sprint(o)
		}
	}
	for _, app := range []worldtest.App{k.v1, k.v2} {
		k.directory(app.Dir(), out)
	}
	return out
}

func (k *killed) directory(root string, out map[string]string) {
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		name, _ := filepath.Rel(k.v1.StateDir, path)
		switch {
		case err != nil:
			return err
		case files.Exists(filepath.Join(path, "CURRENT")):
			out["database "+name], err = databaseState(path)
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		case d.Name() == streams.CheckpointFile || strings.HasSuffix(path, ".position"):
			lines, err := streams.ReadCheckpoint(path)
			for _, tp := range lines.Keys() {
				out[fmt.Sprintf("line %s %s", name, tp)] = fmt.Sprint(lines[tp])
			}
			return err
		}
		return nil
	})
	k.must(err)
}

// databaseState are the data files of a database and the rows of its offsets.
func databaseState(dir string) (string, error) {
	v, err := lsm.ReadManifest(dir)
	if err != nil {
		return "", err
	}
	var out []string
	for i := range v.Families {
		f := &v.Families[i]
		if f.Name == streams.OffsetsFamily {
			continue
		}
		for _, x := range f.Files {
			out = append(out, fmt.Sprint(f.Name, " ", x.Name(), " ", x.Size))
		}
	}
	if _, ok := v.Family(streams.OffsetsFamily); ok {
		err = lsm.Rows(dir, streams.OffsetsFamily, func(key, value []byte) error {
			out = append(out, fmt.Sprintf("%q %x", key, value))
			return nil
		})
	}
	slices.Sort(out)
	return strings.Join(out, "\n"), err
}

// still says that all that was there is as it was.
func (k *killed) still(was, is map[string]string) {
	k.t.Helper()
	for name, w := range was {
		if is[name] != w {
			k.t.Fatalf("what is old has changed: %s: %s, was %s", name, is[name], w)
		}
	}
}

func (k *killed) same(what string, want, got map[string]string) {
	k.t.Helper()
	for name, w := range want {
		if got[name] != w {
			k.t.Fatalf("%s: %s is %q, not %q", what, name, got[name], w)
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok {
			k.t.Fatalf("%s: there is %s: %s", what, name, g)
		}
	}
}

func (k *killed) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// TestRenameBrokerRestart restarts the broker amid a copy: the same run goes on
// when it is back, or the same command does. A broker that went down may have taken
// records twice; that is noticed, and the same command goes on behind them.
func TestRenameBrokerRestart(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	ctx := t.Context()
	const topic = "restart-st-changelog"
	if _, err := worldtest.Generate(ctx, b.Bootstrap, worldtest.GenOptions{Topic: topic, Partitions: 2, Records: 800_000, TombstonePct: 5}); err != nil {
		t.Fatal(err)
	}
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	old := recordsOf(t, c, topic)
	ways := []string{"killed"}
	if worldtest.Full() {
		ways = append(ways, "stopped")
	}
	for _, how := range ways {
		k := killed{t: t, c: c, v1: worldtest.App{ID: "restart", Bootstrap: b.Bootstrap, StateDir: t.TempDir()}}
		run := func() error {
			return k.sstool(ctx, "rename", "st", how, "--application-id", "restart", "--state-dir", k.v1.StateDir, "--yes")
		}
		ended := make(chan error, 1)
		go func() { ended <- run() }()
		at := k.awaitRecords("restart-"+how+"-changelog", 200_000)
		if how == "killed" {
			b.Kill()
		} else if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(ctx); err != nil {
			t.Fatal(err)
		}
		err := <-ended
		t.Logf("%s when %d records were copied, the run ended with %v", how, at, err)
		for again := 0; err != nil && again < 3; again++ {
			err = run()
			t.Logf("again: %v", err)
		}
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		copied := recordsOf(t, c, "restart-"+how+"-changelog")
		for p := range old {
			t.Logf("partition %d: %d records are there twice", p, len(copied[p])-len(old[p]))
			if !maps.Equal(newest(old[p]), newest(copied[p])) || !slices.Equal(slices.Sorted(maps.Keys(set(old[p]))), slices.Sorted(maps.Keys(set(copied[p])))) {
				t.Errorf("%s: partition %d of the copy holds something else", how, p)
			}
		}
	}
}

// awaitRecords waits until a topic has so many records.
func (k *killed) awaitRecords(topic string, n int64) int64 {
	k.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		ends, err := k.c.Offsets(k.t.Context(), topic, nil)
		var sum int64
		for _, e := range ends {
			sum += e.End
		}
		if err == nil && sum >= n {
			return sum
		}
	}
	k.t.Fatalf("%s has not got %d records", topic, n)
	return 0
}

// newest is the last record of each key, as recordsOf has them.
func newest(records []string) map[string]string {
	out := map[string]string{}
	for _, r := range records {
		out[strings.Fields(r)[1]] = r
	}
	return out
}

func set(records []string) map[string]bool {
	out := map[string]bool{}
	for _, r := range records {
		out[r] = true
	}
	return out
}
