package inspect

import (
	"bytes"
	"slices"

	"sstool/internal/lsm"
)

// entryTrailer is what sequence number and kind add to a key in a file
// (RocksDB db/dbformat.h:PackSequenceAndType).
const entryTrailer = 8

// tally counts the entries of one column family, handed to it as a merge yields
// them: by key, the newest entry of a key first. It tells what a reader sees,
// which is what one compaction of everything keeps, from what that would drop.
type tally struct {
	files []fileTally // by the index that add is given

	entries, bytes       int64
	rows, rowBytes       int64 // what stays
	superseded           rowsHeld
	byRange              rowsHeld // under a range tombstone and no newer point one
	key                  []byte
	any                  bool
	state                keyState
	over                 int // the file of the newest tombstone, when keyDeleted
	keyEntries, keyBytes int64
	keyDeleted           bool
	run                  deletedRun
	dense                []deletedRun // longest first
	most                 int          // of dense
}

// rowsHeld are entries that nobody sees any more.
type rowsHeld struct{ rows, bytes int64 }

func (r *rowsHeld) add(size int64) { r.rows++; r.bytes += size }

// fileTally is one file's tombstones. What they shadow may lie in other files.
type fileTally struct {
	deletes, single, stamped int64
	bytes                    int64 // of the tombstones
	shadowed                 rowsHeld
}

// keyState is what the entries of a key seen so far mean for the next, older one.
type keyState uint8

const (
	keyFresh   keyState = iota // the next is the newest
	keyLive                    // a row was seen: what is older is superseded
	keyMerging                 // merge operands so far: their base is still needed
	keyDeleted                 // a tombstone was seen: what is older is shadowed
	keyCovered                 // a range tombstone covers what is older
)

// deletedRun is a row of neighbouring keys that are all deleted: an iterator
// passes every entry of it before it finds the next row.
type deletedRun struct {
	first, last          []byte
	keys, entries, bytes int64
}

// add counts one entry, which lies in files[file]; covered says that a newer
// range tombstone deletes it.
func (t *tally) add(e *lsm.Entry, file int, covered bool) {
	size := int64(len(e.Key) + entryTrailer + len(e.Value))
	if !t.any || !bytes.Equal(e.Key, t.key) {
		t.endKey()
		t.any, t.state, t.keyEntries, t.keyBytes = true, keyFresh, 0, 0
		t.key = append(t.key[:0], e.Key...)
	}
	t.entries++
	t.bytes += size
	t.keyEntries++
	t.keyBytes += size
	if covered && (t.state == keyFresh || t.state == keyMerging) {
		t.keyDeleted = t.state == keyFresh
		t.state = keyCovered
	}
	if e.Kind.IsDelete() {
		t.tombstone(e.Kind, file, size)
		return
	}
	switch t.state {
	case keyFresh, keyMerging:
		t.keyDeleted = false
		t.rows++ // operands of one merge count as rows: what they make is not known
		t.rowBytes += size
		if t.state = keyLive; e.Kind == lsm.KindMerge {
			t.state = keyMerging
		}
	case keyLive:
		t.superseded.add(size)
	case keyDeleted:
		t.files[t.over].shadowed.add(size)
	case keyCovered:
		t.byRange.add(size)
	}
}

// tombstone counts a point delete. A row counts as shadowed by the newest one
// above it.
func (t *tally) tombstone(k lsm.EntryKind, file int, size int64) {
	f := &t.files[file]
	f.bytes += size
	switch k {
	case lsm.KindSingleDelete:
		f.single++
	case lsm.KindDeleteTimestamp:
		f.stamped++
	default:
		f.deletes++
	}
	if t.state == keyFresh {
		t.keyDeleted = true
	}
	if t.state != keyDeleted {
		t.state, t.over = keyDeleted, file
	}
}

// endKey closes the current key, and the run when the key is a row.
func (t *tally) endKey() {
	switch {
	case !t.any:
	case t.keyDeleted:
		if t.run.keys == 0 {
			t.run.first = append(t.run.first[:0], t.key...)
		}
		t.run.keys++
		t.run.entries += t.keyEntries
		t.run.bytes += t.keyBytes
		t.run.last = append(t.run.last[:0], t.key...)
	default:
		t.endRun()
	}
}

// endRun keeps the run when it is among the longest.
func (t *tally) endRun() {
	r := t.run
	t.run.keys, t.run.entries, t.run.bytes = 0, 0, 0
	if r.keys < 2 || len(t.dense) == t.most && (t.most == 0 || r.entries <= t.dense[t.most-1].entries) {
		return
	}
	r.first, r.last = slices.Clone(r.first), slices.Clone(r.last)
	at, _ := slices.BinarySearchFunc(t.dense, r, func(a, b deletedRun) int { return int(min(1, max(-1, b.entries-a.entries))) })
	t.dense = slices.Insert(t.dense, at, r)
	t.dense = t.dense[:min(len(t.dense), t.most)]
}

// end closes the last key.
func (t *tally) end() {
	t.endKey()
	t.any = false
	t.endRun()
}
