package inspect

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// checkChangelog holds what is told of a changelog against a plain consumer's
// count, and of key-value stores the table it is against the store's rows. It
// returns the gaps in its offsets.
func (w *worldApp) checkChangelog(ctx context.Context, t *testing.T, s worldtest.Store, cleaned bool) int64 {
	t.Helper()
	res, err := Changelog(ctx, w.client, ChangelogOptions{Topics: []string{s.Topic}, TempDir: t.TempDir()}, nil)
	if err != nil {
		t.Errorf("changelog of %s: %v", s.Name, err)
		return 0
	}
	log, err := worldtest.ReadTopic(ctx, w.broker.Bootstrap, s.Topic)
	if err != nil {
		t.Fatal(err)
	}
	type counts struct{ Records, Tombstones, Control, Headers, Distinct, Live, Gaps int64 }
	var want counts
	for _, records := range log {
		newest := map[string]bool{} // whether it has a value
		for i, r := range records {
			if i > 0 {
				want.Gaps += r.Offset - records[i-1].Offset - 1
			}
			if r.Attrs.IsControl() {
				want.Control++
				continue
			}
			want.Records++
			newest[string(r.Key)] = r.Value != nil
			if r.Value == nil {
				want.Tombstones++
			}
			if len(r.Headers) > 0 {
				want.Headers++
			}
		}
		want.Distinct += int64(len(newest))
		for _, has := range newest {
			if has {
				want.Live++
			}
		}
	}
	for _, p := range res.Topics[0].Partitions { // before the first record
		if records := log[p.Partition]; len(records) > 0 {
			want.Gaps += records[0].Offset - p.LogStart
		}
	}
	total := res.Topics[0].Total
	got := counts{total.Records, total.Tombstones, total.Control, total.WithHeaders, 0, 0, total.OffsetGaps}
	if total.Keys != nil {
		got.Distinct, got.Live = total.Keys.Distinct, total.Keys.Live
	}
	if got != want || total.Aborted != 0 || total.Undecided != 0 {
		t.Errorf("changelog of %s: %+v (aborted %d, undecided %d), a plain consumer counts %+v", s.Name, got, total.Aborted, total.Undecided, want)
	}
	if k := streams.Kind(s.Kind); s.OnDisk() && (k == streams.KV || k == streams.TimestampedKV) {
		w.checkTable(ctx, t, s, cleaned)
	}
	return got.Gaps
}

// checkTable holds the changelog, read as a table, against the store. In a
// cleaned one the newest record of each partition was written a second time, a
// little later (worldtest.Broker.Compact).
func (w *worldApp) checkTable(ctx context.Context, t *testing.T, s worldtest.Store, cleaned bool) {
	t.Helper()
	want := map[string][]byte{}
	at := map[string]int64{}
	line := func(partition int32, row *Row) string { return fmt.Sprintf("%d %s", partition, row.Key.Bytes) }
	r := openRows(t, RowsOptions{Path: w.app.Dir(), Store: s.Name})
	for _, p := range r.parts {
		task, partition := p.task, *p.part
		one := openRows(t, RowsOptions{Path: w.app.Dir(), Store: s.Name, Tasks: []string{task}})
		if _, err := one.Scan(ctx, RowsScan{}, func(row *Row) error {
			want[line(partition, row)] = bytes.Clone(row.Value.Bytes)
			if row.Time != nil {
				at[line(partition, row)] = *row.Time
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	topic, err := OpenTopicRows(ctx, w.client, TopicRowsOptions{Topic: s.Topic, Kind: r.kind, TempDir: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := topic.Scan(ctx, RowsScan{}, func(row *Row) error {
		n++
		k := line(*row.Partition, row)
		if v, ok := want[k]; !ok || !bytes.Equal(v, row.Value.Bytes) {
			return fmt.Errorf("the topic has %q = %x, the store %x (%t)", k, row.Value.Bytes, v, ok)
		}
		if ts, ok := at[k]; ok && ts != *row.Time && !cleaned {
			return fmt.Errorf("the topic has %q at %d, the store at %d", k, *row.Time, ts)
		}
		return nil
	}); err != nil || n != len(want) || n == 0 {
		t.Errorf("%s as a table: %d rows, the store has %d: %v", s.Topic, n, len(want), err)
	}
}
