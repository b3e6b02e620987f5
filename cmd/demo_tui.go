package cmd

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"sstool/internal/demo"
	"sstool/internal/op"
)

// catchUp is how often the demo's application takes over what came in.
const catchUp = 20 * time.Second

// demoTUI builds the demo's state directory and opens the dashboard on it.
// Meanwhile records come in, and now and then the stores catch up, as those of a
// running application would.
func (a *app) demoTUI(ctx context.Context, f *demoFlags, cluster *demo.Cluster, dir string) error {
	state, spec := filepath.Join(dir, "state"), filepath.Join(dir, "orders.yaml")
	if err := a.buildState(ctx, f, cluster.Bootstrap(), spec, state); err != nil {
		return err
	}
	topology := filepath.Join(dir, "topology.txt")
	if err := os.WriteFile(topology, []byte(demo.Topology()), 0o644); err != nil {
		return op.Errorf(op.Failed, "demo directory: %w", err)
	}
	t := tuiFlags{kafka: kafkaFlags{bootstrap: cluster.Bootstrap()}, stateDir: state, id: demo.ApplicationID, name: "demo", topology: namesValue{topology}}
	o, err := a.tuiOptions(&t, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.demoActivity(ctx, cluster, state, spec)
	}()
	err = a.runTUI(ctx, &t, o)
	cancel()
	<-done
	return err
}

// demoActivity writes records and lets the stores catch up, until ctx ends. It
// is only a show: what fails is tried again.
func (a *app) demoActivity(ctx context.Context, cluster *demo.Cluster, state, spec string) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			_ = cluster.More(ctx, 200, now)
			if now.Sub(last) < catchUp {
				continue
			}
			last = now
			f := restoreFlags{kafka: kafkaFlags{bootstrap: cluster.Bootstrap()}, spec: spec, into: state, fromCheckpoint: true, stores: namesValue{demo.MainStore}}
			if plan, end, err := f.plan(ctx, func(string) {}); err == nil {
				_, _ = plan.Run(ctx, nil)
				end()
			}
			_ = os.RemoveAll(filepath.Join(state, ".sstool", "aside"))
		}
	}
}
