package lsm

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// SSTInfo is what verifying one SST file found.
type SSTInfo struct {
	Path          string
	Size          int64
	FormatVersion int
	ChecksumType  string // RocksDB's name, "kCRC32c"

	Entries    int64 // point entries of every type, deletes included
	Deletes    int64 // the deletes among them
	RangeDels  int64 // range tombstones
	DataBlocks int64
	Compressed int64 // data blocks that were stored compressed

	SmallestKey, LargestKey []byte // user keys of point entries; nil when there are none
	SmallestSeq, LargestSeq uint64 // as stored; 0 in files made for ingestion
	OrderChecked            bool   // false when the comparator is not bytewise
	Properties              Properties
}

// VerifySST reads a whole SST file: every block's checksum, every block
// inflated, every key rebuilt and compared with the one before, every filter
// and meta block, and the counts against the properties.
func VerifySST(path string) (SSTInfo, error) { return verifyFile(path, nil) }

// verifyFile is VerifySST with a buffer to reuse.
func verifyFile(path string, buf []byte) (SSTInfo, error) {
	f, size, err := openFile(path)
	if err != nil {
		return SSTInfo{}, ioError("verify SST file", err)
	}
	defer f.Close()
	return verifyTable(path, f, size, buf, false)
}

// verifyTable is VerifySST over any reader; trust skips the comparison of
// checksums so that fuzzing gets past it.
func verifyTable(name string, r io.ReaderAt, size int64, buf []byte, trust bool) (SSTInfo, error) {
	t, err := openTable(name, r, size, trust)
	if err != nil {
		return SSTInfo{}, err
	}
	defer t.close()
	info := SSTInfo{
		Path: name, Size: size,
		FormatVersion: int(t.foot.version),
		ChecksumType:  t.foot.sum.String(),
		Properties:    t.props,
		OrderChecked:  t.bytewise(),
	}
	if err := t.verifyMeta(); err != nil {
		return info, err
	}
	if err := t.verifyData(&info, buf); err != nil {
		return info, err
	}
	dels, err := t.rangeDels()
	if err != nil {
		return info, err
	}
	info.RangeDels = int64(len(dels))
	return info, t.verifyCounts(info)
}

// bytewise says whether keys are ordered by their bytes; tables older than the
// property are taken to be.
func (t *table) bytewise() bool {
	c := t.props.Text(PropComparator)
	return c == "" || c == comparatorName
}

// verifyMeta checks the blocks that reading rows does not touch: filters with
// their partitions, hash indexes and blocks of unknown kinds.
func (t *table) verifyMeta() error {
	var buf []byte
	for _, m := range t.meta {
		switch m.name {
		case metaProperties, metaStats, metaIndex, metaRangeDel, metaDict:
			continue // read and verified elsewhere
		}
		raw, err := t.raw(m.name, m.at, buf)
		if err != nil {
			return err
		}
		buf = raw
		if !strings.HasPrefix(m.name, metaPartFilter) {
			continue
		}
		parts, err := t.partitions(m.name, m.at)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if buf, err = t.raw(m.name+" partition", p, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyData walks every entry of every data block.
func (t *table) verifyData(info *SSTInfo, buf []byte) error {
	blocks, err := t.dataBlocks()
	if err != nil {
		return err
	}
	s, err := t.newStream(blocks, buf)
	if err != nil {
		return err
	}
	defer s.close()
	e := entries{ordered: info.OrderChecked}
	low, high := ^uint64(0), uint64(0)
	for {
		b, h, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := e.reset(b); err != nil {
			return corrupt(t.name, int64(h.off), "data block: %w", err)
		}
		for e.next() {
			if len(e.key) < 8 {
				return corrupt(t.name, int64(h.off), "data block: key of %d bytes, expected at least 8", len(e.key))
			}
			seq, typ := splitTrailer(e.key)
			switch typ {
			case typeValue:
			case typeDelete, typeSingleDelete, typeDeleteTS:
				info.Deletes++
			case typeMerge, typeBlobIndex, typeWideColumn, typeTimedPut:
			default:
				return corrupt(t.name, int64(h.off), "data block: entry %d of type %#02x, expected a point entry", info.Entries, typ)
			}
			low, high = min(low, seq), max(high, seq)
			if info.Entries == 0 {
				info.SmallestKey = bytes.Clone(e.key[:len(e.key)-8])
			}
			info.Entries++
		}
		if e.err != nil {
			return corrupt(t.name, int64(h.off), "data block: %w", e.err)
		}
		info.DataBlocks++
	}
	if info.Entries > 0 {
		info.LargestKey = slices.Clone(e.key[:len(e.key)-8])
		info.SmallestSeq, info.LargestSeq = low, high
	}
	info.Compressed = s.squeezed
	return nil
}

// verifyCounts compares what was counted with the properties. Deleted keys
// have been counted with and without range tombstones over the versions, and
// the number of data blocks is wrong in some files: it is not compared.
func (t *table) verifyCounts(info SSTInfo) error {
	bad := func(name string, want uint64, got int64) error {
		return corrupt(t.name, int64(t.foot.metaIndex.off), "counted %d for property %s, expected %d", got, name, want)
	}
	if v, ok := t.props.Uint(PropEntries); !ok {
		return corrupt(t.name, int64(t.foot.metaIndex.off), "properties without %s", PropEntries)
	} else if v != uint64(info.Entries+info.RangeDels) {
		return bad(PropEntries, v, info.Entries+info.RangeDels)
	}
	if v, ok := t.props.Uint(PropDeletes); ok && v != uint64(info.Deletes) && v != uint64(info.Deletes+info.RangeDels) {
		return bad(PropDeletes, v, info.Deletes+info.RangeDels)
	}
	if v, ok := t.props.Uint(PropRangeDels); ok && v != uint64(info.RangeDels) {
		return bad(PropRangeDels, v, info.RangeDels)
	}
	if v, ok := t.props.Uint(propFormat); ok && v != 0 && v != uint64(t.foot.version) {
		return bad(propFormat, v, int64(t.foot.version))
	}
	return nil
}
