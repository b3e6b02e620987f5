package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// metaBlock is one entry of the metaindex.
type metaBlock struct {
	name string
	at   handle
}

// table is an open SST file: footer, metaindex and properties are read and
// verified, blocks are read on demand.
type table struct {
	name  string
	r     io.ReaderAt
	size  int64
	foot  footer
	meta  []metaBlock
	props Properties
	inf   inflator // for index and meta blocks: they use no dictionary
	trust bool     // do not compare checksums; for fuzzing only
}

// Names in the metaindex.
const (
	metaProperties = "rocksdb.properties"
	metaStats      = "rocksdb.stats" // the name of properties before 2014
	metaIndex      = "rocksdb.index"
	metaRangeDel   = "rocksdb.range_del"
	metaDict       = "rocksdb.compression_dict"
	metaPartFilter = "partitionedfilter."
)

// openTable reads the footer, the metaindex and the properties.
func openTable(name string, r io.ReaderAt, size int64, trust bool) (*table, error) {
	t := &table{name: name, r: r, size: size, trust: trust}
	tail := make([]byte, min(size, footerSize))
	if err := t.readAt(tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	var err error
	if t.foot, err = parseFooter(tail, size); err != nil {
		return nil, corrupt(name, max(0, size-footerSize), "%w", err)
	}
	t.inf.version = t.foot.version
	mi, err := t.block("metaindex", t.foot.metaIndex, nil)
	if err != nil {
		return nil, err
	}
	err = t.eachEntry("metaindex", t.foot.metaIndex, mi, func(key, value []byte) error {
		h, _, err := takeHandle(value)
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		t.meta = append(t.meta, metaBlock{string(key), h})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := t.readProperties(); err != nil {
		return nil, err
	}
	if t.foot.version >= 6 {
		h, ok := t.find(metaIndex)
		if !ok {
			return nil, corrupt(name, int64(t.foot.metaIndex.off), "metaindex without %q, expected it in format version %d", metaIndex, t.foot.version)
		}
		t.foot.index = h
	}
	return t, nil
}

func (t *table) close() { t.inf.close() }

func (t *table) find(name string) (handle, bool) {
	for _, m := range t.meta {
		if m.name == name {
			return m.at, true
		}
	}
	return handle{}, false
}

// readAt fills b or says why not; a file that ends early is corrupt.
func (t *table) readAt(b []byte, off int64) error {
	n, err := t.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt(t.name, off+int64(n), "the file ends here, expected %d more bytes", len(b)-n)
	}
	return ioError(t.name, fmt.Errorf("read at offset %d: %w", off, err))
}

// inBounds checks a handle against the file before anything is allocated. The
// error is a cause without the place.
func (t *table) inBounds(kind string, h handle) error {
	if h.end() > uint64(t.foot.offset) {
		return fmt.Errorf("%s block at %d of %d bytes, expected it to end before the footer at %d", kind, h.off, h.size, t.foot.offset)
	}
	return nil
}

// check verifies the checksum of raw, a block with its trailer.
func (t *table) check(kind string, h handle, raw []byte) error {
	if t.trust {
		return nil
	}
	stored := binary.LittleEndian.Uint32(raw[h.size+1:]) - contextModifier(t.foot.base, h.off)
	if sum := t.foot.sum.sum(raw[:h.size+1]); sum != stored {
		return corrupt(t.name, int64(h.off), "%s block of %d bytes: %s checksum %#08x, expected %#08x", kind, h.size, t.foot.sum, sum, stored)
	}
	return nil
}

// raw reads and verifies a block; the result includes the trailer.
func (t *table) raw(kind string, h handle, buf []byte) ([]byte, error) {
	if err := t.inBounds(kind, h); err != nil {
		return nil, corrupt(t.name, int64(h.off), "%w", err)
	}
	n := int(h.size) + blockTrailer
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if err := t.readAt(buf, int64(h.off)); err != nil {
		return nil, err
	}
	return buf, t.check(kind, h, buf)
}

// block reads, verifies and inflates a meta or index block. A compressed
// block's bytes are valid until the next one.
func (t *table) block(kind string, h handle, buf []byte) ([]byte, error) {
	raw, err := t.raw(kind, h, buf)
	if err != nil {
		return nil, err
	}
	b, err := t.inf.inflate(raw[h.size], raw[:h.size])
	if err != nil {
		return nil, corrupt(t.name, int64(h.off), "%s block: %w", kind, err)
	}
	return b, nil
}

// eachEntry walks a plain block that is not a data block.
func (t *table) eachEntry(kind string, h handle, b []byte, fn func(key, value []byte) error) error {
	var e entries
	err := e.reset(b)
	for err == nil && e.next() {
		err = fn(e.key, e.value)
	}
	if err = errors.Join(err, e.err); err != nil {
		return corrupt(t.name, int64(h.off), "%s block: %w", kind, err)
	}
	return nil
}

// readProperties reads the properties block. A file ingested with
// write_global_seqno had eight bytes patched after its checksum was made
// (table/meta_blocks.cc:ReadTablePropertiesHelper): they count as zeros.
func (t *table) readProperties() error {
	h, ok := t.find(metaProperties)
	if !ok {
		if h, ok = t.find(metaStats); !ok {
			return corrupt(t.name, int64(t.foot.metaIndex.off), "metaindex without %q", metaProperties)
		}
	}
	raw, err := t.raw("properties", h, nil)
	if err != nil {
		if raw == nil || !t.patchedSeqno(h, raw) {
			return err
		}
	}
	b, err := t.inf.inflate(raw[h.size], raw[:h.size])
	if err != nil {
		return corrupt(t.name, int64(h.off), "properties block: %w", err)
	}
	t.props = Properties{}
	return t.eachEntry("properties", h, b, func(key, value []byte) error {
		t.props[string(key)] = slices.Clone(value)
		return nil
	})
}

// patchedSeqno says whether the checksum of the properties fits once the
// global sequence number is zeroed.
func (t *table) patchedSeqno(h handle, raw []byte) bool {
	clean := slices.Clone(raw)
	found := false
	_ = t.eachEntry("properties", h, clean[:h.size], func(key, value []byte) error {
		if string(key) == PropGlobalSeqno && len(value) == 8 {
			found = true
			clear(value) // a slice of clean
		}
		return nil
	})
	return found && t.check("properties", h, clean) == nil
}

// dictionary is the compression dictionary of the data blocks, nil when there
// is none.
func (t *table) dictionary() ([]byte, error) {
	h, ok := t.find(metaDict)
	if !ok {
		return nil, nil
	}
	raw, err := t.raw("compression dictionary", h, nil)
	if err != nil {
		return nil, err
	}
	return raw[:h.size], nil
}
