package lsm

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// tombIter shows a file's range tombstones as entries: the key is where the
// deletion starts, the value where it ends, both cut to the file's key range,
// outside of which they delete nothing.
type tombIter struct {
	list  []RangeDelete // by start, newest first
	i     int
	entry Entry
}

func newTombIter(list []RangeDelete, f File) *tombIter {
	for i := range list {
		list[i] = truncate(list[i], f)
	}
	slices.SortStableFunc(list, func(a, b RangeDelete) int {
		return cmp.Or(bytes.Compare(a.Start, b.Start), cmp.Compare(b.Seq, a.Seq))
	})
	return &tombIter{list: list}
}

func (t *tombIter) to(i int) bool {
	if t.i = i; i < 0 || i >= len(t.list) {
		return false
	}
	d := &t.list[i]
	t.entry = Entry{Key: d.Start, Value: d.End, Seq: d.Seq, Kind: KindRangeDelete}
	return true
}

func (t *tombIter) First() bool { return t.to(0) }
func (t *tombIter) Last() bool  { return t.to(len(t.list) - 1) }
func (t *tombIter) Next() bool  { return t.to(t.i + 1) }
func (t *tombIter) Prev() bool  { return t.to(t.i - 1) }
func (t *tombIter) SeekGE(key []byte) bool {
	return t.to(sort.Search(len(t.list), func(i int) bool { return bytes.Compare(t.list[i].Start, key) >= 0 }))
}
func (t *tombIter) SeekLT(key []byte) bool {
	t.SeekGE(key)
	return t.Prev()
}
func (t *tombIter) current() *Entry { return &t.entry }
func (t *tombIter) Err() error      { return nil }
func (t *tombIter) Close()          {}
