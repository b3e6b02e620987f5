//go:build cgo

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/worldtest"
	"sstool/restore"
)

// TestShareKilled restores a real application with three workers, each for a host
// of its own, and kills one with -9 when it has completed some of its tasks and not
// yet the others. All stores are whole in the end; the application, started with an
// instance for each host that is left, gets every task where it is, restores
// nothing and answers what it did before. Where the host comes back, its worker
// does too, and there are three instances.
func TestShareKilled(t *testing.T) {
	worldtest.Require(t)
	// All members come within the first rebalance: no task is given to one instance
	// before the other is there, and no worker gets all of them.
	b := worldtest.StartBroker(t, worldtest.Options{Config: map[string]string{"group.initial.rebalance.delay.ms": "3000"}})
	full := os.Getenv("SSTOOL_MATRIX") == "full"
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		h := worldtest.Streams(t, v)
		for _, eos := range []bool{true, false} {
			for _, back := range []bool{false, true} {
				if !full && (!eos || back) {
					continue
				}
				name := v + map[bool]string{true: "-eos"}[eos] + map[bool]string{true: "-back"}[back]
				t.Run(name, func(t *testing.T) {
					s := &shared{T: t, b: b, h: h, version: v, back: back}
					s.app = worldtest.ProfileNamed("agg").App("share-"+strings.ReplaceAll(name, ".", ""), b.Bootstrap, t.TempDir(), eos)
					// An instance without a task's state is not as good as the one that has it.
					s.app.Settings = map[string]string{"acceptable.recovery.lag": "0"}
					s.run()
				})
			}
		}
	}
}

// TestShareStreamsProtocol hands over what three workers made to instances of
// group.protocol=streams (KIP-1071), whose tasks brokers assign. It tells how much
// they restored; nothing was, here, but nothing promises that.
func TestShareStreamsProtocol(t *testing.T) {
	worldtest.Require(t)
	if os.Getenv("SSTOOL_MATRIX") != "full" {
		t.Skip("SSTOOL_MATRIX=full runs it")
	}
	b := worldtest.StartBroker(t, worldtest.Options{Config: map[string]string{"group.initial.rebalance.delay.ms": "3000", "group.streams.initial.rebalance.delay.ms": "6000"}})
	h := worldtest.Streams(t, worldtest.Newest)
	for _, eos := range []bool{true, false} {
		name := "streams" + map[bool]string{true: "-eos"}[eos]
		t.Run(name, func(t *testing.T) {
			s := &shared{T: t, b: b, h: h, version: worldtest.Newest, protocol: "streams"}
			s.app = worldtest.ProfileNamed("agg").App("share-"+name, b.Bootstrap, t.TempDir(), eos)
			s.run()
		})
	}
}

type shared struct {
	*testing.T
	b        *worldtest.Broker
	h        *worldtest.Harness
	version  string
	app      worldtest.App
	back     bool
	protocol string // of the instances; "": classic
	client   *kafka.Client
	spec     string
	props    string
	group    string
	dirs     []string
}

func (s *shared) run() {
	ctx, cancel := context.WithTimeout(s.Context(), 4*time.Minute)
	defer cancel()
	if _, err := s.h.Build(ctx, s.app, worldtest.Input{Records: 600}); err != nil {
		s.Fatal(err)
	}
	was, err := s.h.Handoff(ctx, s.app)
	if err != nil || was.Error != "" {
		s.Fatal(err, was.Error)
	}
	if s.client, err = kafka.Open(ctx, kafka.Config{Bootstrap: []string{s.b.Bootstrap}}); err != nil {
		s.Fatal(err)
	}
	defer s.client.Close()
	s.files()
	for try := 1; !s.restore(ctx, try); try++ {
		if try == 4 {
			s.Fatal("no worker was killed in the midst of its tasks")
		}
	}
	s.complete()
	s.handOver(ctx, was)
}

// files are those that workers are given.
func (s *shared) files() {
	s.spec, s.props = filepath.Join(s.TempDir(), "spec.yaml"), filepath.Join(s.TempDir(), "client.properties")
	guarantee := map[bool]string{true: "exactly_once_v2", false: "at_least_once"}[s.app.EOS]
	text := fmt.Sprintf("application-id: %s\nprocessing-guarantee: %s\nkafka-version: %q\nstores:\n", s.app.ID, guarantee, s.version)
	for _, x := range worldtest.ProfileNamed("agg").Stores(s.app.ID) {
		text += fmt.Sprintf("  - {name: %s, kind: %s, subtopology: %d", x.Name, x.Kind, x.Subtopology)
		if x.HistoryRetention > 0 {
			text += fmt.Sprintf(", history-retention: %s, segment-interval: %s", x.HistoryRetention, x.SegmentInterval)
		}
		text += "}\n"
	}
	for path, data := range map[string]string{s.spec: text, s.props: "session.timeout.ms=6000\n"} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			s.Fatal(err)
		}
	}
}

// worker starts a worker in a directory.
func (s *shared) worker(ctx context.Context, dir string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, "restore", "--share", s.group, "--into", dir, "--spec", s.spec, "--bootstrap-server", s.b.Bootstrap,
		"--command-config", s.props, "--threads", "1")
	cmd.Args[0] = "sstool"
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+s.TempDir())
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return cmd
}

// restore runs three workers and kills one in the midst of its tasks; it is false
// when that came too late.
func (s *shared) restore(ctx context.Context, try int) bool {
	s.group = fmt.Sprintf("%s-restore-%d", s.app.ID, try)
	s.dirs = []string{s.TempDir(), s.TempDir(), s.TempDir()}
	var workers []*exec.Cmd
	for _, dir := range s.dirs {
		workers = append(workers, s.worker(ctx, dir))
	}
	victim := s.dirs[2]
	midway := s.await(ctx, func(st *restore.ShareStatus) bool {
		_, complete, rest := s.of(st, victim)
		return complete > 0 && rest > 0 || st.Finished
	})
	if err := workers[2].Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.Fatal(err)
	}
	err := workers[2].Wait()
	had, complete, rest := s.of(midway, victim)
	s.Logf("killed (%v) with %d tasks complete and %d to do: %v", err, complete, rest, had)
	if s.back {
		workers[2] = s.worker(ctx, victim)
	} else {
		workers, s.dirs = workers[:2], s.dirs[:2]
	}
	for i, w := range workers {
		if err := w.Wait(); err != nil {
			s.Fatalf("worker %d: %v\n%s", i, err, w.Stdout)
		}
	}
	return err != nil && rest > 0
}

// of counts a directory's tasks.
func (s *shared) of(st *restore.ShareStatus, dir string) (names []string, complete, rest int) {
	for _, t := range st.Tasks {
		if t.Into == dir {
			names = append(names, t.Task+" "+t.State)
			if t.State == "complete" {
				complete++
			} else {
				rest++
			}
		}
	}
	return names, complete, rest
}

func (s *shared) await(ctx context.Context, ok func(*restore.ShareStatus) bool) *restore.ShareStatus {
	for {
		st, err := restore.ReadShareStatus(ctx, s.client, s.group)
		switch {
		case err != nil && op.KindOf(err) != op.NotFound:
			s.Fatal(err)
		case err == nil && ok(st):
			return st
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// complete says that every task is whole in one of the directories, and that
// the group says so too.
func (s *shared) complete() {
	got := runWith(s.T, nil, "restore", "--share", s.group, "--status", "--bootstrap-server", s.b.Bootstrap)
	s.Log("\n" + got.out)
	if got.code != 0 || !strings.Contains(got.out, ": finished, ") {
		s.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
	count := map[string]int{}
	for _, dir := range s.dirs {
		tasks, _ := filepath.Glob(filepath.Join(dir, s.app.ID, "*_*", "rocksdb"))
		if len(tasks) == 0 {
			s.Errorf("%s has no task", dir)
		}
		for _, task := range tasks {
			count[filepath.Base(filepath.Dir(task))]++
		}
	}
	if len(count) != 10 {
		s.Errorf("the directories hold the tasks %v", count)
	}
}

// handOver starts an instance for each host, all at once.
func (s *shared) handOver(ctx context.Context, was worldtest.HandoffReport) {
	logged := len(s.h.Log())
	reports, errs := make([]worldtest.HandoffReport, len(s.dirs)), make([]error, len(s.dirs))
	var wg sync.WaitGroup
	for i, dir := range s.dirs {
		wg.Go(func() {
			app := s.app.In(dir)
			app.Peer = true
			if s.protocol != "" {
				app.Settings = map[string]string{"group.protocol": s.protocol}
			}
			if reports[i], errs[i] = s.h.Handoff(ctx, app); errs[i] == nil && reports[i].Error != "" {
				errs[i] = errors.New(reports[i].Error)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	if strings.Contains(s.h.Log()[min(logged, len(s.h.Log())):], "TaskCorrupted") {
		s.Error("Kafka Streams wiped a task")
	}
	restored := 0
	for _, x := range worldtest.ProfileNamed("agg").Stores(s.app.ID) {
		var rows []string
		for i, r := range reports {
			rows = append(rows, r.Stores[x.Name].Rows...)
			for _, p := range r.Partitions {
				if p.Store != x.Name || !x.OnDisk() || p.TotalRestored == 0 {
					continue
				}
				if restored++; s.protocol == "" {
					s.Errorf("instance %d restored: %+v", i, p)
				}
			}
		}
		if x.Kind == "versioned" {
			continue // history shows only as far back as the process has seen records, a warm-up replica's differs
		}
		// A warm-up replica answers, too.
		want := slices.Compact(slices.Sorted(slices.Values(was.Stores[x.Name].Rows)))
		slices.Sort(rows)
		rows = slices.Compact(rows)
		if len(want) == 0 || !slices.Equal(rows, want) {
			s.Errorf("%s: the instances answer %d rows, it was %d", x.Name, len(rows), len(want))
		}
	}
	use, err := s.client.GroupUse(ctx, s.app.ID)
	if err != nil || use.Protocol != cmp.Or(s.protocol, "classic") {
		s.Errorf("the group is %+v: %v", use, err)
	}
	s.Logf("the instances restored %d partitions of stores on disk", restored)
}
