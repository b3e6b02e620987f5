package verify

import (
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/streams"
)

// Options say what is compared, and what is known of it.
type Options struct {
	Rows inspect.RowsOptions // the store: where it is, of which tasks, how rows are shown

	Topic     string        // the changelog; "": as the directory tells
	Retention time.Duration // of windows and sessions, of a versioned store its history; 0: as the changelog's configuration tells
	// ExactlyOnce is the application's processing.guarantee; nil: not stated,
	// aborted records are left out where there are any.
	ExactlyOnce *bool
	At          At

	Sample  int    // keys that are looked at each way; 0: everything
	Repair  *Place // for the commands of Result.Repair; nil: none
	Limit   int    // differences that are shown of each task; 0: DefaultLimit
	Memory  int64  // 0: DefaultMemory
	TempDir string
	Stall   time.Duration // a partition may stand still for so long; 0: kafka's default
}

// At is the offset in the changelog that the store is compared at.
type At struct {
	End    bool   // the end of the changelog
	Offset *int64 // the last record applied; nil: the offset that the store has stored
}

// Defaults of Options.
const (
	DefaultLimit  = 10
	DefaultMemory = 192 << 20
)

// maxUnits bounds how often a task is compared anew because the changelog was
// cleaned or cut meanwhile.
const maxTries = 4

func (o *Options) setDefaults() {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
}

// readOptions are for one range of a partition.
func (o *Options) readOptions(topic string, p int32, from, to int64, committed bool) kafka.ReadOptions {
	return kafka.ReadOptions{Topic: topic, Partition: p, From: from, To: to, ReadCommitted: committed, MaxBytes: fetchBytes, Prefetch: 2, StallTimeout: o.Stall}
}

// fetchBytes is small enough that a few blocks on their way are no matter.
const fetchBytes = 4 << 20

// store is what the conversion of records to rows needs to know.
func storeOf(m *inspect.MapStore, kind streams.Kind) streams.Store {
	s := streams.Store{Name: m.Name, Kind: kind, Headers: m.Kind.Headers, WithIndex: m.Kind.WithIndex, Global: m.Task == streams.GlobalDir}
	if m.Interval != nil {
		s.SegmentInterval = time.Duration(*m.Interval) * time.Millisecond
	}
	return s
}
