package lsm

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Entry types in an internal key's trailer (RocksDB db/dbformat.h, enum
// ValueType); the ones of the WAL alone are left out.
const (
	typeDelete       = 0x00
	typeValue        = 0x01
	typeMerge        = 0x02
	typeSingleDelete = 0x07
	typeRangeDelete  = 0x0f
	typeBlobIndex    = 0x11
	typeDeleteTS     = 0x14
	typeWideColumn   = 0x16
	typeTimedPut     = 0x18
)

// maxSeq is the largest sequence number; a file's largest key carries it when
// it is the exclusive end of a range tombstone.
const maxSeq = 1<<56 - 1

// splitTrailer takes sequence number and type from an internal key of at least
// eight bytes.
func splitTrailer(key []byte) (seq uint64, typ byte) {
	t := binary.LittleEndian.Uint64(key[len(key)-8:])
	return t >> 8, byte(t)
}

// userKey is an internal key without its trailer.
func userKey(key []byte) []byte { return key[:len(key)-8] }

// rangeDel deletes the keys start ≤ key < end that are older than seq.
type rangeDel struct {
	start, end []byte
	seq        uint64
}

// rangeDels reads the table's range tombstones.
func (t *table) rangeDels() ([]rangeDel, error) {
	h, ok := t.find(metaRangeDel)
	if !ok {
		return nil, nil
	}
	b, err := t.block("range deletion", h, nil)
	if err != nil {
		return nil, err
	}
	var out []rangeDel
	err = t.eachEntry("range deletion", h, b, func(key, value []byte) error {
		if len(key) < 8 {
			return errors.New("key shorter than 8 bytes")
		}
		seq, typ := splitTrailer(key)
		if typ != typeRangeDelete {
			return errors.New("an entry that is not a range tombstone")
		}
		out = append(out, rangeDel{slices.Clone(userKey(key)), slices.Clone(value), seq})
		return nil
	})
	return out, err
}
