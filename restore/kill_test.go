//go:build cgo

package restore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/applock"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// The test binary is also the program that gets killed: with this variable set
// it restores, or holds the lock, instead of testing.
const childEnv = "SSTOOL_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		if err := child(strings.Split(job, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(op.KindOf(err).ExitCode())
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killStores are the stores of the kill tests: of one task, so that it takes
// several moves to put it in place.
func killStores() []streams.Store {
	return []streams.Store{kv("a"), {Name: "w", Kind: streams.Window, Retention: time.Hour, SegmentInterval: 10 * time.Minute}, {Name: "b", Kind: streams.KV}}
}

func killOptions(into string, force bool) Options {
	o := options(into, killStores()...)
	o.Force, o.Memory = force, 1<<20
	return o
}

func child(args []string) error {
	switch args[0] {
	case "restore":
		ctx := context.Background()
		c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{args[1]}})
		if err != nil {
			return err
		}
		defer c.Close()
		plan, err := MakePlan(ctx, c, killOptions(args[2], args[3] == "force"))
		if err != nil {
			return err
		}
		fmt.Println("planned")
		_, err = plan.Run(ctx, nil)
		return err
	case "follow-file":
		return followFileChild(args[1], args[2])
	case "follow":
		return followChild(args[1], args[2], args[3])
	case "lock":
		l, err := applock.Hold(args[1])
		if err != nil {
			return err
		}
		fmt.Println("locked")
		io.Copy(io.Discard, os.Stdin) // until the parent goes
		l.Release()
	}
	return nil
}

// startChild starts this binary for a job and waits for its first line.
func startChild(t testing.TB, job ...string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(job, "|"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the child said nothing: %v", err)
	}
	return cmd, in
}

// kill -9 at any moment: every task is whole, old or new, or being put in
// place; the next run completes it, and nothing is lost aside.
func TestKilled(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for _, s := range killStores() {
		recs := numbered(0, 0, 400, 100)
		recs = append(recs, numbered(1, 0, 400, 100)...)
		if s.Kind == streams.Window {
			for i := range recs {
				recs[i].Key = windowKey(string(recs[i].Key), int64(i)*10_000, 0)
			}
		}
		k.changelog(t, s.Name, 2, recs)
	}
	fresh := killOptions(memDir(t), false)
	start := time.Now()
	k.mustRestore(t, fresh)
	whole := time.Since(start)
	want := dump(t, appDir(fresh.Into, app))
	rnd := rand.New(rand.NewPCG(6, 6))
	killed := 0
	for round := range 8 {
		into := memDir(t)
		old := []string{}
		if round%2 == 0 { // something stands there
			for _, task := range []string{"0_0", "0_1"} {
				for _, s := range killStores() {
					put(t, filepath.Join(streams.DatabaseDir(filepath.Join(into, app, task), s, 5), "old.sst"), "old "+task+s.Name)
				}
			}
			cp := streams.Checkpoint{{Topic: "app-a-changelog"}: 1, {Topic: "app-w-changelog"}: 1, {Topic: "app-b-changelog"}: 1, {Topic: "app-else-changelog"}: 9}
			if err := cp.Write(filepath.Join(into, app, "0_0", streams.CheckpointFile)); err != nil {
				t.Fatal(err)
			}
			old = append(old, "0_0/.checkpoint app-else-changelog-0 9")
		}
		for range 3 {
			cmd, _ := startChild(t, "restore", k.Addrs()[0], into, map[bool]string{true: "force"}[round%2 == 0])
			begun := time.Now()
			kill := time.AfterFunc(time.Duration(rnd.Int64N(int64(whole)*5/4+1)), func() { cmd.Process.Kill() })
			if cmd.Wait() != nil {
				killed++
			} else { // the machine was slower when the first run was measured
				whole = min(whole, time.Since(begun))
			}
			kill.Stop()
			honestTarget(t, into, want)
		}
		k.mustRestore(t, killOptions(into, round%2 == 0))
		got := dump(t, appDir(into, app))
		sameRows(t, fmt.Sprint("round ", round), got, sorted(append(old, want...)))
		if round%2 == 0 {
			var kept []string
			filepath.WalkDir(filepath.Join(into, ".sstool", "aside"), func(path string, d os.DirEntry, err error) error {
				if err == nil && d.Name() == "old.sst" {
					b, _ := os.ReadFile(path)
					kept = append(kept, string(b))
				}
				return nil
			})
			if len(kept) != 6 {
				t.Errorf("round %d: of the old stores there are aside: %v", round, kept)
			}
		}
		for _, gone := range []string{buildDir(into, app), journalFile(into, app)} {
			if exists(gone) {
				t.Errorf("round %d: %s is left", round, gone)
			}
		}
	}
	if killed < 6 {
		t.Errorf("only %d runs were killed in time", killed)
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }

// honestTarget checks what an application would find now: every store is
// absent, the old one or the new one whole, and every checkpoint line speaks
// of the store that stands there.
func honestTarget(t testing.TB, into string, want []string) {
	t.Helper()
	got := []string{}
	if exists(appDir(into, app)) {
		got = dump(t, appDir(into, app))
	}
	for _, task := range []string{"0_0", "0_1"} {
		cp, err := streams.ReadCheckpoint(filepath.Join(into, app, task, streams.CheckpointFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range killStores() {
			prefix := streams.StoreDir(task, s)
			of := func(lines []string) (out []string) {
				for _, l := range lines {
					if strings.HasPrefix(l, prefix+" ") || strings.HasPrefix(l, prefix+"/") {
						out = append(out, l)
					}
				}
				return out
			}
			is, isOld := of(got), exists(filepath.Join(streams.DatabaseDir(filepath.Join(into, app, task), s, 5), "old.sst"))
			isNew := len(is) > 0 && slices.Equal(is, of(want))
			if len(is) > 0 && !isNew {
				t.Fatalf("%s of %s is half there: %d of %d lines", s.Name, task, len(is), len(of(want)))
			}
			for tp, off := range cp {
				if tp.Topic == streams.ChangelogTopic(app, s.Name) && (off == 1) != isOld || tp.Topic == streams.ChangelogTopic(app, s.Name) && off != 1 && !isNew {
					t.Fatalf("the checkpoint of %s says %d of %s; old %t, new %t", task, off, tp, isOld, isNew)
				}
			}
		}
	}
}

// A second sstool, or the application, on the same target.
func TestInUse(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	o := options(memDir(t), kv("s"))
	cmd, in := startChild(t, "lock", appDir(o.Into, app))
	err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
	optest.WantKind(t, err, op.InUse, appDir(o.Into, app), fmt.Sprintf("process %d", cmd.Process.Pid))
	if es, _ := os.ReadDir(o.Into); len(es) != 1 {
		t.Error(es)
	}
	in.Close()
	cmd.Wait()
	k.mustRestore(t, o)
	// And it is held while we work: a second one sees that.
	topic := k.changelog(t, "big", 1, nil)
	k.produceSingly(t, topic, bigValues(6))
	tried := make(chan error, 1)
	k.OnFetch(3, func() {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childEnv+"=lock|"+appDir(o.Into, app))
		tried <- c.Run()
	})
	k.mustRestore(t, smallFetches(options(o.Into, kv("big")), Bulk))
	if err := <-tried; err == nil || !strings.Contains(err.Error(), fmt.Sprint("exit status ", op.InUse.ExitCode())) {
		t.Errorf("another process locked it: %v", err)
	}
}
