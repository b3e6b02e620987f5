package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DefaultMaxInflated is the largest decompressed batch a Decoder takes for
// real when MaxInflated is not set.
const DefaultMaxInflated = 256 << 20

// Record is one record of a batch. Its slices are borrowed: they are valid
// until the function that received the record returns.
type Record struct {
	Offset, Timestamp int64
	Key, Value        []byte // nil: null; empty: empty
	// Headers are the bytes of the record's header section as on the wire: a
	// varint count, then the headers.
	Headers     []byte
	HeaderCount int
}

// BlockStats counts what a block held.
type BlockStats struct {
	Batches              int64 // all, control batches included
	Records              int64 // delivered
	Control              int64 // control records (transaction markers)
	Aborted              int64 // records of aborted transactions, skipped under read_committed
	TransactionalBatches int64 // data batches written in a transaction
	Bytes                int64 // key and value bytes of delivered records
	UncompressedBytes    int64 // record bytes after decompression
}

// Add adds o to s.
func (s *BlockStats) Add(o BlockStats) {
	s.Batches += o.Batches
	s.Records += o.Records
	s.Control += o.Control
	s.Aborted += o.Aborted
	s.TransactionalBatches += o.TransactionalBatches
	s.Bytes += o.Bytes
	s.UncompressedBytes += o.UncompressedBytes
}

// Decoder decodes blocks. The zero value is ready; it keeps buffers between
// blocks and is not safe for concurrent use, but several decoders may decode
// blocks of one partition at once.
type Decoder struct {
	// MaxInflated bounds one decompressed batch (a decompression bomb is
	// corrupt input); 0 is DefaultMaxInflated.
	MaxInflated int

	inf     inflater
	rec     Record
	aborted map[int64]bool
	queue   []kmsg.FetchResponseTopicPartitionAbortedTransaction
}

// Decode calls fn for every record of the block with From <= offset < To, in
// offset order. Control records and, under read_committed, records of aborted
// transactions are counted, not delivered. An error of fn ends the decoding
// and is returned as it is; corrupt input is an op.Corrupt that names the
// partition and the batch.
func (d *Decoder) Decode(b *Block, fn func(*Record) error) (BlockStats, error) {
	var st BlockStats
	d.inf.max = d.MaxInflated
	if d.inf.max <= 0 {
		d.inf.max = DefaultMaxInflated
	}
	d.startAborted(b)
	raw := b.raw
	for len(raw) > 0 {
		size, ok := batchSize(raw)
		if ok && size > magicAt && size < batchHeader && size <= int64(len(raw)) && raw[magicAt] < 2 {
			return st, b.oldOrCorrupt(batch(raw))
		}
		if !ok || size < batchHeader || size > int64(len(raw)) {
			return st, b.corrupt(raw, fmt.Errorf("batch of %d bytes in a block of %d", size, len(raw)))
		}
		bt := batch(raw[:size:size])
		raw = raw[size:]
		if err := d.batch(b, bt, &st, fn); err != nil {
			return st, err
		}
	}
	return st, nil
}

func (d *Decoder) startAborted(b *Block) {
	clear(d.aborted)
	d.queue = append(d.queue[:0], b.abortedTxns...)
	if len(d.queue) == 0 {
		return
	}
	slices.SortFunc(d.queue, func(x, y kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		switch {
		case x.FirstOffset < y.FirstOffset:
			return -1
		case x.FirstOffset > y.FirstOffset:
			return 1
		}
		return 0
	})
	if d.aborted == nil {
		d.aborted = map[int64]bool{}
	}
}

// isAborted follows org.apache.kafka.clients.consumer.internals.CompletedFetch:
// a transaction is aborted from its first offset to its abort marker.
func (d *Decoder) isAborted(bt batch, attr uint16, abortMarker bool) bool {
	last, pid := bt.lastOffset(), bt.producerID()
	for len(d.queue) > 0 && d.queue[0].FirstOffset <= last {
		d.aborted[d.queue[0].ProducerID] = true
		d.queue = d.queue[1:]
	}
	if len(d.aborted) == 0 || pid < 0 {
		return false
	}
	if abortMarker {
		delete(d.aborted, pid)
		return false
	}
	return attr&(attrTransactional|attrControl) == attrTransactional && d.aborted[pid]
}

func (d *Decoder) batch(b *Block, bt batch, st *BlockStats, fn func(*Record) error) error {
	if bt[magicAt] != 2 {
		return b.oldOrCorrupt(bt)
	}
	if !bt.crcOK() {
		return b.corrupt(bt, errors.New("CRC32C does not match"))
	}
	st.Batches++
	attr, count := bt.attributes(), bt.count()
	if count < 0 {
		return b.corrupt(bt, fmt.Errorf("record count %d", count))
	}
	if attr&attrControl != 0 {
		st.Control += int64(count)
		if b.ReadCommitted {
			d.isAborted(bt, attr, isAbortMarker(bt))
		}
		return nil
	}
	if attr&attrTransactional != 0 {
		st.TransactionalBatches++
	}
	if b.ReadCommitted && d.isAborted(bt, attr, false) {
		st.Aborted += int64(count)
		return nil
	}
	if count == 0 { // compaction keeps the last batch of a producer, emptied
		return nil
	}
	recs := []byte(bt[batchHeader:])
	if codec := attr & attrCodec; codec != 0 {
		var err error
		if recs, err = d.inf.inflate(codec, recs); err != nil {
			return b.corrupt(bt, fmt.Errorf("decompress: %w", err))
		}
	}
	st.UncompressedBytes += int64(len(recs))
	return d.records(b, bt, recs, st, fn)
}

// isAbortMarker reads the type of a control batch's record: its key is a
// version i16 and a type i16, 0 for abort (ControlRecordType).
func isAbortMarker(bt batch) bool {
	var r reader
	r.b = bt[batchHeader:]
	r.varint()      // length
	r.take(1)       // attributes
	r.varint()      // timestamp delta
	r.varint()      // offset delta
	n := r.varint() // key length
	key := r.take(n)
	return !r.bad && len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

func (d *Decoder) records(b *Block, bt batch, p []byte, st *BlockStats, fn func(*Record) error) error {
	base, last := bt.baseOffset(), bt.lastOffset()
	ts0 := bt.baseTimestamp()
	logAppend := bt.attributes()&attrLogAppendTime != 0
	rec := &d.rec
	r := reader{b: p}
	for i, n := int32(0), bt.count(); i < n; i++ {
		size := r.varint()
		body := r.take(size)
		if r.bad || len(body) == 0 {
			return b.corrupt(bt, fmt.Errorf("record %d of %d is cut off", i, n))
		}
		q := reader{b: body[1:]}
		dt := q.varint()
		off := base + q.varint()
		key := q.bytes()
		val := q.bytes()
		hdr := q.b
		nh := q.varint()
		if nh != 0 {
			q.skipHeaders(nh)
		}
		if q.bad || len(q.b) != 0 || off < base || off > last {
			return b.corrupt(bt, fmt.Errorf("record %d of %d is malformed", i, n))
		}
		if off < b.from || off >= b.to {
			continue
		}
		rec.Offset, rec.Timestamp = off, ts0+dt
		if logAppend {
			rec.Timestamp = bt.maxTimestamp()
		}
		rec.Key, rec.Value, rec.Headers, rec.HeaderCount = key, val, hdr, int(nh)
		st.Records++
		st.Bytes += int64(len(key) + len(val))
		if err := fn(rec); err != nil {
			return err
		}
	}
	if len(r.b) != 0 {
		return b.corrupt(bt, fmt.Errorf("%d bytes after the last record", len(r.b)))
	}
	return nil
}
