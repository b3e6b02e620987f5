package streams

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func segValue(s string) *SegmentValue {
	v, err := ParseSegmentValue(hx(s))
	if err != nil {
		panic(err)
	}
	return v
}

// TestSegmentValue uses bytes made by Kafka's own
// RocksDBVersionedStoreSegmentValueFormatter.
func TestSegmentValue(t *testing.T) {
	const (
		ab         = "00000000000000c8 0000000000000064 0000000000000064 00000001 41"
		abc        = "000000000000012c 0000000000000064 00000000000000c8 00000002 0000000000000064 00000001 41 4242"
		early      = "000000000000012c 0000000000000032 00000000000000c8 00000002 0000000000000064 00000001 0000000000000032 ffffffff 41 4242"
		gap        = "00000000000001f4 0000000000000032 0000000000000190 00000001 000000000000012c ffffffff 00000000000000c8 00000002 0000000000000064 00000001 0000000000000032 ffffffff 41 4242 43"
		degenerate = "000000000000012c 000000000000012c 000000000000012c ffffffff"
		degenD     = "000000000000015e 000000000000012c 000000000000012c 00000001 44"
		degenE     = "000000000000015e 000000000000012c 0000000000000140 00000001 000000000000012c ffffffff 45"
	)
	cut := func(from int64) func() *SegmentValue {
		return func() *SegmentValue { v := segValue(abc); v.insertLatest(from, 400, []byte("X")); return v }
	}
	for _, c := range []struct {
		name string
		make func() *SegmentValue
		want string
	}{
		{"new", func() *SegmentValue { v := &SegmentValue{}; v.reset([]byte("A"), 100, 200); return v }, ab},
		{"latest", func() *SegmentValue { v := segValue(ab); v.insertLatest(200, 300, []byte("BB")); return v }, abc},
		{"earliest", func() *SegmentValue { v := segValue(abc); v.insertEarliest(50, nil); return v }, early},
		{"gap", func() *SegmentValue { v := segValue(early); v.insertLatest(400, 500, []byte("C")); return v }, gap},
		{"degenerate", func() *SegmentValue { v := &SegmentValue{}; v.reset(nil, 300, 300); return v }, degenerate},
		{"degenerate, adjoining", func() *SegmentValue { v := segValue(degenerate); v.insertLatest(300, 350, []byte("D")); return v }, degenD},
		{"degenerate, gap", func() *SegmentValue { v := segValue(degenerate); v.insertLatest(320, 350, []byte("E")); return v }, degenE},
		{"overlap, all", cut(50), "0000000000000190 0000000000000032 0000000000000032 00000001 58"},
		{"overlap, all from the first", cut(100), "0000000000000190 0000000000000064 0000000000000064 00000001 58"},
		{"overlap, within the first", cut(150), "0000000000000190 0000000000000064 0000000000000096 00000001 0000000000000064 00000001 41 58"},
		{"overlap, the last", cut(200), "0000000000000190 0000000000000064 00000000000000c8 00000001 0000000000000064 00000001 41 58"},
		{"overlap, within the last", cut(250), "0000000000000190 0000000000000064 00000000000000fa 00000001 00000000000000c8 00000002 0000000000000064 00000001 41 4242 58"},
		{"earliest, update, insert", func() *SegmentValue {
			v := segValue(ab)
			v.insertEarliest(60, nil)
			i, _ := v.find(150)
			v.update(i, 100, []byte("CCC"))
			i, _ = v.find(70)
			v.insertAfter(i, 70, []byte("D"))
			return v
		}, "00000000000000c8 000000000000003c 0000000000000064 00000003 0000000000000046 00000001 000000000000003c ffffffff 44 434343"},
	} {
		if got := c.make().Append(nil); !bytes.Equal(got, hx(c.want)) {
			t.Errorf("%s:\n got %x\nwant %x", c.name, got, hx(c.want))
		}
		if v := segValue(c.want); !bytes.Equal(v.Append(nil), hx(c.want)) {
			t.Errorf("%s: %x comes back as %x", c.name, hx(c.want), v.Append(nil))
		}
	}
	for _, bad := range []string{"", ab[:len(ab)-3], ab + "41", "00000000000000c8 0000000000000064 0000000000000065 00000001 41",
		"00000000000000c8 0000000000000064 0000000000000064 7fffffff 41"} {
		if v, err := ParseSegmentValue(hx(bad)); err == nil {
			t.Errorf("%s parsed as %+v", bad, v)
		}
	}
}

func FuzzSegmentValue(f *testing.F) {
	f.Add(hx("000000000000012c 0000000000000032 00000000000000c8 00000002 0000000000000064 00000001 0000000000000032 ffffffff 41 4242"), int64(120))
	f.Fuzz(func(t *testing.T, b []byte, ts int64) {
		v, err := ParseSegmentValue(b)
		if err != nil {
			return
		}
		again := v.Append(nil)
		if len(again) != len(b) {
			t.Fatalf("%x became %x", b, again)
		}
		if i, ok := v.find(ts); ok && v.Versions[i].ValidFrom > ts {
			t.Fatalf("found %d for %d", v.Versions[i].ValidFrom, ts)
		}
		valid := v.Min <= v.Next && slices.IsSortedFunc(v.Versions, func(a, b RecordVersion) int { return cmp.Compare(a.ValidFrom, b.ValidFrom) })
		v.insertLatest(ts, ts+1, []byte("x"))
		if v.Next != ts+1 || !bytes.Equal(v.Versions[len(v.Versions)-1].Value, []byte("x")) {
			t.Fatalf("inserted at %d: %+v", ts, v)
		}
		if valid && v.Min < v.Next {
			if _, err := ParseSegmentValue(v.Append(nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// mapBackend is a database in memory.
type mapBackend map[string][]byte

func (m mapBackend) Get(key []byte) ([]byte, error) { return m[string(key)], nil }
func (m mapBackend) Write(rows []VersionedRow) error {
	for _, r := range rows {
		if r.Delete {
			delete(m, string(r.Key))
		} else {
			m[string(r.Key)] = append([]byte{}, r.Value...)
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

type versionedInput struct {
	key, value []byte
	ts         int64
}

// randomVersioned makes records of a few keys, mostly moving on in time; in
// order per key when ordered.
func randomVersioned(r *rand.Rand, n int, step int64, ordered bool) []versionedInput {
	now := int64(10_000)
	latest := map[byte]int64{}
	var out []versionedInput
	for range n {
		now += r.Int64N(step)
		ts, key := now, 'a'+byte(r.IntN(4))
		if r.IntN(3) == 0 {
			ts = max(0, now-r.Int64N(20*step))
		}
		if ordered {
			ts = max(ts, latest[key])
		}
		latest[key] = ts
		in := versionedInput{key: []byte{key}, ts: ts}
		if r.IntN(4) > 0 {
			in.value = fmt.Appendf(nil, "v%d", len(out))[:r.IntN(4)]
		}
		out = append(out, in)
	}
	return out
}

// replayBatches is what VersionedStore makes of the records in the given batches.
func replayBatches(t *testing.T, s Store, recs []versionedInput, ends []int) (mapBackend, int64) {
	db := mapBackend{}
	store := NewVersionedStore(s, db)
	var dropped int64
	from := 0
	for _, end := range ends {
		var batch []VersionedInput
		for _, r := range recs[from:end] {
			batch = append(batch, VersionedInput{r.key, r.value, r.ts})
		}
		n, err := store.Restore(batch)
		if err != nil {
			t.Fatal(err)
		}
		dropped += n
		from = end
	}
	return db, dropped
}

// replayKeys is what VersionedReplay makes of them.
func replayKeys(t *testing.T, s Store, recs []versionedInput, ends []int) (mapBackend, int64) {
	byKey := map[string][]VersionedRecord{}
	clock := NewVersionedClock(s)
	var dropped, expired int64
	from := 0
	for _, end := range ends {
		var batch []VersionedRecord
		for _, r := range recs[from:end] {
			batch = append(batch, VersionedRecord{TS: r.ts, Value: r.value})
		}
		expired += clock.Batch(batch)
		for i, r := range recs[from:end] {
			byKey[string(r.key)] = append(byKey[string(r.key)], batch[i])
		}
		from = end
	}
	db := mapBackend{}
	v := NewVersionedReplay(s)
	for key, list := range byKey {
		var last []byte
		n, err := v.Key([]byte(key), list, clock.StreamTime(), func(segment int64, k, val []byte) error {
			if !bytes.Equal(k, appendRowKey(nil, segment, []byte(key))) || last != nil && bytes.Compare(last, k) >= 0 {
				t.Errorf("row key %x after %x, segment %d", k, last, segment)
			}
			last = append(last[:0], k...)
			db[string(k)] = append([]byte{}, val...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		dropped += n
	}
	if dropped != expired {
		t.Errorf("dropped %d, the clock said %d", dropped, expired)
	}
	return db, dropped
}

func randomEnds(r *rand.Rand, n, limit int) []int {
	var ends []int
	for at := 0; at < n; {
		at = min(n, at+1+r.IntN(limit))
		ends = append(ends, at)
	}
	return ends
}

// TestVersionedReplayEqualsStore: by key or by batch, the same rows; and for
// keys in order of time it does not matter to queries where batches end.
func TestVersionedReplayEqualsStore(t *testing.T) {
	s := Store{Name: "s", Kind: Versioned, HistoryRetention: 900 * time.Millisecond, SegmentInterval: 300 * time.Millisecond}
	differ := 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		ordered := seed%2 == 0
		recs := randomVersioned(r, 200, 5+r.Int64N(60), ordered)
		one := []int{len(recs)}
		base, _ := replayKeys(t, s, recs, one)
		streamTime := int64(0)
		for _, in := range recs {
			streamTime = max(streamTime, in.ts)
		}
		for _, ends := range [][]int{one, randomEnds(r, len(recs), 1), randomEnds(r, len(recs), 40)} {
			a, droppedA := replayBatches(t, s, recs, ends)
			b, droppedB := replayKeys(t, s, recs, ends)
			if !maps.EqualFunc(a, b, bytes.Equal) || droppedA != droppedB {
				t.Fatalf("seed %d, batches %v:\nby batch, dropped %d\n%sby key, dropped %d\n%s", seed, ends, droppedA, dump(a), droppedB, dump(b))
			}
			if !maps.EqualFunc(a, base, bytes.Equal) {
				differ++
			}
			for key := byte('a'); ordered && key < 'e'; key++ {
				for ts := streamTime - 900; ts <= streamTime; ts += 9 {
					if x, y := base.get(t, s, key, ts, streamTime), a.get(t, s, key, ts, streamTime); x != y {
						t.Fatalf("seed %d, batches %v: %c at %d: %s or %s\n%s\n%s", seed, ends, key, ts, x, y, dump(base), dump(a))
					}
				}
			}
		}
	}
	if differ == 0 {
		t.Error("batches never mattered: the workload is too tame")
	}
}

// TestVersionedKeyLivesAgain shows the second effect that VersionedReplay
// tells of.
func TestVersionedKeyLivesAgain(t *testing.T) {
	s := Store{Name: "s", Kind: Versioned, HistoryRetention: 900 * time.Millisecond, SegmentInterval: 300 * time.Millisecond}
	recs := []versionedInput{
		{[]byte("a"), []byte("x"), 10_000},
		{[]byte("b"), nil, 9_200},
		{[]byte("b"), []byte("old"), 9_150},
		{[]byte("a"), []byte("y"), 10_400},
	}
	for _, c := range []struct {
		ends []int
		want string
	}{{[]int{4}, "\"old\" from 9150"}, {[]int{1, 2, 3, 4}, "none"}} {
		rows, _ := replayKeys(t, s, recs, c.ends)
		if got := rows.get(t, s, 'b', 10_400, 10_400); got != c.want {
			t.Errorf("batches %v: %s, want %s\n%s", c.ends, got, c.want, dump(rows))
		}
	}
}

func dump(m mapBackend) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%s\n", hex.EncodeToString([]byte(k)), hex.EncodeToString(m[k]))
	}
	return b.String()
}

// get answers a query as of ts, as SI/RocksDBVersionedStore.get does.
func (m mapBackend) get(t *testing.T, s Store, key byte, ts, streamTime int64) string {
	if b := m[string(appendRowKey(nil, LatestSegment, []byte{key}))]; b != nil && getInt64(b) <= ts {
		return fmt.Sprintf("%q from %d", b[8:], getInt64(b))
	}
	for segment := s.SegmentID(streamTime); segment >= s.SegmentID(ts); segment-- {
		b := m[string(appendRowKey(nil, segment, []byte{key}))]
		if b == nil {
			continue
		}
		v, err := ParseSegmentValue(b)
		if err != nil {
			t.Fatal(err)
		}
		if v.Next <= ts {
			return "none"
		}
		if v.Min > ts {
			continue
		}
		i, ok := v.find(ts)
		if !ok {
			t.Fatalf("%+v has nothing at %d", v, ts)
		}
		if v.Versions[i].Value == nil {
			return "none"
		}
		return fmt.Sprintf("%q from %d", v.Versions[i].Value, v.Versions[i].ValidFrom)
	}
	return "none"
}

func BenchmarkVersionedReplay(b *testing.B) {
	s := Store{Name: "s", Kind: Versioned, HistoryRetention: 24 * time.Hour, SegmentInterval: time.Hour}
	recs := make([]VersionedRecord, 20)
	value := make([]byte, 100)
	for i := range recs {
		recs[i] = VersionedRecord{TS: int64(i) * 600_000, Value: value, StreamTime: 12_000_000, BatchStreamTime: 12_000_000}
	}
	v := NewVersionedReplay(s)
	yield := func(int64, []byte, []byte) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Key([]byte("account-0000012345"), recs, 12_000_000, yield); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20, "ns/record")
}
