package restore

import (
	"time"

	"sstool/internal/kafka"
	"sstool/internal/streams"
)

// Counts is what a replay saw, per partition and in total.
type Counts struct {
	Offsets      int64 `json:"offsets"`            // offsets spanned, gaps included
	Records      int64 `json:"records"`            // data records applied or dropped, null keys included
	Bytes        int64 `json:"bytes"`              // keys and values of those records
	WireBytes    int64 `json:"wire_bytes"`         // fetched, as compressed
	Rows         int64 `json:"rows"`               // rows in the store afterwards, index rows included
	LiveKeys     int64 `json:"live_keys"`          // records that are the store's content
	Superseded   int64 `json:"superseded_records"` // records that a later one replaced or deleted
	Tombstones   int64 `json:"tombstones"`         // records with a null value
	EmptyValues  int64 `json:"empty_values"`       // records with an empty value, which is not null
	Expired      int64 `json:"expired_records"`    // their segment or version is past retention at the end
	NullKeys     int64 `json:"null_keys_skipped"`
	Control      int64 `json:"control_records"` // transaction markers
	Aborted      int64 `json:"aborted_records_skipped"`
	TxnBatches   int64 `json:"transactional_batches"`
	OffsetGaps   int64 `json:"offset_gaps"`   // offsets that held nothing: compacted away
	LastApplied  int64 `json:"last_applied"`  // offset of the last record applied; -1 when none
	StreamTime   int64 `json:"stream_time"`   // newest segment or version time seen; -1 when none
	Restarted    int   `json:"restarted"`     // times the log start moved past the position
	SegmentsLive int   `json:"segments_live"` // databases of a segmented store

	FirstFetch time.Duration `json:"-"` // until the first fetch answered
	TempPeak   int64         `json:"-"` // most bytes that lay in temporary files
	mark       kafka.LogMark // behind the last batch that was read
}

func newCounts() Counts { return Counts{LastApplied: -1, StreamTime: -1} }

func (c *Counts) add(o Counts) {
	c.Offsets += o.Offsets
	c.Records += o.Records
	c.Bytes += o.Bytes
	c.WireBytes += o.WireBytes
	c.Rows += o.Rows
	c.LiveKeys += o.LiveKeys
	c.Superseded += o.Superseded
	c.Tombstones += o.Tombstones
	c.EmptyValues += o.EmptyValues
	c.Expired += o.Expired
	c.NullKeys += o.NullKeys
	c.Control += o.Control
	c.Aborted += o.Aborted
	c.TxnBatches += o.TxnBatches
	c.OffsetGaps += o.OffsetGaps
	c.LastApplied = max(c.LastApplied, o.LastApplied)
	c.StreamTime = max(c.StreamTime, o.StreamTime)
	c.Restarted += o.Restarted
	c.SegmentsLive += o.SegmentsLive
	c.FirstFetch = max(c.FirstFetch, o.FirstFetch)
	c.TempPeak += o.TempPeak
	c.mark.Pass(o.mark)
}

// block adds what the decoder counted in one block.
func (c *Counts) block(b *kafka.Block, s kafka.BlockStats) {
	c.WireBytes += int64(b.WireBytes)
	c.Control += s.Control
	c.Aborted += s.Aborted
	c.TxnBatches += s.TransactionalBatches
	c.mark.Pass(b.Mark) // blocks of several workers come in any order
}

// record adds one delivered record and says whether it has a key: a null key
// is skipped and does not move the stored offset
// (StoreChangelogReader.bufferChangelogRecords).
func (c *Counts) record(r *kafka.Record) bool {
	c.Records++
	c.Bytes += int64(len(r.Key) + len(r.Value))
	if r.Key == nil {
		c.NullKeys++
		return false
	}
	switch {
	case r.Value == nil:
		c.Tombstones++
	case len(r.Value) == 0:
		c.EmptyValues++
	}
	c.LastApplied = max(c.LastApplied, r.Offset)
	return true
}

// settle derives what can only be said at the end. rowsPerRecord is 2 for
// stores with index rows.
func (c *Counts) settle(s streams.Store, rowsPerRecord int64) {
	c.OffsetGaps = max(0, c.Offsets-c.Records-c.Control-c.Aborted)
	c.LiveKeys = c.Rows / max(1, rowsPerRecord)
	if s.Kind == streams.Versioned {
		return // every version is content: nothing is superseded by a later record
	}
	c.Superseded = max(0, c.Records-c.NullKeys-c.Tombstones-c.Expired-c.LiveKeys)
}
