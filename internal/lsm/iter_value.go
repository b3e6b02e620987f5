package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"sstool/internal/op"
)

// plainValue is the value that a reader of RocksDB sees of an entry that is no
// plain put.
func plainValue(e Entry, blobs *blobFiles) ([]byte, error) {
	switch e.Kind {
	case KindBlobIndex:
		return blobs.value(e.Key, e.Value)
	case KindTimedPut: // db/seqno_to_time_mapping.cc:PackValueAndSeqno
		if len(e.Value) < 8 {
			return nil, op.Errorf(op.Corrupt, "timed put of %d bytes, expected at least the 8 of its sequence number", len(e.Value))
		}
		return e.Value[:len(e.Value)-8], nil
	case KindWideColumn:
		return defaultColumn(e.Value)
	case KindMerge:
		return nil, op.Errorf(op.Failed, "holds a merge operand: its value needs the application's merge operator")
	}
	return nil, op.Errorf(op.Corrupt, "entry of type %s, expected a point entry", e.Kind)
}

// defaultColumn is the value of the column without a name, which is the first
// when there is one; without it the row's value is empty
// (db/wide/wide_column_serialization.h).
func defaultColumn(b []byte) ([]byte, error) {
	bad := func(what string) ([]byte, error) {
		return nil, op.Errorf(op.Corrupt, "wide columns: malformed %s", what)
	}
	version, o, ok := varint32(b, 0)
	if !ok || version < 1 || version > 2 {
		return nil, op.Errorf(op.Failed, "wide columns of version %d, expected 1 or 2", version)
	}
	n, o, ok := varint32(b, o)
	if !ok || n > len(b) {
		return bad("count")
	}
	if n == 0 {
		return []byte{}, nil
	}
	if version == 2 {
		return defaultColumn2(b, o, n)
	}
	var values, first int
	unnamed := false
	for i := range n {
		name, next, ok := varint32(b, o)
		if !ok || name > len(b)-next {
			return bad("name")
		}
		size, next, ok := varint32(b, next+name)
		if !ok {
			return bad("value size")
		}
		if i == 0 {
			unnamed, first = name == 0, size
		}
		values += size
		o = next
	}
	if values != len(b)-o {
		return bad("values")
	}
	if !unnamed {
		return []byte{}, nil
	}
	return b[o : o+first], nil
}

var errWide = errors.New("wide columns: malformed sections")

// defaultColumn2 reads the second version, whose sizes, names and values are
// sections of their own; o is where the section sizes begin.
func defaultColumn2(b []byte, o, n int) ([]byte, error) {
	var size [3]int // of name sizes, value sizes, names
	for i := range size {
		var ok bool
		if size[i], o, ok = varint32(b, o); !ok || size[i] > len(b) {
			return nil, &op.Error{Kind: op.Corrupt, Err: errWide}
		}
	}
	nameSizes := o + n // after one type byte for each column
	valueSizes := nameSizes + size[0]
	names := valueSizes + size[1]
	values := names + size[2]
	if values > len(b) {
		return nil, &op.Error{Kind: op.Corrupt, Err: errWide}
	}
	name, k := binary.Uvarint(b[nameSizes:valueSizes])
	value, l := binary.Uvarint(b[valueSizes:names])
	switch {
	case k <= 0 || l <= 0 || value > uint64(len(b)-values):
		return nil, &op.Error{Kind: op.Corrupt, Err: errWide}
	case name != 0:
		return []byte{}, nil
	case b[o] != 1: // ValueType of the column: a plain value
		return nil, &op.Error{Kind: op.Failed, Err: fmt.Errorf("wide columns: the unnamed column has type %#02x, expected a plain value", b[o])}
	}
	return b[values : values+int(value)], nil
}
