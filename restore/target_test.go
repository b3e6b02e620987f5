//go:build cgo

package restore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

func TestOccupiedTarget(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 2, slices.Concat(numbered(0, 0, 30, 10), numbered(1, 0, 30, 10)))
	o := options(filepath.Join(memDir(t), "odd dir [x]*?"), kv("s"))
	task := filepath.Join(appDir(o.Into, app), "0_1")
	put(t, filepath.Join(task, "rocksdb", "s", "000001.sst"), "precious")
	put(t, filepath.Join(task, "rocksdb", "other", "000001.sst"), "not ours")
	put(t, filepath.Join(task, "s.position"), "0\n0\n")
	other := streams.TopicPartition{Topic: "app-other-changelog", Partition: 1}
	if err := (streams.Checkpoint{other: 77, {Topic: topic, Partition: 1}: 3}).Write(filepath.Join(task, streams.CheckpointFile)); err != nil {
		t.Fatal(err)
	}
	err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
	optest.WantKind(t, err, op.Precondition, `store "s" of task 0_1 is not empty`, task, "--force", ".sstool", "--from-checkpoint")
	o.Force = true
	k.mustRestore(t, o)
	got := dump(t, appDir(o.Into, app))
	for _, l := range []string{"0_1/.checkpoint app-other-changelog-1 77", "0_1/.checkpoint " + topic + "-1 29", "0_0/.checkpoint " + topic + "-0 29"} {
		if !slices.Contains(got, l) {
			t.Errorf("%q is not in %v", l, got)
		}
	}
	asides, _ := filepath.Glob(strings.NewReplacer("[", "\\[", "*", "\\*", "?", "\\?").Replace(o.Into) + "/.sstool/aside/app/0_1/*/*")
	var names []string
	for _, a := range asides {
		names = append(names, filepath.Base(a))
	}
	if !slices.Equal(names, []string{"s", "s.position"}) {
		t.Errorf("aside: %v", asides)
	}
	if b, _ := os.ReadFile(filepath.Join(task, "rocksdb", "other", "000001.sst")); string(b) != "not ours" {
		t.Error("another store was touched")
	}
}

func TestTargetOfAnotherKind(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 1, nil)
	o := options(memDir(t), kv("s"))
	put(t, filepath.Join(appDir(o.Into, app), "0_0", "s", "s.600000", "CURRENT"), "x")
	o.Force = true
	err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
	optest.WantKind(t, err, op.Precondition, "another kind than timestamped-kv", "--kind")
}

// What has changed between plan and run: the log's end may, the target may not.
func TestStalePlan(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 30, 30))
	plan := func(o Options) *Plan {
		t.Helper()
		p, err := MakePlan(t.Context(), k.client, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	o := options(memDir(t), kv("s"))
	p := plan(o)
	k.produce(t, topic, numbered(0, 30, 5, 40))
	res, err := p.Run(t.Context(), nil)
	if err != nil || res.Total.Records != 30 {
		t.Fatal(res, err)
	}
	if got := dump(t, appDir(o.Into, app)); !slices.Contains(got, "0_0/.checkpoint "+topic+"-0 29") {
		t.Fatal(got)
	}
	store := filepath.Join(appDir(o.Into, app), "0_0", "rocksdb", "s")
	refuse := func(p *Plan, want string) {
		t.Helper()
		put(t, filepath.Join(store, "MANIFEST-000100"), "the application opened it")
		err := untouched(t, o.Into, func() error { _, err := p.Run(t.Context(), nil); return err })
		optest.WantKind(t, err, op.Precondition, `"s" of task 0_0`, want)
		if err := os.Remove(filepath.Join(store, "MANIFEST-000100")); err != nil {
			t.Fatal(err)
		}
	}
	o.Force = true
	refuse(plan(o), "since the plan was made")
	o.Force, o.FromCheckpoint = false, true
	refuse(plan(o), "since the plan was made")
	o.FromCheckpoint = false
	refuse(plan(o), "is not empty") // planned as done before
	fresh := options(memDir(t), kv("s"))
	p = plan(fresh)
	o.Into, store = fresh.Into, filepath.Join(appDir(fresh.Into, app), "0_0", "rocksdb", "s")
	refuse(p, "is not empty")
}

// Under exactly-once a task is written whole.
func TestExactlyOnceTasks(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for _, n := range []string{"a", "b"} {
		k.changelog(t, n, 1, numbered(0, 0, 10, 10))
	}
	o := options(memDir(t), kv("a"))
	o.Guarantee = ExactlyOnce
	err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
	optest.WantKind(t, err, op.Usage, "0_0", "whole", `only "a"`, "--spec")
	mem := request(streams.Store{Name: "m", Kind: streams.InMemory})
	elsewhere := request(kv("e"))
	one := 1
	elsewhere.Subtopology = &one
	global := request(streams.Store{Name: "g", Kind: streams.TimestampedKV, Global: true})
	o.Siblings = []StoreRequest{request(kv("a")), request(kv("b")), mem, elsewhere, global}
	err = untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
	optest.WantKind(t, err, op.Usage, "0_0", `store "b" is missing`, "--store")
	// At-least-once does not care.
	alos := o
	alos.Into, alos.Guarantee = memDir(t), AtLeastOnce
	k.mustRestore(t, alos)
	// A scratch copy neither: nothing is handed over.
	part := o
	part.Into, part.ToOffset = memDir(t), 5
	k.mustRestore(t, part)
	both := o
	both.Stores = []StoreRequest{request(kv("a")), request(kv("b"))}
	k.mustRestore(t, both)
	// What stands there with its offset is not missing.
	o.Force = true
	k.mustRestore(t, o)
	// A line of -4 is a missing one from 4.3 on.
	cp := filepath.Join(appDir(o.Into, app), "0_0", streams.CheckpointFile)
	c, err := streams.ReadCheckpoint(cp)
	if err != nil {
		t.Fatal(err)
	}
	c[streams.TopicPartition{Topic: "app-b-changelog"}] = streams.OffsetUnknown
	if err := c.Write(cp); err != nil {
		t.Fatal(err)
	}
	k.mustRestore(t, o)
	o.Target = streams.Version{Major: 4, Minor: 3}
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Usage, `store "b" is missing`)
}

// A source topic is restored up to the group's committed offset.
func TestSourceTopic(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	if err := k.Topic("input", 3); err != nil {
		t.Fatal(err)
	}
	k.produce(t, "input", slices.Concat(numbered(0, 0, 30, 30), numbered(1, 0, 30, 30), numbered(2, 0, 30, 30)))
	if err := k.Commit(t.Context(), app, "input", map[int32]int64{0: 12, 1: 500}); err != nil {
		t.Fatal(err)
	}
	o := options(memDir(t), kv("s"))
	o.Stores[0].Topic, o.Stores[0].SourceTopic = "input", true
	k.mustRestore(t, o)
	var lines []string
	for _, l := range dump(t, appDir(o.Into, app)) {
		if strings.Contains(l, streams.CheckpointFile) {
			lines = append(lines, l)
		}
	}
	if want := []string{"0_0/.checkpoint input-0 11", "0_1/.checkpoint input-1 29", "0_2/.checkpoint input-2 -4"}; !slices.Equal(lines, want) {
		t.Fatal(lines)
	}
}

// --to-offset and --to-time make scratch copies: no checkpoint, no ledger.
func TestScratchCopies(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 20, 100))
	if err := k.Transaction(t.Context(), topic, false, numbered(0, 20, 5, 100)...); err != nil { // offsets 20 to 24, marker 25
		t.Fatal(err)
	}
	k.produce(t, topic, numbered(0, 25, 10, 100)) // 26 to 35
	for _, x := range []struct {
		name      string
		offset    int64
		time      int64 // of the records: 1000 + number
		committed bool
		rows      int64
	}{
		{"offset", 7, 0, false, 7}, {"offset 0", 0, 0, false, 0}, {"offset past the end", 900, 0, false, 35}, {"in the aborted ones", 22, 0, false, 22},
		{"in the aborted ones, committed", 22, 0, true, 20}, {"past them, committed", 28, 0, true, 22},
		{"time", -1, 1010, false, 10}, {"time before all", -1, 1, false, 0}, {"time after all", -1, 5000, true, 30},
		{"time in the aborted ones", -1, 1022, true, 20}, {"time past them", -1, 1026, true, 21}, {"both", 12, 1005, false, 5},
	} {
		for _, p := range profiles {
			o := options(memDir(t), kv("s"))
			o.Profile, o.ToOffset = p, x.offset
			if x.time != 0 {
				o.ToTime = time.UnixMilli(x.time)
			}
			if x.committed {
				o.Isolation = "read_committed"
			}
			res := k.mustRestore(t, o)
			if res.Total.Rows != x.rows || !res.ScratchCopy {
				t.Errorf("%s, %s: %d rows, want %d", x.name, p, res.Total.Rows, x.rows)
			}
			if exists(filepath.Join(appDir(o.Into, app), "0_0", streams.CheckpointFile)) || exists(ledgerFile(o.Into, app)) {
				t.Errorf("%s: checkpoint or ledger written", x.name)
			}
		}
	}
	// A copy over what stands there takes the line away.
	o := options(memDir(t), kv("s"))
	k.mustRestore(t, o)
	o.ToOffset = 3
	_, err := k.restore(t, o)
	optest.WantKind(t, err, op.Precondition, "not empty")
	o.Force = true
	k.mustRestore(t, o)
	if exists(filepath.Join(appDir(o.Into, app), "0_0", streams.CheckpointFile)) {
		t.Error("the old checkpoint speaks of the copy")
	}
}

// An open transaction beyond --to-offset does not matter.
func TestScratchCopyBelowOpenTransaction(t *testing.T) {
	t.Parallel()
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 20, 100))
	if _, err := k.Begin(t.Context(), topic, numbered(0, 20, 5, 100)...); err != nil {
		t.Fatal(err)
	}
	o := options(memDir(t), kv("s"))
	o.Isolation, o.ToOffset, o.StallTimeout = "read_committed", 15, 8*time.Second
	p, err := MakePlan(t.Context(), k.client, o)
	if err != nil || len(p.Warnings) != 0 {
		t.Fatal(p.Warnings, err)
	}
	if res, err := p.Run(t.Context(), nil); err != nil || res.Total.Rows != 15 {
		t.Fatal(res, err)
	}
	// The time of an open record is no end either: the wait is said, not silent.
	o.Into, o.ToOffset, o.ToTime = memDir(t), -1, time.UnixMilli(1022)
	p, err = MakePlan(t.Context(), k.client, o)
	if err != nil || len(p.Warnings) != 1 {
		t.Fatal(p.Warnings, err)
	}
	_, err = p.Run(t.Context(), nil)
	optest.WantKind(t, err, op.Precondition, "transaction")
}

// Names become paths: none leads out of the state directory.
func TestNames(t *testing.T) {
	for _, x := range []struct{ app, store string }{{"..", "s"}, {"a/../../b", "s"}, {".sstool", "s"}, {"app", "../../x"}, {"app", ".."}, {"app", "a/b"}, {"app", ".checkpoint"}} {
		o := options("/nowhere", kv(x.store))
		o.ApplicationID = x.app
		if err := o.Validate(); op.KindOf(err) != op.Usage || err == nil {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// Places that cannot be written are errors that name them, and leave nothing.
func TestUnwritable(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	file := filepath.Join(memDir(t), "file")
	put(t, file, "x")
	for _, x := range []struct {
		name string
		set  func(*Options)
	}{
		{"into a file", func(o *Options) { o.Into = file }},
		{"scratch in a file", func(o *Options) { o.Into, o.Measure, o.Scratch = "", true, file }},
	} {
		o := options(memDir(t), kv("s"))
		x.set(&o)
		_, err := k.restore(t, o)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	// A checkpoint that cannot be merged into is refused before the work.
	o := options(memDir(t), kv("s"))
	put(t, filepath.Join(appDir(o.Into, app), "0_0", streams.CheckpointFile), "1\n")
	err := untouched(t, o.Into, func() error { _, err := MakePlan(t.Context(), k.client, o); return err })
	optest.WantKind(t, err, op.Corrupt, filepath.Join(o.Into, app, "0_0", ".checkpoint"))
}

// An application's directory on another file system cannot be renamed into.
func TestOtherFileSystem(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	disk := smallDisk(t, 100<<20)
	o := options(memDir(t), kv("s"))
	if err := os.Symlink(disk, appDir(o.Into, app)); err != nil {
		t.Fatal(err)
	}
	_, err := k.restore(t, o)
	optest.WantKind(t, err, op.Precondition, "another file system", appDir(o.Into, app))
	if exists(filepath.Join(disk, "0_0")) || exists(buildDir(o.Into, app)) {
		t.Error("something was made")
	}
}

// A key that is none of the kind: which record, and what to check.
func TestWrongKind(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	for _, p := range profiles {
		o := options(memDir(t), streams.Store{Name: "s", Kind: streams.Window, Retention: time.Hour, SegmentInterval: time.Minute})
		o.Profile = p
		err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
		optest.WantKind(t, err, op.Corrupt, topic+"-0", "offset 0", "--kind")
	}
}

// Every worker's time is in the report: the parts sum to workers × elapsed.
func TestTimesSum(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 3, slices.Concat(numbered(0, 0, 4000, 3000), numbered(1, 0, 4000, 3000), numbered(2, 0, 500, 3000)))
	for _, p := range profiles {
		for _, threads := range []int{1, 2, 8} {
			o := options("", kv("s"))
			o.Measure, o.Profile, o.Threads, o.Scratch = true, p, threads, memDir(t)
			res := k.mustRestore(t, o)
			var sum float64
			for _, w := range res.Where {
				sum += w.Seconds
			}
			if want := float64(res.Workers) * res.Elapsed; sum < 0.95*want || sum > 1.05*want {
				t.Errorf("%s, %d threads: the parts sum to %.4f s, workers × elapsed is %.4f s: %v", p, threads, sum, want, res.Where)
			}
			for _, x := range res.Partitions {
				if x.FirstFetch <= 0 || x.Elapsed <= 0 || x.Rows != 3000 && x.Partition != 2 || x.StoreBytes == 0 {
					t.Errorf("%s: %+v", fmt.Sprint(p, threads), x)
				}
			}
		}
	}
}

// What cannot exist is refused before anything is made.
func TestImpossibleStores(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	for _, x := range []struct {
		store  streams.Store
		target streams.Version
		want   string
	}{
		{streams.Store{Name: "s", Kind: streams.Versioned, HistoryRetention: time.Hour, SegmentInterval: time.Minute}, streams.Version{Major: 3, Minor: 4}, "since Kafka 3.5"},
		{streams.Store{Name: "s", Kind: streams.TimestampedKV, Headers: true}, streams.Version{Major: 4, Minor: 2}, "since Kafka 4.3"},
		{streams.Store{Name: "s", Kind: streams.List, Headers: true}, streams.Version{}, "no form with headers"},
		{streams.Store{Name: "s", Kind: streams.Window, Retention: time.Hour, SegmentInterval: time.Microsecond}, streams.Version{}, "segment interval"},
		{streams.Store{Name: "s", Kind: "tree"}, streams.Version{}, "tree"},
	} {
		o := options(memDir(t), x.store)
		o.Target = x.target
		_, err := k.restore(t, o)
		optest.WantKind(t, err, op.Usage, x.want)
		if exists(appDir(o.Into, app)) {
			t.Error("something was made")
		}
	}
}

// Stores with nothing on disk: timed, and nothing written.
func TestNothingOnDisk(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 2, numbered(1, 0, 100, 10))
	for _, kind := range []streams.Kind{streams.InMemory, streams.Suppress} {
		o := options(memDir(t), streams.Store{Name: "s", Kind: kind})
		res := k.mustRestore(t, o)
		if len(res.Skipped) != 1 || !strings.Contains(res.Skipped[0].Reason, "nothing on disk") || len(res.Partitions) != 0 {
			t.Errorf("%+v", res)
		}
		if es, _ := os.ReadDir(o.Into); len(es) != 0 {
			t.Error(es)
		}
		for _, p := range profiles {
			o.Into, o.Measure, o.Profile = "", true, p
			if res := k.mustRestore(t, o); res.Total.Records != 100 || res.StoreBytes != 0 {
				t.Errorf("%s: %+v", p, res.Total)
			}
		}
	}
}

// The sub-topology must be known for a directory; --task states it.
func TestSubtopology(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 3, numbered(1, 0, 10, 10))
	o := options(memDir(t), kv("s"))
	o.Stores[0].Subtopology = nil
	_, err := k.restore(t, o)
	optest.WantKind(t, err, op.Usage, `store "s"`, "sub-topology", "--subtopology")
	o.FromCheckpoint = true
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Usage, "sub-topology", "--subtopology")
	o.FromCheckpoint, o.Tasks = false, []streams.TaskID{{Subtopology: 3, Partition: 1}}
	if res := k.mustRestore(t, o); len(res.Partitions) != 1 || res.Partitions[0].Task != "3_1" || res.Total.Records != 10 {
		t.Fatalf("%+v", res.Partitions)
	}
	o.Tasks = append(o.Tasks, streams.TaskID{Subtopology: 4, Partition: 1})
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Usage, "sub-topology")
	// A measurement needs none.
	o.Tasks, o.Into, o.Measure = nil, "", true
	if res := k.mustRestore(t, o); len(res.Partitions) != 3 || res.Partitions[1].Task != "?_1" {
		t.Fatalf("%+v", res.Partitions)
	}
}

// What a plan derives is not the caller's word afterwards.
func TestDerivedStaysDerived(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	recs := numbered(0, 0, 10, 10)
	for i := range recs {
		recs[i].Key = windowKey("k", int64(i), 0)
	}
	k.changelog(t, "s", 1, recs, "cleanup.policy", "compact,delete", "retention.ms", "90000000")
	o := options("", streams.Store{Name: "s"})
	o.Measure = true
	p, err := MakePlan(t.Context(), k.client, o)
	if err != nil || len(p.Assumptions) < 3 || p.Options.Stores[0].Kind != streams.TimestampedWindow {
		t.Fatal(p, err)
	}
	if o.Stores[0].Kind != "" || o.Stores[0].Retention != 0 {
		t.Fatalf("the caller's request was changed: %+v", o.Stores[0])
	}
	o.Measure, o.Into = false, memDir(t)
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Usage, `store "s"`, "kind", "timestamped-window", "session", "--kind")
	o.Stores[0].Kind = streams.TimestampedWindow
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Usage, "retention", "1h0m0s", "--retention", "--accept-derived")
	o.Stores[0].Retention = time.Hour
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Usage, "segment interval", "30m0s", "--segment-interval", "--accept-derived")
	o.AcceptDerived = true
	res := k.mustRestore(t, o)
	if !strings.Contains(strings.Join(res.Assumptions, "\n"), "segment interval 30m0s derived") {
		t.Error(res.Assumptions)
	}
}

// --as-target: 4.4 starts a windowed replay without a stored offset at the
// last record's time minus retention, at-least-once only.
func TestAsTarget(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := streams.Store{Name: "w", Kind: streams.TimestampedWindow, Retention: 20 * time.Minute, SegmentInterval: 10 * time.Minute}
	var recs []kafkatest.Record
	for i := range 400 {
		at := 1_700_000_000_000 + int64(i)*10_000
		recs = append(recs, kafkatest.Record{Timestamp: at, Key: windowKey("k", at, 0), Value: []byte("v")})
	}
	k.changelog(t, "w", 1, recs)
	for _, x := range []struct {
		version   streams.Version
		guarantee Guarantee
		as        bool
		from      int64
	}{
		{streams.Version{Major: 4, Minor: 4}, AtLeastOnce, true, 279}, {streams.Version{Major: 4, Minor: 4}, AtLeastOnce, false, 0},
		{streams.Version{Major: 4, Minor: 4}, ExactlyOnce, true, 0}, {streams.Version{Major: 4, Minor: 2}, AtLeastOnce, true, 0},
	} {
		for _, p := range profiles {
			o := options(memDir(t), s)
			o.Siblings, o.Profile, o.Target, o.Guarantee, o.AsTarget = o.Stores, p, x.version, x.guarantee, x.as
			r := k.mustRestore(t, o).Partitions[0]
			if r.From != x.from || (r.Started != "") != (x.from > 0) || r.LastApplied != 399 {
				t.Errorf("%+v: from %d because %q, last applied %d", x, r.From, r.Started, r.LastApplied)
			}
		}
	}
}

// A global store under exactly-once ends at the last stable offset: its
// consumer sees no further, and does not wait.
func TestGlobalUnderExactlyOnce(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	s := kv("g")
	s.Global = true
	topic := k.changelog(t, "g", 1, numbered(0, 0, 20, 20))
	if _, err := k.Begin(t.Context(), topic, numbered(0, 20, 3, 30)...); err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		o := options(memDir(t), s)
		o.Guarantee, o.Profile, o.StallTimeout = ExactlyOnce, p, time.Minute
		res := k.mustRestore(t, o)
		if got := dump(t, appDir(o.Into, app)); res.Total.Records != 20 || !slices.Contains(got, "global/.checkpoint "+topic+"-0 20") {
			t.Errorf("%s: %+v, %v", p, res.Total, got)
		}
	}
}

// --skip-existing leaves what is there and restores the rest; under
// exactly-once a task of which something is there stays whole.
func TestSkipExisting(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	for _, n := range []string{"a", "b"} {
		k.changelog(t, n, 2, slices.Concat(numbered(0, 0, 10, 10), numbered(1, 0, 10, 10)))
	}
	for _, g := range []Guarantee{AtLeastOnce, ExactlyOnce} {
		o := options(memDir(t), kv("a"), kv("b"))
		o.Siblings, o.Guarantee, o.SkipExisting = o.Stores, g, true
		mine := filepath.Join(appDir(o.Into, app), "0_1", "rocksdb", "a", "CURRENT")
		put(t, mine, "the application's")
		res := k.mustRestore(t, o)
		want := map[Guarantee]int64{AtLeastOnce: 30, ExactlyOnce: 20}[g]
		if b, _ := os.ReadFile(mine); res.Total.Records != want || string(b) != "the application's" {
			t.Errorf("%s: %d records, want %d; %q", g, res.Total.Records, want, b)
		}
		if exists(filepath.Join(o.Into, ".sstool", "aside")) {
			t.Error("something was moved aside")
		}
		if res := k.mustRestore(t, o); res.Total.Records != 0 {
			t.Errorf("%s: again %d records", g, res.Total.Records)
		}
	}
}
