//go:build cgo

package restore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// followedStores are all kinds, in the forms that make a difference.
func followedStores() []streams.Store {
	out := modelStores()
	for i := range out {
		out[i].Name = fmt.Sprintf("s%d", i)
	}
	return out
}

func followModelOptions(into, guarantee string) FollowOptions {
	o := followOptions(into, followedStores()...)
	o.Guarantee, o.Siblings, o.Memory = Guarantee(guarantee), o.Stores, 16<<20
	return o
}

// followChild follows until SIGTERM.
func followChild(bootstrap, into, guarantee string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{bootstrap}})
	if err != nil {
		return err
	}
	defer c.Close()
	plan, err := PlanFollow(ctx, c, followModelOptions(into, guarantee))
	if err != nil {
		return err
	}
	fmt.Println("planned")
	_, err = plan.Run(ctx, nil)
	return err
}

// ChildEnv is for tests of the real thing, which are another package.
const ChildEnv = childEnv

// followFileChild follows with the options of a file until SIGTERM, and puts
// another file beside it when it follows.
func followFileChild(bootstrap, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var o FollowOptions
	if err := files.ReadJSON(file, &o); err != nil {
		return err
	}
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: strings.Split(bootstrap, ",")})
	if err != nil {
		return err
	}
	defer c.Close()
	plan, err := PlanFollow(ctx, c, o)
	if err != nil {
		return err
	}
	_, err = plan.Run(ctx, func(e op.Event) {
		switch {
		case e.Type == op.Phase && e.Name == "follow":
			os.WriteFile(file+".follows", nil, 0o600)
		case e.Type == op.Warning || e.Type == op.Summary:
			fmt.Fprintln(os.Stderr, "follower:", e.Name, e.Message)
		}
	})
	return err
}

// TestFollowModel follows random changelogs of every kind of store while they
// are written, through kill -9 and SIGTERM at any moment, and compares every row
// with a plain map.
func TestFollowModel(t *testing.T) {
	for _, guarantee := range []Guarantee{AtLeastOnce, ExactlyOnce} {
		t.Run(string(guarantee), func(t *testing.T) {
			t.Parallel()
			followModel(t, guarantee)
		})
	}
}

func followModel(t *testing.T, guarantee Guarantee) {
	const partitions, rounds = 2, 7
	rnd := rand.New(rand.NewPCG(seed(t), 8))
	k := newWorld(t, kafkatest.Options{})
	into := memDir(t)
	var loads []*workload
	for _, s := range followedStores() {
		w := randomWorkload(rnd, s, partitions, 700, 60)
		newest := int64(0)
		for i := range w.records {
			if s.Kind == streams.Versioned { // of late records more than one outcome is right
				w.records[i].Timestamp = 1_700_000_000_000 + int64(i)*5000
			}
			newest = max(newest, w.records[i].Timestamp)
		}
		for p := range int32(partitions) { // the newest comes last: what is expired is then certain
			r := kafkatest.Record{Partition: p, Timestamp: newest + 1, Key: []byte("last"), Value: []byte("last")}
			switch s.Kind {
			case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow, streams.GraceBuffer:
				r.Key = windowKey("last", newest+1, 0)
			case streams.Session, streams.TimeOrderedSession:
				r.Key = sessionKey("last", newest+1, newest)
			}
			w.records = append(w.records, r)
		}
		k.changelog(t, s.Name, partitions, nil)
		loads = append(loads, w)
	}
	var child *exec.Cmd
	start := func() { child, _ = startChild(t, "follow", k.Addrs()[0], into, string(guarantee)) }
	killed := 0
	for round := range rounds {
		start()
		for step := range 3 { // while it restores, and while it follows
			for _, w := range loads {
				n := len(w.records)
				lo, hi := n*(3*round+step)/(3*rounds), n*(3*round+step+1)/(3*rounds)
				part := &workload{store: w.store, records: w.records[lo:hi], aborted: map[int]bool{}}
				part.send(t, k, rnd, streams.ChangelogTopic(app, w.store.Name), guarantee == ExactlyOnce && hi < n)
				for i, a := range part.aborted {
					w.aborted[lo+i] = a
				}
			}
			time.Sleep(time.Duration(rnd.Int64N(int64(400 * time.Millisecond))))
		}
		if round == rounds-1 {
			break
		}
		if rnd.IntN(4) == 0 {
			terminate(t, child)
		} else {
			child.Process.Kill()
			child.Wait()
			killed++
		}
	}
	committed := guarantee == ExactlyOnce
	var want []string
	lines := map[string]streams.Checkpoint{}
	for _, w := range loads {
		topic := streams.ChangelogTopic(app, w.store.Name)
		offsets := k.offsetsOf(t, topic, w, partitions)
		for p := range int32(partitions) {
			task := fmt.Sprintf("0_%d", p)
			want = append(want, newestVersions(w.store, rowsOf(w.expect(t, task, p, committed, offsets, DefaultMaxPoll)))...)
			want = append(want, fmt.Sprintf("%s/.checkpoint %s-%d %d", task, topic, p, w.lastApplied(p, committed, offsets)))
			if lines[task] == nil {
				lines[task] = streams.Checkpoint{}
			}
			lines[task][streams.TopicPartition{Topic: topic, Partition: p}] = w.lastApplied(p, committed, offsets)
		}
	}
	for task, cp := range lines {
		for at, off := range cp {
			for try := 0; ; try++ {
				now, err := streams.ReadCheckpoint(filepath.Join(into, app, task, streams.CheckpointFile))
				if err == nil && now[at] == off {
					break
				}
				if try > 1800 {
					t.Fatalf("%s: the checkpoint has %d, want %d (%v)", at, now[at], off, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
	terminate(t, child)
	var got []string
	for _, l := range rowsOf(dump(t, filepath.Join(into, app))) {
		for _, w := range loads {
			if w.store.Kind != streams.Versioned || !strings.Contains(l, "/"+w.store.Name+" ") {
				continue
			}
			if len(newestVersions(w.store, []string{l})) == 0 {
				l = ""
			}
		}
		// An offset in the store itself is of the time when nothing was applied.
		if l != "" && !strings.Contains(l, " "+streams.OffsetsFamily+" ") {
			got = append(got, l)
		}
	}
	slices.Sort(want)
	sameRows(t, "followed", got, want)
	t.Logf("killed %d times", killed)
}

// newestVersions leaves out the history of a versioned store, of which poll batches
// decide.
func newestVersions(s streams.Store, lines []string) []string {
	if s.Kind != streams.Versioned {
		return lines
	}
	return slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, " ffffffffffffffff") })
}

// terminate ends a follower as an operator does.
func terminate(t *testing.T, child *exec.Cmd) {
	t.Helper()
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Interrupted before it follows is 130, and leaves nothing half-done.
	if err := child.Wait(); err != nil && child.ProcessState.ExitCode() != 130 {
		t.Fatalf("the follower ended with %v", err)
	}
}
