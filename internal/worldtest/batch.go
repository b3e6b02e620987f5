package worldtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// batch builds one Kafka record batch (magic 2) without going through client
// records: that is what makes generating fast.
type batch struct {
	body    []byte
	scratch []byte
	count   int
	firstTs int64
	maxTs   int64
}

const batchHeader = 61

// add appends a record without headers. A nil value is a tombstone.
func (b *batch) add(ts int64, key, value []byte) {
	if b.count == 0 {
		b.firstTs, b.maxTs = ts, ts
	}
	b.maxTs = max(b.maxTs, ts)
	r := append(b.scratch[:0], 0) // attributes
	r = binary.AppendVarint(r, ts-b.firstTs)
	r = binary.AppendVarint(r, int64(b.count))
	r = binary.AppendVarint(r, int64(len(key)))
	r = append(r, key...)
	if value == nil {
		r = binary.AppendVarint(r, -1)
	} else {
		r = binary.AppendVarint(r, int64(len(value)))
		r = append(r, value...)
	}
	r = append(r, 0) // no headers
	b.scratch = r
	b.body = binary.AppendVarint(b.body, int64(len(r)))
	b.body = append(b.body, r...)
	b.count++
}

func (b *batch) reset() { b.body, b.count = b.body[:0], 0 }

// encode returns the batch as a produce request carries it, in a new slice.
func (b *batch) encode(c *codec) ([]byte, error) {
	body, err := c.compress(b.body)
	if err != nil {
		return nil, err
	}
	out := make([]byte, batchHeader, batchHeader+len(body))
	be := binary.BigEndian
	be.PutUint32(out[8:], uint32(batchHeader-12+len(body)))
	be.PutUint32(out[12:], ^uint32(0)) // leader epoch: unknown
	out[16] = 2                        // magic
	be.PutUint16(out[21:], c.attribute)
	be.PutUint32(out[23:], uint32(b.count-1))
	be.PutUint64(out[27:], uint64(b.firstTs))
	be.PutUint64(out[35:], uint64(b.maxTs))
	be.PutUint64(out[43:], ^uint64(0)) // producer id, epoch, sequence: not idempotent
	be.PutUint16(out[51:], ^uint16(0))
	be.PutUint32(out[53:], ^uint32(0))
	be.PutUint32(out[57:], uint32(b.count))
	out = append(out, body...)
	be.PutUint32(out[17:], crc32.Checksum(out[21:], castagnoli()))
	return out, nil
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// codec compresses batch bodies; its attribute is the batch header's.
type codec struct {
	attribute uint16
	compress  func([]byte) ([]byte, error)
}

func newCodec(name string) (*codec, error) {
	switch name {
	case "", "none":
		return &codec{0, func(b []byte) ([]byte, error) { return b, nil }}, nil
	case "gzip":
		return &codec{1, func(b []byte) ([]byte, error) {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			if _, err := w.Write(b); err != nil {
				return nil, err
			}
			if err := w.Close(); err != nil {
				return nil, err
			}
			return out.Bytes(), nil
		}}, nil
	case "snappy":
		return &codec{2, func(b []byte) ([]byte, error) { return s2.EncodeSnappy(nil, b), nil }}, nil
	case "lz4":
		return &codec{3, func(b []byte) ([]byte, error) {
			var out bytes.Buffer
			w := lz4.NewWriter(&out)
			if _, err := w.Write(b); err != nil {
				return nil, err
			}
			if err := w.Close(); err != nil {
				return nil, err
			}
			return out.Bytes(), nil
		}}, nil
	case "zstd":
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return &codec{4, func(b []byte) ([]byte, error) { return w.EncodeAll(b, nil), nil }}, nil
	}
	return nil, fmt.Errorf("unknown codec %q", name)
}
