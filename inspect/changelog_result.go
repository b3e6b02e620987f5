package inspect

import (
	"sstool/internal/streams"
)

// ChangelogResult is the document inspect.changelog: changelog topics as the
// tables they are. Sizes are bytes, times milliseconds since 1970.
type ChangelogResult struct {
	ClusterID string            `json:"cluster_id"`
	Estimate  bool              `json:"estimate"` // counted in samples and scaled up
	Topics    []ChangelogTopic  `json:"topics"`
	Failed    []ChangelogFailed `json:"failed"`
	Seconds   float64           `json:"seconds"`
}

// ChangelogFailed is a topic that could not be read.
type ChangelogFailed struct {
	Topic string `json:"topic"`
	Kind  string `json:"error_kind"`
	Error string `json:"error"`
}

// ChangelogTopic is one topic.
type ChangelogTopic struct {
	Topic             string               `json:"topic"`
	Store             string               `json:"store"` // "" without an application id
	Kind              ChangelogKind        `json:"store_kind"`
	PartitionCount    int                  `json:"partition_count"`
	ReplicationFactor int                  `json:"replication_factor"`
	Estimate          bool                 `json:"estimate"`
	KeyMethod         string               `json:"key_method"`
	TailMethod        string               `json:"tail_method"`
	ActiveSegment     ActiveSegment        `json:"active_segment"`
	Total             ChangelogCounts      `json:"total"`
	Skew              *ChangelogSkew       `json:"skew"` // null with one partition or no records
	Partitions        []ChangelogPartition `json:"partitions"`
	Codecs            []CodecUse           `json:"codecs"`
	HeaderKeys        []string             `json:"header_keys"` // as far as seen: of the first records with headers in each block
	Config            []ConfigFact         `json:"config"`
	Why               []Reason             `json:"why"`
	Seconds           float64              `json:"seconds"`
	RecordsPerSecond  float64              `json:"records_per_second"`
}

// ChangelogKind is the kind of store whose changelog it is.
type ChangelogKind struct {
	Kind      streams.Kind `json:"kind"`      // "" when it cannot be told
	Certainty string       `json:"certainty"` // stated, likely, unknown
	Reason    string       `json:"reason"`
	KeysLook  string       `json:"keys_look_like"` // window, session, plain; "" when there are no keys
}

// ChangelogPartition is one partition.
type ChangelogPartition struct {
	Partition  int32  `json:"partition"`
	LogStart   int64  `json:"log_start"`
	LastStable int64  `json:"last_stable"`
	LogEnd     int64  `json:"log_end"`
	DiskBytes  *int64 `json:"disk_bytes"` // as a broker reports; null when it does not
	Estimate   bool   `json:"estimate"`
	ChangelogCounts
}

// ChangelogCounts is what was counted, of the records that are committed.
type ChangelogCounts struct {
	LogCounts
	Times          ChangelogTimes `json:"timestamps"`
	Keys           *KeyCounts     `json:"keys"`
	KeysUnmeasured string         `json:"keys_unmeasured,omitempty"`
	Tail           *TailCounts    `json:"tail"`
	TailUnmeasured string         `json:"tail_unmeasured,omitempty"`
}

// LogCounts are the counts that add up.
type LogCounts struct {
	Offsets           int64 `json:"offsets"` // spanned, gaps included
	Records           int64 `json:"records"` // with a value or null
	Bytes             int64 `json:"bytes"`   // of keys and values
	LogBytes          int64 `json:"log_bytes"`
	Tombstones        int64 `json:"tombstones"` // null values
	TombstoneBytes    int64 `json:"tombstone_bytes"`
	TombstonesFresh   int64 `json:"tombstones_not_cleaned"`             // the cleaner has not met them yet
	TombstonesKept    int64 `json:"tombstones_inside_delete_retention"` // cleaned once, kept until delete.retention.ms is over
	TombstonesDue     int64 `json:"tombstones_due"`                     // the next cleaning drops them
	EmptyValues       int64 `json:"empty_values"`                       // a value of no bytes, which is not null
	NullKeys          int64 `json:"null_keys"`                          // no table has them
	Control           int64 `json:"control_records"`
	Aborted           int64 `json:"aborted_records"`
	Undecided         int64 `json:"undecided_offsets"` // beyond the last stable offset: transactions that are open
	Transactional     int64 `json:"transactional_batches"`
	OffsetGaps        int64 `json:"offset_gaps"` // offsets that held a record once
	WithHeaders       int64 `json:"records_with_headers"`
	HeaderBytes       int64 `json:"header_bytes"`
	OutOfOrder        int64 `json:"out_of_order"`       // older than the record before
	WithoutTimestamp  int64 `json:"without_timestamp"`  // negative timestamps
	LargestRecord     int64 `json:"largest_record"`     // key and value
	LargestBatch      int64 `json:"largest_batch"`      // as sent
	UncompressedBytes int64 `json:"uncompressed_bytes"` // of all records, framing and headers included
}

func (c *LogCounts) add(o *LogCounts) {
	c.Offsets += o.Offsets
	c.Records += o.Records
	c.Bytes += o.Bytes
	c.LogBytes += o.LogBytes
	c.Tombstones += o.Tombstones
	c.TombstoneBytes += o.TombstoneBytes
	c.TombstonesFresh += o.TombstonesFresh
	c.TombstonesKept += o.TombstonesKept
	c.TombstonesDue += o.TombstonesDue
	c.EmptyValues += o.EmptyValues
	c.NullKeys += o.NullKeys
	c.Control += o.Control
	c.Aborted += o.Aborted
	c.Undecided += o.Undecided
	c.Transactional += o.Transactional
	c.OffsetGaps += o.OffsetGaps
	c.WithHeaders += o.WithHeaders
	c.HeaderBytes += o.HeaderBytes
	c.OutOfOrder += o.OutOfOrder
	c.WithoutTimestamp += o.WithoutTimestamp
	c.LargestRecord = max(c.LargestRecord, o.LargestRecord)
	c.LargestBatch = max(c.LargestBatch, o.LargestBatch)
	c.UncompressedBytes += o.UncompressedBytes
}

// ChangelogTimes are record timestamps; null when no record has one.
type ChangelogTimes struct {
	Oldest      *int64 `json:"oldest"`
	Newest      *int64 `json:"newest"`
	MaxLateness int64  `json:"max_lateness_ms"` // behind the newest before, at most
}

func (t *ChangelogTimes) add(o ChangelogTimes) {
	if o.Oldest != nil && (t.Oldest == nil || *o.Oldest < *t.Oldest) {
		t.Oldest = o.Oldest
	}
	if o.Newest != nil && (t.Newest == nil || *o.Newest > *t.Newest) {
		t.Newest = o.Newest
	}
	t.MaxLateness = max(t.MaxLateness, o.MaxLateness)
}

// KeyCounts is the topic as a table: the newest record of each key.
type KeyCounts struct {
	Distinct        int64   `json:"distinct"`
	Live            int64   `json:"live"` // the newest record has a value
	LiveBytes       int64   `json:"live_bytes"`
	LiveEmpty       int64   `json:"live_empty"`
	Deleted         int64   `json:"deleted"` // the newest record is a tombstone
	DeletedBytes    int64   `json:"deleted_bytes"`
	Superseded      int64   `json:"superseded_records"`
	SupersededBytes int64   `json:"superseded_bytes"`
	SupersededShare float64 `json:"superseded_share"` // of all records with a key
}

func (c *KeyCounts) add(o *KeyCounts) {
	c.Distinct += o.Distinct
	c.Live += o.Live
	c.LiveBytes += o.LiveBytes
	c.LiveEmpty += o.LiveEmpty
	c.Deleted += o.Deleted
	c.DeletedBytes += o.DeletedBytes
	c.Superseded += o.Superseded
	c.SupersededBytes += o.SupersededBytes
	c.share()
}

func (c *KeyCounts) share() {
	c.SupersededShare = 0
	if all := c.Distinct + c.Superseded; all > 0 {
		c.SupersededShare = float64(c.Superseded) / float64(all)
	}
}

// TailCounts is the end of the log that was not compacted yet. What it begins
// with is inferred from the offsets (ChangelogTopic.TailMethod).
type TailCounts struct {
	From            *int64 `json:"from"`               // offset; null in a sum over partitions
	UncleanFrom     *int64 `json:"repeats_from"`       // the first key that was there before: from here on it is surely not compacted; null: none
	Records         int64  `json:"records"`            // from From on
	Bytes           int64  `json:"bytes"`              // of their keys and values
	Keys            int64  `json:"keys"`               // whose newest record is in the tail
	Superseded      int64  `json:"superseded_records"` // that compacting the tail would remove from it
	SupersededBytes int64  `json:"superseded_bytes"`
	NeverCleaned    bool   `json:"never_cleaned"` // no offset is missing: the tail is the whole log
}

func (c *TailCounts) add(o *TailCounts) {
	c.Records += o.Records
	c.Bytes += o.Bytes
	c.Keys += o.Keys
	c.Superseded += o.Superseded
	c.SupersededBytes += o.SupersededBytes
	c.NeverCleaned = c.NeverCleaned && o.NeverCleaned
}

// ActiveSegment says what can be known of the segments that are written to and
// are never compacted.
type ActiveSegment struct {
	AtMostBytes *int64 `json:"at_most_bytes"` // all partitions together; null when segment.bytes is not known
	Whole       bool   `json:"whole_log"`     // everything is in them
	How         string `json:"how"`
}

// ChangelogSkew says how unevenly records lie over partitions.
type ChangelogSkew struct {
	LargestPartition int32   `json:"largest_partition"`
	LargestShare     float64 `json:"largest_share"` // of all records
	TimesMean        float64 `json:"times_mean"`    // the largest over the mean
	Empty            int     `json:"empty_partitions"`
}

// CodecUse counts the batches of one compression codec.
type CodecUse struct {
	Codec   string `json:"codec"`
	Batches int64  `json:"batches"`
	Bytes   int64  `json:"bytes"` // as sent
}

// ConfigFact is one effective setting against what the kind of store needs.
type ConfigFact struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Needs   string `json:"needs"`   // "" when anything will do
	Verdict string `json:"verdict"` // ok, wrong, note
	Because string `json:"because"`
}

// Reason is one part of why a changelog is as big as it is, or a way to make it
// smaller.
type Reason struct {
	Code    string `json:"code"`
	Bytes   *int64 `json:"bytes"` // keys and values; null when it is not a part of the size
	Message string `json:"message"`
	Try     string `json:"try,omitempty"`
}
