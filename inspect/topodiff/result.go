package topodiff

import "sstool/internal/topology"

// Options say what the topologies do not.
type Options struct {
	OldApp, NewApp string // application ids; "" not known: topic names are then without

	// Partition counts of topics, by full name; nil: not known. Of repartition
	// topics and changelogs, too, when they are there.
	OldPartitions, NewPartitions map[string]int

	Dirs      []Dir    // the stores on this host
	Optimized bool     // topology.optimization reuses source topics as changelogs
	Accept    []string // stores and topics, by their old names, whose loss is meant
}

// Change is what happens to a store, topic, node or sub-topology.
type Change string

// The changes.
const (
	Kept    Change = "kept"
	Renamed Change = "renamed"
	Added   Change = "added"
	Removed Change = "removed"
)

// Severity of an effect.
type Severity string

// The severities.
const (
	Loss    Severity = "loss"    // state or records are lost, or become wrong
	Warning Severity = "warning" // something to do or to look at; nothing is lost by itself
	Note    Severity = "note"
)

// The codes of effects.
const (
	StateLost           = "state_lost"           // a changelog is abandoned, the store starts empty
	StateTakenOver      = "state_taken_over"     // the new name is another store's old one: it starts with that one's rows
	StateDropped        = "state_dropped"        // the store is gone and its changelog abandoned
	DirectoriesOrphaned = "directories_orphaned" // task ids change: the changelog is replayed
	ContentMayDiffer    = "content_may_differ"   // the name stays, but other records fill it
	PartitionsChange    = "partitions_change"    // Kafka Streams refuses the existing topic
	InFlightLost        = "in_flight_lost"       // records not read yet are never read
	InFlightTakenOver   = "in_flight_taken_over" // the new name is another topic's old one: its records are read here
	InFlightOldForm     = "in_flight_old_form"   // records not read yet were written by other nodes
	ReadersChange       = "readers_change"       // other nodes read the topic now
	ReaderMoves         = "reader_moves"         // another sub-topology reads the topic
	Refilled            = "refilled"             // a global store: nothing is lost but its directory
	Ambiguous           = "ambiguous"            // several alike: which is which is told by order
	Starts              = "starts_empty"         // new in this version
)

// Effect is one thing that a change does.
type Effect struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
}

// Fix is one way to keep what would be lost. Several are alternatives, the
// best first.
type Fix struct {
	Kind string `json:"kind"` // name, drain, replay, rename, reset, accept
	Call string `json:"call"` // what to write in the application, or run; may be ""
	Text string `json:"text"`
}

// Result is the comparison, and the JSON document of sstool topology diff.
type Result struct {
	Old           Side        `json:"old"`
	New           Side        `json:"new"`
	Losses        int         `json:"losses"` // stores and topics with a loss that is not accepted
	Warnings      int         `json:"warnings"`
	Accepted      int         `json:"accepted"`
	Stores        []Item      `json:"stores"`
	Topics        []Item      `json:"topics"` // internal ones
	Subtopologies []SubChange `json:"subtopologies"`
	Nodes         []Node      `json:"nodes"` // added and removed ones
	Notes         []string    `json:"notes"`
}

// Side is one of the two topologies.
type Side struct {
	File          string  `json:"file"`
	ApplicationID *string `json:"application_id"`
	Topology      string  `json:"topology"` // of a named one
	Line          int     `json:"line"`
	Subtopologies int     `json:"subtopologies"`
	Nodes         int     `json:"nodes"`
	Stores        int     `json:"stores"`
}

// Item is a store or an internal topic in both versions.
type Item struct {
	Change    Change    `json:"change"`
	Old       *Instance `json:"old"`
	New       *Instance `json:"new"`
	Moved     bool      `json:"moved"`      // a store: to a sub-topology of another number
	MatchedBy string    `json:"matched_by"` // name, structure, order, resemblance; "" when there is one only
	Severity  Severity  `json:"severity"`   // the worst of the effects, "" without
	Accepted  bool      `json:"accepted"`   // a loss that is meant
	Effects   []Effect  `json:"effects"`
	Fixes     []Fix     `json:"fixes"`
	// Directories are a store's on this host that the new version does not open.
	Directories []string `json:"directories"`
}

// Instance is a store or topic in one version.
type Instance struct {
	Name         string   `json:"name"` // as in the text
	Generated    bool     `json:"generated"`
	Role         string   `json:"role"` // the operator, or what it is for; "" not known
	Subtopology  *int     `json:"subtopology"`
	Global       bool     `json:"global"`
	Topic        *string  `json:"topic"`       // its changelog, or itself, in full; null without an application id or changelog
	Partitions   *int     `json:"partitions"`  // of that topic, as far as known
	Processors   []string `json:"processors"`  // that use the store, or write the topic
	SourceTopics []string `json:"from_topics"` // topics of others that lead here
	Line         int      `json:"line"`
}

// SubChange is a sub-topology in both versions; null where it is in one only.
type SubChange struct {
	Old *int `json:"old"`
	New *int `json:"new"`
}

// Node is a node that is in one version only.
type Node struct {
	Change      Change `json:"change"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Subtopology int    `json:"subtopology"`
	Line        int    `json:"line"`
}

// Name is the old name, or the new one of what is added.
func (i *Item) Name() string {
	if i.Old != nil {
		return i.Old.Name
	}
	return i.New.Name
}

// Has says whether one of the effects has the code.
func (i *Item) Has(code string) bool {
	for _, e := range i.Effects {
		if e.Code == code {
			return true
		}
	}
	return false
}

func (i *Item) effect(code string, s Severity, text string) {
	i.Effects = append(i.Effects, Effect{code, s, text})
	if i.Severity == "" || s == Loss || s == Warning && i.Severity == Note {
		i.Severity = s
	}
}

func (i *Item) fix(kind, call, text string) {
	i.Fixes = append(i.Fixes, Fix{kind, call, text})
}

func side(t *topology.Topology, app string) Side {
	s := Side{File: t.File, Topology: t.Name, Line: t.Line, Subtopologies: len(t.Subtopologies), Nodes: t.Nodes(), Stores: len(t.Stores())}
	if app != "" {
		s.ApplicationID = &app
	}
	return s
}
