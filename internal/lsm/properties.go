package lsm

import "encoding/binary"

// Properties is a table's properties block: RocksDB's own entries, named as in
// table/table_properties.cc, and whatever a collector added.
type Properties map[string][]byte

// Names of properties that this program reads.
const (
	PropEntries      = "rocksdb.num.entries"
	PropDeletes      = "rocksdb.deleted.keys"
	PropRangeDels    = "rocksdb.num.range-deletions"
	PropComparator   = "rocksdb.comparator"
	PropFamily       = "rocksdb.column.family.name"
	PropFamilyID     = "rocksdb.column.family.id"
	PropCompression  = "rocksdb.compression"
	PropGlobalSeqno  = "rocksdb.external_sst_file.global_seqno"
	propExternal     = "rocksdb.external_sst_file.version"
	propIndexType    = "rocksdb.block.based.table.index.type"
	propDeltaIndex   = "rocksdb.index.value.is.delta.encoded"
	propUserIndex    = "rocksdb.index.key.is.user.key"
	propDataSize     = "rocksdb.data.size"
	propIndexSize    = "rocksdb.index.size"
	propFilterSize   = "rocksdb.filter.size"
	propRawKeys      = "rocksdb.raw.key.size"
	propRawValues    = "rocksdb.raw.value.size"
	propMerges       = "rocksdb.merge.operands"
	propDataBlocks   = "rocksdb.num.data.blocks"
	propMerge        = "rocksdb.merge.operator"
	propCreated      = "rocksdb.creation.time"
	propOldestKey    = "rocksdb.oldest.key.time"
	propNewestKey    = "rocksdb.newest.key.time"
	propFileCreated  = "rocksdb.file.creation.time"
	propDBID         = "rocksdb.creating.db.identity"
	propSession      = "rocksdb.creating.session.identity"
	propHost         = "rocksdb.creating.host.identity"
	propFilterKeys   = "rocksdb.num.filter_entries"
	propWholeKeys    = "rocksdb.block.based.table.whole.key.filtering"
	propFileNumber   = "rocksdb.original.file.number"
	propFormat       = "rocksdb.format.version"
	unknownFamilyID  = 0x7fffffff
	indexTwoLevel    = 2
	indexWithKey     = 3
	knownIndexTypes  = 3
	legacyIndexKinds = 2 // format versions below this may lack the index type
)

// Uint is a property stored as a varint.
func (p Properties) Uint(name string) (uint64, bool) {
	b, ok := p[name]
	if !ok {
		return 0, false
	}
	v, n := binary.Uvarint(b)
	return v, n > 0
}

// Text is a property stored as text; "" when it is absent.
func (p Properties) Text(name string) string { return string(p[name]) }

// fixed32 is a property stored as four little-endian bytes.
func (p Properties) fixed32(name string) (uint32, bool) {
	b := p[name]
	if len(b) != 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b), true
}

// globalSeqno is the sequence number of every entry of an ingested file as the
// file says it: 0 means that the MANIFEST has to (block_based_table_reader.cc:
// GetGlobalSequenceNumber). ok is false for files RocksDB wrote itself.
func (p Properties) globalSeqno() (seq uint64, ok bool) {
	if v, has := p.fixed32(propExternal); !has || v < 2 {
		return 0, false
	}
	if b := p[PropGlobalSeqno]; len(b) == 8 {
		seq = binary.LittleEndian.Uint64(b)
	}
	return seq, true
}
