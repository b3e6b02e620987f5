package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"sstool/internal/op"
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
// To be called before the table is read; no effect on other files.
func (t *Table) AssumeSeq(seq uint64) {
	if t.extern && t.seq == 0 {
		t.seq = seq
	}
}

func (t *Table) find(name string) (handle, bool) {
	for _, m := range t.meta {
		if m.name == name {
			return m.at, true
		}
	}
	return handle{}, false
}

// readAt fills b or says why not; a file that ends early is corrupt.
func (t *Table) readAt(b []byte, off int64) error {
	if from := t.size - int64(len(t.tail)); off >= from && off+int64(len(b)) <= t.size {
		copy(b, t.tail[off-from:])
		return nil
	}
	n, err := t.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt(t.name, off+int64(n), "the file ends here, expected %d more bytes", len(b)-n)
	}
	return ioError(t.name, fmt.Errorf("read at offset %d: %w", off, err))
}

// maxStored caps the stored size of any block. Filters and indexes of files of
// many gigabytes need that much.
const maxStored = 1 << 30

// inBounds checks a handle against the file before anything is allocated. The
// error is a cause without the place.
func (t *Table) inBounds(kind string, h handle) error {
	limit := uint64(maxStored)
	if kind == "data" {
		limit = maxBlock
	}
	if h.size > limit {
		return fmt.Errorf("%s block of %d bytes, expected at most %d", kind, h.size, limit)
	}
	if h.end() > uint64(t.foot.offset) {
		return fmt.Errorf("%s block at %d of %d bytes, expected it to end before the footer at %d", kind, h.off, h.size, t.foot.offset)
	}
	return nil
}

// check verifies the checksum of raw, a block with its trailer.
func (t *Table) check(kind string, h handle, raw []byte) error {
	if t.trust {
		return nil
	}
	return t.compare(kind, h, t.foot.sum.sum(raw[:h.size+1]), raw[h.size+1:])
}

// compare checks a block's checksum against the one that is stored behind it.
func (t *Table) compare(kind string, h handle, sum uint32, trailer []byte) error {
	stored := binary.LittleEndian.Uint32(trailer) - contextModifier(t.foot.base, h.off)
	if sum != stored && !t.trust {
		return corrupt(t.name, int64(h.off), "%s block of %d bytes: %s checksum %#08x, expected %#08x", kind, h.size, t.foot.sum, sum, stored)
	}
	return nil
}

// raw reads and verifies a block; the result includes the trailer.
func (t *Table) raw(kind string, h handle, buf []byte) ([]byte, error) {
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

// verifyBlock verifies a block that nobody reads, piece by piece: filters of
// large files are large.
func (t *Table) verifyBlock(kind string, h handle, buf []byte) error {
	if h.size+blockTrailer <= uint64(len(buf)) || t.foot.sum == sumXXHash {
		_, err := t.raw(kind, h, buf)
		return err
	}
	if err := t.inBounds(kind, h); err != nil {
		return corrupt(t.name, int64(h.off), "%w", err)
	}
	sum := t.foot.sum.stream()
	off, left := int64(h.off), h.size
	for left > 0 {
		piece := buf[:min(left, uint64(len(buf)))]
		if err := t.readAt(piece, off); err != nil {
			return err
		}
		sum.add(piece)
		off, left = off+int64(len(piece)), left-uint64(len(piece))
	}
	var trailer [blockTrailer]byte
	if err := t.readAt(trailer[:], off); err != nil {
		return err
	}
	return t.compare(kind, h, sum.finish(trailer[0]), trailer[1:])
}

// block reads, verifies and inflates a meta or index block.
func (t *Table) block(kind string, h handle) ([]byte, error) {
	raw, err := t.raw(kind, h, nil)
	if err != nil {
		return nil, err
	}
	return t.inflate(kind, h, raw)
}

// inflate returns the bytes of a meta or index block; the result is the
// caller's.
func (t *Table) inflate(kind string, h handle, raw []byte) ([]byte, error) {
	if raw[h.size] == rawBlock {
		return raw[:h.size], nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b, err := t.inf.inflate(raw[h.size], raw[:h.size])
	if err != nil {
		return nil, t.undecoded(kind, h, err)
	}
	return slices.Clone(b), nil
}

// undecoded says why a block with the right checksum cannot be inflated: an
// algorithm that is not ours is no damage.
func (t *Table) undecoded(kind string, h handle, err error) error {
	e := corrupt(t.name, int64(h.off), "%s block: %w", kind, err)
	if errors.Is(err, errCompression) {
		e.Kind = op.Failed
	}
	return e
}

// eachEntry walks a plain block that is not a data block.
func (t *Table) eachEntry(kind string, h handle, b []byte, fn func(key, value []byte) error) error {
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
