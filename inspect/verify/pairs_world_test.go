//go:build cgo

package verify

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestRealPairs: of two instances with num.standby.replicas=1, each with a state
// directory of its own, every task lies in both, active in one and standby in the
// other. While they work, and when they have stopped, no row differs; one that is
// taken out of a copy is found.
func TestRealPairs(t *testing.T) {
	worldtest.Require(t)
	if !worldtest.Full() {
		t.Skip("make test-matrix runs it")
	}
	// Both instances come within the first rebalance.
	b := worldtest.StartBroker(t, worldtest.Options{Config: map[string]string{"group.initial.rebalance.delay.ms": "4000"}})
	c, err := kafka.Open(context.Background(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	must(t, err)
	t.Cleanup(c.Close)
	for _, v := range worldtest.Chosen() {
		h := worldtest.Streams(t, v)
		for i, name := range []string{"papi", "win", "tjoin", "papi-h"} {
			p := worldtest.ProfileNamed(name)
			if !p.Supports(v) {
				continue
			}
			t.Run(v+" "+name, func(t *testing.T) {
				w := &worldApp{profile: p, eos: i%2 == 0, broker: b, harness: h, client: c}
				w.app = p.App("pair-"+name+"-"+strings.ReplaceAll(v, ".", ""), b.Bootstrap, t.TempDir(), w.eos).Busy()
				w.app.Settings["num.standby.replicas"] = "1"
				w.stores = p.Stores(w.app.ID)
				w.pair(t)
			})
		}
	}
}

func (w *worldApp) pair(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	other := w.app.In(t.TempDir())
	other.Peer = true
	var errs [2]error
	var wg sync.WaitGroup
	for i, app := range []worldtest.App{w.app, other} {
		wg.Go(func() { errs[i] = w.harness.Start(ctx, app) })
	}
	wg.Wait()
	must(t, errs[0])
	must(t, errs[1])
	base := worldtest.InputBase(time.Now())
	for i := range 3 {
		must(t, w.harness.Feed(ctx, w.app, worldtest.Input{Records: w.profile.Records / 3, First: i * (w.profile.Records / 3), Base: base}))
		w.same(ctx, t, "running", other, false)
	}
	for _, app := range []worldtest.App{other, w.app} {
		_, err := w.harness.Stop(ctx, app)
		must(t, err)
	}
	w.same(ctx, t, "stopped", other, true)
	for _, s := range w.stores {
		if s.OnDisk() && !s.Global && (s.Kind == "kv" || s.Kind == "timestamped-kv") && s.Topic != "" {
			w.without(ctx, t, s, other)
			return
		}
	}
}

// same compares all stores of both instances.
func (w *worldApp) same(ctx context.Context, t *testing.T, when string, other worldtest.App, whole bool) {
	t.Helper()
	var sum Counts
	for _, s := range w.stores {
		if !s.OnDisk() || s.Topic == "" || s.Kind == "grace-buffer" {
			continue
		}
		there := w.options(s)
		there.Rows.Path = other.Dir()
		res, err := Against(ctx, w.client, w.options(s), there.Rows, nil)
		if err != nil {
			if whole || !strings.Contains(err.Error(), "no store") && !strings.Contains(err.Error(), "no task") {
				t.Errorf("%s: %s: %v", when, s.Name, err)
			}
			continue
		}
		for _, k := range res.Tasks {
			if k.Findings() > 0 {
				t.Errorf("%s: %s of %s: %s (%s): %+v, %+v", when, s.Name, k.Task, k.Verdict, k.Why, k.Counts, k.Partitions)
				for _, d := range k.Differences {
					key, local, _ := d.Text()
					t.Logf("%s %s %q: row %q (%s)", d.What, d.Part, key, local, d.Why)
				}
			}
		}
		if whole && (len(res.Tasks) != s.Partitions && !s.Global || res.Total.Rows > 0 && res.Total.Same == 0) {
			t.Errorf("%s: %s: %d tasks, %+v", when, s.Name, len(res.Tasks), res.Total)
		}
		sum.add(&res.Total)
	}
	t.Logf("%s: %+v", when, sum)
}

// without takes a row out of the other copy.
func (w *worldApp) without(ctx context.Context, t *testing.T, s worldtest.Store, other worldtest.App) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(other.Dir(), "*_0", streams.RocksDir, s.Name))
	must(t, err)
	if len(dirs) != 1 {
		t.Fatalf("%s lies in %q", s.Name, dirs)
	}
	families, err := rocks.Families(dirs[0])
	must(t, err)
	db, err := rocks.Open(dirs[0], rocks.Options{Families: families})
	must(t, err)
	b := db.Batch()
	taken := ""
	for i, name := range families {
		if name == streams.OffsetsFamily {
			continue
		}
		must(t, db.Iterate(i, func(key, _ []byte) error {
			if taken == "" {
				taken = string(key)
				b.Delete(i, key)
			}
			return nil
		}))
	}
	must(t, db.Write(b))
	b.Close()
	must(t, db.Flush())
	must(t, db.Close())
	res, err := Against(ctx, w.client, w.options(s), inspect.RowsOptions{Path: other.Dir()}, nil)
	must(t, err)
	if taken == "" || res.Total.Extra != 1 || res.Total.Findings() != 1 {
		t.Errorf("%s without %q: %+v", s.Name, taken, res.Total)
	}
}
