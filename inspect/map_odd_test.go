package inspect

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// remarks are all remarks of a map as "level where: what".
func remarks(m *Map) []string {
	var out []string
	add := func(where string, list []Remark) {
		for _, r := range list {
			out = append(out, r.Level+" "+where+": "+r.What)
		}
	}
	add("", m.Remarks)
	for _, a := range m.Apps {
		add(a.ID, a.Remarks)
		for _, k := range a.Tasks {
			add(k.Task, k.Remarks)
		}
		for _, s := range a.Stores {
			add(s.Task+"/"+s.Name, s.Remarks)
		}
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRemarks makes one thing wrong after the other in a real application.
func TestRemarks(t *testing.T) {
	const store = "0_0/rocksdb/plain-kv"
	for name, c := range map[string]struct {
		do   func(t *testing.T, app string)
		want string
	}{
		"segment name": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/session/README"), "") },
			"problem 0_0/session: not a segment"},
		"odd segment": {func(t *testing.T, app string) {
			if err := os.CopyFS(filepath.Join(app, "0_0/ts-win/ts-win.1795938600001"), os.DirFS(segment(t, app, "ts-win"))); err != nil {
				t.Fatal(err)
			}
		}, "warning 0_0/ts-win: begins at no multiple"},
		"old segment": {func(t *testing.T, app string) {
			dir := segment(t, app, "ts-win")
			if err := os.Rename(dir, strings.Replace(dir, "ts-win.1", "ts-win:1", 1)); err != nil {
				t.Fatal(err)
			}
		}, "note 0_0/ts-win: segment name of a release before 1.1"},
		"file in the application": {func(t *testing.T, app string) { write(t, filepath.Join(app, "heap.hprof"), "") },
			"warning w402-mini-papi-alos: file in an application's directory"},
		"file in a task": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/nohup.out"), "") },
			"note 0_0: file that Kafka Streams does not know"},
		"left over": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/.checkpoint.tmp"), "") },
			"note 0_0: left over from a write"},
		"position": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/gone.position"), "0\n0\n") },
			"note 0_0: position of a store that is not there"},
		"no offset": {func(t *testing.T, app string) {
			if err := os.Remove(filepath.Join(app, "0_0/.checkpoint")); err != nil {
				t.Fatal(err)
			}
		}, "warning 0_0/plain-kv: rows, but no offset (there is no .checkpoint file"},
		"unknown offset": {func(t *testing.T, app string) {
			write(t, filepath.Join(app, "0_0/.checkpoint"), "0\n1\nw402-mini-papi-alos-plain-kv-changelog 0 -4\n")
		}, "note 0_0/plain-kv: offset -4 in .checkpoint"},
		"bad checkpoint": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/.checkpoint"), "1\n0\n") },
			"problem 0_0: read checkpoint"},
		"renamed": {func(t *testing.T, app string) {
			write(t, filepath.Join(app, "0_0/.checkpoint"), "0\n1\norders-plain-kv-changelog 0 5\n")
		}, `warning w402-mini-papi-alos: the offsets speak of application "orders"`},
		"stray task": {func(t *testing.T, app string) {
			if err := os.MkdirAll(filepath.Join(app, "5_0/rocksdb/plain-kv"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "warning w402-mini-papi-alos: stray task directories: plain-kv in the tasks of sub-topologies 0 and 5"},
		"empty task": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_3/.lock"), "") },
			"note 0_3: task directory without a store"},
		"empty directory": {func(t *testing.T, app string) {
			if err := os.MkdirAll(filepath.Join(app, "0_0/rocksdb/new"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "note 0_0/new: directory without a database"},
		"CURRENT": {func(t *testing.T, app string) { write(t, filepath.Join(app, store, "CURRENT"), "") },
			"problem 0_0/plain-kv: CURRENT is empty"},
		"missing SST": {func(t *testing.T, app string) { os.Remove(sst(t, app, store)) },
			"problem 0_0/plain-kv: 0000"},
		"cut SST": {func(t *testing.T, app string) {
			if err := os.Truncate(sst(t, app, store), 100); err != nil {
				t.Fatal(err)
			}
		}, "problem 0_0/plain-kv: 0000"},
		"orphan": {func(t *testing.T, app string) {
			b, err := os.ReadFile(sst(t, app, store))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(app, store, "000003.sst"), string(b))
		}, "note 0_0/plain-kv: 1 SST files that the MANIFEST does not name"},
		"newer": {func(t *testing.T, app string) {
			b, err := os.ReadFile(sst(t, app, store))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(app, store, "000999.sst"), string(b))
		}, "warning 0_0/plain-kv: 1 SST files are newer than all the MANIFEST says"},
	} {
		t.Run(name, func(t *testing.T) {
			_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
			has := func() bool {
				return slices.ContainsFunc(remarks(mapOf(t, MapOptions{Path: app})), func(r string) bool { return strings.HasPrefix(r, c.want) })
			}
			if has() {
				t.Fatalf("said already before: %s", c.want)
			}
			c.do(t, app)
			if !has() {
				t.Errorf("no %q in\n%s", c.want, strings.Join(remarks(mapOf(t, MapOptions{Path: app})), "\n"))
			}
		})
	}
}

// segment is one segment directory of a store in task 0_0.
func segment(t *testing.T, app, store string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(app, "0_0", store, store+".*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no segment: %v", err)
	}
	return dirs[0]
}

func sst(t *testing.T, app, store string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(app, store, "*.sst"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d SST files: %v", len(files), err)
	}
	return files[0]
}

// TestStatus: a status row that says open means a crash only when nobody has
// the application open.
func TestStatus(t *testing.T) {
	no, yes, open, closed := false, true, streams.StatusOpen, streams.StatusClosed
	for _, c := range []struct {
		status []*int64
		held   *bool
		want   string
	}{
		{[]*int64{nil}, &no, ""},
		{[]*int64{&closed, &closed}, &no, "clean"},
		{[]*int64{&closed, &open}, &no, "unclean"},
		{[]*int64{&open}, &yes, "open"},
		{[]*int64{&open}, nil, "open"},
		{[]*int64{&closed}, &yes, "clean"},
	} {
		var dbs []*dbFacts
		for _, s := range c.status {
			dbs = append(dbs, &dbFacts{status: s})
		}
		got, why := storeStatus(dbs, MapLock{Held: c.held})
		if why == "" || (got == nil) != (c.want == "") || got != nil && *got != c.want {
			t.Errorf("%+v: %v (%s)", c, got, why)
		}
	}
}

// TestOffsetsInBothHomes: the file wins where both have one.
func TestOffsetsInBothHomes(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.4.0-opt-alos")
	before := storeIn(t, mapOf(t, MapOptions{Path: app}), "2_0", "c1").Offsets
	if before.KeptIn != KeptInFamily || len(before.List) != 1 || *before.List[0].Offset != 175 {
		t.Fatalf("%+v", before)
	}
	write(t, filepath.Join(app, "2_0/.checkpoint"), "0\n2\nw440-mini-opt-alos-c1-changelog 0 100\nw440-mini-opt-alos-mem-changelog 0 7\n")
	m := mapOf(t, MapOptions{Path: app})
	got := storeIn(t, m, "2_0", "c1").Offsets
	if got.KeptIn != KeptInBoth || *got.List[0].Offset != 100 || *got.List[0].Family != 175 || *got.List[0].Checkpoint != 100 {
		t.Errorf("%+v", got.List)
	}
	for _, k := range m.Apps[0].Tasks {
		if k.Task == "2_0" && (len(k.Others) != 1 || *k.Others[0].Offset != 7) {
			t.Errorf("lines of no store: %+v", k.Others)
		}
	}
}

// TestYoungStoresAreNotUnlogged: while all of an application is in its memory,
// its offsets families are empty, and nothing follows from that.
func TestYoungStoresAreNotUnlogged(t *testing.T) {
	closed := int64(0)
	for _, tt := range []struct {
		name   string
		facts  dbFacts
		logged bool
	}{
		{"empty", dbFacts{offsets: map[streams.TopicPartition]int64{}}, true},
		{"closed once, without an offset", dbFacts{offsets: map[streams.TopicPartition]int64{}, status: &closed}, false},
	} {
		task := &Task{Name: "0_0", ID: &streams.TaskID{}, App: &App{ID: "orders"}}
		s := &Store{Name: "totals", Dir: "d", Task: task, Databases: []Database{{Dir: "d"}}}
		task.Stores = []*Store{s}
		told := map[*Store]toldStore{}
		if err := tellTopology("orders", []*Task{task}, map[factKey]*dbFacts{{"d", ""}: &tt.facts}, map[*Task]*taskOffsets{task: {}}, told); err != nil {
			t.Fatal(err)
		}
		if got := told[s].Unlogged == ""; got != tt.logged {
			t.Errorf("%s: not logged: %q", tt.name, told[s].Unlogged)
		}
	}
}

// TestUnreadableStore: a database nobody may read is told, and the rest too.
func TestUnreadableStore(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	dir := filepath.Join(app, "0_0/rocksdb/plain-kv")
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	m := mapOf(t, MapOptions{Path: app})
	s := storeIn(t, m, "0_0", "plain-kv")
	if s.Keys.Count != nil || s.LiveSet || len(m.Unreadable) != 1 || m.Unreadable[0].Where != dir {
		t.Errorf("%+v, unreadable %v", s.Keys, m.Unreadable)
	}
	if other := storeIn(t, m, "0_0", "ts-kv"); other.Keys.Count == nil {
		t.Errorf("ts-kv: %s", other.Keys.Why)
	}
}

// TestDamageIsTold: without MANIFEST and CURRENT the files still count.
func TestDamageIsTold(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	dir := filepath.Join(app, "0_0/rocksdb/ts-kv")
	for _, f := range []string{"CURRENT", "MANIFEST-*"} {
		names, _ := filepath.Glob(filepath.Join(dir, f))
		for _, n := range names {
			if err := os.Remove(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := storeIn(t, mapOf(t, MapOptions{Path: app}), "0_0", "ts-kv")
	if s.LiveSet || s.Keys.Count == nil || s.Keys.Exact || s.Entries != 72 || *s.Keys.AtMost != 62 {
		t.Errorf("live set known: %t, %s, %d entries", s.LiveSet, showKeys(s.Keys), s.Entries)
	}
	if s.Kind.Kind == nil || *s.Kind.Kind != string(streams.TimestampedKV) {
		t.Errorf("kind %+v", s.Kind)
	}
}

// TestMapOfOneFile: an SST file alone, in its store and copied elsewhere.
func TestMapOfOneFile(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	path := sst(t, app, "0_0/rocksdb/ts-kv")
	m := mapOf(t, MapOptions{Path: path})
	if s := storeIn(t, m, "0_0", "ts-kv"); m.PathIs != IsFile || s.Files != 1 || *s.Keys.Count != 62 {
		t.Errorf("%s: %+v", m.PathIs, s)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "some", "000010.sst")
	write(t, copied, string(b))
	if s := storeIn(t, mapOf(t, MapOptions{Path: copied}), "", "some"); s.Files != 1 || s.Entries != 72 {
		t.Errorf("%+v", s)
	}
	write(t, copied, "no table at all")
	if m := mapOf(t, MapOptions{Path: copied}); len(m.Unreadable) != 1 {
		t.Errorf("unreadable: %v", m.Unreadable)
	}
}

// TestAbsentChangelogs: a store whose offset names a topic that is gone is
// orphaned; of one without an offset that is not known.
func TestAbsentChangelogs(t *testing.T) {
	n := int64(5)
	s := &MapStore{Cluster: &MapLag{Topic: "orders-totals-changelog", Why: "the cluster has no topic orders-totals-changelog"}}
	if r := lagRemarks(s); len(r) != 1 || r[0].Level != Note || !strings.Contains(r[0].What, "not logged, or") {
		t.Errorf("without an offset: %v", r)
	}
	s.Offsets.List = []MapOffset{{Topic: "orders-totals-changelog", Offset: &n}}
	if r := lagRemarks(s); len(r) != 1 || r[0].Level != Warning || !strings.Contains(r[0].What, "orphaned") {
		t.Errorf("with an offset: %v", r)
	}
}

// TestOffsetsOfDamagedStore: what an offsets family says that cannot be read is
// not known; without CURRENT it is read all the same.
func TestOffsetsOfDamagedStore(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir, sst string)
		why    string
		offset bool
	}{
		"a bit": {func(t *testing.T, _, sst string) {
			b, err := os.ReadFile(sst)
			if err != nil {
				t.Fatal(err)
			}
			b[30] ^= 4
			write(t, sst, string(b))
		}, "the offsets family cannot be read", false},
		"no file": {func(t *testing.T, _, sst string) {
			if err := os.Remove(sst); err != nil {
				t.Fatal(err)
			}
		}, "the offsets family cannot be read", false},
		"no CURRENT": {func(t *testing.T, dir, _ string) {
			if err := os.Remove(filepath.Join(dir, "CURRENT")); err != nil {
				t.Fatal(err)
			}
		}, "", true},
		"no MANIFEST": {func(t *testing.T, dir, _ string) {
			if err := os.Remove(one(t, filepath.Join(dir, "MANIFEST-*"))); err != nil {
				t.Fatal(err)
			}
		}, "which file of the offsets family is live is not known", false},
	} {
		_, app := lsmtest.Unpack(t, "4.4.0-opt-alos")
		dir := filepath.Join(app, "2_0/rocksdb/c1")
		v, err := lsm.ReadManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		fam, _ := v.Family(streams.OffsetsFamily)
		c.damage(t, dir, v.Path(fam.Files[0]))
		o, err := OffsetsPath(context.Background(), MapOptions{Path: app, Tasks: []string{"2_0"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if op.KindOf(o.Damage()) != op.Corrupt || o.Damage() == nil {
			t.Errorf("%s: %v", name, o.Damage())
		}
		for _, r := range o.Rows {
			if r.Store == "c1" && (r.Verdict != OffsetDamaged || r.Why == "" || (r.Offset != nil) != c.offset) || r.Store != "c1" && r.Verdict == OffsetDamaged {
				t.Errorf("%s: %+v", name, r)
			}
		}
		s := mapOf(t, MapOptions{Path: dir}).AllStores()[0]
		if !c.offset && (s.Offsets.Why != c.why || s.StatusWhy != c.why) {
			t.Errorf("%s: offset %q, status %q", name, s.Offsets.Why, s.StatusWhy)
		}
	}
}
