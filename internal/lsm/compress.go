package lsm

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression types of a block's trailer (RocksDB include/rocksdb/
// compression_type.h).
const (
	rawBlock     = 0x00
	snappyBlock  = 0x01
	zlibBlock    = 0x02
	bzip2Block   = 0x03
	lz4Block     = 0x04
	lz4hcBlock   = 0x05
	xpressBlock  = 0x06
	zstdBlock    = 0x07
	zstdOldBlock = 0x40 // ZSTDNotFinal
)

// compressionName is RocksDB's name of an algorithm, as in the compression
// property of format versions below 7.
func compressionName(ctype byte) string {
	switch ctype {
	case rawBlock:
		return "NoCompression"
	case snappyBlock:
		return "Snappy"
	case zlibBlock:
		return "Zlib"
	case bzip2Block:
		return "BZip2"
	case lz4Block:
		return "LZ4"
	case lz4hcBlock:
		return "LZ4HC"
	case xpressBlock:
		return "Xpress"
	case zstdBlock:
		return "ZSTD"
	case zstdOldBlock:
		return "ZSTDNotFinal"
	}
	if ctype >= 0x80 && ctype < 0xff {
		return fmt.Sprintf("custom(%#02x)", ctype)
	}
	return fmt.Sprintf("unknown(%#02x)", ctype)
}

// errCompression is a block compressed in a way that this reader does not know.
var errCompression = errors.New("a compression this reader does not know")

// maxBlock caps the uncompressed size of one block: far above any block an
// application makes, and what a damaged length can make us allocate.
const maxBlock = 256 << 20

// inflator turns blocks into their uncompressed bytes. It reuses its buffer
// and is not safe for concurrent use.
type inflator struct {
	version uint32 // of the table's format
	dict    []byte // compression dictionary of data blocks; nil when there is none
	buf     []byte
	zstd    *zstd.Decoder
}

func (f *inflator) close() {
	if f.zstd != nil {
		f.zstd.Close()
		f.zstd = nil
	}
}

// inflate returns the block's bytes, valid until the next call. Lengths and
// algorithms: util/compression.h; format versions 0 and 1 had other prefixes.
func (f *inflator) inflate(ctype byte, b []byte) ([]byte, error) {
	switch ctype {
	case rawBlock:
		return b, nil
	case snappyBlock:
		n, err := snappy.DecodedLen(b)
		if err != nil {
			return nil, fmt.Errorf("snappy: %w", err)
		}
		if err := f.grow(n, len(b), 64); err != nil {
			return nil, err
		}
		return snappy.Decode(f.buf[:n], b)
	case lz4Block, lz4hcBlock:
		return f.lz4(b)
	case zlibBlock:
		return f.stream("zlib", b, 1100, func(r io.Reader) io.Reader {
			return flate.NewReaderDict(r, f.dict)
		})
	case bzip2Block:
		return f.stream("bzip2", b, 1<<17, bzip2.NewReader)
	case zstdBlock, zstdOldBlock:
		return f.zstdBlock(b)
	}
	return nil, fmt.Errorf("%w: %s", errCompression, compressionName(ctype))
}

// grow makes room for n bytes, refusing what b compressed bytes cannot hold:
// ratio bounds the algorithm's best case.
func (f *inflator) grow(n, compressed, ratio int) error {
	if n > maxBlock || n > (compressed+16)*ratio {
		return fmt.Errorf("uncompressed length %d of a block of %d bytes, expected less", n, compressed)
	}
	if cap(f.buf) < n {
		f.buf = make([]byte, n)
	}
	f.buf = f.buf[:cap(f.buf)]
	return nil
}

// length takes the length prefix of format versions 2 and up.
func length(b []byte) (int, []byte, error) {
	n, o, ok := varint32(b, 0)
	if !ok {
		return 0, nil, errors.New("malformed uncompressed length")
	}
	return n, b[o:], nil
}

func (f *inflator) lz4(b []byte) ([]byte, error) {
	var n int
	var err error
	if f.version < 2 {
		if len(b) < 8 {
			return nil, errors.New("lz4: block shorter than its 8-byte header")
		}
		n, b = int(binary.LittleEndian.Uint32(b)), b[8:]
	} else if n, b, err = length(b); err != nil {
		return nil, fmt.Errorf("lz4: %w", err)
	}
	if err := f.grow(n, len(b), 256); err != nil {
		return nil, err
	}
	if n == 0 { // the library takes no empty target
		return nil, emptyLZ4(b)
	}
	m, err := lz4.UncompressBlockWithDict(b, f.buf[:n], f.dict)
	return exactly("lz4", f.buf[:max(m, 0)], n, err)
}

// emptyLZ4 checks the only form of nothing: a token without literals.
func emptyLZ4(b []byte) error {
	if len(b) != 1 || b[0] != 0 {
		return fmt.Errorf("lz4: block of %d bytes for an empty result, expected one zero byte", len(b))
	}
	return nil
}

// stream inflates with a reader; format versions 0 and 1 had no length.
func (f *inflator) stream(name string, b []byte, ratio int, open func(io.Reader) io.Reader) ([]byte, error) {
	if f.version < 2 {
		r := open(bytes.NewReader(b))
		out, err := io.ReadAll(io.LimitReader(r, min(maxBlock, int64(len(b)+16)*int64(ratio))))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return out, nil
	}
	n, b, err := length(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := f.grow(n, len(b), ratio); err != nil {
		return nil, err
	}
	r := open(bytes.NewReader(b))
	m, err := io.ReadFull(r, f.buf[:n])
	if err == nil {
		var one [1]byte
		if k, e := r.Read(one[:]); k != 0 {
			err = errors.New("more bytes than the length says")
		} else if e != io.EOF {
			err = e
		}
	}
	return exactly(name, f.buf[:m], n, err)
}

func (f *inflator) zstdBlock(b []byte) ([]byte, error) {
	n, b, err := length(b)
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if err := f.grow(n, len(b), 1<<15); err != nil {
		return nil, err
	}
	if f.zstd == nil {
		opts := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecodeAllCapLimit(true)}
		const trained = "\x37\xa4\x30\xec"
		switch {
		case bytes.HasPrefix(f.dict, []byte(trained)):
			opts = append(opts, zstd.WithDecoderDicts(f.dict))
		case len(f.dict) > 0:
			opts = append(opts, zstd.WithDecoderDictRaw(0, f.dict))
		}
		if f.zstd, err = zstd.NewReader(nil, opts...); err != nil {
			return nil, fmt.Errorf("zstd dictionary: %w", err)
		}
	}
	out, err := f.zstd.DecodeAll(b, f.buf[:0:n])
	return exactly("zstd", out, n, err)
}

// exactly checks that a decoder made the n bytes that were announced.
func exactly(name string, out []byte, n int, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(out) != n {
		return nil, fmt.Errorf("%s: %d bytes, expected %d", name, len(out), n)
	}
	return out, nil
}
