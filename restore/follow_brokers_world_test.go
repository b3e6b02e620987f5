//go:build cgo

package restore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"sstool/internal/op"
	"sstool/internal/worldtest"
)

// TestFollowSeveralBrokers: a follower beside an application under load, on a
// cluster of three brokers, each of which is killed and comes back, and leads its
// partitions again. Whoever leads, the follower goes on; what it has left is taken
// over with only the tail to restore, and the rows are those of a restore.
func TestFollowSeveralBrokers(t *testing.T) {
	worldtest.Require(t)
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		for _, name := range []string{"papi", "agg", "win"} {
			for _, eos := range []bool{true, false} {
				app := name + map[bool]string{true: "-eos"}[eos]
				if !selected(app, false) {
					continue
				}
				t.Run(v+"/"+app, func(t *testing.T) {
					followBrokers(t, worldtest.StartCluster(t, 3, worldtest.Options{}), worldtest.Streams(t, v), worldtest.ProfileNamed(name), eos)
				})
			}
		}
	}
}

func followBrokers(t *testing.T, c *worldtest.Cluster, h *worldtest.Harness, p worldtest.Profile, eos bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v (try %v)", what, err, op.Tries(err))
		}
	}
	live := p.App("brokers-"+p.Name, c.Bootstrap, t.TempDir(), eos)
	standby := live.In(t.TempDir())
	load := &load{t: t, h: h, app: live, base: worldtest.InputBase(time.Now())}
	_, err := h.Build(ctx, live, load.next(300))
	must("build", err)
	f := startFollower(ctx, t, standby, p, h.Version)
	must("start", h.Start(ctx, live))
	load.start(ctx)
	moves := func() { f.moves(fmt.Sprint(checkpoints(t, standby))) }
	for i, b := range c.Brokers {
		begun := time.Now()
		b.Kill()
		moves() // others lead now
		without := time.Since(begun)
		must("start the broker", b.Start(ctx))
		must("in sync", c.AwaitInSync(ctx))
		moved, err := c.ElectPreferred(ctx)
		must("move leaders", err)
		moves()
		t.Logf("broker %d killed: offsets moved after %.1f s without it; then %d leaders moved", i+1, without.Seconds(), moved)
	}
	load.stop()
	f.terminate()
	left := checkpoints(t, standby)
	must("feed", h.Feed(ctx, live, load.next(100)))
	_, err = h.Stop(ctx, live)
	must("stop", err)
	hand := takeOver(ctx, t, h, p, standby, left)
	t.Logf("%s: %d records per topic, %d restored of what was written since the follower's end", live.ID, load.records, hand.TotalRestored)
	sameAsOwn(ctx, t, h, p, standby, left)

	f = startFollower(ctx, t, standby, p, h.Version)
	f.terminate()
	nothingRestored(t, p, standby, takeOver(ctx, t, h, p, standby, checkpoints(t, standby)))
}

// load is input that an application is fed with all the time.
type load struct {
	t       *testing.T
	h       *worldtest.Harness
	app     worldtest.App
	base    time.Time
	records int
	end     chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func (l *load) next(n int) worldtest.Input {
	l.records += n
	return worldtest.Input{First: l.records - n, Records: n, Base: l.base}
}

func (l *load) start(ctx context.Context) {
	l.end = make(chan struct{})
	l.t.Cleanup(l.stop)
	l.wg.Go(func() {
		const most = 9000 // the input is of the past
		for l.records < most {
			if err := l.h.Feed(ctx, l.app, l.next(50)); err != nil {
				if ctx.Err() == nil {
					l.t.Errorf("feed: %v", err)
				}
				return
			}
			select {
			case <-l.end:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
}

func (l *load) stop() {
	l.once.Do(func() { close(l.end) })
	l.wg.Wait()
}
