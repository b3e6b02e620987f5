//go:build cgo

package restore

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// What was built is read back before it is put in place: every block's
// checksum, and as many entries as rows were written.
func TestVerifiedBeforePlacing(t *testing.T) {
	s := kv("s")
	built := memDir(t)
	dir := streams.DatabaseDir(built, s, 0)
	db, err := openDB(dir, s.ColumnFamilies(), rocks.CRC32C)
	if err != nil {
		t.Fatal(err)
	}
	b := db.Batch()
	for i := range 1000 {
		b.Put(1, fmt.Appendf(nil, "k%04d", i), make([]byte, 100))
	}
	if err := db.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	b.Close()
	db.Close()
	p := &Plan{Options: options("/x", s), cores: 1}
	u := &Unit{Request: request(s), Topic: "t", Parts: []PartRange{{To: 1000}}, Task: &TaskPlan{Known: true}}
	c := newCounts()
	c.Rows, c.LastApplied = 1000, 999
	if err := p.finishUnit(u, built, unitResult{unit: u, counts: c, bulk: true}); err != nil {
		t.Fatal(err)
	}
	c.Rows = 1001
	optest.WantKind(t, p.finishUnit(u, built, unitResult{unit: u, counts: c, bulk: true}), op.Corrupt, "1000 entries", "1001 rows")
	if err := p.finishUnit(u, built, unitResult{unit: u, counts: c}); err != nil {
		t.Fatal("a replayed store has superseded entries too:", err)
	}
	c.Rows = 1000
	ssts, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	data, err := os.ReadFile(ssts[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	if err := os.WriteFile(ssts[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	optest.WantKind(t, p.finishUnit(u, built, unitResult{unit: u, counts: c, bulk: true}), op.Corrupt, "verify the store just built", ssts[0])
}

// Events: one item per unit, progress that never runs past its total, a
// summary at the end.
func TestEvents(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 3, append(numbered(0, 0, 300, 30), numbered(2, 0, 300, 30)...))
	for _, p := range profiles {
		o := options(memDir(t), kv("s"))
		o.Profile = p
		var ev events
		if _, err := k.restoreTo(t.Context(), o, ev.sink); err != nil {
			t.Fatal(err)
		}
		items := map[string]int64{}
		for i, e := range ev.all {
			switch e.Type {
			case op.Item:
				items[e.Name] = e.Done
			case op.Progress:
				if e.Done > e.Total || e.Total != 600 {
					t.Errorf("%+v", e)
				}
			case op.Summary:
				if i != len(ev.all)-1 {
					t.Error("the summary is not the end")
				}
			}
		}
		if len(items) != 3 || items[topic+"-0"] != 300 || items[topic+"-2"] != 300 || ev.all[len(ev.all)-1].Type != op.Summary || ev.all[0].Type != op.Phase {
			t.Errorf("%s: %v", p, ev.all)
		}
	}
	var wg sync.WaitGroup // a nil sink is one too, of several runs at once
	for i := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			o := options(memDir(t), kv("s"))
			o.ApplicationID, o.Stores[0].Topic = fmt.Sprint("app", i), topic
			if _, err := k.restoreTo(t.Context(), o, nil); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
}

// Spilled rows are read back by us alone, and still never trusted.
func FuzzVersionedRow(f *testing.F) {
	row := binary.AppendUvarint(nil, 5)
	row = append(binary.AppendUvarint(row, 3), 0)
	f.Add(append(binary.BigEndian.AppendUint64(row, 1000), "value"...))
	f.Add([]byte{})
	f.Add([]byte{1, 1, 1, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		delta, local, r, err := parseVersionedRow(b)
		if err == nil && (len(b) < 11 || r.Value != nil && len(r.Value) > len(b)) {
			t.Fatalf("%x gave %d, %d, %+v", b, delta, local, r)
		}
	})
}
