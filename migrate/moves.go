package migrate

import (
	"sstool/internal/streams"
)

// StoreMove is one store under its old and its new name.
type StoreMove struct {
	OldApp   string `json:"old_application_id"`
	NewApp   string `json:"new_application_id"`
	OldStore string `json:"old_store"`
	NewStore string `json:"new_store"`
	// Sub-topologies; null: wherever the directories have the store, the number
	// stays.
	OldSub *int `json:"old_subtopology"`
	NewSub *int `json:"new_subtopology"`
	// Changelogs. The same twice is a source topic or one that stays: offsets are
	// taken over as they are. "": the store has none.
	OldTopic string `json:"old_topic"`
	NewTopic string `json:"new_topic"`
	Global   bool   `json:"global"`
	// The old version has a global store under the number NewSub.
	MeetsGlobal bool `json:"meets_global"`
}

// TopicMove is a topic to be copied, besides the changelogs of the stores.
type TopicMove struct {
	Old string    `json:"old"`
	New string    `json:"new"`
	Why TopicKind `json:"why"`
}

// TopicKind says what a topic of an application is for.
type TopicKind string

// The kinds of internal topics. All but the changelogs hold records on their
// way from one sub-topology to another.
const (
	ChangelogTopic    TopicKind = "changelog"
	RepartitionTopic  TopicKind = "repartition"
	RegistrationTopic TopicKind = "fk-registration"
	ResponseTopic     TopicKind = "fk-response"
)

// TopicMap is a topic and its copy, partition by partition.
type TopicMap struct {
	Old, New               string
	OldTopicID, NewTopicID string
	Partitions             []*OffsetMap // nil: not copied
}

// Maps are the copied topics by their old names; a topic that is not there is
// its own copy.
type Maps map[string]*TopicMap

// Find is the offset map of a partition; nil for what is its own copy.
func (m Maps) Find(tp streams.TopicPartition) *OffsetMap {
	t := m[tp.Topic]
	if t == nil || tp.Partition < 0 || int(tp.Partition) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[tp.Partition]
}
