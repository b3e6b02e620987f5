package lsm

import "bytes"

const (
	comparatorName = "leveldb.BytewiseComparator"
	reverseName    = "rocksdb.ReverseBytewiseComparator"
)

// ordering is how a table's user keys are sorted. Only RocksDB's own
// comparators over whole keys are known: tables of others can be read from end
// to end, but nothing can be searched in them.
type ordering struct {
	name string
	cmp  func(a, b []byte) int // nil when unknown
}

// orderOf knows a comparator by its name; tables older than the property are
// bytewise.
func orderOf(comparator string) ordering {
	switch comparator {
	case "", comparatorName:
		return ordering{comparator, bytes.Compare}
	case reverseName:
		return ordering{comparator, func(a, b []byte) int { return bytes.Compare(b, a) }}
	}
	return ordering{name: comparator}
}

// bytewise says whether keys ascend by their bytes.
func (o ordering) bytewise() bool { return o.name == "" || o.name == comparatorName }
