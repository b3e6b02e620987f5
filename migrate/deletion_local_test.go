//go:build cgo

package migrate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// localCase is a local store and what a deletion makes of its offset.
type localCase struct {
	task     string
	families []string // beside default
	file     *int64   // line in .checkpoint
	row      *int64   // row of the offsets family
	home     string
	after    *int64
	note     string
}

func at(n int64) *int64 { return &n }

// build makes the store with k<i> of partition 0, the even ones in the older family.
func (x *localCase) build(t *testing.T, stateDir string, keys []int) string {
	t.Helper()
	taskDir := filepath.Join(stateDir, testApp, x.task)
	dir := filepath.Join(taskDir, streams.RocksDir, testStore)
	families := append([]string{streams.DefaultFamily}, x.families...)
	if x.row != nil {
		families = append(families, streams.OffsetsFamily)
	}
	db, err := rocks.Create(dir, rocks.Options{Families: families})
	if err != nil {
		t.Fatal(err)
	}
	b := db.Batch()
	defer b.Close()
	for _, i := range keys {
		b.Put(i/2%(1+len(x.families)), fmt.Appendf(nil, "k%d", i), []byte("v"))
	}
	if x.row != nil {
		n := len(families) - 1
		b.Put(n, streams.OffsetsKey(testTopic, 0), streams.EncodeOffset(*x.row))
		b.Put(n, []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
		b.Put(n, []byte(streams.PositionKey), []byte("position"))
	}
	if err := db.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cp := streams.Checkpoint{{Topic: "other-changelog", Partition: 0}: 5}
	if x.file != nil {
		cp[streams.TopicPartition{Topic: testTopic, Partition: 0}] = *x.file
	}
	path := filepath.Join(taskDir, streams.CheckpointFile)
	if err := cp.Write(path); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Local stores of every kind of home, family and age in one application: the
// rows are gone in all of them, and exactly the offsets of those that were up
// to date are moved.
func TestDeletionLocal(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	const keys = 200 // offsets 0 … 99 in each partition
	filled(t, k, testTopic, 2, keys)
	// An application with exactly-once: markers follow the last record.
	if err := k.Transaction(t.Context(), testTopic, true, kafkatest.Record{Key: []byte("k0"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	old := func(i int) bool { return i >= 20 }
	d := deletionOf(t, c, testTopic, keys, old) // end 102 in partition 0, 90 tombstones: the last at 191
	if end := d.Stores[0].Parts[0].End; end != 102 {
		t.Fatal(end)
	}
	stateDir := t.TempDir()
	cases := []localCase{
		{task: "0_0", file: at(100), home: ".checkpoint", after: at(191)},
		{task: "1_0", families: []string{streams.TimestampFamily}, file: at(101), home: ".checkpoint", after: at(191)},
		{task: "2_0", families: []string{streams.TimestampFamily}, row: at(100), home: "offsets", after: at(191)},
		{task: "3_0", families: []string{streams.TimestampFamily, streams.TimestampHeadersFamily}, row: at(99), home: "offsets", after: at(99), note: "replays"},
		{task: "4_0", file: at(50), home: ".checkpoint", after: at(50), note: "replays"},
		{task: "5_0", file: at(100), row: at(3), home: ".checkpoint", after: at(191)}, // the file counts
		{task: "6_0", note: "no offset"},
		{task: "7_0", file: at(-4), note: "no offset"},
		{task: "8_0", row: at(-4), note: "no offset"},
		{task: "9_0", file: at(191), home: ".checkpoint", after: at(191), note: "already"},
		{task: "__named__/0_0", file: at(100), home: ".checkpoint", after: at(191)},
	}
	var mine []int
	for i := 0; i < keys; i += 2 {
		mine = append(mine, i)
	}
	for i := range cases {
		cases[i].build(t, stateDir, mine)
	}
	other := localCase{task: "0_1", file: at(99)} // partition 1 loses rows as well
	var theirs []int
	for i := 1; i < keys; i += 2 {
		theirs = append(theirs, i)
	}
	other.build(t, stateDir, theirs)
	o := DeletionOptions{StateDir: stateDir, Ledger: DefaultLedger(stateDir, "ttl", testApp, testStore), Compact: true}
	r, err := d.Apply(t.Context(), c, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stores[0].Partitions[0].Local) != len(cases) || len(r.Stores[0].Partitions[1].Local) != 1 || r.LocalRows != int64(len(cases)+1)*90 {
		t.Fatalf("%+v", r)
	}
	if r.Compacted == nil || r.Compacted.After.Tombstones != 0 || len(r.Compacted.Stores) != len(cases)+1 {
		t.Errorf("compacted: %+v", r.Compacted)
	}
	same := func(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	for _, x := range cases {
		i := slices.IndexFunc(r.Stores[0].Partitions[0].Local, func(l DeletedLocal) bool {
			return l.Dir == filepath.Join(stateDir, testApp, x.task, streams.RocksDir, testStore)
		})
		if i < 0 {
			t.Fatalf("%s: not touched", x.task)
		}
		l := r.Stores[0].Partitions[0].Local[i]
		if l.Home != x.home || !same(l.After, x.after) || l.Deletes != 90 || (x.note == "") != (l.Note == "") {
			t.Errorf("%s: %+v", x.task, l)
		}
		db, err := rocks.Open(l.Dir, rocks.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for f, name := range db.Families() {
			err := db.Iterate(f, func(key, value []byte) error {
				if name != streams.OffsetsFamily {
					rows++
					return nil
				}
				switch string(key) {
				case streams.StatusKey:
					if n, err := streams.DecodeOffset(value); err != nil || n != streams.StatusOpen {
						t.Errorf("%s: status %d, %v", x.task, n, err)
					}
				case streams.PositionKey:
					if string(value) != "position" {
						t.Errorf("%s: position %q", x.task, value)
					}
				default:
					want := x.row
					if x.home == "offsets" {
						want = x.after
					}
					if n, err := streams.DecodeOffset(value); err != nil || n != *want {
						t.Errorf("%s: offset row %d, %v", x.task, n, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if rows != 10 {
			t.Errorf("%s: %d rows are left, want 10", x.task, rows)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(stateDir, testApp, x.task, streams.CheckpointFile)
		cp, err := streams.ReadCheckpoint(path)
		if err != nil || cp[streams.TopicPartition{Topic: "other-changelog", Partition: 0}] != 5 {
			t.Error(cp, err)
		}
		off, ok := cp[streams.TopicPartition{Topic: testTopic, Partition: 0}]
		want := x.file
		if x.home == ".checkpoint" {
			want = x.after
		}
		if ok != (want != nil) || ok && off != *want {
			t.Errorf("%s: the checkpoint says %d, %v", x.task, off, ok)
		}
		if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) < time.Minute {
			t.Errorf("%s: the other line looks younger than it is: %v", x.task, err)
		}
	}
	if left := leftovers(t, o); len(left) != 0 {
		t.Error("left behind:", left)
	}
}

// What stands in the way of the local part is found before the first tombstone.
func TestDeletionLocalRefuses(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 1, 10)
	stateDir := t.TempDir()
	x := localCase{task: "0_0", families: []string{streams.WindowHeadersFamily}, file: at(9)}
	dir := x.build(t, stateDir, []int{0, 2})
	d := deletionOf(t, c, testTopic, 10, func(int) bool { return true })
	o := DeletionOptions{StateDir: stateDir, Ledger: DefaultLedger(stateDir, "ttl", testApp, testStore)}
	_, err := d.Apply(t.Context(), c, o, nil)
	optest.WantKind(t, err, op.Precondition, dir, "no key-value store")
	if err := os.Remove(filepath.Join(dir, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	x = localCase{task: "1_0", file: at(9)}
	dir = x.build(t, stateDir, []int{0, 2})
	if err := removeTables(dir); err != nil {
		t.Fatal(err)
	}
	_, err = d.Apply(t.Context(), c, o, nil)
	optest.WantKind(t, err, op.Corrupt, dir)
	if rows, records, _ := live(t, c, testTopic); len(rows) != 10 || records != 10 {
		t.Error("something was written:", records)
	}
}

// Stopped after the tombstones and before the local part: the next run does
// the rest and writes nothing to Kafka.
func TestDeletionLocalContinued(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	filled(t, k, testTopic, 1, 100)
	stateDir := t.TempDir()
	x := localCase{task: "0_0", families: []string{streams.TimestampFamily}, file: at(99)}
	var all []int
	for i := range 100 {
		all = append(all, i)
	}
	x.build(t, stateDir, all)
	d := deletionOf(t, c, testTopic, 100, func(i int) bool { return i < 60 })
	o := DeletionOptions{StateDir: stateDir, Ledger: DefaultLedger(stateDir, "ttl", testApp, testStore)}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := d.Apply(ctx, c, o, func(e op.Event) {
		if e.Type == op.Phase && e.Name == "local" {
			cancel()
		}
	})
	optest.WantKind(t, err, op.Declined, "60 tombstones")
	next, _, err := ContinueDeletion(t.Context(), c, o, "test")
	if err != nil || next == nil {
		t.Fatal(next, err)
	}
	r, err := next.Apply(t.Context(), c, o, nil)
	if err != nil || r.Tombstones != 0 || r.Earlier != 60 || r.LocalRows != 60 {
		t.Fatalf("%+v, %v", r, err)
	}
	if l := r.Stores[0].Partitions[0].Local[0]; l.After == nil || *l.After != 159 {
		t.Errorf("%+v", l)
	}
	if _, records, _ := live(t, c, testTopic); records != 160 {
		t.Error(records)
	}
}
