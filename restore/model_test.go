//go:build cgo

package restore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/streams"
)

// workload is a random changelog of one store: what is in the topic, in
// order, and what of it a read_committed reader sees.
type workload struct {
	store   streams.Store
	records []kafkatest.Record
	aborted map[int]bool // index into records
}

// modelStores are all kinds, in the forms that make a difference.
func modelStores() []streams.Store {
	min := time.Minute
	return []streams.Store{
		{Kind: streams.KV}, {Kind: streams.TimestampedKV}, {Kind: streams.TimestampedKV, Headers: true}, {Kind: streams.List}, {Kind: streams.FKSubscription},
		{Kind: streams.Window, Retention: 20 * min, SegmentInterval: 10 * min},
		{Kind: streams.Window, Retention: 20 * min, SegmentInterval: 10 * min, Headers: true},
		{Kind: streams.TimestampedWindow, Retention: 7 * min, SegmentInterval: 61_001 * time.Millisecond},
		{Kind: streams.TimestampedWindow, Retention: 20 * min, SegmentInterval: 10 * min, Headers: true},
		{Kind: streams.Session, Retention: 20 * min, SegmentInterval: 10 * min}, {Kind: streams.Session, Retention: 20 * min, SegmentInterval: 10 * min, Headers: true},
		{Kind: streams.TimeOrderedWindow, Retention: 20 * min, SegmentInterval: 10 * min}, {Kind: streams.TimeOrderedWindow, Retention: 20 * min, SegmentInterval: 10 * min, WithIndex: true},
		{Kind: streams.TimeOrderedSession, Retention: 20 * min, SegmentInterval: 10 * min},
		{Kind: streams.GraceBuffer},
		{Kind: streams.Versioned, HistoryRetention: 20 * min, SegmentInterval: 10 * min},
		{Kind: streams.Versioned, HistoryRetention: min, SegmentInterval: 10 * time.Second}, // a batch spans more than that
		{Kind: streams.Versioned, HistoryRetention: time.Millisecond, SegmentInterval: 2 * time.Second},
	}
}

func formName(s streams.Store) string {
	n := string(s.Kind)
	if s.Headers {
		n += "-headers"
	}
	if s.WithIndex {
		n += "-index"
	}
	if s.Kind == streams.Versioned {
		n += "-" + s.HistoryRetention.String()
	}
	return n
}

// randomWorkload makes n records over an hour of event time, with late ones,
// hot keys, keys that are prefixes of each other, tombstones, empty values and
// null keys.
func randomWorkload(rnd *rand.Rand, s streams.Store, partitions int32, n int, value int) *workload {
	w := &workload{store: s, aborted: map[int]bool{}}
	start := int64(1_700_000_000_000)
	keys := 1 + rnd.IntN(n)
	for i := range n {
		now := start + int64(i)*3_600_000/int64(n)
		ts := now - rnd.Int64N(60_000)
		switch rnd.IntN(50) {
		case 0:
			ts = now - rnd.Int64N(3_600_000) // late
		case 2, 3, 4, 5, 6, 7:
			if s.Kind == streams.Versioned { // late by about the history retention: what is expired depends on the batch
				ts = now - s.HistoryRetention.Milliseconds() - 150_000 + rnd.Int64N(300_000)
			}
		case 1:
			ts = now + rnd.Int64N(120_000) // early
		}
		k := rnd.IntN(keys)
		if rnd.IntN(3) == 0 {
			k = rnd.IntN(3) // hot
		}
		if s.Kind == streams.Versioned && rnd.IntN(2) == 0 {
			k = 10_000 + i/8 + rnd.IntN(3) // keys that live for a moment: what their batch did to them stays
		}
		key := fmt.Appendf(nil, "%.*s%d", k%40, strings.Repeat("long common prefix ", 3), k)
		r := kafkatest.Record{Partition: int32(k) % partitions, Timestamp: ts}
		switch s.Kind {
		case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow, streams.GraceBuffer:
			r.Key = windowKey(string(key), ts-ts%10_000, uint32(rnd.IntN(2)))
		case streams.Session, streams.TimeOrderedSession:
			r.Key = sessionKey(string(key), ts, ts-rnd.Int64N(30_000))
		default:
			r.Key = key
		}
		switch x := rnd.IntN(100); {
		case x < 8, s.Kind == streams.Versioned && x < 30:
			r.Value = nil
		case x < 12:
			r.Value = []byte{}
		default:
			r.Value = make([]byte, 1+rnd.IntN(value))
			for j := range r.Value {
				r.Value[j] = byte(rnd.Uint32())
			}
		}
		if rnd.IntN(60) == 0 {
			r.Key = nil
		}
		for j := range rnd.IntN(4) {
			h := kafkatest.Header{Key: fmt.Sprintf("h%d", j)}
			if rnd.IntN(3) > 0 {
				h.Value = key
			}
			r.Headers = append(r.Headers, h)
		}
		w.records = append(w.records, r)
	}
	return w
}

// wireHeaders is the header section of a record (format v2).
func wireHeaders(hs []kafkatest.Header) []byte {
	b := binary.AppendVarint(nil, int64(len(hs)))
	for _, h := range hs {
		b = append(binary.AppendVarint(b, int64(len(h.Key))), h.Key...)
		if h.Value == nil {
			b = binary.AppendVarint(b, -1)
		} else {
			b = append(binary.AppendVarint(b, int64(len(h.Value))), h.Value...)
		}
	}
	return b
}

// send writes the workload to its changelog; transactions of a few dozen
// records when txns is set, some of them aborted.
func (w *workload) send(t testing.TB, k *world, rnd *rand.Rand, topic string, txns bool) {
	t.Helper()
	for i := 0; i < len(w.records); {
		n := min(1+rnd.IntN(100), len(w.records)-i)
		chunk := w.records[i : i+n]
		if !txns || rnd.IntN(3) == 0 {
			if err := k.ProduceAll(t.Context(), topic, chunk...); err != nil {
				t.Fatal(err)
			}
		} else {
			commit := rnd.IntN(3) > 0
			if err := k.Transaction(context.Background(), topic, commit, chunk...); err != nil {
				t.Fatal(err)
			}
			for j := range n {
				w.aborted[i+j] = !commit
			}
		}
		i += n
	}
}

// expect is what dump would list of the store of one task.
func (w *workload) expect(t testing.TB, task string, part int32, committed bool, offsets []int64, poll int64) []string {
	t.Helper()
	var recs []kafkatest.Record
	var offs []int64
	for i, r := range w.records {
		if (r.Partition == part || w.store.Global) && r.Key != nil && !(committed && w.aborted[i]) {
			recs = append(recs, r)
			offs = append(offs, offsets[i])
		}
	}
	s := w.store
	dbs := map[int64]map[string]string{}
	if !s.Kind.Segmented() {
		dbs[0] = map[string]string{}
	}
	if s.Kind == streams.Versioned {
		versionedModel(t, s, recs, offs, poll, dbs[0])
	} else {
		conv, err := streams.NewConverter(s)
		if err != nil {
			t.Fatal(err)
		}
		streamTime := int64(-1)
		for _, r := range recs {
			at, err := conv.Rows(r.Key, r.Value, wireHeaders(r.Headers), r.Timestamp, func(row *streams.Row) error {
				if dbs[row.Segment] == nil {
					dbs[row.Segment] = map[string]string{}
				}
				if row.Delete {
					delete(dbs[row.Segment], string(row.Key))
				} else {
					dbs[row.Segment][string(row.Key)] = string(row.Value)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			streamTime = max(streamTime, at)
		}
		if s.Kind.Segmented() {
			for seg := range dbs {
				if seg < s.MinLiveSegment(streamTime) {
					delete(dbs, seg)
				}
			}
		}
	}
	families := s.ColumnFamilies()
	var out []string
	for seg, rows := range dbs {
		dir := streams.DatabaseDir(task, s, seg)
		for _, f := range families {
			out = append(out, dir+" "+f)
		}
		for k, v := range rows {
			out = append(out, fmt.Sprintf("%s %s %x %x", dir, families[len(families)-1], k, v))
		}
	}
	sort.Strings(out)
	return out
}

// lastApplied is the offset a checkpoint has: null keys do not move it.
func (w *workload) lastApplied(part int32, committed bool, offsets []int64) int64 {
	last := int64(streams.OffsetUnknown)
	for i, r := range w.records {
		if r.Partition == part && r.Key != nil && !(committed && w.aborted[i]) {
			last = offsets[i]
		}
	}
	return last
}

// versionedModel restores into a map, batches being windows of offsets.
func versionedModel(t testing.TB, s streams.Store, recs []kafkatest.Record, offs []int64, poll int64, rows map[string]string) {
	t.Helper()
	v := streams.NewVersionedStore(s, mapBackend(rows))
	for i := 0; i < len(recs); {
		var batch []streams.VersionedInput
		window := offs[i] / poll
		for ; i < len(recs) && offs[i]/poll == window; i++ {
			batch = append(batch, streams.VersionedInput{Key: recs[i].Key, Value: recs[i].Value, TS: recs[i].Timestamp})
		}
		if _, err := v.Restore(batch); err != nil {
			t.Fatal(err)
		}
	}
}

type mapBackend map[string]string

func (m mapBackend) Get(k []byte) ([]byte, error) {
	if v, ok := m[string(k)]; ok {
		return []byte(v), nil
	}
	return nil, nil
}

func (m mapBackend) Write(rows []streams.VersionedRow) error {
	for _, r := range rows {
		if r.Delete {
			delete(m, string(r.Key))
		} else {
			m[string(r.Key)] = string(r.Value)
		}
	}
	return nil
}

func (m mapBackend) DeleteRange(from, to []byte) error {
	for k := range m {
		if k >= string(from) && k < string(to) {
			delete(m, k)
		}
	}
	return nil
}

// offsetsOf are the offsets of the workload's records, as the topic has them.
func (k *world) offsetsOf(t testing.TB, topic string, w *workload, partitions int32) []int64 {
	t.Helper()
	out := make([]int64, len(w.records))
	for p := range partitions {
		var all []int64
		eachRecord(t, k, topic, p, func(off int64) { all = append(all, off) })
		i := 0
		for j, r := range w.records {
			if r.Partition == p {
				out[j] = all[i]
				i++
			}
		}
		if i != len(all) {
			t.Fatalf("%s-%d holds %d records, %d were sent", topic, p, len(all), i)
		}
	}
	return out
}

// TestModel restores random changelogs of every kind of store, by both
// profiles, and compares every row of every family with a plain map.
func TestModel(t *testing.T) {
	const poll = 40
	k := newWorld(t, kafkatest.Options{})
	for i, s := range modelStores() {
		s.Name = fmt.Sprintf("s%d", i)
		t.Run(formName(s), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed(t), uint64(i)))
			const partitions = 3
			w := randomWorkload(rnd, s, partitions, 1200, 60)
			topic := k.changelog(t, s.Name, partitions, nil)
			w.send(t, k, rnd, topic, true)
			offsets := k.offsetsOf(t, topic, w, partitions)
			for _, eos := range []bool{false, true} {
				var want []string
				for p := range int32(partitions) {
					want = append(want, w.expect(t, fmt.Sprintf("0_%d", p), p, eos, offsets, poll)...)
					want = append(want, fmt.Sprintf("0_%d/.checkpoint %s-%d %d", p, topic, p, w.lastApplied(p, eos, offsets)))
				}
				slices.Sort(want)
				for _, profile := range []Profile{Bulk, Streams} {
					o := options(memDir(t), s)
					o.Siblings, o.Profile, o.Memory, o.Threads = o.Stores, profile, 1<<20, 1+rnd.IntN(5)
					o.Consumer = map[string]string{"max.poll.records": fmt.Sprint(poll), "max.partition.fetch.bytes": "10000"}
					if eos {
						o.Guarantee = ExactlyOnce
					}
					res := k.mustRestore(t, o)
					got := dump(t, appDir(o.Into, app))
					sameRows(t, fmt.Sprintf("%s eos=%t threads %d", profile, eos, o.Threads), got, want)
					w.checkCounts(t, res, eos)
				}
			}
		})
	}
}

// seed makes a run repeatable; SSTOOL_SEED gives other workloads.
func seed(t testing.TB) uint64 {
	s := os.Getenv("SSTOOL_SEED")
	if s == "" {
		return 1
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkCounts compares the report with the workload.
func (w *workload) checkCounts(t testing.TB, res *Result, committed bool) {
	t.Helper()
	var c Counts
	for i, r := range w.records {
		if committed && w.aborted[i] {
			c.Aborted++
			continue
		}
		c.Records++
		c.Bytes += int64(len(r.Key) + len(r.Value))
		switch {
		case r.Key == nil:
			c.NullKeys++
		case r.Value == nil:
			c.Tombstones++
		case len(r.Value) == 0:
			c.EmptyValues++
		}
	}
	g := res.Total
	got := []int64{g.Records, g.Bytes, g.NullKeys, g.Tombstones, g.EmptyValues, g.Aborted, g.OffsetGaps, g.Offsets}
	want := []int64{c.Records, c.Bytes, c.NullKeys, c.Tombstones, c.EmptyValues, c.Aborted, 0, c.Records + c.Aborted + g.Control}
	if !slices.Equal(got, want) {
		t.Errorf("%s: records, bytes, null keys, tombstones, empty values, aborted, gaps, offsets are %v, want %v", res.Profile, got, want)
	}
	if g.Rows != g.LiveKeys && w.store.Kind != streams.TimeOrderedWindow && w.store.Kind != streams.TimeOrderedSession {
		t.Errorf("%d rows of %d keys", g.Rows, g.LiveKeys)
	}
}
