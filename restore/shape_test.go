//go:build cgo

package restore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/lsm"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// TestBulkStoreIsCompact: what bulk builds is as small as RocksDB itself makes
// it by a full compaction, holds no tombstone and no row twice, and lies in
// files that do not overlap.
func TestBulkStoreIsCompact(t *testing.T) {
	w := newWorld(t, kafkatest.Options{})
	r := rand.New(rand.NewPCG(7, 7))
	var recs []kafkatest.Record
	for i := range 200_000 {
		rec := kafkatest.Record{Key: fmt.Appendf(nil, "customer-%012d", r.IntN(50_000)), Timestamp: int64(1_700_000_000_000 + i)}
		if r.IntN(20) > 0 {
			rec.Value = fmt.Appendf(nil, "%0100d", i)
		}
		recs = append(recs, rec)
	}
	topic := streams.ChangelogTopic(app, "st")
	if err := w.Topic(topic, 1, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	if err := w.ProduceAll(t.Context(), topic, recs...); err != nil {
		t.Fatal(err)
	}
	sub := 0
	dir := memDir(t)
	p, err := MakePlan(t.Context(), w.client, Options{ApplicationID: app, Guarantee: AtLeastOnce, Into: dir, ToOffset: -1, Memory: 8 << 20,
		Stores: []StoreRequest{{Store: streams.Store{Name: "st", Kind: streams.TimestampedKV}, Subtopology: &sub}}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(1.1 * float64(res.Total.WireBytes)); res.TempBytes > limit || res.TempBytes == 0 {
		t.Errorf("%d bytes of temporary files for a changelog of %d", res.TempBytes, res.Total.WireBytes)
	}
	for _, part := range res.Partitions {
		var sum float64
		for _, x := range part.WhereTheTime {
			sum += x.Seconds
		}
		if all := float64(res.Workers) * part.Elapsed; sum < 0.95*all || sum > 1.05*all {
			t.Errorf("activities sum to %.3f s, workers × elapsed is %.3f s", sum, all)
		}
	}
	db := filepath.Join(dir, app, "0_0", "rocksdb", "st")
	info, err := lsm.VerifyDB(db, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := info.Family(streams.TimestampFamily)
	if f.Entries != res.Total.LiveKeys || f.Deletes != 0 {
		t.Errorf("%d entries and %d deletes for %d live keys", f.Entries, f.Deletes, res.Total.LiveKeys)
	}
	built := sstBytes(t, db)
	d, err := rocks.Open(db, rocks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CompactRange(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if compacted := sstBytes(t, db); float64(built) > 1.02*float64(compacted) {
		t.Errorf("built %d bytes, compacted %d", built, compacted)
	}
}

// sstBytes is the size of the live SST files.
func sstBytes(t *testing.T, db string) int64 {
	t.Helper()
	v, err := lsm.ReadManifest(db)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, f := range v.Families {
		for _, x := range f.Files {
			if !strings.HasSuffix(v.Path(x), ".sst") {
				t.Fatalf("odd file %s", v.Path(x))
			}
			n += int64(x.Size)
		}
	}
	return n
}
