package inspect

import (
	"bytes"
	"slices"

	"sstool/internal/lsm"
)

// countKeys says how many rows a family has, from its files' properties. Where
// no two files overlap every entry that is no tombstone is a row: RocksDB keeps
// one version of a key in a file unless a snapshot holds more, and Kafka
// Streams takes none. Otherwise it is RocksDB's own estimate
// (VersionStorageInfo::GetEstimatedActiveKeys): a tombstone takes one other
// entry with it.
func countKeys(f *familyFacts, files []lsm.File, whole bool) MapKeys {
	dels := f.Deletes + f.RangeDels
	puts := max(0, f.Entries-dels)
	switch {
	case whole && f.Files == 0:
		return exactly(0, "no file")
	case whole && f.RangeDels == 0 && f.merges == 0 && disjoint(files):
		return exactly(puts, "no two files overlap")
	case !whole && f.Files == 0:
		return MapKeys{Why: "no file can be read"}
	}
	n := max(0, puts-dels)
	why := "estimate: entries less tombstones; files overlap"
	if !whole {
		why = "estimate over the files that can be read: entries less tombstones; which of them are live is not certain"
	}
	return MapKeys{Count: &n, AtMost: &puts, Why: why}
}

func exactly(n int64, why string) MapKeys { return MapKeys{Count: &n, Exact: true, Why: why} }

// disjoint says whether no two files share a key.
func disjoint(files []lsm.File) bool {
	s := slices.Clone(files)
	slices.SortFunc(s, func(a, b lsm.File) int { return bytes.Compare(a.Smallest, b.Smallest) })
	for i := 1; i < len(s); i++ {
		n := bytes.Compare(s[i-1].Largest, s[i].Smallest)
		if n > 0 || n == 0 && !s[i-1].LargestExclusive {
			return false
		}
	}
	return true
}

// add adds up two counts.
func (k MapKeys) add(o MapKeys) MapKeys {
	if k.Count == nil || o.Count == nil {
		if k.Count == nil {
			return k
		}
		return o
	}
	n := *k.Count + *o.Count
	sum := MapKeys{Count: &n, Exact: k.Exact && o.Exact, Why: k.Why}
	if k.Exact && o.Why != "" {
		sum.Why = o.Why
	}
	if !sum.Exact {
		most := k.most() + o.most()
		sum.AtMost = &most
	}
	return sum
}

func (k MapKeys) most() int64 {
	if k.AtMost != nil {
		return *k.AtMost
	}
	return *k.Count
}
