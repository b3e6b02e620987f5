package cmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sstool/internal/worldtest"
)

// TestDashboardOnALiveApplication drives the dashboard in a real terminal, on a
// real broker and an application that runs and whose files come and go, through
// its main paths at both sizes. -v shows every screen.
func TestDashboardOnALiveApplication(t *testing.T) {
	worldtest.Require(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	b := worldtest.StartBroker(t, worldtest.Options{})
	h, at := worldtest.StreamsWithMetrics(t, worldtest.Newest, "{}")
	app := worldtest.ProfileNamed("papi").App("lively", b.Bootstrap, t.TempDir(), false).Busy()
	text, err := h.Describe(ctx, app)
	steps(t, err, h.Start(ctx, app))
	topology := filepath.Join(t.TempDir(), "topology.txt")
	steps(t, os.WriteFile(topology, []byte(text), 0o644))
	fed := make(chan error, 1)
	feeding, stop := context.WithCancel(ctx)
	go func() {
		base := worldtest.InputBase(time.Now())
		for first := 0; feeding.Err() == nil; first += 400 {
			if err := h.Feed(ctx, app, worldtest.Input{Records: 400, First: first, Base: base, Step: 100 * time.Millisecond}); err != nil {
				fed <- err
				return
			}
			time.Sleep(time.Second)
		}
		fed <- nil
	}()
	tour := []struct {
		keys []string // "=word" is typed
		want string
	}{
		{nil, "16 stores"},
		{nil, "lag "},
		{[]string{":", "=tasks", "Enter"}, "2 tasks"},
		{[]string{":", "=remarks", "Enter"}, "an application has it open"},
		{[]string{"Escape", ":", "=changelogs", "Enter"}, "9 changelogs of cluster"},
		{[]string{"Enter"}, "Why it is as large"},
		{[]string{":", "=topology", "Enter"}, "in 2 tasks"},
		{[]string{":", "=lint", "Enter"}, "0 errors, "},
		{[]string{":", "=doctor", "Enter"}, " not measured, at "},
		{[]string{"d"}, "What "}, // will happen, or to do
		{[]string{"Escape", "2"}, "2 tasks here: "},
		{[]string{"d"}, "next start:"},
		{[]string{":", "=metrics", "Enter"}, "1 source"},
		{[]string{"/", "=unflushed", "Enter"}, "8 of "},
		{[]string{"d"}, "num-immutable-mem-table"},
		{[]string{":", "=stores", "Enter", "/", "=0_0 .*ts-kv", "Enter"}, "1 of 16"},
		{[]string{"Enter"}, "its memory is not seen"},
		{[]string{"2"}, "sorted run"},
		{[]string{"3"}, ".sst"},
		{[]string{"4"}, "tombstones of"},
		{[]string{"5"}, "keys string"},
		{[]string{"f", "=k1", "Enter"}, "k1"},
		{[]string{"6"}, "resumes"},
		{[]string{"7"}, "distinct"},
		{[]string{"8"}, "since"},
		{[]string{":", "=restore", "Enter"}, "go ahead"},
		{[]string{"y"}, "done in"},
		{[]string{"Escape", ":", "=log", "Enter"}, "1 action"},
		{[]string{"?"}, "type a command"},
		{[]string{"Escape", "q"}, "code 0, icanon echo"},
	}
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			x := inTerminal(t, size[0], size[1], fmt.Sprintf("tui %s --bootstrap-server %s --topology %s --metrics %s", app.StateDir, b.Bootstrap, topology, at.JMX))
			for _, s := range tour {
				if s.want == "go ahead" && rocksVersion() == "" {
					continue
				}
				for _, k := range s.keys {
					if k[0] == '=' {
						steps(t, x.Type(k[1:]))
					} else {
						steps(t, x.Press(k))
					}
					time.Sleep(50 * time.Millisecond)
				}
				steps(t, x.Until(s.want))
				screen, err := x.Text()
				steps(t, err)
				t.Logf("%v\n%s", s.keys, screen)
			}
		})
	}
	stop()
	steps(t, <-fed, h.End(ctx, app))
}
