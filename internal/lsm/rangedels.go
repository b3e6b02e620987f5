package lsm

import (
	"bytes"
	"container/heap"
	"slices"
)

// deletions answers whether a range tombstone covers an entry. Tombstones
// overlap; build cuts them into fragments with the newest sequence each.
type deletions struct {
	raw   []RangeDelete
	frags []RangeDelete
}

func (d *deletions) add(r RangeDelete) {
	if bytes.Compare(r.Start, r.End) < 0 {
		d.raw = append(d.raw, r)
	}
}

// truncate cuts a tombstone to its file's key range: outside of it newer rows
// may have lost their sequence numbers in a compaction to the last level
// (db/range_del_aggregator.h:TruncatedRangeDelIterator).
func truncate(d RangeDelete, f File) RangeDelete {
	if bytes.Compare(d.Start, f.Smallest) < 0 {
		d.Start = f.Smallest
	}
	end := f.Largest
	if !f.LargestExclusive {
		end = append(slices.Clone(end), 0) // the first key after it
	}
	if bytes.Compare(d.End, end) > 0 {
		d.End = end
	}
	return d
}

func (d *deletions) build() {
	if len(d.raw) == 0 {
		return
	}
	bounds := make([][]byte, 0, 2*len(d.raw))
	for _, r := range d.raw {
		bounds = append(bounds, r.Start, r.End)
	}
	slices.SortFunc(bounds, bytes.Compare)
	bounds = slices.CompactFunc(bounds, bytes.Equal)
	slices.SortFunc(d.raw, func(a, b RangeDelete) int { return bytes.Compare(a.Start, b.Start) })
	open, next := seqHeap{}, 0
	for i := 0; i+1 < len(bounds); i++ {
		for next < len(d.raw) && bytes.Compare(d.raw[next].Start, bounds[i]) <= 0 {
			heap.Push(&open, d.raw[next])
			next++
		}
		for len(open) > 0 && bytes.Compare(open[0].End, bounds[i]) <= 0 {
			heap.Pop(&open)
		}
		if len(open) > 0 {
			d.frags = append(d.frags, RangeDelete{bounds[i], bounds[i+1], open[0].Seq})
		}
	}
	d.raw = nil
}

// covers says whether a tombstone newer than seq deletes key.
func (d *deletions) covers(key []byte, seq uint64) bool {
	if len(d.frags) == 0 {
		return false
	}
	i, found := slices.BinarySearchFunc(d.frags, key, func(r RangeDelete, k []byte) int { return bytes.Compare(r.Start, k) })
	if !found {
		i--
	}
	return i >= 0 && bytes.Compare(key, d.frags[i].End) < 0 && d.frags[i].Seq > seq
}

// seqHeap has the tombstone with the newest sequence first.
type seqHeap []RangeDelete

func (h seqHeap) Len() int           { return len(h) }
func (h seqHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h seqHeap) Less(i, j int) bool { return h[i].Seq > h[j].Seq }
func (h *seqHeap) Push(x any)        { *h = append(*h, x.(RangeDelete)) }
func (h *seqHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
