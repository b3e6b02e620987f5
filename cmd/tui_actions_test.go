package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/demo"
	"sstool/internal/op"
	"sstool/tui"
)

// demoState is the demo's cluster and a state directory built from it.
func demoState(t *testing.T, records int64) (a *app, k kafkaFlags, state string) {
	t.Helper()
	if rocksVersion() == "" {
		t.Skip("built without RocksDB")
	}
	ctx, dir := context.Background(), t.TempDir()
	cluster, err := demo.Start(ctx, demo.Options{Records: records, Now: time.Now()}, nil)
	steps(t, err)
	t.Cleanup(cluster.Close)
	spec := filepath.Join(dir, "orders.yaml")
	steps(t, os.WriteFile(spec, []byte(demo.Spec()), 0o644))
	a = &app{io: IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	state = filepath.Join(dir, "state")
	steps(t, a.buildState(ctx, &demoFlags{}, cluster.Bootstrap(), spec, state))
	return a, kafkaFlags{bootstrap: cluster.Bootstrap()}, state
}

// TestActionsInATerminal: what changes state goes from its dialog over the
// engine's plan and the typed name to its result, which the log keeps.
func TestActionsInATerminal(t *testing.T) {
	_, k, state := demoState(t, 20_000)
	const store = demo.MainStore
	x := inTerminal(t, 100, 40, fmt.Sprintf("tui --allow-writes --state-dir %s --application-id %s --bootstrap-server %s", state, demo.ApplicationID, k.bootstrap))
	old := filepath.Join(state, demo.ApplicationID, "0_0", "rocksdb", store)
	choose := func(action string) {
		t.Helper()
		steps(t, x.Until("/0_0"), x.Press("a"), x.Until(action))
		text, err := x.Text()
		steps(t, err)
		before, _, _ := strings.Cut(text, "  "+action)
		steps(t, x.Type(before[len(before)-1:]))
	}
	done := func() {
		t.Helper()
		steps(t, x.Until("to go ahead"), x.Type("another"), x.Press("Enter"), x.Until("not its name"), x.Press("C-u"), x.Type(store), x.Press("Enter"), x.Until("done in"), x.Press("Escape"))
	}
	steps(t, x.Until("lag"), x.Press("/"), x.Type("0_0 +"+store), x.Press("Enter"), x.Until("1 of 12"))

	choose("rename")
	steps(t, x.Until("new name:"), x.Type("renamed"), x.Press("Enter"), x.Until("copy orders-"+store+"-changelog"))
	done()
	if _, err := os.Stat(filepath.Join(filepath.Dir(old), "renamed", "CURRENT")); err != nil {
		t.Error(err)
	}

	choose("delete old rows (ttl)")
	steps(t, x.Until("older than:"), x.Type("nonsense"), x.Press("Enter"), x.Until("cannot be done"), x.Press("Escape"))
	choose("delete old rows (ttl)")
	steps(t, x.Until("older than:"), x.Type("30m"), x.Press("Enter"), x.Until("tombstones to 4 partitions"))
	done()

	choose("restore into the state directory")
	steps(t, x.Until("aside"))
	done()
	if aside, _ := filepath.Glob(filepath.Join(state, ".sstool", "aside", "*", "*", "*", store)); len(aside) != 1 {
		t.Errorf("the old store is not kept aside: %v", aside)
	}

	choose("compact")
	done()
	steps(t, x.Press(":"), x.Type("log"), x.Press("Enter"), x.Until("4 actions"))
	text, err := x.Text()
	steps(t, err)
	if strings.Count(text, "done in") != 4 {
		t.Errorf("the log:\n%s", text)
	}
	steps(t, x.Press("End", "Enter"), x.Until("renamed"), x.Press("Escape", "q"), x.Until("code 0,"))
}

// TestCancelledRestore: a restore into the state directory that is cancelled
// half-way leaves the old store, and a second run does it.
func TestCancelledRestore(t *testing.T) {
	a, k, state := demoState(t, 100_000)
	s := tui.Subject{App: demo.ApplicationID, AppDir: filepath.Join(state, demo.ApplicationID), Task: "0_0", Store: demo.MainStore}
	dir := filepath.Join(s.AppDir, "0_0", "rocksdb", demo.MainStore)
	before := filesOf(t, dir)
	for _, cancelled := range []bool{true, false} {
		act := a.restoreAction(k, s, true)
		p, err := act.Plan(context.Background(), "")
		steps(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		_, _, err = p.Apply(ctx, func(e op.Event) {
			if cancelled && e.Type == op.Progress {
				cancel()
			}
		})
		cancel()
		p.Close()
		if got := op.KindOf(err) == op.Declined; got != cancelled {
			t.Fatalf("cancelled %v: %v", cancelled, err)
		}
		if got := filesOf(t, dir) == before; got != cancelled {
			t.Errorf("cancelled %v: the files are those of before: %v", cancelled, got)
		}
	}
}

// filesOf are the names and sizes of a directory's files.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	steps(t, err)
	var out strings.Builder
	for _, e := range list {
		info, err := e.Info()
		steps(t, err)
		fmt.Fprintln(&out, e.Name(), info.Size(), info.ModTime())
	}
	return out.String()
}
