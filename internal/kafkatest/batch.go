package kafkatest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Record is one record to be written.
type Record struct {
	Partition  int32
	Timestamp  int64
	Key, Value []byte // nil: null
	Headers    []Header
}

// Header is one record header.
type Header struct {
	Key   string
	Value []byte // nil: null
}

// Batch encodes records as one record batch of format v2 (KIP-98). The zero
// value is an uncompressed batch of a producer without id.
type Batch struct {
	Base          int64
	Codec         string // "", "none", "gzip", "snappy", "xerial", "lz4", "zstd"
	ProducerID    int64  // 0 means none
	Transactional bool
	Control       bool
	LogAppendTime int64 // when set, the batch has this broker timestamp

	n                  int
	first, last, maxTS int64
	recs, one          []byte
	zs                 *zstd.Encoder
}

// Len is the number of records so far, Size their bytes before compression.
func (b *Batch) Len() int  { return b.n }
func (b *Batch) Size() int { return len(b.recs) }

// Add appends a record at the next offset.
func (b *Batch) Add(r *Record) { b.AddAt(b.Base+int64(b.n), r) }

// AddAt appends a record at an offset of its own: compaction leaves gaps.
func (b *Batch) AddAt(offset int64, r *Record) {
	if b.n == 0 {
		b.first, b.maxTS = r.Timestamp, r.Timestamp
	}
	b.maxTS = max(b.maxTS, r.Timestamp)
	b.last = offset
	e := append(b.one[:0], 0)
	e = binary.AppendVarint(e, r.Timestamp-b.first)
	e = binary.AppendVarint(e, offset-b.Base)
	e = appendNullable(e, r.Key)
	e = appendNullable(e, r.Value)
	e = binary.AppendVarint(e, int64(len(r.Headers)))
	for _, h := range r.Headers {
		e = binary.AppendVarint(e, int64(len(h.Key)))
		e = append(e, h.Key...)
		e = appendNullable(e, h.Value)
	}
	b.one = e
	b.recs = binary.AppendVarint(b.recs, int64(len(e)))
	b.recs = append(b.recs, e...)
	b.n++
}

func appendNullable(e, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(e, -1)
	}
	return append(binary.AppendVarint(e, int64(len(v))), v...)
}

// Reset makes the batch empty.
func (b *Batch) Reset() { b.n, b.recs, b.last = 0, b.recs[:0], 0 }

// Append encodes the batch behind dst.
func (b *Batch) Append(dst []byte) ([]byte, error) {
	recs, codec, err := b.compress()
	if err != nil {
		return dst, err
	}
	attr := codec
	pid := b.ProducerID
	if pid == 0 {
		pid = -1
	}
	if b.Transactional {
		attr |= 0x10
	}
	if b.Control {
		attr |= 0x20
	}
	maxTS := b.maxTS
	if b.LogAppendTime != 0 {
		attr |= 0x08
		maxTS = b.LogAppendTime
	}
	if b.n == 0 {
		b.last = b.Base
	}
	at := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(b.Base))
	dst = be.AppendUint32(dst, uint32(49+len(recs)))
	dst = be.AppendUint32(dst, 0) // leader epoch
	dst = append(dst, 2)
	dst = be.AppendUint32(dst, 0) // CRC, below
	dst = be.AppendUint16(dst, attr)
	dst = be.AppendUint32(dst, uint32(b.last-b.Base))
	dst = be.AppendUint64(dst, uint64(b.first))
	dst = be.AppendUint64(dst, uint64(maxTS))
	dst = be.AppendUint64(dst, uint64(pid))
	dst = be.AppendUint16(dst, uint16(epoch(pid)))
	dst = be.AppendUint32(dst, ^uint32(0)) // sequence
	dst = be.AppendUint32(dst, uint32(b.n))
	dst = append(dst, recs...)
	be.PutUint32(dst[at+17:], crc32.Checksum(dst[at+21:], crc32.MakeTable(crc32.Castagnoli)))
	return dst, nil
}

func epoch(pid int64) int16 {
	if pid < 0 {
		return -1
	}
	return 0
}

func (b *Batch) compress() ([]byte, uint16, error) {
	switch b.Codec {
	case "", "none":
		return b.recs, 0, nil
	case "gzip":
		var w bytes.Buffer
		z := gzip.NewWriter(&w)
		z.Write(b.recs)
		err := z.Close()
		return w.Bytes(), 1, err
	case "snappy":
		return snappy.Encode(nil, b.recs), 2, nil
	case "xerial": // the framing of Java's snappy library
		out := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}
		for p := b.recs; len(p) > 0; {
			n := min(len(p), 32<<10)
			e := snappy.Encode(nil, p[:n])
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(e))), e...)
			p = p[n:]
		}
		return out, 2, nil
	case "lz4":
		var w bytes.Buffer
		z := lz4.NewWriter(&w)
		if err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			return nil, 0, err
		}
		z.Write(b.recs)
		err := z.Close()
		return w.Bytes(), 3, err
	case "zstd":
		if b.zs == nil {
			zs, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return nil, 0, err
			}
			b.zs = zs
		}
		return b.zs.EncodeAll(b.recs, nil), 4, nil
	}
	return nil, 0, fmt.Errorf("kafkatest: unknown codec %q", b.Codec)
}
