package topodiff

import (
	"fmt"
	"slices"

	"sstool/internal/topology"
)

// shifting says which added nodes and stores shift the generated names behind
// them: where taking their numbers away gives an old name exactly. Numbers that
// leave no trace in the text make that fail, and then nothing is said.
func (d *differ) shifting() (added []string, names int) {
	var taken []int
	for i := range d.new.v {
		v := &d.new.v[i]
		if d.toOld[i] < 0 && !v.given() && (v.isNode() || v.kind == store) {
			added = append(added, v.name)
			taken = append(taken, v.number)
		}
	}
	slices.Sort(taken)
	taken = slices.Compact(taken)
	for _, items := range [][]Item{d.r.Stores, d.r.Topics} {
		for i := range items {
			if items[i].Change == Renamed && shifted(&items[i], taken) {
				names++
			}
		}
	}
	slices.Sort(added)
	return added, names
}

// shifted says whether a name would be the old one without the numbers taken.
func shifted(it *Item, taken []int) bool {
	old, ok := topology.ParseGenerated(it.Old.Name)
	new, ok2 := topology.ParseGenerated(it.New.Name)
	before, _ := slices.BinarySearch(taken, new.Number)
	return ok && ok2 && before > 0 && new.Named(new.Number-before) == old.String()
}

// shiftNotes say where shifted names come from. Processors take a number from
// the counter also when they have a name (KI/NamedInternal
// .orElseGenerateWithPrefix), stores do not (KI/MaterializedInternal).
func (d *differ) shiftNotes(note func(string, ...any)) {
	if added, names := d.shifting(); names > 0 {
		what := "the names shift"
		if names == 1 {
			what = "the name shifts"
		}
		note("%s by what was added before: %s. To name a processor does not help, it takes a number all the same; numbers are given in the order of the calls, so what the program can add last shifts nothing", what, someOf(added))
	}
	for _, items := range [][]Item{d.r.Stores, d.r.Topics} {
		for i := range items {
			for _, f := range items[i].Fixes {
				if f.Call == fmt.Sprintf(materialized, items[i].Name()) && items[i].Old.Generated {
					note("a store that is given a name takes no number, so generated names behind it shift: give all names above in one release, and compare again")
					return
				}
			}
		}
	}
}
