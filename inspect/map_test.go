package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

func mapOf(t *testing.T, o MapOptions) *Map {
	t.Helper()
	m, err := MapPath(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// storeIn finds a store of a map.
func storeIn(t *testing.T, m *Map, task, name string) MapStore {
	t.Helper()
	for _, s := range m.AllStores() {
		if s.Task == task && s.Name == name {
			return s
		}
	}
	t.Fatalf("no store %s in task %s", name, task)
	return MapStore{}
}

// rowsOf counts the rows that RocksDB read from the fixture's databases, by
// the path of the database below the application.
func rowsOf(t *testing.T, dir string) (rows map[string]int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "rows.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // one archive has none
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows = map[string]int64{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r struct {
			DB  string
			CF  string
			Key *string
		}
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Key != nil && r.CF != streams.OffsetsFamily {
			rows[r.DB]++
		}
	}
	return rows
}

// TestMapOfRealApplications compares the map with what RocksDB itself read, and
// with what spec tells from all rows.
func TestMapOfRealApplications(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			dir, app := lsmtest.Unpack(t, name)
			want := rowsOf(t, dir)
			m := mapOf(t, MapOptions{Path: app})
			if len(m.Apps) != 1 || m.PathIs != IsApplication {
				t.Fatalf("%d applications in a %s", len(m.Apps), m.PathIs)
			}
			sp, err := spec.FromStateDir(app)
			if err != nil {
				t.Fatal(err)
			}
			a := m.Apps[0]
			for _, s := range a.Stores {
				rel, err := filepath.Rel(app, s.Dir)
				if err != nil {
					t.Fatal(err)
				}
				n := int64(0)
				for db, rows := range want {
					if db == rel || strings.HasPrefix(db, rel+"/") {
						n += rows
					}
				}
				if s.Keys.Count == nil || !s.Keys.Exact || want != nil && *s.Keys.Count != n {
					t.Errorf("%s: %s rows, RocksDB reads %d", rel, showKeys(s.Keys), n)
				}
				checkKind(t, sp, s)
				checkVersion(t, name, s)
				for _, r := range s.Remarks {
					if r.Level == Problem {
						t.Errorf("%s: %s", rel, r.What)
					}
				}
			}
			if len(m.Unreadable) > 0 {
				t.Errorf("unreadable: %v", m.Unreadable)
			}
		})
	}
}

func showKeys(k MapKeys) string {
	if k.Count == nil {
		return "unknown: " + k.Why
	}
	return fmt.Sprintf("%d (exact: %t, %s)", *k.Count, k.Exact, k.Why)
}

func checkKind(t *testing.T, sp *spec.Spec, s MapStore) {
	t.Helper()
	i := slices.IndexFunc(sp.Stores, func(x spec.Store) bool { return x.Name == s.Name })
	if i < 0 {
		return // spec leaves out what nothing can restore
	}
	want := sp.Stores[i]
	if want.Kind == "" {
		if s.Kind.Certainty == Certain {
			t.Errorf("%s: certainly %s, spec does not know: %v", s.Name, *s.Kind.Kind, want.Candidates)
		}
		return
	}
	if s.Kind.Kind == nil || *s.Kind.Kind != string(want.Kind) {
		t.Errorf("%s: kind %v, spec says %s", s.Name, s.Kind, want.Kind)
	}
	if !want.Global && s.Offsets.KeptIn == KeptNowhere {
		t.Errorf("%s/%s: no offset: %s", s.Task, s.Name, s.Offsets.Why)
	}
}

func checkVersion(t *testing.T, name string, s MapStore) {
	t.Helper()
	if s.Files == 0 {
		return
	}
	oldest, where, status := "3.0", KeptInCheckpoint, false
	switch {
	case strings.HasPrefix(name, "4.4"):
		oldest, where, status = "4.3", KeptInFamily, true
	case strings.HasPrefix(name, "4.0"):
		oldest = "4.0"
	}
	if s.Oldest == nil {
		t.Fatalf("%s: no release opens it: %s", s.Name, s.OldestWhy)
	}
	if *s.Oldest < oldest {
		t.Errorf("%s: opens with %s, want at least %s", s.Name, *s.Oldest, oldest)
	}
	if s.Offsets.KeptIn != where && s.Offsets.KeptIn != KeptNowhere && s.Name != "gj-Buffer" {
		t.Errorf("%s: offset kept in %s, want %s", s.Name, s.Offsets.KeptIn, where)
	}
	if status != (s.Status != nil) || status && *s.Status != "clean" {
		t.Errorf("%s: status %v (%s)", s.Name, s.Status, s.StatusWhy)
	}
}

func TestMapFilters(t *testing.T) {
	_, app := lsmtest.Unpack(t, "3.9.2-agg-alos")
	names := func(o MapOptions) string {
		o.Path = app
		var out []string
		for _, s := range mapOf(t, o).AllStores() {
			out = append(out, s.Task+"/"+s.Name)
		}
		return strings.Join(out, " ")
	}
	for want, o := range map[string]MapOptions{
		"3_0/vtbl 3_1/vtbl":       {Kinds: []streams.Kind{streams.Versioned}},
		"0_1/cnt 0_1/cog":         {Stores: []string{"cog", "cnt"}, Tasks: []string{"0_1"}},
		"4_0/tcnt 4_1/tcnt":       {Stores: []string{"tcnt"}},
		"3_0/flt 3_0/vtbl":        {Tasks: []string{"3_0"}, Kinds: []streams.Kind{streams.TimestampedKV, streams.Versioned}},
		"0_0/adapter-cnt 0_0/cnt": {Tasks: []string{"0_0"}, Stores: []string{"cnt", "adapter-cnt"}},
	} {
		if got := names(o); got != want {
			t.Errorf("%+v: %s, want %s", o, got, want)
		}
	}
	for _, o := range []MapOptions{{Stores: []string{"nope"}}, {Tasks: []string{"7_7"}}, {Kinds: []streams.Kind{streams.GraceBuffer}}} {
		o.Path = app
		if _, err := MapPath(context.Background(), o, nil); op.KindOf(err) != op.NotFound {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestMapSums(t *testing.T) {
	_, app := lsmtest.Unpack(t, "3.9.2-agg-alos")
	for by, want := range map[string]int{SumByStore: 9, SumByTask: 10, SumByApp: 1} {
		m := mapOf(t, MapOptions{Path: app, SumBy: by})
		stores, size, keys := 0, int64(0), int64(0)
		for _, s := range m.Sums {
			stores, size, keys = stores+s.Stores, size+s.Size, keys+*s.Keys
		}
		all := int64(0)
		for _, s := range m.AllStores() {
			all += *s.Keys.Count
		}
		if len(m.Sums) != want || stores != len(m.AllStores()) || size != m.Apps[0].Size || keys != all {
			t.Errorf("by %s: %d sums of %d stores, %d bytes, %d keys; want %d of %d, %d, %d", by, len(m.Sums), stores, size, keys, want, len(m.AllStores()), m.Apps[0].Size, all)
		}
	}
}

// TestMapOfOneStore holds that a store tells the same alone as within its
// application: its offset lies in the task's directory, and whose a line of
// .checkpoint is follows from all stores of the task.
func TestMapOfOneStore(t *testing.T) {
	for _, name := range []string{"4.0.2-opt-alos", "4.0.2-papi-alos", "4.4.0-tjoin-alos"} {
		_, app := lsmtest.Unpack(t, name)
		for _, want := range mapOf(t, MapOptions{Path: app}).AllStores() {
			alone := mapOf(t, MapOptions{Path: want.Dir})
			filtered := mapOf(t, MapOptions{Path: app, Stores: []string{want.Name}, Tasks: []string{want.Task}})
			for how, m := range map[string]*Map{"alone": alone, "filtered": filtered} {
				got := storeIn(t, m, want.Task, want.Name)
				a, err := json.Marshal([]any{got.Offsets, got.Keys, got.Status, got.Position, got.Oldest})
				if err != nil {
					t.Fatal(err)
				}
				b, err := json.Marshal([]any{want.Offsets, want.Keys, want.Status, want.Position, want.Oldest})
				if err != nil {
					t.Fatal(err)
				}
				if string(a) != string(b) {
					t.Errorf("%s %s/%s %s:\n%s\nwant\n%s", name, want.Task, want.Name, how, a, b)
				}
			}
		}
	}
}
