package standby

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/op/optest"
)

const childEnv = "SSTOOL_STANDBY_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		c, err := Ask(context.Background(), dir, "app", nil, Patience)
		fmt.Println("answered", err)
		io.Copy(io.Discard, os.Stdin)
		_ = c
		return
	}
	os.Exit(m.Run())
}

// keep keeps a directory and answers as told.
func keep(t *testing.T, answer func(*Asked) error) string {
	t.Helper()
	dir := t.TempDir()
	k, err := Keep(dir, "app")
	if err != nil {
		t.Fatal(err)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			asked, err := Pending(dir, "app")
			if err != nil {
				t.Error(err)
			}
			for _, a := range asked {
				if err := answer(a); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { close(done); <-stopped; k.Release() })
	return dir
}

// gone waits until no request is there.
func gone(t *testing.T, dir string) {
	t.Helper()
	var left []string
	for range 600 {
		left, _ = filepath.Glob(filepath.Join(dir, ".sstool", "checkpoint-*"))
		if len(left) == 0 {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("left over: %v", left)
}

func TestAsk(t *testing.T) {
	dir := keep(t, func(a *Asked) error {
		if strings.Join(a.Tasks, " ") != "0_0 0_1" || !a.Goes() {
			t.Errorf("%+v", a)
		}
		if err := a.Begin(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(a.StateDir, "x"), []byte("made"), 0o600); err != nil {
			return err
		}
		return a.Answer(Answer{ClusterID: "c", Committed: true, Stores: []Store{{"0_0", "s", "t", "01"}}})
	})
	if !Kept(dir, "app") || Kept(dir, "ap") || Kept(t.TempDir(), "app") {
		t.Error("who keeps what?")
	}
	c, err := Ask(t.Context(), dir, "app", []string{"0_0", "0_1"}, Patience)
	if err != nil {
		t.Fatal(err)
	}
	if c.ClusterID != "c" || !c.Committed || len(c.Stores) != 1 || c.Stores[0].TopicID != "01" {
		t.Errorf("%+v", c.Answer)
	}
	// It stands as long as it is held, whoever sweeps.
	if err := Sweep(dir, "app"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(c.StateDir, "x")); err != nil || string(data) != "made" {
		t.Errorf("%q, %v", data, err)
	}
	if err := c.Remove(); err != nil {
		t.Fatal(err)
	}
	gone(t, dir)
}

func TestAskRefused(t *testing.T) {
	dir := keep(t, func(a *Asked) error { return a.Answer(Refuse(op.Errorf(op.Precondition, "not now").WithTry("later"))) })
	_, err := Ask(t.Context(), dir, "app", nil, Patience)
	optest.WantKind(t, err, op.Precondition, "not now")
	if try := op.Tries(err); len(try) != 1 || try[0] != "later" {
		t.Errorf("try %q", try)
	}
	gone(t, dir)
}

// A follower that cannot answer ends the request.
func TestAskAnswerFails(t *testing.T) {
	dir := keep(t, func(a *Asked) error {
		// As if the disk were full.
		if err := os.Mkdir(filepath.Join(a.dir, answerFile+".tmp"), 0o700); err != nil {
			return err
		}
		if a.Answer(Answer{}) == nil {
			t.Error("it could answer")
		}
		return nil
	})
	_, err := Ask(t.Context(), dir, "app", nil, Patience)
	optest.WantKind(t, err, op.Failed, "could not answer")
	gone(t, dir)
}

func TestAskWithoutAnswer(t *testing.T) {
	dir := keep(t, func(*Asked) error { return nil })
	_, err := Ask(t.Context(), dir, "app", nil, 300*time.Millisecond)
	optest.WantKind(t, err, op.InUse, "has not shown any sign")
	// One that is at it is waited for.
	n := 0
	dir = keep(t, func(a *Asked) error {
		if n++; n < 100 {
			a.Goes()
			return nil
		}
		return a.Answer(Answer{})
	})
	c, err := Ask(t.Context(), dir, "app", nil, Patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	dir = keep(t, func(*Asked) error { return nil })
	if _, err = Ask(ctx, dir, "app", nil, Patience); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	gone(t, dir)
}

// The follower ends while somebody waits; nobody keeps what a killed one left.
func TestAskFollowerEnds(t *testing.T) {
	dir := t.TempDir()
	k, err := Keep(dir, "app")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, k.Release)
	_, err = Ask(t.Context(), dir, "app", nil, Patience)
	optest.WantKind(t, err, op.Precondition, "ended before")
	gone(t, dir)
	if err := os.WriteFile(keptFile(dir, "app"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if Kept(dir, "app") {
		t.Error("a file without a lock keeps it")
	}
}

// Who asked is killed, before the answer or with the checkpoint in his hands.
func TestAskKilled(t *testing.T) {
	for name, answers := range map[string]bool{"waiting": false, "answered": true} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan struct{}, 1000)
			dir := keep(t, func(a *Asked) error {
				select {
				case seen <- struct{}{}:
				default:
				}
				if !answers {
					return nil
				}
				return errors.Join(a.Begin(), a.Answer(Answer{}))
			})
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+dir)
			_, err := cmd.StdinPipe() // it ends when this process does
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-seen
			if answers {
				if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "answered <nil>\n" {
					t.Errorf("%q, %v", line, err)
				}
			}
			cmd.Process.Kill()
			cmd.Wait()
			gone(t, dir)
		})
	}
}

// Requests that say nothing yet, of other applications, of other versions.
func TestPending(t *testing.T) {
	dir := t.TempDir()
	make := func(name, text string) string {
		t.Helper()
		at := filepath.Join(dir, ".sstool", name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if text != "none" {
			if err := os.WriteFile(filepath.Join(at, requestFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	fresh := make("checkpoint-app-0000000000000001", "none")
	old := make("checkpoint-app-0000000000000002", "none")
	silent := make("checkpoint-app-0000000000000003", "")
	dead := make("checkpoint-app-0000000000000004", "half of")
	other := make("checkpoint-app-b-0000000000000005", `{"version":1}`)
	strange := make("checkpoint-app-x", `{"version":1}`)
	ago := time.Now().Add(-2 * unsaid)
	if err := os.Chtimes(old, ago, ago); err != nil {
		t.Fatal(err)
	}
	newer := make("checkpoint-app-0000000000000006", `{"version":2}`)
	held, err := take(filepath.Join(newer, requestFile), 0, syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	if asked, err := Pending(dir, "app"); err != nil || len(asked) != 0 {
		t.Errorf("%+v, %v", asked, err)
	}
	for at, want := range map[string]bool{fresh: true, old: false, silent: true, dead: false, other: true, strange: true, newer: true} {
		if _, err := os.Stat(at); (err == nil) != want {
			t.Errorf("%s: %v", at, err)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(newer, answerFile)); !strings.Contains(string(data), "another version") {
		t.Errorf("to a newer version: %s", data)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"tasks":["0_0"]}`))
	f.Add([]byte(`{"version":1,"refused":{"error_kind":"in_use","message":"m","try":"t"},"stores":[{"task":"0_0"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Request
		_ = parse(data, &r.Version, &r)
		var a Answer
		if parse(data, &a.Version, &a) == nil && a.Refused != nil && a.Refused.err() == nil {
			t.Error("a refusal is no error")
		}
	})
}
