package lsm

import "fmt"

// iterReadahead is how much an iterator reads at once when it goes straight
// on: enough for a disk, little enough for hundreds of iterators.
const iterReadahead = 128 << 10

// TableIter moves over the point entries of one table, every version of a key
// and every tombstone included, newest first per key. It belongs to one
// goroutine; its entry is valid until the next step.
//
// A step that returns false has reached an end, or failed: see Err.
type TableIter struct {
	t     *Table
	x     *indexIter // nil until the first positioning
	at    handle     // the data block of data
	data  blockCursor
	win   window
	inf   inflator
	entry Entry
	valid bool
	err   error

	skips   *Skips // nil: what is corrupt ends a step
	last    []byte // the last key, when skips is not nil
	hasLast bool   // there is one since the last positioning
}

// Iter returns an iterator that stands nowhere yet. Blocks are read as it
// moves, the index at its first step.
func (t *Table) Iter() *TableIter {
	return &TableIter{t: t, win: window{t: t, max: iterReadahead}, inf: inflator{version: t.foot.version}}
}

// Readahead bounds what is read at once while the iterator moves straight on;
// 0 reads block by block. The default is 128 KiB.
func (it *TableIter) Readahead(bytes int) { it.win.max = uint64(max(0, bytes)) }

// Close frees the decoder. The iterator must not be used again.
func (it *TableIter) Close() { it.inf.close() }

// Err is why a step returned false; nil at the ends.
func (it *TableIter) Err() error { return it.err }

// Valid says whether the iterator stands on an entry.
func (it *TableIter) Valid() bool { return it.valid }

// Entry is the current entry, borrowed until the next step.
func (it *TableIter) Entry() Entry { return it.entry }

func (it *TableIter) current() *Entry { return &it.entry }

// First goes to the first entry.
func (it *TableIter) First() bool {
	return it.open() && it.enter(forward, it.x.begin(forward), false)
}

// Last goes to the last entry.
func (it *TableIter) Last() bool {
	return it.open() && it.enter(backward, it.x.begin(backward), false)
}

// Next goes to the entry behind the current one.
func (it *TableIter) Next() bool {
	if it.valid && len(it.data.held) == 0 && it.data.e.quick() {
		return it.show()
	}
	return it.move(forward)
}

// Prev goes to the entry before the current one.
func (it *TableIter) Prev() bool { return it.move(backward) }

// SeekGE goes to the first entry whose user key is not before key: the newest
// one of that key.
func (it *TableIter) SeekGE(key []byte) bool {
	if !it.open() || !it.searchable() {
		return false
	}
	if !it.x.seek(key) {
		return it.enter(forward, false, false)
	}
	switch {
	case !it.load(forward):
	case it.data.seek(key, it.t.order.cmp):
		if it.show() {
			return true
		}
	case it.data.err() != nil:
		it.fail()
	}
	return (it.err == nil || it.past(SkipBlock, it.at.off)) && it.enter(forward, it.x.move(forward), true)
}

// SeekLT goes to the last entry whose user key is before key: the oldest one
// of its key.
func (it *TableIter) SeekLT(key []byte) bool {
	ok := it.SeekGE(key)
	if ok {
		ok = it.Prev()
	} else if it.err == nil {
		ok = it.Last()
	}
	for ok && it.skips != nil && it.t.order.cmp(it.entry.Key, key) >= 0 {
		ok = it.Prev() // the search ended at a corrupt entry of that block
	}
	return ok
}

// open reads the index and the dictionary once.
func (it *TableIter) open() bool {
	it.valid, it.hasLast, it.err = false, false, nil
	if it.x != nil {
		return true
	}
	x, err := it.t.newIndex()
	if err == nil {
		it.inf.dict, err = it.t.dictionary()
	}
	if err != nil {
		it.err = err
		it.past(SkipFile, 0)
		return false
	}
	it.x = x
	it.data.e.trailer = keyTrailer
	it.data.e.ordered = it.t.order.bytewise()
	return true
}

func (it *TableIter) searchable() bool {
	if it.t.order.cmp != nil {
		return true
	}
	it.err = unsearchable(it.t.name, it.t.order.name)
	return false
}

func (it *TableIter) move(d direction) bool {
	if !it.valid {
		return false
	}
	it.remember()
	it.valid = false
	if d.step(&it.data) {
		if it.show() {
			return true
		}
	} else if it.data.err() != nil {
		it.fail()
	}
	return (it.err == nil || it.past(SkipBlock, it.at.off)) && it.enter(d, it.x.move(d), true)
}

// enter goes to the near end of the block that the index stands on (ok), or of
// the next one that is not empty. moved says that it comes from the block at.
func (it *TableIter) enter(d direction, ok, moved bool) bool {
	for ; ok || it.pastIndex(); ok = it.x.move(d) {
		if !ok {
			continue
		}
		h := it.x.at()
		switch {
		case moved && !it.beyond(d, h):
		case !it.load(d):
		case d.start(&it.data):
			if it.show() {
				return true
			}
		case it.data.err() != nil:
			it.fail()
		}
		if it.err != nil && !it.past(SkipBlock, h.off) {
			return false
		}
		moved = true
	}
	return it.end()
}

// beyond says whether the block at h lies where the iterator goes, seen from
// the last one: blocks ascend in every writer's files, and a hostile index may
// not lead around in circles.
func (it *TableIter) beyond(d direction, h handle) bool {
	if d == backward && h.end() <= it.at.off || d == forward && h.off >= it.at.end() {
		return true
	}
	it.err = corrupt(it.t.name, int64(h.off), "index block: data block at %d of %d bytes beside the one at %d of %d, expected ascending ones", h.off, h.size, it.at.off, it.at.size)
	return false
}

// end is where the index has no more blocks.
func (it *TableIter) end() bool {
	it.err = it.x.err
	return false
}

// load reads the block that the index stands on.
func (it *TableIter) load(d direction) bool {
	it.at = it.x.at()
	raw, err := it.win.block("data", it.at, d)
	if err != nil {
		it.err = err
		return false
	}
	b, err := it.inf.inflate(raw[it.at.size], raw[:it.at.size])
	if err != nil {
		it.err = it.t.undecoded("data", it.at, err)
		return false
	}
	if err := it.data.reset(b); err != nil {
		it.err = corrupt(it.t.name, int64(it.at.off), "data block: %w", err)
		return false
	}
	return true
}

func (it *TableIter) show() bool {
	it.valid = false
	key := it.data.key()
	seq, kind := splitTrailer(key)
	if !kind.isPoint() {
		it.err = corrupt(it.t.name, int64(it.at.off), "data block: entry of type %#02x, expected a point entry", byte(kind))
		return false
	}
	if it.t.extern {
		seq = it.t.seq
	}
	e := &it.entry // one by one: it is read at once
	e.Key, e.Value, e.Seq, e.Kind = userKey(key), it.data.value(), seq, kind
	it.valid = true
	return true
}

func (it *TableIter) fail() bool {
	it.err = corrupt(it.t.name, int64(it.at.off), "data block: %w", it.data.err())
	return false
}

// RangeDeletes reads the table's range tombstones, as they were written: they
// may overlap and repeat.
func (t *Table) RangeDeletes() ([]RangeDelete, error) {
	h, ok := t.find(metaRangeDel)
	if !ok {
		return nil, nil
	}
	b, err := t.block("range deletion", h)
	if err != nil {
		return nil, err
	}
	var out []RangeDelete
	err = t.eachEntry("range deletion", h, b, func(key, value []byte) error {
		if len(key) < keyTrailer {
			return fmt.Errorf("key of %d bytes, expected at least the %d of its sequence number and type", len(key), keyTrailer)
		}
		seq, kind := splitTrailer(key)
		if kind != KindRangeDelete {
			return fmt.Errorf("entry of type %#02x, expected a range tombstone", byte(kind))
		}
		if t.extern {
			seq = t.seq
		}
		out = append(out, RangeDelete{append([]byte{}, userKey(key)...), append([]byte{}, value...), seq})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
