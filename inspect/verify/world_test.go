//go:build cgo

package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// worldApp is one real application that is verified.
type worldApp struct {
	profile worldtest.Profile
	eos     bool

	broker  *worldtest.Broker
	harness *worldtest.Harness
	client  *kafka.Client
	app     worldtest.App
	stores  []worldtest.Store
}

func (w *worldApp) name() string {
	return w.profile.Name + map[bool]string{true: "-eos"}[w.eos]
}

// TestRealApplications: real applications with every kind of store, under both
// guarantees, by the oldest and the newest version: nothing differs while they
// run under load, once they are closed, and after Kafka Streams has restored
// them; what is changed by hand is found, all of it and nothing else.
func TestRealApplications(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	c, err := kafka.Open(context.Background(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	must(t, err)
	t.Cleanup(c.Close)
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 4) // applications mostly wait
			for _, w := range worldApps(v) {
				wg.Go(func() {
					sem <- struct{}{}
					defer func() { <-sem }()
					t.Run(w.name(), func(t *testing.T) { w.broker, w.harness, w.client = b, h, c; w.run(t) })
				})
			}
		})
	}
}

// worldApps are one application of each kind with each guarantee in the matrix;
// else every kind of store once, by the oldest or the newest version.
func worldApps(version string) (out []*worldApp) {
	only := os.Getenv("SSTOOL_PROFILES")
	representative := map[string][]string{
		worldtest.Oldest: {"papi", "win-eos", "ssjoin"},
		worldtest.Newest: {"papi-eos", "papi-h", "tjoin-eos", "opt", "win-headers"},
	}
	for _, name := range []string{"papi", "papi-h", "agg", "win", "ssjoin", "tjoin", "opt", "win-headers"} {
		p := worldtest.ProfileNamed(name)
		for _, eos := range []bool{false, true} {
			w := &worldApp{profile: p, eos: eos}
			if !p.Supports(version) || only != "" && !slices.Contains(strings.Split(only, ","), w.name()) {
				continue
			}
			if worldtest.Full() || only != "" || slices.Contains(representative[version], w.name()) {
				out = append(out, w)
			}
		}
	}
	return out
}

func (w *worldApp) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	id := w.name() + "-verify-" + strings.ReplaceAll(w.harness.Version, ".", "")
	w.app = w.profile.App(id, w.broker.Bootstrap, t.TempDir(), w.eos).Busy()
	w.stores = w.profile.Stores(id)
	must(t, w.harness.Start(ctx, w.app))
	w.underLoad(ctx, t)
	w.all(ctx, t, "closed", true)
	if w.profile.Name == "papi" {
		w.faults(ctx, t)
	}
	_, err := w.harness.Restore(ctx, w.app)
	must(t, err)
	w.all(ctx, t, "restored", true)
	if w.profile.Name == "papi" {
		w.zombies(ctx, t)
	}
}

// zombies: while the application is away a key is deleted and one is written
// anew. As long as the changelog tells, nothing differs; when the cleaner has
// removed what was there at the store's offset, the one is a zombie, and the
// other cannot be proven any more.
func (w *worldApp) zombies(ctx context.Context, t *testing.T) {
	s := w.stores[slices.IndexFunc(w.stores, func(s worldtest.Store) bool { return s.Name == "ts-kv" })]
	var keys [][]byte
	rows, err := w.harness.DumpRows(ctx, w.app.Dir())
	must(t, err)
	for _, r := range rows.Of(s.Name)["0_0/rocksdb/"+s.Name][streams.TimestampFamily] {
		keys = append(keys, r.Key)
	}
	if len(keys) < 5 {
		t.Fatalf("%d keys", len(keys))
	}
	now := time.Now()
	must(t, worldtest.Produce(ctx, w.broker.Bootstrap, s.Topic,
		worldtest.Record{Partition: 0, Key: keys[1], Timestamp: now}, worldtest.Record{Partition: 0, Key: keys[3], Value: []byte("anew"), Timestamp: now},
		// Cleaning writes the last record of each partition once more.
		worldtest.Record{Partition: 0, Key: []byte("last"), Value: []byte("x"), Timestamp: now}, worldtest.Record{Partition: 1, Key: []byte("last"), Value: []byte("x"), Timestamp: now}))
	look := func(when string, extra, unverifiable int64) {
		t.Helper()
		res, err := Changelog(ctx, w.client, w.options(s), nil)
		must(t, err)
		c := res.Total
		t.Logf("%s: %+v", when, c)
		if c.Extra != extra || c.Unverifiable != unverifiable || c.Missing+c.Different+c.Replaced != 0 {
			t.Errorf("%s: %+v, want %d extra, %d unverifiable", when, c, extra, unverifiable)
		}
		for _, d := range res.Tasks[0].Differences {
			if key, _, _ := d.Text(); d.KeyHex != fmt.Sprintf("%x", keys[1]) {
				t.Errorf("%s: %s of %s", when, d.What, key)
			}
		}
	}
	look("deleted and written anew behind the offset", 0, 0)
	must(t, w.broker.DropTombstones(ctx, s.Topic))
	look("cleaned", 1, 1)
}

// underLoad verifies all stores again and again while the application works.
func (w *worldApp) underLoad(ctx context.Context, t *testing.T) {
	stopped := make(chan error, 1)
	go func() {
		base := worldtest.InputBase(time.Now())
		for i := range 2 {
			if err := w.harness.Feed(ctx, w.app, worldtest.Input{Records: w.profile.Records, First: i * w.profile.Records, Base: base}); err != nil {
				stopped <- err
				return
			}
		}
		_, err := w.harness.Stop(ctx, w.app)
		stopped <- err
	}()
	for looks := 1; ; looks++ {
		w.all(ctx, t, fmt.Sprintf("running, look %d", looks), false)
		select {
		case err := <-stopped:
			must(t, err)
			t.Logf("looked %d times while it ran", looks)
			return
		default:
		}
		if t.Failed() {
			must(t, <-stopped)
			t.FailNow()
		}
	}
}

func (w *worldApp) options(s worldtest.Store) Options {
	eos := w.eos
	o := Options{Rows: inspect.RowsOptions{Path: w.app.Dir(), Store: s.Name, Kind: streams.Kind(s.Kind)}, ExactlyOnce: &eos, TempDir: os.TempDir()}
	if s.Source { // the topic's retention is not the store's
		o.Topic = s.Topic
	}
	return o
}

// all verifies every store that can be: there must be no finding. whole says
// that all is on disk: then rows must be there, and provable.
func (w *worldApp) all(ctx context.Context, t *testing.T, when string, whole bool) {
	var sum Counts
	defer func() {
		if sum.Unflushed > 0 {
			t.Logf("%s: %d unflushed", when, sum.Unflushed)
		}
	}()
	for _, s := range w.stores {
		if !s.OnDisk() || s.Topic == "" || s.Processor {
			continue
		}
		res, err := Changelog(ctx, w.client, w.options(s), nil)
		if err != nil {
			if !whole && strings.Contains(err.Error(), "no store") {
				continue // not made yet
			}
			t.Errorf("%s: %s: %v", when, s.Name, err)
			continue
		}
		for _, k := range res.Tasks {
			switch {
			case k.Verdict == Same:
			case k.Verdict == Unverifiable && s.Kind == "grace-buffer":
				continue
			default:
				t.Errorf("%s: %s of %s: %s (%s): %+v, %+v", when, s.Name, k.Task, k.Verdict, k.Why, k.Counts, k.Partitions)
				for _, d := range k.Differences {
					key, local, changelog := d.Text()
					t.Logf("%s %s %q: row %q, changelog %q (%s)", d.What, d.Part, key, local, changelog, d.Why)
				}
			}
			if whole && (k.Unverifiable > 0 || k.Ahead > 0 || k.Unflushed > 0 || k.Why != "") {
				t.Errorf("%s: %s of %s: %+v (%s), %+v", when, s.Name, k.Task, k.Counts, k.Why, k.Partitions)
			}
			if whole && k.Changelog != nil && *k.Changelog != *k.Local {
				t.Errorf("%s: %s of %s: digests %s and %s", when, s.Name, k.Task, k.Local, k.Changelog)
			}
			sum.add(&k.Counts)
		}
		if whole && res.Total.Rows > 0 && res.Total.Same == 0 && s.Kind != "grace-buffer" {
			t.Errorf("%s: %s: nothing was the same: %+v", when, s.Name, res.Total)
		}
	}
	if whole {
		t.Logf("%s: %+v", when, sum)
	}
}

// faults changes rows of one store by hand, then puts it back.
func (w *worldApp) faults(ctx context.Context, t *testing.T) {
	i := slices.IndexFunc(w.stores, func(s worldtest.Store) bool { return s.Name == "ts-kv" })
	s := w.stores[i]
	dir := filepath.Join(w.app.Dir(), "0_0", "rocksdb", s.Name)
	var keys [][]byte
	db, err := rocks.Open(dir, rocks.Options{})
	must(t, err)
	family := slices.Index(db.Families(), streams.TimestampFamily)
	must(t, db.Iterate(family, func(key, _ []byte) error { keys = append(keys, slices.Clone(key)); return nil }))
	if len(keys) < 3 {
		t.Fatalf("%d keys", len(keys))
	}
	value, _, err := db.Get(family, keys[1])
	must(t, err)
	b := db.Batch()
	b.Delete(family, keys[0])
	b.Put(family, keys[1], append(slices.Clone(value[:8]), "other"...))
	b.Put(family, []byte("zombie"), value)
	must(t, db.Write(b))
	b.Close()
	must(t, db.Flush())
	must(t, db.Close())
	res, err := Changelog(ctx, w.client, w.options(s), nil)
	must(t, err)
	if c := res.Total; c.Missing != 1 || c.Different != 1 || c.Extra != 1 {
		t.Errorf("after a row was deleted, one changed, one added: %+v", c)
	}
	var what []string
	for _, d := range res.Tasks[0].Differences {
		key, local, changelog := d.Text()
		t.Logf("%s %s %q: row %q, changelog %q (%s)", d.What, d.Part, key, local, changelog, d.Why)
		what = append(what, d.What)
	}
	if !slices.Equal(what, []string{Missing, Different, Extra}) {
		t.Errorf("%v", what)
	}
}
