package lsm

import (
	"fmt"
	"io"
	"slices"
	"sync"
)

// metaBlock is one entry of the metaindex.
type metaBlock struct {
	name string
	at   handle
}

// Table is an open SST file: footer, metaindex and properties are read and
// verified, blocks are read on demand. Several goroutines may use one.
type Table struct {
	name   string
	r      io.ReaderAt
	closer io.Closer // nil when the reader belongs to the caller
	size   int64
	foot   footer
	meta   []metaBlock
	props  Properties
	trust  bool   // do not compare checksums; for fuzzing only
	tail   []byte // the end of the file while it is being opened
	seq    uint64 // of every entry, when external
	extern bool   // written outside of a database and ingested
	order  ordering

	mu         sync.Mutex
	inf        inflator // for index and meta blocks: they use no dictionary
	filter     *filter  // nil when there is none to ask
	filterRead bool
}

// Names in the metaindex.
const (
	metaProperties = "rocksdb.properties"
	metaStats      = "rocksdb.stats" // the name of properties before 2014
	metaIndex      = "rocksdb.index"
	metaRangeDel   = "rocksdb.range_del"
	metaDict       = "rocksdb.compression_dict"
)

// tailSize is read at once when a table is opened: with the options of most
// writers it holds footer, metaindex and properties.
const tailSize = 4 << 10

// OpenTable opens the SST file of the given size behind r, which may be a file,
// a range of one, or memory; name says in errors where it is. Only footer,
// metaindex and properties are read: mostly one read of 4 KiB. The reader
// stays the caller's, Close does not close it.
func OpenTable(name string, r io.ReaderAt, size int64) (*Table, error) {
	return openTable(name, r, size, false)
}

// OpenTableFile opens an SST file by its path, whatever its name is, without
// changing anything of it. Close closes the file.
func OpenTableFile(path string) (*Table, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, ioError("open SST file", err)
	}
	t, err := openTable(path, f, size, false)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	t.closer = f
	return t, nil
}

// openTable reads the footer, the metaindex and the properties.
func openTable(name string, r io.ReaderAt, size int64, trust bool) (*Table, error) {
	t := &Table{name: name, r: r, size: size, trust: trust}
	tail := make([]byte, max(0, min(size, tailSize)))
	if err := t.readAt(tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	t.tail = tail
	defer func() { t.tail = nil }()
	var err error
	if t.foot, err = parseFooter(tail, size); err != nil {
		return nil, corrupt(name, max(0, size-footerSize), "%w", err)
	}
	t.inf.version = t.foot.version
	mi, err := t.block("metaindex", t.foot.metaIndex)
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
	t.seq, t.extern = t.props.globalSeqno()
	t.order = orderOf(t.props.Text(PropComparator))
	return t, nil
}

// Close lets go of the table, of its file too when OpenTableFile opened it.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inf.close()
	if t.closer == nil {
		return nil
	}
	err := t.closer.Close()
	t.closer = nil
	if err != nil {
		return ioError("close SST file", err)
	}
	return nil
}

func (t *Table) close() { _ = t.Close() }

// AssumeSeq gives the entries of an external file that does not say so itself
// their sequence number: the largest one that the MANIFEST has for the file.
// One that the file says must be the same: no checksum covers it. To be called
// before the table is read; no effect on other files.
func (t *Table) AssumeSeq(seq uint64) error {
	if !t.extern || t.seq == seq {
		return nil
	}
	if t.seq != 0 {
		return badSeq(t.name, t.seq, seq)
	}
	t.seq = seq
	return nil
}

// badSeq is RocksDB's own check (block_based_table_reader.cc:
// GetGlobalSequenceNumber).
func badSeq(path string, got, want uint64) error {
	return corrupt(path, 0, "property %s is %d, expected %d as the MANIFEST says", PropGlobalSeqno, got, want)
}

func (t *Table) find(name string) (handle, bool) {
	for _, m := range t.meta {
		if m.name == name {
			return m.at, true
		}
	}
	return handle{}, false
}

// readProperties reads the properties block. A file ingested with
// write_global_seqno had eight bytes patched after its checksum was made
// (table/meta_blocks.cc:ReadTablePropertiesHelper): they count as zeros.
func (t *Table) readProperties() error {
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
	b, err := t.inflate("properties", h, raw)
	if err != nil {
		return err
	}
	names := make([]byte, 0, len(b))
	ends, values := make([]int, 0, 64), make([][]byte, 0, 64)
	err = t.eachEntry("properties", h, b, func(key, value []byte) error {
		names = append(names, key...)
		ends, values = append(ends, len(names)), append(values, value)
		return nil
	})
	if err != nil {
		return err
	}
	// One string holds all names, and values stay in the block: tables are
	// opened by the ten thousand.
	all, from := string(names), 0
	t.props = make(Properties, len(ends))
	for i, to := range ends {
		t.props[all[from:to]] = values[i]
		from = to
	}
	return nil
}

// patchedSeqno says whether the checksum of the properties fits once the
// global sequence number is zeroed.
func (t *Table) patchedSeqno(h handle, raw []byte) bool {
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
func (t *Table) dictionary() ([]byte, error) {
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
