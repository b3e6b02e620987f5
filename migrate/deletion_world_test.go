//go:build cgo

package migrate_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/migrate"
)

// ttlStores are the stores that the tests clean.
func ttlStores() map[string]streams.Kind {
	return map[string]streams.Kind{"plain-kv": streams.KV, "ts-kv": streams.TimestampedKV}
}

// TestTTLRealApplications: half of the rows of a closed application's stores
// are deleted. The application answers with the young half: on the directory
// that was cleaned too, where it restores nothing; on one that was not, and on
// a standby host's that is older still, where it restores what it lacks; and
// on none, after the topics were compacted.
func TestTTLRealApplications(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	full := os.Getenv("SSTOOL_MATRIX") == "full"
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		for _, eos := range []bool{false, true} {
			if !full && eos != (v == worldtest.Newest) {
				continue
			}
			wg.Go(func() {
				t.Run(v+map[bool]string{true: "-eos", false: "-alos"}[eos], func(t *testing.T) {
					ttlApplication(t, b, worldtest.Streams(t, v), eos, "ttl-"+strings.ReplaceAll(v, ".", "")+map[bool]string{true: "-eos"}[eos])
				})
			})
			if full {
				wg.Wait()
			}
		}
	}
}

func ttlApplication(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, eos bool, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	host := worldtest.ProfileNamed("papi").App(id, b.Bootstrap, t.TempDir(), eos)
	base := worldtest.InputBase(time.Now())
	_, err := h.Build(ctx, host, worldtest.Input{Records: 200, Base: base})
	must(err)
	standby := host.In(t.TempDir())
	must(os.CopyFS(standby.Dir(), os.DirFS(host.Dir())))
	_, err = h.Build(ctx, host, worldtest.Input{Records: 200, First: 200, Base: base})
	must(err)
	before, err := h.Handoff(ctx, host)
	must(err)
	uncleaned := host.In(t.TempDir())
	must(os.CopyFS(uncleaned.Dir(), os.DirFS(host.Dir())))

	cutoff := base.Add(300 * 2 * time.Second).UnixMilli()
	want, deleted := map[string][]string{}, map[string]int64{}
	for store := range ttlStores() {
		young, old := ages(ctx, t, b.Bootstrap, streams.ChangelogTopic(id, store), cutoff)
		for _, row := range before.Stores[store].Rows {
			if young[strings.Fields(row)[1]] {
				want[store] = append(want[store], row)
			}
		}
		deleted[store] = int64(old)
		if len(want[store]) != len(young) || old < 10 || len(young) < 10 {
			t.Fatalf("%s: %d rows are young, %d answers of them, %d are old; an answer is %q", store, len(young), len(want[store]), old, before.Stores[store].Rows[0])
		}
	}
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
	must(err)
	defer c.Close()
	for store := range ttlStores() {
		r := clean(ctx, t, c, host, store, cutoff)
		if r.Tombstones != deleted[store] || r.Verified != r.Tombstones {
			t.Errorf("%s: %d tombstones, %d verified, %d rows are old", store, r.Tombstones, r.Verified, deleted[store])
		}
		for _, p := range r.Stores[0].Partitions {
			if len(p.Local) != 1 || p.Local[0].After == nil || *p.Local[0].After != *p.Last {
				t.Errorf("%s: partition %d: %+v", store, p.Partition, p.Local)
			}
		}
	}
	check := func(what string, report worldtest.HandoffReport, err error, restored func(store string, n int64) bool) {
		t.Helper()
		if err != nil || report.Error != "" {
			t.Fatal(what, err, report.Error)
		}
		for store, rows := range want {
			if got := report.Stores[store]; !slices.Equal(got.Rows, rows) {
				t.Errorf("%s: %s answers %d rows, want %d", what, store, len(got.Rows), len(rows))
			}
			if n := report.RestoredOf(store); !restored(store, n) {
				t.Errorf("%s: %s restored %d records, %d tombstones were written", what, store, n, deleted[store])
			}
		}
	}
	report, err := h.Handoff(ctx, host)
	check("cleaned", report, err, func(_ string, n int64) bool { return n == 0 })
	report, err = h.Handoff(ctx, uncleaned)
	check("not cleaned", report, err, func(s string, n int64) bool { return n == deleted[s] })
	report, err = h.Handoff(ctx, standby)
	check("standby", report, err, func(s string, n int64) bool { return n > deleted[s] })
	for store := range ttlStores() {
		must(b.Compact(ctx, streams.ChangelogTopic(id, store)))
	}
	report, err = h.Restore(ctx, host)
	check("compacted and restored", report, err, func(s string, n int64) bool { return n > 0 })
	if os.Getenv("SSTOOL_MATRIX") != "full" {
		return
	}
	for store := range ttlStores() {
		must(b.DropTombstones(ctx, streams.ChangelogTopic(id, store)))
	}
	report, err = h.Restore(ctx, host)
	check("tombstones dropped and restored", report, err, func(s string, n int64) bool { return n > 0 })
}

// clean runs ttl on one store of a host.
func clean(ctx context.Context, t *testing.T, c *kafka.Client, host worldtest.App, store string, cutoff int64) *migrate.DeletionResult {
	t.Helper()
	plan, err := migrate.PlanTTL(ctx, c, migrate.TTLOptions{ApplicationID: host.ID, Guarantee: guarantee(host.EOS), Before: &cutoff, TempDir: t.TempDir(), DryRun: true,
		Store: migrate.TTLStore{Name: store, Kind: ttlStores()[store], KindWhy: "as given"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Deletion().Apply(ctx, c, migrate.DeletionOptions{Ledger: migrate.DefaultLedger(host.StateDir, "ttl", host.ID, store), StateDir: host.StateDir, Wait: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func guarantee(eos bool) string {
	if eos {
		return "exactly_once_v2"
	}
	return "at_least_once"
}

// ages reads which keys of a changelog have a row from cutoff on, and how many
// have an older one.
func ages(ctx context.Context, t *testing.T, bootstrap, topic string, cutoff int64) (young map[string]bool, old int) {
	t.Helper()
	all, err := worldtest.ReadTopic(ctx, bootstrap, topic)
	if err != nil {
		t.Fatal(err)
	}
	young = map[string]bool{}
	for _, recs := range all {
		newest := map[string]int64{}
		for _, r := range recs {
			switch {
			case r.Attrs.IsControl():
			case r.Value == nil:
				delete(newest, string(r.Key))
			default:
				newest[string(r.Key)] = r.Timestamp.UnixMilli()
			}
		}
		for key, ts := range newest {
			if ts >= cutoff {
				young[key] = true
			} else {
				old++
			}
		}
	}
	return young, old
}
