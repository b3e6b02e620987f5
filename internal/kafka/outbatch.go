package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
)

// minBatchBuffer is what a batch begins with; it doubles as need be.
const minBatchBuffer = 8 << 10

// outBatch is a record batch (format v2, see batch.go) that is being built.
type outBatch struct {
	buf          []byte // the header's place, then the records
	count        int32
	first, maxTS int64
	tags         []int64 // of the records, when somebody wants them back
}

func newOutBatch() *outBatch {
	return &outBatch{buf: make([]byte, batchHeader, minBatchBuffer)}
}

func (b *outBatch) reset() {
	*b = outBatch{buf: b.buf[:batchHeader], tags: b.tags[:0]}
}

// held is what it takes of memory.
func (b *outBatch) held() int64 { return int64(cap(b.buf)) + 8*int64(cap(b.tags)) }

func varintLen(v int64) int {
	return (bits.Len64(uint64(v<<1)^uint64(v>>63)|1) + 6) / 7
}

func bytesLen(v []byte) int {
	if v == nil {
		return 1
	}
	return varintLen(int64(len(v))) + len(v)
}

// bodyLen is the length of the record behind its own length.
func (b *outBatch) bodyLen(r *ProduceRecord) int {
	delta := int64(0)
	if b.count > 0 {
		delta = r.Timestamp - b.first
	}
	return 1 + varintLen(delta) + varintLen(int64(b.count)) + bytesLen(r.Key) + bytesLen(r.Value) + max(len(r.Headers), 1)
}

// fits tells whether the batch may take the record as well; an empty one takes
// every record.
func (b *outBatch) fits(r *ProduceRecord, limit int) bool {
	if b.count == 0 {
		return true
	}
	n := b.bodyLen(r)
	return len(b.buf)+n+varintLen(int64(n)) <= limit && b.count < math.MaxInt32
}

// growth is how much more memory the record takes, about.
func (b *outBatch) growth(r *ProduceRecord) int {
	if n := b.bodyLen(r) + binary.MaxVarintLen32; len(b.buf)+n > cap(b.buf) {
		return max(cap(b.buf), n)
	}
	return 0
}

func (b *outBatch) add(r *ProduceRecord, tagged bool) {
	if b.count == 0 {
		b.first, b.maxTS = r.Timestamp, r.Timestamp
	}
	b.maxTS = max(b.maxTS, r.Timestamp)
	n := b.bodyLen(r)
	if need := len(b.buf) + n + binary.MaxVarintLen32; need > cap(b.buf) {
		grown := make([]byte, len(b.buf), max(need, 2*cap(b.buf)))
		copy(grown, b.buf)
		b.buf = grown
	}
	e := binary.AppendVarint(b.buf, int64(n))
	e = append(e, 0) // attributes
	e = binary.AppendVarint(e, r.Timestamp-b.first)
	e = binary.AppendVarint(e, int64(b.count))
	e = appendNullable(e, r.Key)
	e = appendNullable(e, r.Value)
	if len(r.Headers) == 0 {
		e = append(e, 0)
	} else {
		e = append(e, r.Headers...)
	}
	b.buf = e
	b.count++
	if tagged {
		b.tags = append(b.tags, r.Tag)
	}
}

func appendNullable(e, v []byte) []byte {
	if v == nil {
		return append(e, 1) // -1
	}
	return append(binary.AppendVarint(e, int64(len(v))), v...)
}

// seal returns the batch as a request carries it. out is a buffer for the
// compressed form; the result lies in it or in the batch's own.
func (b *outBatch) seal(d *deflater, out []byte, id int64, epoch int16, seq int32) (wire, buf []byte, err error) {
	wire = b.buf
	if d.codec != 0 {
		if out, err = d.deflate(append(out[:0], b.buf[:batchHeader]...), b.buf[batchHeader:]); err != nil {
			return nil, out, err
		}
		wire = out
	}
	be := binary.BigEndian
	clear(wire[:batchHeader])
	be.PutUint32(wire[8:], uint32(len(wire)-batchOverhead))
	be.PutUint32(wire[12:], math.MaxUint32) // leader epoch: the broker's to say
	wire[magicAt] = 2
	be.PutUint16(wire[21:], d.codec)
	be.PutUint32(wire[23:], uint32(b.count-1))
	be.PutUint64(wire[27:], uint64(b.first))
	be.PutUint64(wire[35:], uint64(b.maxTS))
	be.PutUint64(wire[43:], uint64(id))
	be.PutUint16(wire[51:], uint16(epoch))
	be.PutUint32(wire[53:], uint32(seq))
	be.PutUint32(wire[57:], uint32(b.count))
	be.PutUint32(wire[17:], crc32.Checksum(wire[21:], castagnoli))
	return wire, out, nil
}

// halve splits a batch of several records in two.
func (b *outBatch) halve() (*outBatch, *outBatch, error) {
	var d Decoder
	var st BlockStats
	raw, _, err := b.seal(&deflater{}, nil, 0, 0, 0) // for the header
	if err != nil {
		return nil, nil, err
	}
	x, y := newOutBatch(), newOutBatch()
	i := int32(0)
	half := b.count / 2
	err = d.records(&Block{to: math.MaxInt64}, raw, raw[batchHeader:], &st, func(r *Record) error {
		to := x
		if i >= half {
			to = y
		}
		pr := ProduceRecord{Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, Headers: r.Headers}
		if len(b.tags) > 0 {
			pr.Tag = b.tags[i]
		}
		to.add(&pr, len(b.tags) > 0)
		i++
		return nil
	})
	return x, y, err
}

// nextSeq is the sequence number after n more records; it wraps to 0
// (DefaultRecordBatch.incrementSequence).
func nextSeq(seq, n int32) int32 {
	if seq > math.MaxInt32-n {
		return n - (math.MaxInt32 - seq) - 1
	}
	return seq + n
}
