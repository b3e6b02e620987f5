package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

const (
	testApp   = "app"
	testStore = "s"
	testTopic = "app-s-changelog"
)

// filled is a changelog with keys k0 … of which every one has a value.
func filled(t testing.TB, k *kafkatest.Cluster, topic string, partitions int32, keys int) {
	t.Helper()
	if err := k.Topic(topic, partitions, "cleanup.policy", "compact"); err != nil {
		t.Fatal(err)
	}
	var recs []kafkatest.Record
	for i := range keys {
		recs = append(recs, kafkatest.Record{Partition: int32(i) % partitions, Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v")})
	}
	if err := k.ProduceAll(t.Context(), topic, recs...); err != nil {
		t.Fatal(err)
	}
}

// deletionOf plans to delete the keys for which old is true.
func deletionOf(t testing.TB, c *kafka.Client, topic string, keys int, old func(i int) bool) *Deletion {
	t.Helper()
	f, err := checkChangelog(t.Context(), c, testApp, topic)
	if err != nil {
		t.Fatal(err)
	}
	id, err := c.ClusterID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, _ := streams.StoreOfChangelog(testApp, topic)
	s := DeletionStore{Store: store, Kind: streams.KV, Topic: topic, TopicID: f.ID()}
	n := int32(len(f.Topic.Partitions))
	dir := t.TempDir()
	for p := range n {
		w, err := newKeySet(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := int(p); i < keys; i += int(n) {
			if old(i) {
				if err := w.Add(fmt.Appendf(nil, "k%d", i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		set, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		s.Parts = append(s.Parts, DeletionPart{Partition: p, End: f.Offsets[p].End, Keys: set})
	}
	return &Deletion{Command: "ttl", ApplicationID: testApp, ClusterID: id, Request: "test", Stores: []DeletionStore{s}}
}

// live reads a topic as a restore does: key → value. records counts them all.
func live(t testing.TB, c *kafka.Client, topic string) (rows map[string]string, records int, headers int) {
	t.Helper()
	rows = map[string]string{}
	offsets, err := c.Offsets(t.Context(), topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	for p, o := range offsets {
		r, err := c.OpenPartition(t.Context(), kafka.ReadOptions{Topic: topic, Partition: p, From: o.Start, To: o.End})
		if err != nil {
			t.Fatal(err)
		}
		var d kafka.Decoder
		for {
			b, err := r.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err == nil {
				_, err = d.Decode(b, func(rec *kafka.Record) error {
					records++
					headers += rec.HeaderCount
					if rec.Value == nil {
						delete(rows, string(rec.Key))
					} else {
						rows[string(rec.Key)] = string(rec.Value)
					}
					return nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	return rows, records, headers
}

func ledgerIn(t testing.TB) DeletionOptions {
	return DeletionOptions{Ledger: filepath.Join(t.TempDir(), "l", "ttl.json")}
}

func leftovers(t testing.TB, o DeletionOptions) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(o.Ledger), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDeletion(t *testing.T) {
	k := startKafka(t, kafkatest.Options{Brokers: 2})
	c := openKafka(t, k)
	filled(t, k, testTopic, 3, 3000)
	d := deletionOf(t, c, testTopic, 3000, func(i int) bool { return i%2 == 0 })
	o := ledgerIn(t)
	o.Timestamp = 77
	before := time.Now()
	r, err := d.Apply(t.Context(), c, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Tombstones != 1500 || r.Earlier != 0 || r.Verified != 1500 || len(r.Stores) != 1 || len(r.Stores[0].Partitions) != 3 || r.LedgerRemaining != "" {
		t.Errorf("%+v", r)
	}
	for _, p := range r.Stores[0].Partitions {
		if !p.Verified || p.Tombstones != 500 || p.Last == nil || *p.Last != p.PlannedEnd+499 {
			t.Errorf("%+v", p)
		}
	}
	rows, records, headers := live(t, c, testTopic)
	if len(rows) != 1500 || records != 4500 || headers != 0 {
		t.Errorf("%d rows, %d records", len(rows), records)
	}
	for i := range 3000 {
		if _, ok := rows[fmt.Sprintf("k%d", i)]; ok != (i%2 == 1) {
			t.Fatalf("k%d: %v", i, ok)
		}
	}
	if left := leftovers(t, o); len(left) != 0 {
		t.Error("left behind:", left)
	}
	if ts, err := c.NewestTimestamp(t.Context(), testTopic, 0, *r.Stores[0].Partitions[0].Last+1, 1); ts != 77 || err != nil {
		t.Error("timestamp", ts, err)
	}
	// Nothing to delete is nothing to do; without a timestamp it is now.
	d = deletionOf(t, c, testTopic, 3000, func(int) bool { return false })
	if r, err := d.Apply(t.Context(), c, o, nil); err != nil || r.Tombstones != 0 {
		t.Error(r, err)
	}
	d = deletionOf(t, c, testTopic, 3000, func(i int) bool { return i == 1 })
	o.Timestamp = 0
	if r, err = d.Apply(t.Context(), c, o, nil); err != nil || r.Tombstones != 1 {
		t.Fatal(r, err)
	}
	part := r.Stores[0].Partitions[0] // of those with rows to delete
	ts, err := c.NewestTimestamp(t.Context(), testTopic, part.Partition, *part.Last+1, 1)
	if err != nil || part.Partition != 1 || ts < before.UnixMilli() || ts > time.Now().UnixMilli() {
		t.Error("timestamp", part.Partition, ts, err)
	}
}

func TestDeletionRate(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 2, 200)
	o := ledgerIn(t)
	o.Rate = 100
	start := time.Now()
	r, err := deletionOf(t, c, testTopic, 200, func(i int) bool { return i < 100 }).Apply(t.Context(), c, o, nil)
	if err != nil || r.Tombstones != 100 {
		t.Fatal(r, err)
	}
	if d := time.Since(start); d < 400*time.Millisecond || d > time.Minute {
		t.Errorf("100 tombstones at 100 a second took %s", d)
	}
}

// Every refusal, before the first tombstone: nothing is written.
func TestDeletionRefuses(t *testing.T) {
	record := kafkatest.Record{Key: []byte("new"), Value: []byte("v")}
	for _, x := range []struct {
		name  string
		spoil func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, d *Deletion)
		kind  op.Kind
		want  string
	}{
		{"a member", func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, _ *Deletion) {
			if err := errors.Join(k.Topic("in", 1), k.ProduceAll(t.Context(), "in", record)); err != nil {
				t.Fatal(err)
			}
			leave, err := k.Join(t.Context(), testApp, "in", "classic")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(leave)
		}, op.Precondition, "1 members"},
		{"newer rows", func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, _ *Deletion) {
			if err := k.ProduceAll(t.Context(), testTopic, record); err != nil {
				t.Fatal(err)
			}
		}, op.Precondition, "not at 50"},
		{"an open transaction", func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, _ *Deletion) {
			end, err := k.Begin(t.Context(), testTopic, record)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { end(false) })
		}, op.Precondition, "open transaction"},
		{"another cluster", func(_ *testing.T, _ *kafkatest.Cluster, _ *kafka.Client, d *Deletion) { d.ClusterID = "other" }, op.Precondition, `not "other"`},
		{"the topic made anew", func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, _ *Deletion) {
			if err := c.DeleteTopics(t.Context(), testTopic); err != nil {
				t.Fatal(err)
			}
			filled(t, k, testTopic, 2, 100)
		}, op.Precondition, "created anew"},
		{"the topic gone", func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, _ *Deletion) {
			if err := c.DeleteTopics(t.Context(), testTopic); err != nil {
				t.Fatal(err)
			}
		}, op.NotFound, testTopic},
		{"no compaction", func(t *testing.T, k *kafkatest.Cluster, c *kafka.Client, _ *Deletion) {
			if err := c.AlterTopicConfig(t.Context(), testTopic, map[string]string{"cleanup.policy": "delete"}, nil); err != nil {
				t.Fatal(err)
			}
		}, op.Precondition, "cleanup.policy=delete"},
		{"a user's topic", func(_ *testing.T, k *kafkatest.Cluster, _ *kafka.Client, d *Deletion) {
			d.Stores[0].Topic = "orders"
		}, op.Precondition, "somebody else"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			k := startKafka(t, kafkatest.Options{})
			c := openKafka(t, k)
			filled(t, k, testTopic, 2, 100)
			d := deletionOf(t, c, testTopic, 100, func(int) bool { return true })
			x.spoil(t, k, c, d)
			o := ledgerIn(t)
			var produced atomic.Int32
			k.AtProduce(func(int32) error { produced.Add(1); return nil })
			_, err := d.Apply(t.Context(), c, o, nil)
			optest.WantKind(t, err, x.kind, x.want)
			if produced.Load() != 0 {
				t.Error("something was written")
			}
			if left := leftovers(t, o); len(left) != 0 {
				t.Error("left behind:", left)
			}
		})
	}
}

// Random tables, random victims, and a run that is cut off again and again, at
// any request, with a ledger as old as a crash may leave it: in the end exactly
// the victims are gone, each with one tombstone.
func TestDeletionModel(t *testing.T) {
	seeds := 6
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		seeds = 60
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(seed), 6))
			k := startKafka(t, kafkatest.Options{Brokers: 1 + rnd.IntN(3)})
			c := openKafka(t, k, "retry.backoff.ms", "1", "retry.backoff.max.ms", "2")
			keys := 1 + rnd.IntN(3000)
			partitions := int32(1 + rnd.IntN(6))
			filled(t, k, testTopic, partitions, keys)
			percent := rnd.IntN(101)
			old := map[int]bool{}
			for i := range keys {
				old[i] = rnd.IntN(100) < percent
			}
			d := deletionOf(t, c, testTopic, keys, func(i int) bool { return old[i] })
			o := ledgerIn(t)
			o.round = int64(1 + rnd.IntN(200))

			var cut atomic.Int32 // the request at which this run ends
			var cancel atomic.Pointer[context.CancelFunc]
			requests := atomic.Int32{}
			k.AtProduce(func(int32) error {
				if n := requests.Add(1); n == cut.Load() {
					(*cancel.Load())()
					if n%2 == 0 {
						return errors.New("cut off")
					}
				}
				return nil
			})
			runs := 0
			for ; ; runs++ {
				if runs == 200 {
					t.Fatal("it does not end")
				}
				ctx, stop := context.WithCancel(t.Context())
				cancel.Store(&stop)
				requests.Store(0)
				cut.Store(int32(1 + rnd.IntN(6)))
				if runs > 60 {
					cut.Store(-1)
				}
				if runs > 0 {
					next, note, err := ContinueDeletion(t.Context(), c, o, "test")
					if err != nil {
						t.Fatal(err)
					}
					if next == nil {
						if note != "" {
							t.Fatal(note)
						}
						break // the last run was done when it was cut off
					}
					d = next
				}
				ledger, _ := os.ReadFile(o.Ledger)
				_, err := d.Apply(ctx, c, o, nil)
				stop()
				if err == nil {
					break
				}
				if op.KindOf(err) != op.Declined {
					t.Fatal(err)
				}
				if _, err := os.Stat(o.Ledger); err == nil && len(ledger) > 0 && rnd.IntN(2) == 0 {
					if err := os.WriteFile(o.Ledger, ledger, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			rows, records, _ := live(t, c, testTopic)
			victims := 0
			for i := range keys {
				_, there := rows[fmt.Sprintf("k%d", i)]
				if there == old[i] {
					t.Fatalf("k%d: old %v, there %v", i, old[i], there)
				}
				if old[i] {
					victims++
				}
			}
			if records != keys+victims {
				t.Errorf("%d records, want %d and %d tombstones", records, keys, victims)
			}
			if left := leftovers(t, o); len(left) != 0 {
				t.Error("left behind:", left)
			}
			t.Logf("%d keys, %d victims, %d partitions, cut off %d times", keys, victims, partitions, runs)
		})
	}
}

// A run that was stopped, and the application has run since: what it wrote is
// never deleted, and the run is planned anew.
func TestDeletionOvertaken(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 2, 1000)
	o := ledgerIn(t)
	o.Rate = 400
	ctx, cancel := context.WithCancel(t.Context())
	d := deletionOf(t, c, testTopic, 1000, func(i int) bool { return i < 900 })
	r, err := d.Apply(ctx, c, o, func(e op.Event) {
		if e.Type == op.Progress {
			cancel()
		}
	})
	optest.WantKind(t, err, op.Declined, "interrupted after", "run it again")
	if r.LedgerRemaining != o.Ledger || r.Tombstones == 0 {
		t.Errorf("%+v", r)
	}
	// Something else was asked for.
	_, _, err = ContinueDeletion(t.Context(), c, o, "another test")
	optest.WantKind(t, err, op.Precondition, "unfinished", ": test", o.Ledger)
	// Applied without having been continued.
	fresh := deletionOf(t, c, testTopic, 1000, func(i int) bool { return i == 950 })
	_, err = fresh.Apply(t.Context(), c, o, nil)
	optest.WantKind(t, err, op.Precondition, "unfinished")
	if next, note, err := ContinueDeletion(t.Context(), c, o, "test"); err != nil || next == nil || note == "" {
		t.Fatal(next, note, err)
	} else if steps := next.Steps(o); len(steps) < 3 {
		t.Error(steps)
	}
	if err := k.ProduceAll(t.Context(), testTopic, kafkatest.Record{Partition: 1, Key: []byte("k899"), Value: []byte("young")}); err != nil {
		t.Fatal(err)
	}
	next, note, err := ContinueDeletion(t.Context(), c, o, "test")
	if err != nil || next != nil || note == "" {
		t.Fatal(next, note, err)
	}
	if left := leftovers(t, o); len(left) != 0 {
		t.Error("left behind:", left)
	}
	if next, note, err = ContinueDeletion(t.Context(), c, o, "test"); err != nil || next != nil || note != "" {
		t.Fatal(next, note, err)
	}
	rows, _, _ := live(t, c, testTopic)
	if rows["k899"] != "young" {
		t.Error("the young row is gone")
	}
}

// Somebody writes between two rounds: the run stops before it deletes what is
// newer than its plan.
func TestDeletionStranger(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 1, 1000)
	o := ledgerIn(t)
	o.Rate = 1000
	d := deletionOf(t, c, testTopic, 1000, func(int) bool { return true })
	once := atomic.Bool{}
	_, err := d.Apply(t.Context(), c, o, func(e op.Event) {
		if e.Type == op.Progress && once.CompareAndSwap(false, true) {
			if err := k.ProduceAll(t.Context(), testTopic, kafkatest.Record{Key: []byte("k999"), Value: []byte("young")}); err != nil {
				t.Error(err)
			}
		}
	})
	optest.WantKind(t, err, op.Precondition, "somebody has written to it")
	rows, _, _ := live(t, c, testTopic)
	if rows["k999"] != "young" || len(rows) < 2 {
		t.Error("rows", len(rows))
	}
	if next, note, err := ContinueDeletion(t.Context(), c, o, "test"); next != nil || err != nil || note == "" {
		t.Error(next, note, err)
	}
}

// A member that joins between two rounds stops the run; when it has left, the
// run goes on.
func TestDeletionMemberJoins(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 1, 1000)
	if err := errors.Join(k.Topic("in", 1), k.ProduceAll(t.Context(), "in", kafkatest.Record{Key: []byte("k")})); err != nil {
		t.Fatal(err)
	}
	o := ledgerIn(t)
	o.Rate = 1000
	d := deletionOf(t, c, testTopic, 1000, func(int) bool { return true })
	leave := func() {}
	_, err := d.Apply(t.Context(), c, o, func(e op.Event) {
		if e.Type == op.Progress && e.Done == 500 {
			l, err := k.Join(t.Context(), testApp, "in", "classic")
			if err != nil {
				t.Error(err)
				return
			}
			leave = l
		}
	})
	leave()
	optest.WantKind(t, err, op.Precondition, "1 members")
	next, _, err := ContinueDeletion(t.Context(), c, o, "test")
	if err != nil || next == nil {
		t.Fatal(next, err)
	}
	o.Rate = 0
	r, err := next.Apply(t.Context(), c, o, nil)
	if err != nil || r.Earlier != 500 || r.Tombstones != 500 || r.Verified != 1000 || r.ContinuedFrom == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if rows, records, _ := live(t, c, testTopic); len(rows) != 0 || records != 2000 {
		t.Error(len(rows), records)
	}
}

// A batch of a run that was killed comes late, behind what the next run wrote.
func TestDeletionLateBatch(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 1, 100)
	d := deletionOf(t, c, testTopic, 100, func(int) bool { return true })
	tombs := func(from, to int) {
		t.Helper()
		var recs []kafkatest.Record
		for i := from; i < to; i++ {
			recs = append(recs, kafkatest.Record{Key: fmt.Appendf(nil, "k%d", i)})
		}
		if err := k.ProduceAll(t.Context(), testTopic, recs...); err != nil {
			t.Fatal(err)
		}
	}
	part := &d.Stores[0].Parts[0]
	walk := func(end int64) (walked, error) {
		return walkTombstones(t.Context(), c, testTopic, part, end)
	}
	tombs(0, 40)
	tombs(20, 30)
	tombs(40, 60)
	if w, err := walk(170); err != nil || w != (walked{written: 60, last: 169, again: 10}) {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := walk(145); err != nil || w != (walked{written: 40, last: 144, again: 5}) {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := walk(100); err != nil || w != (walked{last: -1}) {
		t.Errorf("%+v, %v", w, err)
	}
	var over *overtakenError
	if _, err := walk(99); !errors.As(err, &over) {
		t.Error(err)
	}
	tombs(70, 71) // ahead of the others: nobody of ours
	if _, err := walk(171); !errors.As(err, &over) {
		t.Error(err)
	}
}

func TestKeySet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	w, err := newKeySet(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	bytes := int64(0)
	for i := range 5000 {
		key := make([]byte, rnd.IntN(300))
		if i%1000 == 7 {
			key = make([]byte, 100_000)
		}
		for j := range key {
			key[j] = byte(rnd.Uint32())
		}
		want = append(want, key)
		bytes += int64(len(key))
		if err := w.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	set, err := w.Close()
	if err != nil || set.Keys != 5000 || set.Bytes != bytes {
		t.Fatal(set, err)
	}
	at := filepath.Join(dir, "moved")
	if err := errors.Join(set.check(), set.moveTo(at), set.check()); err != nil {
		t.Fatal(err)
	}
	i := 0
	err = set.Each(t.Context(), func(key []byte) error {
		if string(key) != string(want[i]) {
			t.Fatalf("key %d differs", i)
		}
		i++
		return nil
	})
	if err != nil || i != 5000 {
		t.Fatal(i, err)
	}
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, len(data) / 2, len(data) - 1} {
		if err := os.WriteFile(at, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		optest.WantKind(t, set.check(), op.Corrupt, "checksum")
		if err := set.Each(t.Context(), func([]byte) error { return nil }); err == nil {
			t.Errorf("%d bytes of %d: no error", n, len(data))
		}
	}
	w, err = newKeySet(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.Discard()
	set.Remove()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Error(left)
	}
}

// Whatever is in a file of keys and in a ledger: an error, or what was written.
func FuzzKeySet(f *testing.F) {
	f.Add([]byte("\x03abc\x00\x01x"), int64(3))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\x7fabc"), int64(1))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, keys int64) {
		path := filepath.Join(dir, "keys")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		set := &KeySet{Keys: keys, path: path}
		n, bytes := int64(0), 0
		err := set.Each(t.Context(), func(key []byte) error {
			n++
			bytes += len(key)
			return nil
		})
		if bytes > len(data) || err == nil && n != keys || err != nil && op.KindOf(err) != op.Corrupt {
			t.Errorf("%d keys of %d, %d bytes of %d, %v", n, keys, bytes, len(data), err)
		}
	})
}

func FuzzDeletionLedger(f *testing.F) {
	f.Add([]byte(`{"format":1,"deletion":{"stores":[{"partitions":[{"partition":0,"end":5,"keys":{"keys":1}}]}]},"progress":[{"written":1}]}`))
	f.Add([]byte(`{"format":1,"progress":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var st deletionState
		if json.Unmarshal(data, &st) != nil || st.check() != nil {
			return
		}
		l := &ledger[deletionState]{State: st, path: filepath.Join(t.TempDir(), "l.json")}
		_ = loadKeys(l) // an error, not a panic
		st.Deletion.Steps(DeletionOptions{})
	})
}
