package lsm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"sstool/internal/op"
)

// activate notes that a part's range tombstones count from here on, and drops
// those of files that the iteration has left behind.
func (it *Iter) activate(p *part) {
	if slices.Contains(it.active, p) {
		return
	}
	if len(it.active) > 64 && it.settled {
		it.active = slices.DeleteFunc(it.active, func(a *part) bool {
			if it.m.reverse {
				return bytes.Compare(a.file.Smallest, it.key) > 0
			}
			return a.file.endsBefore(it.key)
		})
	}
	it.active = append(it.active, p)
}

// deleted says whether a range tombstone of a live file covers the entry.
func (it *Iter) deleted(key []byte, seq uint64) bool {
	for _, p := range it.active {
		if p.dels.covers(key, seq) {
			return true
		}
	}
	return false
}

// live says whether e, the newest entry of its key, is a row, and makes it the
// current one as RocksDB would show it.
func (it *Iter) live(r *run, e *Entry) (bool, error) {
	cur := &it.cur // set part by part: it is read at once
	switch {
	case e.Kind == KindDelete || e.Kind == KindSingleDelete || e.Kind == KindDeleteTimestamp:
		return false, nil
	case len(it.active) > 0 && it.deleted(e.Key, e.Seq):
		return false, nil
	case e.Kind != KindPut:
		it.blobs.dir = it.db.Dir
		v, err := plainValue(*e, &it.blobs)
		if errors.Is(err, errVanished) {
			return false, err
		}
		if err != nil {
			path := r.parts[r.at].path
			err := &op.Error{Kind: op.KindOf(err), What: fmt.Sprintf("%s: key %x", path, e.Key), Err: err}
			if it.db.Skips.past(Skip{File: path, What: SkipValue, LastKey: e.Key, Err: err}) {
				return false, nil
			}
			return false, err
		}
		cur.Key, cur.Value, cur.Seq, cur.Kind = e.Key, v, e.Seq, KindPut
		return true, nil
	}
	cur.Key, cur.Value, cur.Seq, cur.Kind = e.Key, e.Value, e.Seq, e.Kind
	return true, nil
}
