package orphans

import (
	"time"

	"sstool/internal/streams"
)

// Result is what nothing uses any more; the JSON document inspect.orphans.
type Result struct {
	At           time.Time     `json:"at"`
	ClusterID    *string       `json:"cluster_id"` // null: no cluster was asked
	StateDir     string        `json:"state_dir"`  // "": no disk was looked at
	Applications []Application `json:"applications"`
	Orphans      []Orphan      `json:"orphans"`
	Bytes        int64         `json:"bytes"`      // of orphans and likely ones, as far as measured
	Unmeasured   []Unmeasured  `json:"unmeasured"` // questions that could not be asked
	// Delete is the command that deletes all whose verdict is orphan; "" without any.
	Delete string `json:"delete_command"`
}

// Application is an application that was looked at, or that may own names.
type Application struct {
	ID       string `json:"application_id"`
	Examined bool   `json:"examined"` // its orphans were looked for; else it is only known to be there
	// Basis is what tells which names it uses: "topology", "brokers", "gone", or
	// "none", when it is not known.
	Basis     string `json:"basis"`
	From      string `json:"from"`  // the file, the group, or ""
	Group     string `json:"group"` // the group's state, "absent", or "unmeasured"
	Members   int    `json:"members"`
	Undecided int    `json:"undecided"` // names that may be its own, of which nothing tells whether it uses them
	Why       string `json:"why"`       // they are undecided
	Temporary bool   `json:"temporary"` // the id of a transient query of ksqlDB
}

// What Application.Basis says.
const (
	ByTopology = "topology"
	ByBrokers  = "brokers" // that hold the topology of a group of the streams protocol
	ByGone     = "gone"    // the user says that there is no such application any more
	ByNothing  = "none"
)

// Verdicts.
const (
	Unused  = "orphan"  // proven: everything that could use it is known, and does not
	Likely  = "likely"  // nothing known uses it, and nothing proves that nothing does
	Unclear = "unclear" // it cannot be told apart from what is used
)

// Kinds of orphans, in the order in which they are listed and deleted.
const (
	KindApplicationDir = "application directory"
	KindTaskDir        = "task directory"
	KindStoreDir       = "store directory"
	KindSegmentDir     = "segment directory"
	KindCheckpoint     = "checkpoint lines"
	KindOffsetsRow     = "offsets row"
	KindLeftover       = "leftover of sstool"
	KindGroup          = "group"
	KindOffsets        = "committed offsets"
	KindTopic          = "topic"
)

// Orphan is one thing that nothing uses, as far as the verdict says.
type Orphan struct {
	Kind          string          `json:"what"`
	Name          string          `json:"name"` // the topic, the group, or the path
	ApplicationID string          `json:"application_id"`
	Candidates    []string        `json:"candidates"` // other applications whose it may be, by its name
	Verdict       string          `json:"verdict"`
	Why           string          `json:"why"`
	Temporary     bool            `json:"temporary"` // of a transient query of ksqlDB
	Partitions    []int32         `json:"partitions"`
	Records       *int64          `json:"records"`    // end less start; null: not measured, or none
	Bytes         *int64          `json:"size_bytes"` // of a topic on all brokers together; null: not measured, see size_why
	BytesWhy      string          `json:"size_why"`   //
	LastWrite     *time.Time      `json:"last_write"` // of a topic its newest record's timestamp, of files the newest file's; null: see last_write_why
	LastWriteWhy  string          `json:"last_write_why"`
	Lines         []Line          `json:"lines"`     // of a .checkpoint file, or of the offsets family
	Remove        string          `json:"remove"`    // the command that removes it; "": there is none
	Deletable     bool            `json:"deletable"` // sstool orphans --delete can
	TopicID       string          `json:"topic_id"`
	Ends          map[int32]int64 `json:"ends"`  // of a topic, when it was looked at
	Topic         string          `json:"topic"` // of committed offsets
	Group         string          `json:"group"` // of committed offsets
}

// Line is an offset of a topic's partition in a file.
type Line struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// At is the line's topic and partition.
func (l Line) At() streams.TopicPartition {
	return streams.TopicPartition{Topic: l.Topic, Partition: l.Partition}
}

// Unmeasured is a question that got no answer.
type Unmeasured struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Count is how many have the verdict.
func (r *Result) Count(verdict string) int {
	n := 0
	for i := range r.Orphans {
		if r.Orphans[i].Verdict == verdict {
			n++
		}
	}
	return n
}
