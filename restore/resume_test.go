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

	"sstool/internal/kafkatest"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// TestResume applies the tail to an existing store of every kind, in both
// homes of the offset, and gets what a full restore gets.
func TestResume(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for i, s := range modelStores() {
		s.Name = fmt.Sprintf("s%d", i)
		t.Run(formName(s), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(5, uint64(i)))
			w := randomWorkload(rnd, s, 1, 600, 50)
			// A resumed store does not know the stream time before it: none of
			// the tail may be so late that it matters.
			slices.SortStableFunc(w.records, func(a, b kafkatest.Record) int { return eventTime(s, a, b) })
			topic := k.changelog(t, s.Name, 1, w.records[:500])
			at := map[string]Options{}
			for _, home := range []string{"file bulk", "file streams", "family bulk", "family streams"} {
				o := options(memDir(t), s)
				k.mustRestore(t, o)
				o.Profile = Bulk
				if strings.HasSuffix(home, "streams") {
					o.Profile = Streams
				}
				at[home] = o
				if strings.HasPrefix(home, "family") {
					offsetsIntoFamily(t, filepath.Join(appDir(o.Into, app), "0_0"), s, topic)
				}
			}
			k.produce(t, topic, w.records[500:])
			full := options(memDir(t), s)
			k.mustRestore(t, full)
			for home, o := range at {
				want := dump(t, appDir(full.Into, app))
				o.FromCheckpoint = true
				res := k.mustRestore(t, o)
				x := res.Partitions[0]
				if x.State != "resumed" || x.Started == "" || x.From < 450 || x.Records != 600-x.From {
					t.Fatalf("%s: %+v", home, x)
				}
				got := slices.DeleteFunc(dump(t, appDir(o.Into, app)), func(l string) bool { return strings.Contains(l, " offsets") })
				if s.Kind == streams.Versioned {
					// Kafka Streams forgets the segments of a versioned store it opens:
					// history from before is neither searched nor expired.
					got, want = latestOnly(got), latestOnly(want)
				}
				sameRows(t, home, got, want)
				asides, _ := filepath.Glob(filepath.Join(o.Into, ".sstool", "aside", app, "0_0", "*", s.Name))
				if len(asides) != 1 {
					t.Error("the store as it was is not aside", asides)
				}
			}
		})
	}
}

func latestOnly(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool {
		return strings.Contains(l, " default ") && !strings.Contains(l, " default ffffffffffffffff")
	})
}

// eventTime orders records by the time that moves stream time.
func eventTime(s streams.Store, a, b kafkatest.Record) int {
	at := func(r kafkatest.Record) int64 {
		if r.Key == nil || !s.Kind.Segmented() {
			return r.Timestamp
		}
		conv, err := streams.NewConverter(s)
		if err != nil {
			return 0
		}
		n, _ := conv.SegmentTime(r.Key)
		return n
	}
	return int(at(a) - at(b))
}

// offsetsIntoFamily turns a task into what Kafka 4.4 leaves behind: no
// .checkpoint, the offset in every database; older segments hold an older one.
func offsetsIntoFamily(t testing.TB, task string, s streams.Store, topic string) {
	t.Helper()
	path := filepath.Join(task, streams.CheckpointFile)
	cp, err := streams.ReadCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ids := []int64{0}
	if s.Kind.Segmented() {
		if ids, err = streams.SegmentIDs(streams.StoreDir(task, s), s); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		off := cp[streams.TopicPartition{Topic: topic}]
		if i < len(ids)-1 {
			off = 1
		}
		writeOffsetsFamily(t, streams.DatabaseDir(task, s, id), s, streams.OffsetRows(topic, 0, off))
	}
}

func writeOffsetsFamily(t testing.TB, dir string, s streams.Store, rows []streams.Row) {
	t.Helper()
	putRows(t, dir, append(s.ColumnFamilies(), streams.OffsetsFamily), rows...)
}

// putRows writes rows to the last of the families, as a memtable's file.
func putRows(t testing.TB, dir string, families []string, rows ...streams.Row) {
	t.Helper()
	db, err := openDB(dir, families, rocks.CRC32C)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := db.Batch()
	defer b.Close()
	for _, r := range rows {
		b.Put(len(families)-1, r.Key, r.Value)
	}
	if err := db.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
}

// Segment names grow a digit: the newest segment by number decides, not by name.
func TestNewestSegmentDecides(t *testing.T) {
	task := filepath.Join(t.TempDir(), "odd [name]*?", "0_0")
	s := streams.Store{Name: "w.x", Kind: streams.Window, Retention: time.Hour, SegmentInterval: time.Minute}
	for i, ms := range []int64{-60_000, 0, 60_000, 9_960_000, 10_020_000} {
		dir := streams.DatabaseDir(task, s, ms/60_000)
		db, err := openDB(dir, s.ColumnFamilies(), rocks.CRC32C)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		if ms != 10_020_000 { // the newest has no row: the one before it decides
			writeOffsetsFamily(t, dir, s, streams.OffsetRows("t", 3, int64(100+i)))
		}
	}
	put(t, filepath.Join(task, "w.x", "w.x.9960000", "note.txt"), "strays do not matter")
	put(t, filepath.Join(task, "w.position"), "0\n0\n")
	tp := streams.TopicPartition{Topic: "t", Partition: 3}
	off, err := storedOffsets(task, streams.Version{})
	if err != nil || off[tp] != 103 {
		t.Fatal(off, err)
	}
	// The file wins, unless it says that it knows nothing and 4.3+ reads it.
	cp := filepath.Join(task, streams.CheckpointFile)
	if err := (streams.Checkpoint{tp: 7}).Write(cp); err != nil {
		t.Fatal(err)
	}
	if off, err = storedOffsets(task, streams.Version{Major: 4, Minor: 4}); err != nil || off[tp] != 7 {
		t.Fatal(off, err)
	}
	if err := (streams.Checkpoint{tp: streams.OffsetUnknown, {Topic: "e"}: streams.OffsetUnknown}).Write(cp); err != nil {
		t.Fatal(err)
	}
	if off, err = storedOffsets(task, streams.Version{Major: 4, Minor: 4}); err != nil || off[tp] != 103 || len(off) != 1 {
		t.Fatal(off, err)
	}
	if off, err = storedOffsets(task, streams.Version{Major: 4, Minor: 2}); err != nil || off[tp] != streams.OffsetUnknown || len(off) != 2 {
		t.Fatal(off, err)
	}
	// A database that cannot be read is an error, not a missing offset.
	manifests, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(task)), "*", "0_0", "w.x", "w.x.0", "MANIFEST-*"))
	for _, m := range manifests {
		put(t, m, "garbage")
	}
	if _, err = storedOffsets(task, streams.Version{}); len(manifests) == 0 || op.KindOf(err) != op.Corrupt {
		t.Fatal(manifests, err)
	}
}

func TestResumeRefused(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := kv("s")
	topic := k.changelog(t, "s", 1, numbered(0, 0, 100, 50), "cleanup.policy", "compact", "delete.retention.ms", "3600000")
	base := options(memDir(t), s)
	k.mustRestore(t, base)
	task := filepath.Join(appDir(base.Into, app), "0_0")
	cp := filepath.Join(task, streams.CheckpointFile)
	at := streams.TopicPartition{Topic: topic}
	resume := base
	resume.FromCheckpoint = true
	k.produce(t, topic, numbered(0, 100, 20, 50))
	refused := func(name string, kind op.Kind, want ...string) {
		t.Helper()
		before := tree(t, base.Into)
		_, err := k.restore(t, resume)
		t.Run(name, func(t *testing.T) { optest.WantKind(t, err, kind, want...) })
		if after := tree(t, base.Into); !slices.Equal(before, after) {
			t.Errorf("%s: something changed", name)
		}
	}
	write := func(c streams.Checkpoint) {
		if err := c.Write(cp); err != nil {
			t.Fatal(err)
		}
	}
	write(streams.Checkpoint{at: 120})
	refused("beyond the end", op.Precondition, topic+"-0", "120", "beyond the end 120", "--force")
	write(streams.Checkpoint{at: streams.OffsetUnknown})
	refused("unknown", op.Precondition, "no stored offset", "--force")
	write(streams.Checkpoint{{Topic: "other"}: 3})
	refused("no line", op.Precondition, "no stored offset")
	put(t, cp, "0\n7\n")
	refused("bad file", op.Corrupt, cp)

	write(streams.Checkpoint{at: 99})
	old := time.Now().Add(-2 * time.Hour)
	touch := func(at time.Time) {
		for _, f := range tree(t, task) {
			if err := os.Chtimes(strings.Fields(f)[0], at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch(old)
	refused("too old", op.Precondition, `store "s"`, "2h0m0s", "1h0m0s", "delete.retention.ms", "--force")
	touch(time.Now())

	if err := k.DeleteRecords(topic, 0, 110); err != nil {
		t.Fatal(err)
	}
	refused("below the log start", op.Precondition, topic+"-0", "99", "log start 110", "Kafka Streams", "--force")
	write(streams.Checkpoint{at: 109})
	if res := k.mustRestore(t, resume); res.Total.Records != 10 {
		t.Fatal(res.Total)
	}
	// Old, but nothing to apply: nothing can have been missed.
	touch(old)
	if res := k.mustRestore(t, resume); res.Total.Records != 0 {
		t.Fatal(res.Total)
	}
	if c, err := streams.ReadCheckpoint(cp); err != nil || c[at] != 119 {
		t.Fatal(c, err)
	}
	resume.Tasks = []streams.TaskID{{Partition: 0}}
	// Up to 4.2 what a memtable was written to after the .checkpoint tells it.
	putRows(t, streams.DatabaseDir(task, s, 0), s.ColumnFamilies(), streams.Row{Key: []byte("k"), Value: []byte("aborted")})
	moment := time.Now()
	touch(moment)
	if err := os.Chtimes(cp, moment.Add(-time.Millisecond), moment.Add(-time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	resume.Guarantee = ExactlyOnce
	refused("written after the .checkpoint", op.Precondition, "written after its .checkpoint", "aborted", "--force")
	if err := os.Chtimes(cp, moment, moment); err != nil {
		t.Fatal(err)
	}
	k.mustRestore(t, resume)
	// A store that an exactly-once application did not close.
	writeOffsetsFamily(t, streams.DatabaseDir(task, s, 0), s, []streams.Row{{Key: []byte(streams.StatusKey), Value: streams.EncodeOffset(streams.StatusOpen)}})
	resume.Guarantee, resume.Target, resume.Siblings = ExactlyOnce, streams.Version{Major: 4, Minor: 4}, resume.Stores
	refused("not closed", op.Precondition, "not closed cleanly", "--force")
	resume.Guarantee = AtLeastOnce
	k.mustRestore(t, resume)
}

// The log start passes the checkpoint between plan and read.
func TestResumeBelowLogStartLater(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 100, 50))
	o := options(memDir(t), kv("s"))
	k.mustRestore(t, o)
	k.produce(t, topic, numbered(0, 100, 50, 50))
	o.FromCheckpoint = true
	plan, err := MakePlan(t.Context(), k.client, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.DeleteRecords(topic, 0, 140); err != nil {
		t.Fatal(err)
	}
	err = untouched(t, o.Into, func() error { _, err := plan.Run(t.Context(), nil); return err })
	optest.WantKind(t, err, op.Precondition, topic+"-0", "log start 140", "wipe", "--force")
}

// --measure --state-dir times the tail on a copy and leaves the original alone.
func TestResumeOfACopy(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 2, slices.Concat(numbered(0, 0, 100, 50), numbered(1, 0, 100, 50)))
	o := options(memDir(t), kv("s"))
	k.mustRestore(t, o)
	k.produce(t, topic, numbered(1, 100, 20, 50))
	before := tree(t, o.Into)
	o.StateDir, o.Into, o.FromCheckpoint, o.Measure, o.Scratch, o.Repeat = o.Into, "", true, true, memDir(t), 2
	for _, p := range profiles {
		o.Profile = p
		res := k.mustRestore(t, o)
		if res.Total.Records != 20 || res.Total.LiveKeys != 100 {
			t.Errorf("%+v", res.Total)
		}
	}
	if after := tree(t, o.StateDir); !slices.Equal(before, after) {
		t.Errorf("the original changed from %v to %v", before, after)
	}
}

// A copy on another file system takes space, one beside it does not.
func TestSpaceOfCopies(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, nil)
	k.produceSingly(t, topic, bigValues(3))
	o := options(t.TempDir(), kv("s"))
	k.mustRestore(t, o)
	o.StateDir, o.Into, o.FromCheckpoint, o.Measure = o.Into, "", true, true
	need := func(scratch string) int64 {
		o.Scratch = scratch
		return *k.mustRestore(t, o).Space.Expected.Value
	}
	if extra := need(smallDisk(t, 200<<20)) - need(t.TempDir()); extra < 1500<<10 {
		t.Errorf("a copy of 1.8 MB counts %d bytes", extra)
	}
}

// A timestamped store whose directory is from before it was one: rows move
// from the default family as they are written, as in Kafka Streams.
func TestResumeDualStore(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	plain := streams.Store{Name: "s", Kind: streams.KV}
	o := options(memDir(t), plain)
	k.mustRestore(t, o)
	k.produce(t, topic, append(numbered(0, 10, 3, 10), kafkatest.Record{Key: []byte("k0007"), Timestamp: 1}))
	o.Stores[0].Kind, o.FromCheckpoint = streams.TimestampedKV, true
	k.mustRestore(t, o)
	db := streams.DatabaseDir(filepath.Join(appDir(o.Into, app), "0_0"), plain, 0)
	count := func(family string) (n int) {
		if err := lsm.Rows(db, family, func(k, v []byte) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b := count(streams.DefaultFamily), count(streams.TimestampFamily); a != 6 || b != 3 {
		t.Fatalf("%d rows in default, %d in the timestamped family", a, b)
	}
}

// A global store is resumed at its next offset.
func TestResumeGlobal(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := kv("g")
	s.Global = true
	topic := k.changelog(t, "g", 2, slices.Concat(numbered(0, 0, 30, 30), numbered(1, 0, 20, 20)))
	o := options(memDir(t), s)
	k.mustRestore(t, o)
	k.produce(t, topic, numbered(1, 20, 5, 50))
	o.FromCheckpoint = true
	if res := k.mustRestore(t, o); res.Total.Records != 5 {
		t.Fatalf("%+v", res.Total)
	}
	got := dump(t, appDir(o.Into, app))
	for _, l := range []string{"global/.checkpoint " + topic + "-0 30", "global/.checkpoint " + topic + "-1 25"} {
		if !slices.Contains(got, l) {
			t.Errorf("%s is not in %v", l, got)
		}
	}
}
