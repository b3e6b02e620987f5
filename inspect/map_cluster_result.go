package inspect

// MapCluster is what the cluster says of the applications found.
type MapCluster struct {
	ID     *string `json:"cluster_id"` // null: not measured, see error
	Error  string  `json:"error"`      // the cluster as a whole could not be asked
	Failed int     `json:"topics_failed"`
	// Orphans are changelogs of the applications without a store here: of
	// stores in memory, of tasks on other hosts, or left over.
	Orphans []MapOrphan `json:"changelogs_without_store"`
}

// MapOrphan is a changelog that no store here belongs to.
type MapOrphan struct {
	App        string `json:"application"`
	Topic      string `json:"topic"`
	Store      string `json:"store"`
	Partitions int    `json:"partitions"`
	Records    *int64 `json:"offsets_held"` // end less start over all partitions; null: not measured
}

// MapLag compares a store's offset with its changelog.
type MapLag struct {
	Topic      string       `json:"topic"`      // "" when the store has none, see why
	Partitions *int         `json:"partitions"` // of the topic; null: not measured
	Ends       []MapTopicAt `json:"ends"`       // of the task's partition, or of all for a global store
	Lag        *int64       `json:"lag"`        // records behind the end; null: not measured, or no offset
	Replay     *int64       `json:"replay"`     // records that a start from what is on disk now would read, compaction aside
	Full       *int64       `json:"replay_from_start"`
	Why        string       `json:"why"`
}

// MapTopicAt is where a partition's log begins and ends.
type MapTopicAt struct {
	Partition  int32 `json:"partition"`
	Start      int64 `json:"start"`
	End        int64 `json:"end"` // what read_uncommitted sees; a restore goes that far
	LastStable int64 `json:"last_stable"`
}
