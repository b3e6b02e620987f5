//go:build cgo

package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
	"sstool/migrate"
)

// TestTTLBrokerRestarts: the broker is shut down, or dies, while tombstones are
// being written, and comes back. The run goes on, or ends and the next one goes
// on; either way each old row has one tombstone, and the young ones none.
func TestTTLBrokerRestarts(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for what, end := range map[string]func() error{
		"shut down": b.Stop,
		"killed":    func() error { b.Kill(); return nil },
		"restarted": func() error { b.Kill(); return b.Start(t.Context()) }, // nobody looks at it
	} {
		t.Run(what, func(t *testing.T) {
			ended := make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
			defer cancel()
			const keys, partitions = 20_000, 4
			app := strings.ReplaceAll(what, " ", "-")
			topic := streams.ChangelogTopic(app, "s")
			if err := worldtest.CreateTopic(ctx, b.Bootstrap, topic, partitions, map[string]string{"cleanup.policy": "compact"}); err != nil {
				t.Fatal(err)
			}
			cutoff := time.Now().Add(-time.Hour)
			var recs []worldtest.Record
			for i := range keys {
				at := cutoff.Add(time.Minute)
				if i%2 == 0 {
					at = cutoff.Add(-time.Minute)
				}
				recs = append(recs, worldtest.Record{Partition: int32(i % 7 % partitions), Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v"), Timestamp: at})
			}
			if err := worldtest.Produce(ctx, b.Bootstrap, topic, recs...); err != nil {
				t.Fatal(err)
			}
			c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			before := cutoff.UnixMilli()
			o := migrate.TTLOptions{ApplicationID: app, Store: migrate.TTLStore{Name: "s", Kind: streams.KV}, Before: &before, TempDir: t.TempDir()}
			plan, err := migrate.PlanTTL(ctx, c, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			do := migrate.DeletionOptions{Ledger: migrate.DefaultLedger(t.TempDir(), "ttl", app, "s"), Rate: 4000} // five rounds
			var once sync.Once
			sink := func(e op.Event) {
				if e.Type == op.Progress && e.Unit == "tombstones" && e.Done >= keys/8 {
					once.Do(func() {
						go func() { // while the next round is under way
							defer close(ended)
							time.Sleep(450 * time.Millisecond)
							if err := end(); err != nil {
								t.Error(err)
							}
						}()
					})
				}
			}
			d, runs := plan.Deletion(), 1
			for ; ; runs++ {
				_, err := d.Apply(ctx, c, do, sink)
				if err == nil {
					break
				}
				t.Logf("run %d: %v", runs, err)
				if runs == 10 || ctx.Err() != nil {
					t.Fatal(err)
				}
				// The broker is gone: the user looks at it, and gives the command again.
				select {
				case <-ended:
				case <-ctx.Done():
					t.Fatal(err)
				}
				if what != "restarted" {
					if err := b.Start(ctx); err != nil {
						t.Fatal(err)
					}
				}
				var note string
				if d, note, err = migrate.ContinueDeletion(ctx, c, do, o.Request()); err != nil || d == nil {
					t.Fatal(d, note, err)
				}
			}
			<-ended
			t.Logf("%d runs", runs)
			checkHalf(ctx, t, b.Bootstrap, topic, keys)
		})
	}
}

// checkHalf: each even key has one tombstone as its last record, no odd one has.
func checkHalf(ctx context.Context, t *testing.T, bootstrap, topic string, keys int) {
	t.Helper()
	all, err := worldtest.ReadTopic(ctx, bootstrap, topic)
	if err != nil {
		t.Fatal(err)
	}
	records, live := 0, map[string]bool{}
	for _, recs := range all {
		for _, r := range recs {
			records++
			live[string(r.Key)] = r.Value != nil
		}
	}
	for i := range keys {
		if key := fmt.Sprintf("k%d", i); live[key] != (i%2 == 1) {
			t.Fatalf("%s: live %v", key, live[key])
		}
	}
	if records != keys+keys/2 {
		t.Errorf("%d records, want %d: one tombstone for each old row", records, keys+keys/2)
	}
}
