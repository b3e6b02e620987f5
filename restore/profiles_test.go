//go:build cgo

package restore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// bothProfiles restores by both and fails when a row or a checkpoint line
// differs; it returns bulk's result and rows.
func (w *world) bothProfiles(t testing.TB, o Options) (*Result, []string) {
	t.Helper()
	o.Profile, o.Into = Streams, memDir(t)
	w.mustRestore(t, o)
	want := dump(t, appDir(o.Into, app))
	o.Profile, o.Into = Bulk, memDir(t)
	res := w.mustRestore(t, o)
	got := dump(t, appDir(o.Into, app))
	sameRows(t, "bulk against streams", got, want)
	return res, got
}

// A budget far below the rows: the table spills, also with one hot key that
// has most of the bytes, and with values larger than a fetch.
func TestModelSpills(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for i, s := range []streams.Store{{Kind: streams.TimestampedKV}, {Kind: streams.TimestampedWindow, Retention: 20 * time.Minute, SegmentInterval: 10 * time.Minute},
		{Kind: streams.Versioned, HistoryRetention: 20 * time.Minute, SegmentInterval: 10 * time.Minute}} {
		s.Name = fmt.Sprintf("s%d", i)
		t.Run(formName(s), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(2, uint64(i)))
			w := randomWorkload(rnd, s, 1, 30_000, 300)
			for range 3 {
				j := rnd.IntN(len(w.records))
				w.records[j].Value = make([]byte, 700<<10)
			}
			topic := k.changelog(t, s.Name, 1, nil)
			for c := range slices.Chunk(w.records, 2000) {
				if err := k.Produce(t.Context(), topic, "lz4", func(yield func(*kafkatest.Record) bool) {
					for i := range c {
						if !yield(&c[i]) {
							return
						}
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			want := w.expect(t, "0_0", 0, false, k.offsetsOf(t, topic, w, 1), 1000)
			for _, profile := range []Profile{Bulk, Streams} {
				o := options(memDir(t), s)
				o.Memory, o.Threads, o.Profile = 1<<20, 3, profile
				k.mustRestore(t, o)
				got := slices.DeleteFunc(dump(t, appDir(o.Into, app)), func(l string) bool { return strings.Contains(l, streams.CheckpointFile) })
				sameRows(t, string(profile), got, want)
				if exists(filepath.Join(o.Into, ".sstool", "build-"+app)) {
					t.Error("the build directory is left")
				}
			}
		})
	}
}

// Compaction leaves gaps, also at the end and where whole transactions were.
func TestCompactedChangelog(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := kv("s")
	rnd := rand.New(rand.NewPCG(3, 3))
	w := randomWorkload(rnd, s, 2, 1000, 50)
	for i := range w.records {
		if w.records[i].Key == nil {
			w.records[i].Key = []byte("x") // a compacted topic refuses null keys
		}
	}
	topic := k.changelog(t, s.Name, 2, nil, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0", "delete.retention.ms", "0", "segment.bytes", "4000", "retention.ms", "-1")
	w.send(t, k, rnd, topic, true)
	var want []string
	for p := range int32(2) {
		want = append(want, w.expect(t, fmt.Sprintf("0_%d", p), p, true, make([]int64, len(w.records)), 1000)...)
	}
	slices.Sort(want)
	for range 3 { // the second pass drops tombstones
		k.Compact()
	}
	o := options("", s)
	o.Siblings, o.Guarantee = o.Stores, ExactlyOnce
	res, got := k.bothProfiles(t, o)
	got = slices.DeleteFunc(got, func(l string) bool { return strings.Contains(l, streams.CheckpointFile) })
	sameRows(t, "compacted", got, want)
	if res.Total.OffsetGaps == 0 {
		t.Fatalf("compaction left no gaps: %+v", res.Total)
	}
}

// A global store takes all partitions, and its checkpoint the next offsets.
func TestGlobalStores(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for i, s := range []streams.Store{{Kind: streams.TimestampedKV}, {Kind: streams.Window, Retention: 20 * time.Minute, SegmentInterval: 10 * time.Minute},
		{Kind: streams.Versioned, HistoryRetention: 20 * time.Minute, SegmentInterval: 10 * time.Minute}} {
		s.Name, s.Global = fmt.Sprintf("g%d", i), true
		t.Run(formName(s), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(4, uint64(i)))
			w := randomWorkload(rnd, s, 3, 600, 50)
			// In the order in which the partitions are read.
			slices.SortStableFunc(w.records, func(a, b kafkatest.Record) int { return int(a.Partition - b.Partition) })
			topic := k.changelog(t, s.Name, 4, w.records) // one partition is empty
			o := options("", s)
			o.Stores[0].Subtopology = nil
			o.Partitions = []int32{1} // is about tasks
			o.Threads = 3
			_, got := k.bothProfiles(t, o)
			want := []string{}
			if s.Kind != streams.Versioned { // batches end with each partition there
				want = w.expect(t, "global", 0, false, make([]int64, len(w.records)), 1000)
			}
			for p := range int32(3) {
				offs, err := k.client.Offsets(t.Context(), topic, []int32{p})
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("global/.checkpoint %s-%d %d", topic, p, offs[p].End))
			}
			slices.Sort(want)
			if s.Kind == streams.Versioned {
				got = slices.DeleteFunc(got, func(l string) bool { return !strings.Contains(l, streams.CheckpointFile) })
			}
			sameRows(t, "global", got, want)
		})
	}
	t.Run("not a copy", func(t *testing.T) {
		o := options(memDir(t), streams.Store{Name: "g0", Kind: streams.TimestampedKV, Global: true})
		o.Stores[0].GlobalCopy = false
		_, err := k.restore(t, o)
		optest.WantKind(t, err, op.Usage, "g0", "addGlobalStore", "global: copy")
	})
}

// A record whose time is in microseconds moves stream time ages ahead: every
// other segment expires, in both profiles.
func TestTimesFarApart(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := streams.Store{Name: "w", Kind: streams.Window, Retention: 2 * time.Minute, SegmentInterval: time.Minute}
	var recs []kafkatest.Record
	for i := range 200 {
		recs = append(recs, kafkatest.Record{Timestamp: 5, Key: windowKey(fmt.Sprint("k", i), 1_700_000_000_000+int64(i)*1000, 0), Value: []byte("v")})
	}
	recs[150].Key = windowKey("micro", 1_700_000_000_000_000, 0)
	k.changelog(t, "w", 1, recs)
	_, got := k.bothProfiles(t, options("", s))
	if n := slices.IndexFunc(got, func(l string) bool { return strings.Contains(l, fmt.Sprintf("%x", "micro")) }); n < 0 || len(got) != 3 {
		t.Fatal(got)
	}
	// Negative times are legal too: segments around zero share one directory.
	s.Name = "n"
	recs = recs[:0]
	for i := range 300 {
		recs = append(recs, kafkatest.Record{Timestamp: 5, Key: windowKey(fmt.Sprint("k", i), int64(i-150)*1000, 0), Value: []byte("v")})
	}
	k.changelog(t, "n", 1, recs)
	_, got = k.bothProfiles(t, options("", s))
	if len(got) < 150 {
		t.Fatal(len(got))
	}
}

// Nothing to restore is a store too, of every kind.
func TestEmptyPartition(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for i, s := range modelStores() {
		s.Name = fmt.Sprintf("s%d", i)
		topic := k.changelog(t, s.Name, 1, nil)
		for _, x := range []struct {
			guarantee Guarantee
			target    streams.Version
			line      bool
		}{
			{AtLeastOnce, streams.Version{Major: 4, Minor: 4}, true}, {AtLeastOnce, streams.Version{}, true},
			{ExactlyOnce, streams.Version{Major: 4, Minor: 2}, true}, {ExactlyOnce, streams.Version{Major: 4, Minor: 3}, false},
		} {
			if s.Headers && !x.target.IsZero() && !streams.OffsetsInStore(x.target) {
				continue // no such stores there
			}
			o := options("", s)
			o.Siblings, o.Guarantee, o.Target = o.Stores, x.guarantee, x.target
			_, got := k.bothProfiles(t, o)
			line := slices.Contains(got, fmt.Sprintf("0_0/.checkpoint %s-0 -4", topic))
			row := slices.ContainsFunc(got, func(l string) bool {
				return strings.HasSuffix(l, fmt.Sprintf(" offsets %x fffffffffffffffc", topic+"-0"))
			})
			if line != x.line || row == x.line {
				t.Errorf("%s, %s, %s: line %t, row %t in %v", s.Kind, x.guarantee, x.target, line, row, got)
			}
		}
		o := options(memDir(t), s)
		o.Siblings, o.Guarantee, o.Target = o.Stores, ExactlyOnce, streams.Version{}
		_, err := k.restore(t, o)
		optest.WantKind(t, err, op.Usage, topic+"-0 is empty", "--target-kafka")
		if exists(appDir(o.Into, app)) {
			t.Error("refused, and yet something was made")
		}
	}
}

// A partition whose last records have null keys only, or only aborted ones,
// holds no data either.
func TestNothingApplied(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := kv("s")
	topic := k.changelog(t, "s", 1, nil, "cleanup.policy", "delete")
	if err := k.Transaction(t.Context(), topic, false, numbered(0, 0, 5, 5)...); err != nil {
		t.Fatal(err)
	}
	o := options("", s)
	o.Siblings, o.Guarantee = o.Stores, ExactlyOnce
	res, got := k.bothProfiles(t, o)
	if want := "0_0/.checkpoint " + topic + "-0 -4"; !slices.Contains(got, want) || res.Total.Aborted != 5 || res.Total.Records != 0 {
		t.Fatal(got, res.Total)
	}
	o.Target, o.Into = streams.Version{}, memDir(t)
	_, err := k.restore(t, o)
	optest.WantKind(t, err, op.Usage, topic+"-0", "--target-kafka")
	if full, err := files.NonEmpty(filepath.Join(appDir(o.Into, app), "0_0")); full || err != nil {
		t.Error("something is in place", err)
	}
	k.produce(t, topic, []kafkatest.Record{{Value: []byte("no key")}})
	o = options(memDir(t), s)
	o.Isolation = "read_committed"
	if res := k.mustRestore(t, o); res.Total.NullKeys != 1 || res.Total.LastApplied != -1 {
		t.Fatal(res.Total)
	}
}

// Transactional batches and no word about the guarantee: not for hand-over.
func TestTransactionsNeedTheGuarantee(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 100, 10))
	if err := k.Transaction(t.Context(), topic, true, numbered(0, 0, 5, 5)...); err != nil {
		t.Fatal(err)
	}
	for _, profile := range []Profile{Bulk, Streams} {
		o := options(memDir(t), kv("s"))
		o.Guarantee, o.Profile = "", profile
		_, err := k.restore(t, o)
		optest.WantKind(t, err, op.Precondition, "transactional", topic, "--processing-guarantee")
		if es, _ := os.ReadDir(appDir(o.Into, app)); len(es) != 1 { // .lock
			t.Error(es)
		}
		o.Isolation = "read_committed"
		k.mustRestore(t, o)
		o.Into, o.Isolation, o.Measure = "", "", true
		k.mustRestore(t, o)
	}
}
