package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Offsets is how far the stores under a path have come in their changelogs;
// the JSON document inspect.offsets.
type Offsets struct {
	Path       string      `json:"path"`
	PathIs     string      `json:"path_is"`
	At         time.Time   `json:"at"`
	Rows       []OffsetRow `json:"offsets"`
	Unreadable []Remark    `json:"unreadable"`
	Damaged    []Remark    `json:"damaged"` // databases whose files are damaged: their stores' verdict is that
	Cluster    *MapCluster `json:"cluster"` // null: no cluster was asked
}

// OffsetRow is one store's offset in one partition, in both of its homes.
type OffsetRow struct {
	App        string `json:"application"`
	Task       string `json:"task"`
	Store      string `json:"store"` // "": a line of .checkpoint for which there is no store here
	Topic      string `json:"topic"`
	Partition  *int32 `json:"partition"`  // null: not known
	Checkpoint *int64 `json:"checkpoint"` // in the .checkpoint file; null: no line
	Family     *int64 `json:"family"`     // in the offsets family; null: no row
	Offset     *int64 `json:"offset"`     // what Kafka Streams goes by
	Next       bool   `json:"is_next"`    // the number is the next offset (global/), not the last applied one
	LogStart   *int64 `json:"log_start"`
	LastStable *int64 `json:"last_stable"`
	End        *int64 `json:"end"`
	Lag        *int64 `json:"lag"` // null: not measured, or no offset
	Verdict    string `json:"verdict"`
	Why        string `json:"why"`
}

// What OffsetRow.Verdict says of a start from this offset.
const (
	OffsetResumes    = "resumes"      // goes on from here
	OffsetFromStart  = "from start"   // nothing stored: everything is replayed
	OffsetOutOfRange = "out of range" // of the log: the task is restored from the start, under exactly-once after it was wiped
	OffsetUnmeasured = "unmeasured"   // the log is not known
	OffsetUnlogged   = "not logged"   // there is no changelog
	OffsetNoStore    = "no store"     // an offset of a store that is not here
	OffsetUnreadable = "not readable"
	OffsetDamaged    = "damaged" // files of the store are: RocksDB may refuse them, and the offset is not certain
)

// checkpointTry is the next step when a .checkpoint file could not be read.
func checkpointTry(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return op.TryRights
	}
	return "Kafka Streams does not start on it; restore the task afresh"
}

// Damage is the error of damaged stores, the first told; nil when there is none.
func (o *Offsets) Damage() error { return damageOf(o.Damaged) }

// OffsetsPath puts both homes of every offset side by side.
func OffsetsPath(ctx context.Context, o MapOptions, sink op.Sink) (*Offsets, error) {
	m, err := MapPath(ctx, o, sink)
	if err != nil {
		return nil, err
	}
	out := &Offsets{Path: m.Path, PathIs: m.PathIs, At: m.At, Unreadable: m.Unreadable, Cluster: m.Cluster}
	for i := range m.Apps {
		a := &m.Apps[i]
		for j := range a.Stores {
			out.Rows = append(out.Rows, storeOffsetRows(&a.Stores[j])...)
			out.Damaged = append(out.Damaged, a.Stores[j].damaged...)
		}
		for _, t := range a.Tasks {
			for _, line := range t.Others {
				out.Rows = append(out.Rows, OffsetRow{App: a.ID, Task: t.Task, Topic: line.Topic, Partition: &line.Partition, Checkpoint: line.Checkpoint,
					Offset: line.Checkpoint, Next: t.Task == streams.GlobalDir, Verdict: OffsetNoStore, Why: "of a store in memory, or of one that is gone"})
			}
			if t.Unread != "" {
				out.Rows = append(out.Rows, OffsetRow{App: a.ID, Task: t.Task, Verdict: OffsetUnreadable, Why: t.Unread})
				out.Unreadable = append(out.Unreadable, Remark{Problem, t.Unread, t.Dir, t.unreadTry})
			}
		}
	}
	return out, nil
}

// StoreOffsets are the rows of one store of a map, a partition each.
func StoreOffsets(s *MapStore) []OffsetRow { return storeOffsetRows(s) }

// storeOffsetRows are the rows of one store, a partition each.
func storeOffsetRows(s *MapStore) []OffsetRow {
	base := OffsetRow{App: s.App, Task: s.Task, Store: s.Name, Topic: s.Offsets.Topic, Next: s.Offsets.Next}
	var rows []OffsetRow
	add := func(r OffsetRow) {
		r.judge(s)
		if len(s.damaged) > 0 && r.Verdict != OffsetOutOfRange && r.Verdict != OffsetUnlogged {
			r.Verdict, r.Why = OffsetDamaged, s.damaged[0].What
		}
		rows = append(rows, r)
	}
	seen := map[int32]bool{}
	for _, o := range s.Offsets.List {
		r := base
		r.Topic, r.Partition, r.Checkpoint, r.Family, r.Offset = o.Topic, &o.Partition, o.Checkpoint, o.Family, o.Offset
		seen[o.Partition] = seen[o.Partition] || o.Topic == s.Offsets.Topic
		add(r)
	}
	if s.Cluster != nil {
		for _, e := range s.Cluster.Ends {
			if !seen[e.Partition] {
				seen[e.Partition] = true
				r := base
				r.Partition = &e.Partition
				add(r)
			}
		}
	}
	if len(rows) == 0 {
		r := base
		if s.partition != nil {
			p := int32(*s.partition)
			r.Partition = &p
		}
		add(r)
	}
	slices.SortStableFunc(rows, func(a, b OffsetRow) int { return cmp.Compare(partitionOf(a), partitionOf(b)) })
	return rows
}

func partitionOf(r OffsetRow) int32 {
	if r.Partition == nil {
		return -1
	}
	return *r.Partition
}

// judge compares the offset with the log, when that is known.
func (r *OffsetRow) judge(s *MapStore) {
	if s.Cluster != nil && r.Partition != nil && r.Topic == s.Cluster.Topic {
		for _, e := range s.Cluster.Ends {
			if e.Partition == *r.Partition {
				r.LogStart, r.LastStable, r.End = &e.Start, &e.LastStable, &e.End
			}
		}
	}
	if r.Checkpoint != nil && r.Family != nil && *r.Checkpoint != *r.Family {
		r.Why = s.Offsets.Why
	}
	switch {
	case r.Offset == nil && r.Topic == "":
		r.Verdict, r.Why = OffsetUnlogged, s.Offsets.Why
		if s.Offsets.Next || s.Task == "" {
			r.Verdict = OffsetUnmeasured
		}
		return
	case r.Offset == nil:
		r.Verdict, r.Why = OffsetFromStart, s.Offsets.Why
		return
	case *r.Offset < 0:
		r.Verdict, r.Why = OffsetFromStart, "nothing applied yet"
		return
	case r.End == nil:
		r.Verdict = OffsetUnmeasured
		if s.Cluster != nil {
			r.Why = s.Cluster.Why
		}
		return
	}
	next := *r.Offset
	if !r.Next {
		next++
	}
	switch {
	case next > *r.End:
		r.Verdict, r.Why = OffsetOutOfRange, fmt.Sprintf("%d beyond the end", next-*r.End)
	case next < *r.LogStart:
		r.Verdict, r.Why = OffsetOutOfRange, fmt.Sprintf("%d before the log start", *r.LogStart-next)
	default:
		lag := *r.End - next
		r.Verdict, r.Lag = OffsetResumes, &lag
	}
}
