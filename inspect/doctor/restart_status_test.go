//go:build cgo

package doctor

import (
	"path/filepath"
	"slices"
	"testing"

	"sstool/internal/op"
	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// open says that the database at dir was not closed cleanly.
func open(t *testing.T, dir string) {
	t.Helper()
	families, err := rocks.Families(dir)
	if err != nil {
		t.Fatal(err)
	}
	db, err := rocks.Open(dir, rocks.Options{Families: families})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := db.Batch()
	defer b.Close()
	b.Put(slices.Index(families, streams.OffsetsFamily), []byte(streams.StatusKey), streams.EncodeOffset(streams.StatusOpen))
	if err := db.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestGlobalLoop is case K11: a global store that was not closed cleanly stops
// an application with exactly-once at every start.
func TestGlobalLoop(t *testing.T) {
	c, client := cluster(t)
	fill(t, c, "w440-mini-opt-alos-g", 2, 1100)
	app := state(t, "4.4.0-opt-alos")
	open(t, filepath.Join(app, "global/rocksdb/user-global"))
	o := restart(app, eos)
	o.Client, o.Only = client, []string{"restart.global", "restart.fails"}
	r := run(t, o)
	want(t, r, "restart.global", op.Wrong, "its status is open", "crashes again", "remove "+filepath.Join(app, "global/rocksdb/user-global")+" (", "read again from topic w440-mini-opt-alos-g (up to 2,200 records)")
	if s := start(t, r, "global"); s.Will != WillFail {
		t.Errorf("%+v", s)
	}
	o.Guarantee = alos
	want(t, run(t, o), "restart.global", op.OK)
}

// TestStatusOpen: of a task's store, it is the task that is wiped.
func TestStatusOpen(t *testing.T) {
	app := state(t, "4.4.0-opt-alos")
	open(t, filepath.Join(app, "2_0/rocksdb/c1"))
	r := run(t, restart(app, eos))
	want(t, r, "restart.wiped", op.Attention, "task 2_0, store c1", "not closed cleanly")
	if s := start(t, r, "2_0"); s.Will != WillWipe {
		t.Errorf("%+v", s)
	}
	want(t, run(t, restart(app, alos)), "restart.wiped", op.OK)
}
