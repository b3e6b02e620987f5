package lsm

import "time"

// TableInfo is what a table says about itself: its footer, metaindex and
// properties. No data block is read for it.
type TableInfo struct {
	Path          string
	Size          int64  // of the file
	FormatVersion int    // from the footer: the property is 0 in files written before RocksDB 9.9
	Checksum      string // RocksDB's name, "kCRC32c"
	Compression   string // as the file says it: a name, from format version 7 on "manager;hex types;"
	Comparator    string
	MergeOperator string // "" for none

	IndexType         string // binary, hash, two-level, first-key
	FilterKind        string // "" for none, else as FilterInfo.Kind
	FilterPartitioned bool

	DataSize, IndexSize, FilterSize int64 // bytes
	RawKeySize, RawValueSize        int64 // before compression; keys with their eight bytes of sequence number and type

	Entries    int64 // entries of every kind, range deletes included
	Deletes    int64 // the tombstones among them, in files of most versions range deletes included
	Merges     int64
	RangeDels  int64
	DataBlocks int64 // 0 or too small in some files with a compression dictionary

	Family   string // "" when not known
	FamilyID uint64 // meaningless when FamilyKnown is false
	// FamilyKnown is false for files made outside of a database. For files
	// that were ingested or imported the MANIFEST knows better.
	FamilyKnown bool

	Created     time.Time // of the oldest data in the file, as far as RocksDB kept track; zero when not known
	OldestKey   time.Time // when the oldest key was written; zero when not known
	NewestKey   time.Time // zero when not known
	FileCreated time.Time // zero when not known

	WrittenBy       string // what is known of the RocksDB version: ">= 9.9", "< 8.3"; "" when nothing is
	DBID, SessionID string
	Host            string
	FileNumber      uint64     // the number under which it was written; 0 when not known
	GlobalSeq       uint64     // sequence number of every entry of an external file
	External        bool       // made outside of a database, by an SstFileWriter
	Properties      Properties // all of them, some 5 KB: not to be kept for thousands of files
}

// Info describes the table.
func (t *Table) Info() TableInfo {
	p := t.props
	number := func(name string) int64 {
		v, _ := p.Uint(name)
		return int64(min(v, 1<<62))
	}
	when := func(name string) time.Time {
		if v, ok := p.Uint(name); ok && v > 0 && v < 1<<40 {
			return time.Unix(int64(v), 0).UTC()
		}
		return time.Time{}
	}
	i := TableInfo{
		Path: t.name, Size: t.size,
		FormatVersion: int(t.foot.version),
		Checksum:      t.foot.sum.String(),
		Compression:   p.Text(PropCompression),
		Comparator:    p.Text(PropComparator),
		IndexType:     t.indexType(),
		DataSize:      number(propDataSize),
		IndexSize:     number(propIndexSize),
		FilterSize:    number(propFilterSize),
		RawKeySize:    number(propRawKeys),
		RawValueSize:  number(propRawValues),
		Entries:       number(PropEntries),
		Deletes:       number(PropDeletes),
		Merges:        number(propMerges),
		RangeDels:     number(PropRangeDels),
		DataBlocks:    number(propDataBlocks),
		Family:        p.Text(PropFamily),
		Created:       when(propCreated),
		OldestKey:     when(propOldestKey),
		NewestKey:     when(propNewestKey),
		FileCreated:   when(propFileCreated),
		WrittenBy:     p.writtenBy(),
		DBID:          p.Text(propDBID),
		SessionID:     p.Text(propSession),
		Host:          p.Text(propHost),
		GlobalSeq:     t.seq,
		External:      t.extern,
		Properties:    p,
	}
	if m := p.Text(propMerge); m != "nullptr" {
		i.MergeOperator = m
	}
	if id, ok := p.Uint(PropFamilyID); ok && id != unknownFamilyID {
		i.FamilyID, i.FamilyKnown = id, true
	}
	i.FileNumber, _ = p.Uint(propFileNumber)
	f := t.Filter()
	i.FilterKind, i.FilterPartitioned = f.Kind, f.Partitioned
	return i
}

// indexType names the kind of index (include/rocksdb/table.h, enum IndexType).
func (t *Table) indexType() string {
	kind, _ := t.props.fixed32(propIndexType)
	switch kind {
	case 0:
		return "binary"
	case 1:
		return "hash"
	case indexTwoLevel:
		return "two-level"
	case indexWithKey:
		return "first-key"
	}
	return "unknown"
}

// writtenBy narrows the version of RocksDB down by the properties that it
// writes always: no file names its version (table/table_properties.cc over the
// releases).
func (p Properties) writtenBy() string {
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := p["rocksdb."+n]; !ok {
				return false
			}
		}
		return true
	}
	switch {
	case has("data.block.restart.interval"):
		return ">= 11.0"
	case has("key.smallest.seqno"):
		return ">= 10.7, < 11.0"
	case has("newest.key.time"):
		return ">= 9.9, < 10.7"
	case has("key.largest.seqno"):
		return ">= 9.7, < 9.9"
	case has("tail.start.offset"):
		return ">= 8.3, < 9.7"
	case has("num.filter_entries"):
		return ">= 6.21, < 8.3"
	case len(p) > 0:
		return "< 6.21"
	}
	return ""
}
