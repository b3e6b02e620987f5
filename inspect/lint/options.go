package lint

import (
	"time"

	"sstool/inspect"
	"sstool/internal/topology"
)

// Options say what to judge, and by what.
type Options struct {
	Inputs   []Input
	Facts    *Facts    // of a cluster or a list; nil: none
	Dirs     []Dir     // stores on disk; nil: none
	Samples  []Sample  // of keys; nil: none
	Baseline *Baseline // accepted findings; nil: none
	Only     []string  // rule ids; empty: all
	Now      time.Time // for the expiry of ignores
}

// Input is one text: an application, with one topology or several named ones.
type Input struct {
	AppID      string // "" when nobody told it
	File       string
	Topologies []topology.Topology
	Problems   []topology.Problem
	Config     *Config // nil: the defaults
}

// Facts are topics by name.
type Facts struct {
	Topics   map[string]Topic
	Complete bool     // a topic that is not there does not exist
	Groups   []string // other applications' ids; may be empty
	From     string   // in messages: "cluster xyz", "partitions.txt"
}

// Topic is a topic that exists.
type Topic struct {
	Partitions int
	Config     map[string]string // effective; nil: unknown
}

// Dir is a store in a state directory.
type Dir struct {
	AppID       string
	Topology    string // of named topologies
	Task        string
	Subtopology int // -1: global, or not told
	Global      bool
	Name        string
	Segmented   bool
	Path        string
}

// Sample is what was seen of the keys of a partition.
type Sample struct {
	Topic     string
	Partition int
	Keys      int
	Misplaced int
	Example   []byte // a misplaced key
	Belongs   int    // where the default partitioner puts the example
}

// DirsOf are the stores of a tree.
func DirsOf(t *inspect.Tree) []Dir {
	var out []Dir
	for _, s := range t.Stores() {
		d := Dir{AppID: s.Task.App.ID, Topology: s.Task.Topology, Task: s.Task.Name, Subtopology: -1, Global: s.Task.Global(), Name: s.Name, Segmented: s.Segmented, Path: s.Dir}
		if s.Task.ID != nil {
			d.Subtopology = s.Task.ID.Subtopology
		}
		out = append(out, d)
	}
	return out
}
