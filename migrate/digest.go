package migrate

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/zeebo/xxh3"

	"sstool/internal/kafka"
	"sstool/internal/table"
)

// recordHash stands for a record: 128 bits of its key, and 128 bits of all the
// rest of it, timestamp, headers and value, where null is not empty.
type recordHash struct {
	key, rest [16]byte
	offset    int64
	tombstone bool
	keyless   bool
}

func hashRecord(r *kafka.Record) (h recordHash) {
	h.offset, h.tombstone, h.keyless = r.Offset, r.Value == nil, r.Key == nil
	k := xxh3.Hash128(r.Key).Bytes()
	if h.keyless {
		k[0] ^= 1
	}
	h.key = k
	seed := uint64(r.Timestamp) * 0x9e3779b97f4a7c15
	if h.tombstone {
		seed ^= 0x5851f42d4c957f2d
	}
	if r.HeaderCount > 0 {
		seed = xxh3.HashSeed(r.Headers, seed)
	}
	h.rest = xxh3.Hash128Seed(r.Value, seed).Bytes()
	return h
}

func (h *recordHash) same(o *recordHash) bool { return h.key == o.key && h.rest == o.rest }

// add counts a record in a digest of all records.
func (h *recordHash) add(d *table.Digest) { d.Add(0, h.key[:], h.rest[:]) }

// hashReader hands out the hashes of a partition's records one by one.
type hashReader struct {
	r    *kafka.PartitionReader
	dec  kafka.Decoder
	buf  []recordHash
	next int
}

func openHashes(ctx context.Context, c *kafka.Client, o kafka.ReadOptions) (*hashReader, error) {
	r, err := c.OpenPartition(ctx, o)
	if err != nil {
		return nil, err
	}
	return &hashReader{r: r}, nil
}

// read is the next record; io.EOF at the end.
func (h *hashReader) read(ctx context.Context) (*recordHash, error) {
	for h.next == len(h.buf) {
		b, err := h.r.Next(ctx)
		if err != nil {
			return nil, err
		}
		h.buf, h.next = h.buf[:0], 0
		if _, err := h.dec.Decode(b, func(r *kafka.Record) error {
			h.buf = append(h.buf, hashRecord(r))
			return nil
		}); err != nil {
			return nil, err
		}
		h.r.Release(b)
	}
	h.next++
	return &h.buf[h.next-1], nil
}

func (h *hashReader) close() { h.r.Close() }

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// hashSamples are evenly spread, as hashes of keys are: what a table is divided
// by.
func hashSamples() [][]table.Sample {
	const n = 1 << 12
	out := make([]table.Sample, n)
	for i := range out {
		key := make([]byte, 8)
		binary.BigEndian.PutUint64(key, uint64(i)<<52)
		out[i].Key = key
	}
	return [][]table.Sample{out}
}
