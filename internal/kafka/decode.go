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
	p := bt[batchHeader:]
	_, i := uvarint(p, 0) // length
	if i < 0 || i >= len(p) {
		return false
	}
	_, i = uvarint(p, i+1) // attributes, timestamp delta
	_, i = uvarint(p, i)   // offset delta
	key, i := nullable(p, i)
	return i >= 0 && len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

// records is the hot path of a restore: every record of every batch passes.
func (d *Decoder) records(b *Block, bt batch, p []byte, st *BlockStats, fn func(*Record) error) error {
	base, last := bt.baseOffset(), bt.lastOffset()
	from, to := b.from, b.to
	ts0 := bt.baseTimestamp()
	logAppend := bt.attributes()&attrLogAppendTime != 0
	rec := &d.rec
	delivered, bytes := int64(0), int64(0)
	defer func() { st.Records += delivered; st.Bytes += bytes }()
	n := int(bt.count())
	for k := range n {
		u, i := uvarint(p, 0)
		size := u >> 1
		if i < 0 || u&1 != 0 || size == 0 || size > uint64(len(p)-i) {
			return b.corrupt(bt, fmt.Errorf("record %d of %d is cut off", k, n))
		}
		end := i + int(size)
		r := p[i:end:end]
		p = p[end:]
		dt, do, i := deltas(r)
		key, i := nullable(r, i)
		val, i := nullable(r, i)
		hdr, nh := i, uint64(0)
		if i == len(r)-1 && r[i] == 0 { // no headers: the usual case
			i++
		} else if nh, i = uvarint(r, i); nh != 0 {
			i = skipHeaders(r, i, zigzag(nh))
		}
		off := base + zigzag(do)
		if i != len(r) || off < base || off > last {
			return b.corrupt(bt, fmt.Errorf("record %d of %d is malformed", k, n))
		}
		if off < from || off >= to {
			continue
		}
		rec.Offset = off
		rec.Timestamp = ts0 + zigzag(dt)
		if logAppend {
			rec.Timestamp = bt.maxTimestamp()
		}
		rec.Key, rec.Value, rec.Headers, rec.HeaderCount = key, val, r[hdr:], int(zigzag(nh))
		delivered++
		bytes += int64(len(key) + len(val))
		if err := fn(rec); err != nil {
			return err
		}
	}
	if len(p) != 0 {
		return b.corrupt(bt, fmt.Errorf("%d bytes after the last record", len(p)))
	}
	return nil
}
