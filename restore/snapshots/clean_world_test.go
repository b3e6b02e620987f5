package snapshots

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sstool/internal/op"
	"sstool/internal/worldtest"
)

// TestClosedCleanlyIsTaken: before 4.3 only times of files tell whether an
// exactly-once application was closed cleanly. No real one that was is refused:
// of any kind of store, at its first close and at later ones, with stores whose
// files come and go all the time, after a restore, and with nothing to do.
func TestClosedCleanlyIsTaken(t *testing.T) {
	worldtest.Require(t)
	if !worldtest.Full() {
		t.Skip("SSTOOL_MATRIX=full runs it")
	}
	for _, v := range worldtest.Chosen() {
		t.Run(v, func(t *testing.T) {
			b := worldtest.StartBroker(t, worldtest.Options{})
			h := worldtest.Streams(t, v)
			var g errgroup.Group
			g.SetLimit(4) // applications mostly wait
			for _, p := range worldtest.Profiles() {
				for _, busy := range []bool{false, true} {
					if !p.Supports(v) {
						continue
					}
					id := "clean-" + p.Name + map[bool]string{true: "-busy"}[busy]
					app := p.App(id, b.Bootstrap, t.TempDir(), true)
					if busy {
						app = app.Busy()
					}
					g.Go(func() error {
						if err := closesCleanly(t, h, app); err != nil {
							t.Errorf("%s: %v", id, err)
						}
						return nil
					})
				}
			}
			_ = g.Wait()
		})
	}
}

func closesCleanly(t *testing.T, h *worldtest.Harness, app worldtest.App) error {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	bucket := bucketOf(t)
	base := worldtest.InputBase(time.Now())
	handoff := func(run func(context.Context, worldtest.App) (worldtest.HandoffReport, error)) func() error {
		return func() error {
			hand, err := run(ctx, app)
			if err == nil && hand.Error != "" {
				err = fmt.Errorf("start: %s", hand.Error)
			}
			return err
		}
	}
	build := func(in worldtest.Input) func() error {
		return func() error { _, err := h.Build(ctx, app, in); return err }
	}
	var done []string
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"first close", build(worldtest.Input{Records: 400, Base: base})},
		{"second close", build(worldtest.Input{First: 400, Records: 1200, Base: base})},
		{"nothing to do", handoff(h.Handoff)},
		{"a restore", handoff(h.Restore)},
		{"after a restore", build(worldtest.Input{First: 1600, Records: 100, Base: base})},
	} {
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		res, err := Push(ctx, bucket, PushOptions{StateDir: app.StateDir, ApplicationID: app.ID}, nil)
		if err != nil {
			return fmt.Errorf("%s: %w (try %v)", step.name, err, op.Tries(err))
		}
		done = append(done, fmt.Sprintf("%s: %d tasks, %d files", step.name, len(res.Tasks), res.Total.Files))
	}
	t.Logf("%s: %s", app.ID, strings.Join(done, "; "))
	return nil
}
