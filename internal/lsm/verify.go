package lsm

import (
	"io"
	"strings"
)

// VerifySST reads a whole SST file: every block's checksum, every block
// inflated, every key rebuilt and compared with the one before, every filter
// and meta block, and the counts against the properties. The first thing wrong
// ends it.
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
	defer t.Close()
	info, errs := t.Verify(ScanOptions{Buffer: buf}, nil)
	if len(errs) > 0 {
		return info, errs[0]
	}
	return info, nil
}

// Verify is Scan and more: filters and meta blocks that rows do not need are
// verified too, and what was counted is compared with the properties when
// nothing was lost.
func (t *Table) Verify(o ScanOptions, fn func(Entry) error) (SSTInfo, []error) {
	s := scan{t: t, o: o, fn: fn}
	s.run(true)
	return s.info, s.errs
}

// verifyMeta checks the blocks that reading rows does not touch: filters with
// their partitions, hash indexes and blocks of unknown kinds. It goes on while
// bad, which is told each error, says so.
func (t *Table) verifyMeta(buf []byte, bad func(error) (goOn bool)) bool {
	for _, m := range t.meta {
		switch m.name {
		case metaProperties, metaStats, metaIndex, metaRangeDel, metaDict:
			continue // read and verified elsewhere
		}
		if err := t.verifyBlock(m.name, m.at, buf); err != nil {
			if !bad(err) {
				return false
			}
			continue
		}
		if !strings.HasPrefix(m.name, metaPartFilter) {
			continue
		}
		parts, err := t.partitions(m.name, m.at)
		if err != nil && !bad(err) {
			return false
		}
		for _, p := range parts {
			if err := t.verifyBlock(m.name+" partition", p, buf); err != nil && !bad(err) {
				return false
			}
		}
	}
	return true
}

// verifyCounts compares what was counted with the properties. Deleted keys
// have been counted with and without range tombstones over the versions, and
// the number of data blocks is wrong in some files: it is not compared.
func (t *Table) verifyCounts(info SSTInfo) error {
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
