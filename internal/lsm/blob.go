package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sstool/internal/op"
)

// blobFiles reads values that lie in blob files, as entries of KindBlobIndex
// say. It keeps open the file it read from last.
type blobFiles struct {
	dir    string
	number uint64
	f      *os.File
	size   int64
	inf    inflator
	buf    []byte
}

func (b *blobFiles) close() {
	if b.f != nil {
		_ = b.f.Close()
		b.f = nil
	}
	b.inf.close()
}

// A record of a blob file: lengths of key and value, expiration (fixed64
// each), the checksums of these and of what follows, key, value
// (db/blob/blob_log_format.h:BlobLogRecord).
const (
	blobHeader  = 32
	maxBlobSize = 1 << 30
)

// value is the value that the index of a key points at (db/blob/blob_index.h),
// borrowed until the next call.
func (b *blobFiles) value(key, index []byte) ([]byte, error) {
	if len(index) == 0 || index[0] != 1 {
		return nil, op.Errorf(op.Failed, "blob reference of a kind that expires, which only old BlobDB writes")
	}
	c := fields{b: index[1:]}
	number, off, size := c.u64("blob file"), c.u64("blob offset"), c.u64("blob size")
	if c.err != nil || len(c.b) != 1 {
		return nil, op.Errorf(op.Corrupt, "malformed blob reference %x", index)
	}
	ctype := c.b[0]
	if err := b.open(number); err != nil {
		return nil, err
	}
	path, head := b.f.Name(), uint64(blobHeader+len(key))
	if off < head || size > maxBlobSize || off > uint64(b.size) || size > uint64(b.size)-off {
		return nil, corrupt(path, int64(off), "value of %d bytes in a file of %d, expected it within", size, b.size)
	}
	n := int(head + size)
	if cap(b.buf) < n {
		b.buf = make([]byte, n)
	}
	rec := b.buf[:n]
	if _, err := b.f.ReadAt(rec, int64(off-head)); err != nil {
		return nil, ioError("read blob file", err)
	}
	body := rec[blobHeader:]
	if sum, stored := maskedCRC(rec[:blobHeader-8]), binary.LittleEndian.Uint32(rec[24:]); sum != stored {
		return nil, corrupt(path, int64(off-head), "blob header checksum %#08x, expected %#08x", sum, stored)
	}
	if sum, stored := maskedCRC(body), binary.LittleEndian.Uint32(rec[28:]); sum != stored {
		return nil, corrupt(path, int64(off), "blob checksum %#08x, expected %#08x", sum, stored)
	}
	if !bytes.Equal(body[:len(key)], key) {
		return nil, corrupt(path, int64(off-head), "blob of key %x, expected %x", body[:len(key)], key)
	}
	v := body[len(key):]
	if ctype == rawBlock {
		return v, nil
	}
	v, err := b.inf.inflate(ctype, v)
	if err != nil {
		return nil, corrupt(path, int64(off), "blob: %w", err)
	}
	return v, nil
}

// open opens a blob file, unless it is the open one.
func (b *blobFiles) open(number uint64) error {
	if b.f != nil && b.number == number {
		return nil
	}
	if b.f != nil {
		_ = b.f.Close()
		b.f = nil
	}
	b.inf.version = 2 // how blobs are compressed: with a length in front
	f, size, err := openFile(filepath.Join(b.dir, fmt.Sprintf("%06d.blob", number)))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errVanished, err)
	}
	if err != nil {
		return ioError("read blob file", err)
	}
	b.f, b.number, b.size = f, number, size
	return nil
}
