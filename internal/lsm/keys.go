package lsm

import (
	"encoding/binary"
	"fmt"
)

// EntryKind is what an entry of a table does to its key. The numbers are the
// types in the trailer of internal keys (RocksDB db/dbformat.h, enum
// ValueType); the ones of the WAL alone are left out.
type EntryKind byte

const (
	KindDelete          EntryKind = 0x00
	KindPut             EntryKind = 0x01
	KindMerge           EntryKind = 0x02 // an operand for the merge operator
	KindSingleDelete    EntryKind = 0x07
	KindRangeDelete     EntryKind = 0x0f // never in a data block, see Table.RangeDeletes
	KindBlobIndex       EntryKind = 0x11 // the value says where in a blob file the value is
	KindDeleteTimestamp EntryKind = 0x14
	KindWideColumn      EntryKind = 0x16
	KindTimedPut        EntryKind = 0x18 // the value ends with a preferred sequence number, fixed64
)

// numKinds is one more than the largest EntryKind.
const numKinds = 0x19

// Kinds lists every EntryKind, in the order in which people want to read them.
func Kinds() []EntryKind {
	return []EntryKind{
		KindPut, KindDelete, KindSingleDelete, KindRangeDelete, KindMerge,
		KindBlobIndex, KindWideColumn, KindTimedPut, KindDeleteTimestamp,
	}
}

// String is the kind as people call it.
func (k EntryKind) String() string {
	switch k {
	case KindDelete:
		return "delete"
	case KindPut:
		return "put"
	case KindMerge:
		return "merge"
	case KindSingleDelete:
		return "single delete"
	case KindRangeDelete:
		return "range delete"
	case KindBlobIndex:
		return "blob index"
	case KindDeleteTimestamp:
		return "delete with timestamp"
	case KindWideColumn:
		return "wide column"
	case KindTimedPut:
		return "timed put"
	}
	return fmt.Sprintf("unknown(%#02x)", byte(k))
}

// IsDelete says whether the kind is one of the tombstones, which property
// rocksdb.deleted.keys counts.
func (k EntryKind) IsDelete() bool {
	switch k {
	case KindDelete, KindSingleDelete, KindDeleteTimestamp, KindRangeDelete:
		return true
	}
	return false
}

// pointKinds has a bit for every kind that may occur in a data block
// (IsValueType).
const pointKinds = 1<<KindPut | 1<<KindDelete | 1<<KindSingleDelete | 1<<KindMerge |
	1<<KindBlobIndex | 1<<KindWideColumn | 1<<KindTimedPut | 1<<KindDeleteTimestamp

// isPoint says whether the kind may occur in a data block.
func (k EntryKind) isPoint() bool { return k < numKinds && 1<<k&pointKinds != 0 }

// Entry is one entry of a table, or of several merged.
type Entry struct {
	Key   []byte // user key
	Value []byte // as stored; empty for deletes
	Seq   uint64 // sequence number: the larger is the newer
	Kind  EntryKind
}

// RangeDelete deletes the keys Start ≤ key < End that are older than Seq.
type RangeDelete struct {
	Start, End []byte
	Seq        uint64
}

// maxSeq is the largest sequence number; a file's largest key carries it when
// it is the exclusive end of a range tombstone.
const maxSeq = 1<<56 - 1

// keyTrailer is the length of sequence number and type after a user key.
const keyTrailer = 8

// splitTrailer takes sequence number and type from an internal key of at least
// eight bytes.
func splitTrailer(key []byte) (seq uint64, kind EntryKind) {
	t := binary.LittleEndian.Uint64(key[len(key)-keyTrailer:])
	return t >> 8, EntryKind(t)
}

// userKey is an internal key without its trailer.
func userKey(key []byte) []byte { return key[:len(key)-keyTrailer] }
