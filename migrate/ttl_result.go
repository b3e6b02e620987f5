package migrate

import (
	"time"

	"sstool/internal/serde"
)

// TTLPlan is which rows would go, and what is known of all that were looked
// at: the document ttl.plan.
type TTLPlan struct {
	ApplicationID string         `json:"application_id"`
	ClusterID     string         `json:"cluster_id"`
	Request       string         `json:"request"`
	Created       time.Time      `json:"created"`
	AgeFrom       string         `json:"age_from"` // where a row's time comes from
	Cutoff        *TTLCutoff     `json:"cutoff"`   // null: age does not count
	KeyDecoder    TTLDecoder     `json:"key_decoder"`
	ValueDecoder  TTLDecoder     `json:"value_decoder"`
	Stores        []TTLStorePlan `json:"stores"` // the store that is judged first, then the related ones
	Total         TTLCounts      `json:"total"`  // of the judged store
	Partitions    []TTLPartition `json:"partitions"`
	Histogram     []TTLAge       `json:"histogram"` // of the judged store's rows by age, the youngest first
	Unknown       TTLUnknown     `json:"unknown_timestamps"`
	Spread        *TTLSpread     `json:"spread"` // null: no row has a time, or ages are not the records'
	WhereFailed   TTLFailures    `json:"where_failed"`
	Undecoded     TTLFailures    `json:"undecoded"`       // values that --value does not fit
	KeysGiven     *int64         `json:"keys_given"`      // of a file of keys; null without one
	KeysFound     *int64         `json:"keys_found"`      // of them that are rows
	Limited       int64          `json:"left_by_maximum"` // rows that qualify and stay because of --max-rows
	Refused       []string       `json:"refused"`         // why applying it would be refused now; only in a dry run
	Warnings      []string       `json:"warnings"`
	Advice        []TTLAdvice    `json:"advice"`
	Steps         []string       `json:"steps"` // what would be done
	Seconds       float64        `json:"seconds"`
	Bytes         int64          `json:"bytes_read"`

	deletion *Deletion
}

// TTLResult is the document ttl: the plan with what became of it. A run that was
// continued has none: its keys were chosen before.
type TTLResult struct {
	Plan *TTLPlan `json:"plan"`
	DeletionResult
}

// TTLCutoff is when a row is too old.
type TTLCutoff struct {
	OlderThan  *int64     `json:"older_than_ms"`
	StreamTime bool       `json:"stream_time"`
	Before     *time.Time `json:"before"` // null with stream time: each partition has its own
}

// TTLDecoder is how keys or values were decoded.
type TTLDecoder struct {
	Name    string `json:"name"`
	Guessed bool   `json:"guessed"`
}

// TTLStorePlan is a store of the plan.
type TTLStorePlan struct {
	Store    string    `json:"store"`
	Role     string    `json:"role"` // store, also, timestamps
	Kind     string    `json:"kind"`
	KindWhy  string    `json:"kind_why"`
	Topic    string    `json:"topic"`
	Selected TTLSelect `json:"selected"`
}

// The roles of stores in a plan.
const (
	RoleStore      = "store"
	RoleAlso       = "also"
	RoleTimestamps = "timestamps"
)

// TTLSelect counts rows that are to go.
type TTLSelect struct {
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"` // of keys and values
}

// TTLCounts are rows that were looked at, and those of them that are to go.
type TTLCounts struct {
	Rows     int64      `json:"rows"`
	Bytes    int64      `json:"bytes"`
	Selected TTLSelect  `json:"selected"`
	Unknown  int64      `json:"unknown_timestamps"`
	Oldest   *time.Time `json:"oldest"` // of the rows with a time
	Newest   *time.Time `json:"newest"`
}

// TTLPartition is a partition of the judged store.
type TTLPartition struct {
	Partition int32 `json:"partition"`
	Start     int64 `json:"start"` // of the changelog
	End       int64 `json:"end"`   // what the plan knows of: offsets below
	// Source is changelog or local; Why says why the local copy was not taken.
	Source     string     `json:"source"`
	Why        string     `json:"source_why"`
	StreamTime *time.Time `json:"stream_time"`
	Cutoff     *time.Time `json:"cutoff"`
	TTLCounts
	Samples []TTLSample `json:"samples"` // of what is to go
}

// TTLSample is a row that is to go.
type TTLSample struct {
	Key       any        `json:"key"` // decoded
	KeyHex    string     `json:"key_hex"`
	Timestamp *time.Time `json:"timestamp"`
	Bytes     int64      `json:"bytes"`
}

// Text is the sample's key for a table.
func (s *TTLSample) Text() string { return serde.Text(s.Key) }

// TTLAge is a range of ages.
type TTLAge struct {
	From     int64     `json:"from_ms"` // older than this
	To       *int64    `json:"to_ms"`   // and not older than this; null: without end
	Rows     int64     `json:"rows"`
	Bytes    int64     `json:"bytes"`
	Selected TTLSelect `json:"selected"`
}

// TTLUnknown counts rows whose time makes no sense.
type TTLUnknown struct {
	Missing  int64 `json:"missing"`  // none: -1, no companion, or the expression gives none
	Negative int64 `json:"negative"` // before 1970
	Future   int64 `json:"future"`
	Deleted  bool  `json:"deleted"` // they go too, as asked
}

// Total is all of them.
func (u TTLUnknown) Total() int64 { return u.Missing + u.Negative + u.Future }

// TTLSpread is the hour that holds most of the timestamps.
type TTLSpread struct {
	Hour    time.Time `json:"hour"` // where it begins
	Share   float64   `json:"share"`
	Useless bool      `json:"useless"` // age tells nothing: nearly all lie in it
}

// TTLFailures are rows on which something failed, so that they stay.
type TTLFailures struct {
	Rows  int64  `json:"rows"`
	First string `json:"first"`
}

// TTLAdvice is something to know before or after.
type TTLAdvice struct {
	Topic string `json:"topic"`
	Text  string `json:"text"`
}

// Deletion is what Apply does.
func (p *TTLPlan) Deletion() *Deletion { return p.deletion }
