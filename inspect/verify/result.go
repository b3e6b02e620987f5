package verify

import (
	"encoding/json"

	"sstool/inspect"
	"sstool/internal/table"
)

// Result is what a comparison found: the JSON document verify.
type Result struct {
	Application string          `json:"application"`
	Store       string          `json:"store"`
	StoreKind   string          `json:"store_kind"`
	KindWhy     string          `json:"store_kind_why"`
	Topic       string          `json:"topic"`
	Policy      *string         `json:"cleanup_policy"` // null: may not be read
	Retention   *int64          `json:"retention_ms"`   // null: none, or not known
	RetentionBy string          `json:"retention_why"`
	Running     *bool           `json:"application_running"` // null: not known
	Tasks       []Task          `json:"tasks"`
	Total       Counts          `json:"total"`
	Key         inspect.Decoder `json:"key"`
	Value       inspect.Decoder `json:"value"`
	Sample      *Sample         `json:"sample"` // null: everything was compared
	Repair      []Step          `json:"repair"`
	Warnings    []string        `json:"warnings"`
	Seconds     float64         `json:"seconds"`
}

// Task is one task's part of it.
type Task struct {
	Task       string      `json:"task"`
	Dir        string      `json:"dir"`
	Against    *Copy       `json:"against"` // the other store; null: the changelog
	Verdict    string      `json:"verdict"`
	Why        string      `json:"why"`
	Partitions []Partition `json:"partitions"`
	Counts
	Local       *table.Digest `json:"local_digest"`     // of all rows on disk
	Changelog   *table.Digest `json:"changelog_digest"` // of the rows that the changelog makes up to the offset; null: of this kind not, or not all of them are in it
	Differences []Difference  `json:"differences"`      // the first, by key
	More        int64         `json:"more_differences"`
}

// Copy is the store of the same task that a task is compared with.
type Copy struct {
	Dir        string        `json:"dir"`
	Rows       int64         `json:"rows"`
	Partitions []Partition   `json:"partitions"` // its offsets
	Digest     *table.Digest `json:"digest"`
}

// Sample is what was looked at instead of everything.
type Sample struct {
	RowKeys    int    `json:"row_keys"`    // picked on disk, and looked for in the changelog
	RecordKeys int    `json:"record_keys"` // picked in the changelog, and looked up on disk
	Blind      string `json:"blind"`       // what it cannot see
}

// What Task.Verdict says.
const (
	Same         = "same"         // nothing differs
	Differs      = "differs"      // see Task.Differences
	Unverifiable = "unverifiable" // nothing could be compared: see Why
	OutOfRange   = "out of range" // the offset is not one of this changelog
)

// Partition is what of a changelog was read.
type Partition struct {
	Partition int32  `json:"partition"`
	Offset    *int64 `json:"offset"` // the last record applied; null: not known
	OffsetBy  string `json:"offset_why"`
	LogStart  int64  `json:"log_start"`
	End       int64  `json:"end"`
	Records   int64  `json:"records"` // read
	Later     int64  `json:"later"`   // of them behind the offset
	Aborted   int64  `json:"aborted"` // not read
	NullKeys  int64  `json:"null_keys"`
}

// Counts count rows: of a kind without one row for a key (versions, windows that
// keep duplicates) what stands for one.
type Counts struct {
	Rows         int64 `json:"rows"` // on disk
	Same         int64 `json:"same"`
	Ahead        int64 `json:"ahead"`             // the row is a later record's: rows may be flushed before the offset
	Unflushed    int64 `json:"unflushed"`         // of an application that runs: its segments are flushed each by itself, and the record is behind what this one has
	Missing      int64 `json:"missing"`           // a record, and no row
	Extra        int64 `json:"extra"`             // a row that was deleted, or of which the changelog knows nothing
	Different    int64 `json:"different"`         // another value, time or headers
	Unverifiable int64 `json:"unverifiable"`      // rows: what the changelog held at the offset is compacted or deleted
	Expired      int64 `json:"expired"`           // past retention: whether it is still there does not matter
	Deleted      int64 `json:"deleted"`           // keys with a tombstone, and no row
	Replaced     int64 `json:"replaced_by_later"` // findings whose key has a later record: going on from the offset replaces the row
	LaterKeys    int64 `json:"later_keys"`        // keys that have later records only, and no row yet
}

// Findings are the rows that are not as they must be.
func (c *Counts) Findings() int64 { return c.Missing + c.Extra + c.Different }

func (c *Counts) add(o *Counts) {
	c.Rows += o.Rows
	c.Same += o.Same
	c.Ahead += o.Ahead
	c.Unflushed += o.Unflushed
	c.Missing += o.Missing
	c.Extra += o.Extra
	c.Different += o.Different
	c.Unverifiable += o.Unverifiable
	c.Expired += o.Expired
	c.Deleted += o.Deleted
	c.LaterKeys += o.LaterKeys
	c.Replaced += o.Replaced
}

// What a Difference is.
const (
	Missing   = "missing"
	Extra     = "extra"
	Different = "different"
)

// Difference is one row that is not as it must be.
type Difference struct {
	What      string          `json:"what"` // missing, extra, different
	Part      string          `json:"part"` // of different: value, timestamp, headers, validity
	Why       string          `json:"why"`
	KeyHex    string          `json:"row_key_hex"`
	Partition *int32          `json:"partition"` // of the record; null: there is none
	Offset    *int64          `json:"offset"`
	Later     *int64          `json:"later_offset"` // of the last record of the key behind the store's offset; null: none
	Local     json.RawMessage `json:"local"`        // the row, as sstool scan has it; null: none, or gone by now
	Changelog json.RawMessage `json:"changelog"`    // what it should be, in the same form; null: nothing
	Other     json.RawMessage `json:"other"`        // the row in the other store, when two are compared; null: none

	key, local, other string
}

// Text is the key, the row and what it should be, for people; "" for nothing.
func (d *Difference) Text() (key, local, other string) { return d.key, d.local, d.other }

// Step is a command that would repair something.
type Step struct {
	What    string `json:"what"`
	Why     string `json:"why"`
	Command string `json:"command"` // "": nothing to run
}
