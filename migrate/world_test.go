//go:build cgo

package migrate_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/migrate"
)

// TestCompactRealApplications: every store of a closed application is
// compacted for its Kafka Streams version; the rows and offsets are what they
// were, and the application starts on it, restores nothing and answers the
// same.
func TestCompactRealApplications(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	representative := map[string][]string{worldtest.Oldest: {"papi-eos", "win"}, worldtest.Newest: {"papi-h", "ssjoin", "tjoin-eos"}}
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 4) // applications mostly wait
			for _, p := range worldtest.Profiles() {
				if !p.Supports(v) {
					continue
				}
				for _, eos := range []bool{false, true} {
					name := p.Name + map[bool]string{true: "-eos"}[eos]
					if !worldtest.Full() && !slices.Contains(representative[v], name) {
						continue
					}
					wg.Go(func() {
						sem <- struct{}{}
						defer func() { <-sem }()
						t.Run(name, func(t *testing.T) {
							compactApplication(t, b, h, p, eos, name+"-compact-"+strings.ReplaceAll(v, ".", ""))
						})
					})
				}
			}
		})
	}
}

func compactApplication(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, p worldtest.Profile, eos bool, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	app := p.App(id, b.Bootstrap, t.TempDir(), eos).Busy()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.Build(ctx, app, worldtest.Input{Records: min(p.Records, 500)})
	must(err)
	before := start(ctx, t, h, app)
	rows, err := h.DumpRows(ctx, app.Dir())
	must(err)

	version, err := streams.ParseVersion(h.Version)
	must(err)
	plan, err := migrate.PlanCompact(ctx, migrate.CompactOptions{Stores: storesOf(app, rows), Target: version})
	must(err)
	res, err := plan.Apply(ctx, nil)
	must(err)
	if res.After.Tombstones+res.After.RangeTombstones != 0 || res.After.Files == 0 {
		t.Errorf("after it: %+v", res.After)
	}
	t.Logf("%d stores, before %+v, after %+v", len(plan.Stores), res.Before, res.After)

	after, err := h.DumpRows(ctx, app.Dir())
	must(err)
	if diff := worldtest.Diff(rows, after, 6); len(diff) > 0 {
		t.Errorf("the rows differ:\n  %s", strings.Join(diff, "\n  "))
	}
	for db := range rows {
		same := func(x, y worldtest.Row) bool {
			return string(x.Key) == string(y.Key) && string(x.Value) == string(y.Value)
		}
		if was, now := rows[db][worldtest.OffsetsFamily], after[db][worldtest.OffsetsFamily]; !slices.EqualFunc(was, now, same) {
			t.Errorf("%s: the offsets differ: %v, were %v", db, now, was)
		}
	}
	answers := start(ctx, t, h, app)
	for store, a := range before {
		if got := answers[store]; got.Type != a.Type || !slices.Equal(got.Rows, a.Rows) {
			t.Errorf("%s answers %d rows of %s, before it %d of %s", store, len(got.Rows), got.Type, len(a.Rows), a.Type)
		}
	}
}

// start starts and stops the application, which must restore nothing of what
// is on disk, and returns its answers.
func start(ctx context.Context, t *testing.T, h *worldtest.Harness, app worldtest.App) map[string]worldtest.StoreAnswer {
	t.Helper()
	report, err := h.Handoff(ctx, app)
	if err != nil || report.Error != "" {
		t.Fatal(err, report.Error)
	}
	for _, p := range report.Partitions {
		onDisk, _ := filepath.Glob(filepath.Join(app.Dir(), "*", "rocksdb", p.Store))
		segmented, _ := filepath.Glob(filepath.Join(app.Dir(), "*", p.Store))
		if len(onDisk)+len(segmented) > 0 && (p.TotalRestored != 0 || p.Starts > 1) {
			t.Errorf("the application restored: %+v", p)
		}
	}
	return report.Stores
}

// storesOf are the stores on disk, found by the databases that have rows:
// <task>/rocksdb/<store>, <task>/<store>/<segment>.
func storesOf(app worldtest.App, rows worldtest.Rows) (out []migrate.CompactStore) {
	index := map[string]int{}
	for _, db := range slices.Sorted(maps.Keys(rows)) {
		parts := strings.Split(db, "/")
		name := parts[1]
		if name == streams.RocksDir {
			name = parts[2]
		}
		key := parts[0] + "/" + name
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, migrate.CompactStore{ApplicationID: app.ID, AppDir: app.Dir(), Task: parts[0], Name: name})
		}
		out[i].Databases = append(out[i].Databases, filepath.Join(app.Dir(), db))
	}
	return out
}
