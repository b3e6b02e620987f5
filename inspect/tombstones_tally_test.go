package inspect

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sstool/internal/lsm"
)

// keyEntry is an entry of the model, in the order of a merge.
type keyEntry struct {
	lsm.Entry
	file    int
	covered bool
}

// TestTally compares the single pass with what follows from each key's entries
// looked at as a whole.
func TestTally(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		var entries []keyEntry
		for i := range 1 + r.IntN(300) {
			kind := []lsm.EntryKind{lsm.KindPut, lsm.KindPut, lsm.KindDelete, lsm.KindSingleDelete}[r.IntN(4)]
			e := keyEntry{lsm.Entry{Key: fmt.Appendf(nil, "k%02d", r.IntN(40)), Seq: uint64(i), Kind: kind}, r.IntN(3), false}
			if kind == lsm.KindPut {
				e.Value = make([]byte, r.IntN(20))
			}
			entries = append(entries, e)
		}
		// A range delete of k10 … k19 that covers what is older than half.
		for i := range entries {
			e := &entries[i]
			e.covered = string(e.Key) >= "k10" && string(e.Key) < "k20" && e.Seq < uint64(len(entries)/2)
		}
		slices.SortFunc(entries, func(a, b keyEntry) int {
			return cmp.Or(slices.Compare(a.Key, b.Key), cmp.Compare(b.Seq, a.Seq))
		})
		got := &tally{files: make([]fileTally, 3), most: 4}
		for i := range entries {
			got.add(&entries[i].Entry, entries[i].file, entries[i].covered)
		}
		got.end()
		want := model(entries)
		if got.rows != want.rows || got.rowBytes != want.rowBytes || got.superseded != want.superseded || got.byRange != want.byRange ||
			!slices.Equal(got.files, want.files) || int(got.entries) != len(entries) {
			t.Fatalf("round %d:\ngot  %+v\nwant %+v", round, got, want)
		}
		if runs := describe(got.dense); !slices.Equal(runs, describe(want.dense)) {
			t.Fatalf("round %d: dense ranges %v, want %v", round, runs, describe(want.dense))
		}
	}
}

// model decides each entry by all newer entries of its key.
func model(entries []keyEntry) *tally {
	m := &tally{files: make([]fileTally, 3)}
	var run deletedRun
	end := func() {
		if run.keys > 1 {
			m.dense = append(m.dense, run)
		}
		run = deletedRun{}
	}
	for from := 0; from < len(entries); {
		to := from
		for to < len(entries) && string(entries[to].Key) == string(entries[from].Key) {
			to++
		}
		group := entries[from:to]
		for i, e := range group {
			size := int64(len(e.Key) + 8 + len(e.Value))
			if e.Kind.IsDelete() {
				f := &m.files[e.file]
				f.bytes += size
				if e.Kind == lsm.KindSingleDelete {
					f.single++
				} else {
					f.deletes++
				}
				continue
			}
			newer := group[:i]
			over := slices.IndexFunc(newer, func(x keyEntry) bool { return x.Kind.IsDelete() }) // the newest tombstone above
			put := slices.ContainsFunc(newer, func(x keyEntry) bool { return !x.Kind.IsDelete() && !x.covered })
			switch {
			case over < 0 && e.covered && !put:
				m.byRange.add(size)
			case over < 0 && !put:
				m.rows++
				m.rowBytes += size
			case over < 0:
				m.superseded.add(size)
			default:
				m.files[group[over].file].shadowed.add(size)
			}
		}
		if newest := group[0]; newest.Kind.IsDelete() || newest.covered {
			if run.keys == 0 {
				run.first = newest.Key
			}
			run.keys, run.last = run.keys+1, newest.Key
			run.entries += int64(len(group))
		} else {
			end()
		}
		from = to
	}
	end()
	slices.SortStableFunc(m.dense, func(a, b deletedRun) int { return cmp.Compare(b.entries, a.entries) })
	m.dense = m.dense[:min(4, len(m.dense))]
	return m
}

// describe names runs by their size: which of two equal ones is kept is open.
func describe(runs []deletedRun) (out []string) {
	for _, r := range runs {
		out = append(out, fmt.Sprint(r.entries))
	}
	return out
}
