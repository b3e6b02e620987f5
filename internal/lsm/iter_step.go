package lsm

import (
	"bytes"
	"errors"
	"slices"

	"sstool/internal/op"
)

// First goes to the first entry.
func (it *Iter) First() bool {
	return it.begin(false, func(r *run) error { return r.firstFrom(0) })
}

// Last goes to the last entry.
func (it *Iter) Last() bool {
	return it.begin(true, func(r *run) error { return r.lastFrom(len(r.parts) - 1) })
}

// SeekGE goes to the first entry whose key is not before key.
func (it *Iter) SeekGE(key []byte) bool {
	key = slices.Clone(key)
	return it.searchable() && it.begin(false, func(r *run) error { return r.seekGE(key) })
}

// SeekLT goes to the last entry whose key is before key.
func (it *Iter) SeekLT(key []byte) bool {
	key = slices.Clone(key)
	return it.searchable() && it.begin(true, func(r *run) error { return r.seekLT(key) })
}

// Next goes to the entry after the current one.
func (it *Iter) Next() bool {
	if !it.valid {
		return false
	}
	if it.m.reverse {
		return it.resume(false, it.all)
	}
	return it.shown(it.stepForward())
}

// Prev goes to the entry before the current one.
func (it *Iter) Prev() bool {
	if !it.valid {
		return false
	}
	if !it.m.reverse {
		return it.resume(true, it.all)
	}
	return it.shown(it.stepBackward())
}

func (it *Iter) searchable() bool {
	if !it.concat {
		return true
	}
	it.valid = false
	it.err = op.Errorf(op.Failed, "column family %q of %s is ordered by the application's own comparator: nothing can be searched in it", it.family, it.db.Dir)
	return false
}

// begin positions every run and goes to the first entry from there.
func (it *Iter) begin(reverse bool, to func(*run) error) bool {
	it.err, it.valid, it.pending, it.settled, it.undone = nil, false, false, false, false
	for {
		err := it.position(reverse, to)
		if err == nil {
			it.key = it.key[:0]
			if reverse {
				err = it.stepBackward()
			} else {
				err = it.stepForwardFrom(false)
			}
		}
		if !errors.Is(err, errVanished) {
			return it.shown(err)
		}
		if err := it.reopen(err); err != nil {
			return it.shown(err)
		}
	}
}

// position sets every run and plays the matches between them.
func (it *Iter) position(reverse bool, to func(*run) error) error {
	it.active = it.active[:0]
	it.m.reverse = reverse
	if it.concat && len(it.m.runs) > 0 {
		return to(it.m.runs[0])
	}
	for _, r := range it.m.runs {
		if err := to(r); err != nil {
			return err
		}
	}
	it.m.build(reverse)
	return nil
}

// shown ends a step: err is its result, it.valid says whether it found an
// entry. When a file vanished the iteration goes on in a newer state.
func (it *Iter) shown(err error) bool {
	if err == nil {
		return it.valid
	}
	it.valid = false
	if errors.Is(err, errVanished) && !it.concat {
		reverse := it.m.reverse
		if err = it.reopen(err); err == nil {
			return it.resume(reverse, false)
		}
	}
	it.err = err
	return false
}

// reopen starts on the newest state.
func (it *Iter) reopen(err error) error {
	for {
		fam, err2 := it.again(err)
		if err2 != nil {
			return err2
		}
		if err = it.open(it.db.Version, fam); err == nil {
			return nil
		}
	}
}

// resume goes on from the current entry: after a turn, or when the files
// changed. In a newer state the other entries of the key may be gone or have
// other sequence numbers, so that it goes on with the next key unless within
// says that the entries are the same.
func (it *Iter) resume(reverse, within bool) bool {
	if it.concat {
		return it.turn(reverse)
	}
	at := Entry{Key: slices.Clone(it.key), Seq: it.cur.Seq, Kind: it.cur.Kind}
	after := append(slices.Clone(at.Key), 0)
	if it.undone { // go on with this key itself
		after, at.Key = at.Key, after
	}
	ok := false
	switch {
	case !within && !reverse:
		return it.begin(false, func(r *run) error { return r.seekGE(after) })
	case !within:
		return it.begin(true, func(r *run) error { return r.seekLT(at.Key) })
	case !reverse:
		ok = it.begin(false, func(r *run) error { return r.seekGE(at.Key) })
		for ok && bytes.Equal(it.cur.Key, at.Key) && newer(&it.cur, &at) <= 0 {
			ok = it.Next()
		}
	default:
		ok = it.begin(true, func(r *run) error { return r.seekLT(after) })
		for ok && bytes.Equal(it.cur.Key, at.Key) && newer(&it.cur, &at) >= 0 {
			ok = it.Prev()
		}
	}
	return ok
}

// turn changes the direction where there is no order: the one run stands on
// the current entry.
func (it *Iter) turn(reverse bool) bool {
	it.m.reverse, it.pending = reverse, true
	if reverse {
		return it.shown(it.stepBackward())
	}
	return it.shown(it.stepForward())
}

// stepForward goes to the next entry to show, past the current one.
func (it *Iter) stepForward() error { return it.stepForwardFrom(true) }

func (it *Iter) stepForwardFrom(past bool) error {
	it.valid = false
	r := it.m.top()
	if past && r != nil {
		if err := it.advance(r); err != nil {
			return err
		}
		r = it.m.top()
	}
	for ; r != nil; r = it.m.top() {
		if it.all {
			it.cur = *r.e
			it.note(r.e.Key)
			return nil
		}
		if !past || !bytes.Equal(r.e.Key, it.key) {
			past = true
			it.key, it.settled, it.undone = append(it.key[:0], r.e.Key...), true, true
			show, err := it.live(r, r.e)
			if err != nil {
				return err
			}
			it.undone = false
			if show {
				it.valid = true
				return nil
			}
		}
		if err := it.advance(r); err != nil {
			return err
		}
	}
	return nil
}

// note keeps the position, in case that a file vanishes.
func (it *Iter) note(key []byte) {
	it.key, it.settled, it.valid = append(it.key[:0], key...), true, true
}

// advance steps the run on top.
func (it *Iter) advance(r *run) error {
	var err error
	if it.m.reverse {
		err = r.prev()
	} else {
		err = r.next()
	}
	if err == nil && !it.concat {
		it.m.replay()
	}
	return err
}

// stepBackward goes to the entry before: for rows, through all entries of a
// key from the oldest to the newest, of which the last one counts.
func (it *Iter) stepBackward() error {
	it.valid = false
	if it.all {
		return it.stepBackwardAll()
	}
	for r := it.m.top(); r != nil; {
		it.key, it.settled, it.undone = append(it.key[:0], r.e.Key...), true, true
		e, from := Entry{}, r
		for ; r != nil && bytes.Equal(r.e.Key, it.key); r = it.m.top() {
			it.value = append(it.value[:0], r.e.Value...)
			e, from = *r.e, r
			if err := it.advance(r); err != nil {
				return err
			}
		}
		e.Key, e.Value = it.key, it.value
		show, err := it.live(from, &e)
		if err != nil {
			return err
		}
		it.undone = false
		if show {
			it.valid = true
			return nil
		}
	}
	return nil
}

// stepBackwardAll leaves the entry it shows only with the next step.
func (it *Iter) stepBackwardAll() error {
	r := it.m.top()
	if it.pending && r != nil {
		if err := it.advance(r); err != nil {
			return err
		}
		r = it.m.top()
	}
	if it.pending = r != nil; it.pending {
		it.cur = *r.e
		it.note(r.e.Key)
	}
	return nil
}
