package lsm

import (
	"bytes"
	"container/heap"
	"slices"
)

// layout deals files to as few runs as possible, such that no two files of a
// run overlap: each level below 0 becomes one, and so do files that were
// ingested beside each other. Which file is newer is not lost: sequence
// numbers say it.
func layout(files []File) [][]File {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return bytes.Compare(a.Smallest, b.Smallest) })
	var runs [][]File
	var free endHeap // the runs by where they end
	for _, f := range files {
		if len(free) > 0 && free[0].last.endsBefore(f.Smallest) {
			free[0].last = f
			runs[free[0].run] = append(runs[free[0].run], f)
			heap.Fix(&free, 0)
			continue
		}
		heap.Push(&free, runEnd{f, len(runs)})
		runs = append(runs, []File{f})
	}
	return runs
}

type runEnd struct {
	last File
	run  int
}

// endHeap has the run first that ends first.
type endHeap []runEnd

func (h endHeap) Len() int      { return len(h) }
func (h endHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h endHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].last.Largest, h[j].last.Largest); c != 0 {
		return c < 0
	}
	return h[i].last.LargestExclusive && !h[j].last.LargestExclusive
}
func (h *endHeap) Push(x any) { *h = append(*h, x.(runEnd)) }
func (h *endHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
