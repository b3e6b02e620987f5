package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

// scripted is an action that tells what a restore tells, and ends as it is told.
func scripted(writes bool, typed string, during func(ctx context.Context, sink op.Sink) error) func(*Context, Subject) []Action {
	return func(_ *Context, s Subject) []Action {
		return []Action{{Name: "measure a restore", Subject: s, Writes: writes, Type: typed, Command: []string{"sstool", "restore", "--measure", "--store", s.Store},
			Plan: func(context.Context, string) (*Planned, error) {
				return &Planned{Steps: []string{"restore cnt of task 0_0 from w-cnt-changelog-0: 1,000,000 offsets, 64 MiB", "records sent to Kafka: this cannot be undone"}, Warnings: []string{"a \x1b[2J in a name"},
					Apply: func(ctx context.Context, sink op.Sink) (any, string, error) {
						err := during(ctx, sink)
						return map[string]int{"records": 1_000_000}, "STORE  RECORDS\ncnt    1,000,000\n", err
					}}, nil
			}}}
	}
}

// half is how a restore looks half-way.
func half(sink op.Sink) {
	sink.Emit(op.Event{Type: op.Phase, Name: "replay"})
	sink.Warn("w-cnt-changelog-1", "the log start moved")
	sink.Emit(op.Event{Type: op.Item, Name: "w-cnt-changelog-1", Message: "100,000 records in 1s"})
	sink.Emit(op.Event{Type: op.Progress, Done: 480_000, Total: 1_000_000, Unit: "records", Rate: 320_000, ETA: 2 * time.Second,
		Parts: []op.Part{{Name: "w-cnt-changelog-0", Done: 300_000, Total: 400_000}, {Name: "w-cnt-changelog-2", Done: 80_000, Total: 500_000}},
		Split: map[string]float64{"network": 0.4, "decode": 0.5, "write": 1.9, "idle": 0.1}})
}

func TestAnAction(t *testing.T) {
	dir := screens(t)
	d := fixture(t, "4.0.2-opt-alos")
	d.m.jobs.noTick = true
	d.m.o.Actions = scripted(false, "", func(_ context.Context, sink op.Sink) error {
		half(sink)
		// The driver waits for the action: its screen is looked at from within.
		d.m.jobs.list[0].live.s.rates = []float64{100, 200_000, 280_000, 310_000, 340_000, 290_000, 320_000}
		d.m.jobs.tick(d.m)
		d.golden(dir, "action-running")
		d.has("At work", "Where the time goes")
		return nil
	})
	d.keys("a").golden(dir, "actions")
	d.keys("1").golden(dir, "action-plan")
	d.has("cannot be undone", `\x1b[2J`)
	d.keys("y").has("done in").golden(dir, "action-done")
	d.keys("y", "j")
	if len(d.copied) != 1 || !strings.Contains(d.copied[0], "1000000") {
		t.Errorf("copied %q", d.copied)
	}
	d.keys("esc", ":", "=log", "enter").golden(dir, "log")
	d.keys("enter").has("STORE  RECORDS")
}

func TestWritesMustBeAllowed(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.m.o.Actions = scripted(true, "", func(context.Context, op.Sink) error {
		t.Error("it was done")
		return nil
	})
	d.keys("a").has("needs --allow-writes")
	d.keys("1").has("read only")
	if d.m.dialog != nil || len(d.m.jobs.list) > 0 {
		t.Error("a plan is shown all the same")
	}
}

func TestTheNameMustBeTyped(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.m.jobs.noTick, d.m.o.AllowWrites = true, true
	done := 0
	d.m.o.Actions = scripted(true, "cnt", func(context.Context, op.Sink) error { done++; return nil })
	d.keys("a", "1").has("type cnt to go ahead")
	d.keys("enter", "y", "enter", "=cnt", "enter").has("not its name")
	if done > 0 {
		t.Fatal("done without the name")
	}
	d.keys("ctrl+u", "=cnt").golden(screens(t), "action-typed")
	d.keys("enter")
	if done != 1 {
		t.Fatalf("done %d times", done)
	}
	d.keys("esc", "a", "1", "esc").has("nothing was done")
}

func TestAnActionFails(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.m.jobs.noTick = true
	d.m.o.Actions = scripted(false, "", func(context.Context, op.Sink) error {
		return op.Errorf(op.InUse, "store is held by process 4242").WithTry("stop the application")
	})
	d.keys("a", "1", "y").has("failed after", "held by process 4242", "try: stop the application")
	d.keys("esc", ":", "=log", "enter").has("failed after").keys("enter").has("held by process 4242")
}

// TestCancel: an action is asked to stop, and quitting waits for it.
func TestCancel(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.m.jobs.noTick = true
	d.m.o.Actions = scripted(false, "", func(ctx context.Context, sink op.Sink) error {
		d.keys("esc").has("measure a restore") // it goes on when its screen is left
		d.keys("q").has("Quit?").keys("esc")
		d.keys("ctrl+x").has("Cancel measure a restore?").keys("y")
		<-ctx.Done()
		return ctx.Err()
	})
	d.keys("a", "1", "y").has("cancelled")
	if !errors.Is(d.m.jobs.list[0].err, context.Canceled) || d.m.jobs.running() != 0 {
		t.Errorf("%v, %d run", d.m.jobs.list[0].err, d.m.jobs.running())
	}
}
