package inspect

import (
	"fmt"
	"strings"
	"time"
)

// Map is what lies under a path; the JSON document inspect.map. Sizes are
// bytes, times UTC.
type Map struct {
	Path       string      `json:"path"`
	PathIs     string      `json:"path_is"` // IsStateDir, …
	At         time.Time   `json:"at"`
	Apps       []MapApp    `json:"applications"`
	Remarks    []Remark    `json:"remarks"`    // of the path as a whole
	Unreadable []Remark    `json:"unreadable"` // what could not be read; the rest is told
	Damaged    int         `json:"damaged_databases"`
	Cluster    *MapCluster `json:"cluster"` // null: no cluster was asked
	SumBy      string      `json:"sum_by"`  // "", store, task, app
	Sums       []MapSum    `json:"sums"`
}

// MapApp is one application's directory; id is empty for stores outside of any.
type MapApp struct {
	ID        string     `json:"id"`
	Dir       string     `json:"dir"`
	ProcessID string     `json:"process_id"` // of kafka-streams-process-metadata; "" when there is none
	Lock      MapLock    `json:"lock"`
	Oldest    *string    `json:"oldest_kafka"` // null: no release known can open all of it
	OldestWhy string     `json:"oldest_kafka_why"`
	Size      int64      `json:"size_bytes"`
	Tasks     []MapTask  `json:"tasks"`
	Stores    []MapStore `json:"stores"` // by name, then task
	Remarks   []Remark   `json:"remarks"`
}

// MapLock is who holds the application's .lock.
type MapLock struct {
	Held    *bool  `json:"held"`    // null: not known, see why
	PID     *int   `json:"pid"`     // null: nobody, or a process that cannot be seen from here
	Command string `json:"command"` // program and main class: arguments may be secrets
	Why     string `json:"why"`
}

// MapTask is one task's directory.
type MapTask struct {
	Task   string `json:"task"`
	Dir    string `json:"dir"`
	Stores int    `json:"stores"`
	Size   int64  `json:"size_bytes"`
	// Others are lines of .checkpoint for which there is no store here: of
	// stores in memory (upgrade.from writes them), or of stores that are gone.
	Others []MapOffset `json:"other_offsets"`
	Unread string      `json:"checkpoint_error"` // why .checkpoint could not be read; ""

	unreadTry string   // the next step then
	Remarks   []Remark `json:"remarks"`
}

// MapStore is one store of one task.
type MapStore struct {
	App       string       `json:"application"`
	Task      string       `json:"task"` // "" outside of any task
	Name      string       `json:"store"`
	Dir       string       `json:"dir"`
	Kind      MapKind      `json:"store_kind"`
	Families  []MapFamily  `json:"families"`
	Segmented bool         `json:"segmented"`
	Segments  []MapSegment `json:"segments"`
	Interval  *int64       `json:"segment_interval_ms"` // null: not known, or none
	IntervalW string       `json:"segment_interval_why"`
	Keys      MapKeys      `json:"live_keys"`
	Entries   int64        `json:"entries"`
	Deletes   int64        `json:"deletes"` // RocksDB's delete entries of one key
	RangeDels int64        `json:"range_deletes"`
	Size      int64        `json:"size_bytes"` // of all files
	DataSize  int64        `json:"sst_bytes"`
	Files     int          `json:"sst_files"`
	Levels    []MapLevel   `json:"levels"` // empty when the live set is unknown
	Formats   []int        `json:"format_versions"`
	Checksums []string     `json:"checksums"`
	WrittenBy []string     `json:"rocksdb_versions"` // of OPTIONS: the library that opened it last
	Offsets   MapOffsets   `json:"offsets"`
	Status    *string      `json:"status"` // clean, open, unclean; null: not kept, see why
	StatusWhy string       `json:"status_why"`
	Position  []MapOffset  `json:"position"` // of interactive queries, in the source topics
	Newest    *time.Time   `json:"newest_file"`
	Oldest    *string      `json:"oldest_kafka"`
	OldestWhy string       `json:"oldest_kafka_why"`
	LiveSet   bool         `json:"live_set_known"` // of every database: whether its MANIFEST could be read
	Log       *MapLog      `json:"rocksdb_log"`    // null: there is no LOG
	Expiry    *MapExpiry   `json:"expiry"`         // of windows and sessions; null: not known
	Remarks   []Remark     `json:"remarks"`
	Cluster   *MapLag      `json:"changelog"` // null: no cluster was asked

	partition *int     // of the task; nil: all of the topic
	damaged   []Remark // its databases of which rows may be lost
	files     []Remark // warnings and problems of its databases' files
	strays    []Remark // what lies among its segments
}

// Broken are the problems of its databases' files, with which RocksDB does not
// open them, or without rows.
func (s *MapStore) Broken() []Remark { return s.filesAt(Problem) }

// Doubts are the warnings about its databases' files.
func (s *MapStore) Doubts() []Remark { return s.filesAt(Warning) }

func (s *MapStore) filesAt(level string) (out []Remark) {
	for _, r := range s.files {
		if r.Level == level {
			out = append(out, r)
		}
	}
	return out
}

// Strays are files and directories that do not belong where they are, such as
// those among a store's segments.
func (s *MapStore) Strays() []Remark { return s.strays }

// MapKind is what kind of store it is.
type MapKind struct {
	Kind       *string  `json:"kind"`      // null: unknown
	Certainty  string   `json:"certainty"` // certain, likely, unknown
	Why        string   `json:"why"`
	Candidates []string `json:"candidates"` // of an unknown kind
	Headers    bool     `json:"headers"`    // in the form that keeps record headers
	WithIndex  bool     `json:"-"`          // it has index rows
}

// What MapKind.Certainty says.
const (
	Certain = "certain"
	Likely  = "likely"
	Unknown = "unknown"
)

// MapFamily is one column family, over all databases of the store.
type MapFamily struct {
	Name      string `json:"name"`
	Files     int    `json:"sst_files"`
	Size      int64  `json:"sst_bytes"`
	Entries   int64  `json:"entries"`
	Deletes   int64  `json:"deletes"`
	RangeDels int64  `json:"range_deletes"`
}

// MapSegment is one segment of a segmented store.
type MapSegment struct {
	Start    time.Time `json:"start"`
	StartMs  int64     `json:"start_ms"`
	EndMs    *int64    `json:"end_ms"` // null: the interval is not known
	Keys     MapKeys   `json:"live_keys"`
	Files    int       `json:"sst_files"`
	Size     int64     `json:"size_bytes"`
	Expired  string    `json:"expired_by"` // "stream time" (and the clock), "wall clock", or "": see MapExpiry
	Problems []string  `json:"problems"`
}

// MapKeys is how many rows a reader would see. A versioned store's history and
// the index rows of time-ordered stores count too.
type MapKeys struct {
	Count  *int64 `json:"count"` // null: not known, see why
	Exact  bool   `json:"exact"`
	AtMost *int64 `json:"at_most"` // of an estimate: there cannot be more
	Why    string `json:"why"`
}

// MapLevel is a level of the databases.
type MapLevel struct {
	Level int   `json:"level"`
	Files int   `json:"sst_files"`
	Size  int64 `json:"sst_bytes"`
}

// Where an offset is kept.
const (
	KeptInCheckpoint = ".checkpoint"
	KeptInFamily     = "offsets family"
	KeptInBoth       = "both"
	KeptNowhere      = "none"
)

// MapOffsets is how far a store has come in its changelog.
type MapOffsets struct {
	KeptIn string      `json:"kept_in"`
	Topic  string      `json:"topic"`   // restored from; "" when it is not known or there is none
	Next   bool        `json:"is_next"` // the number is the next offset (global/), not the last applied one
	List   []MapOffset `json:"partitions"`
	Why    string      `json:"why"` // of none, and of what is odd
}

// MapOffset is an offset in one partition.
type MapOffset struct {
	Topic      string `json:"topic"`
	Partition  int32  `json:"partition"`
	Offset     *int64 `json:"offset"`     // what Kafka Streams goes by; null: none
	Checkpoint *int64 `json:"checkpoint"` // in the file
	Family     *int64 `json:"family"`     // in the newest database that has one
}

// Remark is something wrong or worth knowing.
type Remark struct {
	Level string `json:"level"` // problem, warning, note
	What  string `json:"what"`
	Where string `json:"where"` // path, or ""
	Cure  string `json:"cure"`  // or ""
}

// Levels of a Remark.
const (
	Problem = "problem" // data or the application is at risk
	Warning = "warning" // likely not what is wanted
	Note    = "note"
)

// MapSum adds up the stores that share a store's name, a task or an
// application.
type MapSum struct {
	App       string     `json:"application"`
	Name      string     `json:"name"`       // of the store or the task
	Kind      *string    `json:"store_kind"` // by store; null when it is unknown
	Stores    int        `json:"stores"`
	Segments  int        `json:"segments"`
	Keys      *int64     `json:"live_keys"` // null: one of them is not known
	KeysExact bool       `json:"live_keys_exact"`
	Deletes   int64      `json:"deletes"`
	RangeDels int64      `json:"range_deletes"`
	Files     int        `json:"sst_files"`
	Size      int64      `json:"size_bytes"`
	Newest    *time.Time `json:"newest_file"`
	Lag       *int64     `json:"lag"` // null: not measured for all of them
	Remarks   int        `json:"remarks"`
}

// LevelFiles is how many files each level has, for people: "L0:2 L6:1".
func (s *MapStore) LevelFiles() string {
	if !s.LiveSet {
		return "unknown"
	}
	var parts []string
	for _, l := range s.Levels {
		parts = append(parts, fmt.Sprintf("L%d:%d", l.Level, l.Files))
	}
	return strings.Join(parts, " ")
}
