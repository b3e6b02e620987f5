package inspect

import (
	"context"
	"fmt"
	"path/filepath"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// Freshness is how current the rows of one task are, as interactive queries
// say it: the position in the source topics, and how far the store has come in
// its changelog.
type Freshness struct {
	Position []MapOffset  `json:"position"`
	Offsets  MapOffsets   `json:"offsets"`
	Ends     []MapTopicAt `json:"changelog_ends"` // of the partitions in offsets; empty when no cluster was asked
	Behind   *int64       `json:"behind"`         // offsets up to the changelog's end; null: not measured
	Why      string       `json:"behind_why"`
	Asked    bool         `json:"-"` // a cluster was asked
}

// freshness reads what the task's files and databases say of it.
func (r *Rows) freshness(p *rowsPart) *Freshness {
	files := readTaskOffsets(p.store.Task)
	if p.store.Task.Dir != "" && len(p.store.Task.Files) == 0 { // the path was below the task
		if t := taskFiles(p.store.Task.Dir); t != nil {
			files = readTaskOffsets(&Task{Dir: p.store.Task.Dir, Files: t})
		}
	}
	var dbs []*dbFacts
	for _, d := range p.store.Databases {
		f := &dbFacts{Database: d}
		if db, err := openDatabase(d.Dir); err == nil && db.Version != nil {
			if _, ok := db.Version.Family(streams.OffsetsFamily); ok {
				f.families = []familyFacts{{MapFamily: MapFamily{Name: streams.OffsetsFamily}}}
				f.readOffsets(db)
			}
		}
		if f.unread != nil && removed(d.Dir) {
			continue
		}
		for _, problem := range f.problems {
			r.note("%s: %s", d.Dir, problem)
		}
		dbs = append(dbs, f)
	}
	return &Freshness{
		Position: storePosition(p.store, files, dbs),
		Offsets:  storeOffsets(p.store, toldStore{}, files, dbs),
		Why:      "no cluster was asked",
	}
}

// taskFiles lists the plain files of a task's directory.
func taskFiles(dir string) []string {
	w := &walk{ctx: context.Background(), tree: &Tree{}}
	var out []string
	for _, e := range w.list(dir) {
		if !e.isDir {
			out = append(out, e.name)
		}
	}
	return out
}

// lock says who has the application open, and what a reader does not see then.
func (r *Rows) lock() *MapLock {
	dir := r.parts[0].store.Task.App.Dir
	if dir == "" {
		return nil
	}
	l := LockHolder(filepath.Join(dir, streams.LockFile))
	if l.Held != nil && *l.Held {
		who := "a process"
		if l.PID != nil {
			who = fmt.Sprintf("process %d (%s)", *l.PID, l.Command)
		}
		r.note("%s has the application open: rows it still holds in memory (memtables; the write-ahead log is off) are not seen, so newer ones may exist and deleted ones may show", who)
	}
	return &l
}

// Compare asks a cluster how far behind its changelog each task is.
func (res *RowsResult) Compare(ctx context.Context, c *kafka.Client) error {
	for i := range res.Sources {
		f := res.Sources[i].Freshness
		if f == nil {
			continue
		}
		if err := f.compare(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (f *Freshness) compare(ctx context.Context, c *kafka.Client) error {
	var behind int64
	known := false
	f.Asked = true
	f.Why = f.Offsets.Why
	for _, o := range f.Offsets.List {
		ends, err := c.Offsets(ctx, o.Topic, []int32{o.Partition})
		if op.KindOf(err) == op.NotFound {
			f.Why = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		e := ends[o.Partition]
		f.Ends = append(f.Ends, MapTopicAt{Partition: o.Partition, Start: e.Start, End: e.End, LastStable: e.LastStable})
		switch {
		case o.Offset == nil || *o.Offset < 0:
			f.Why = "the offset is not known"
			return nil
		case f.Offsets.Next:
			behind += e.End - *o.Offset
		default:
			behind += e.End - *o.Offset - 1
		}
		known = true
	}
	if known {
		f.Behind, f.Why = &behind, "offsets, transaction markers included"
		if behind < 0 {
			f.Why = "the store is beyond the changelog's end: another topic or cluster, or the topic was made anew"
		}
	}
	return nil
}
