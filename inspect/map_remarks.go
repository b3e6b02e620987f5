package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/streams"
)

// storeRemarks says what is wrong with a store, or worth knowing.
func storeRemarks(s *Store, m *MapStore, told toldStore, files *taskOffsets, dbs []*dbFacts, lock MapLock) []Remark {
	var out []Remark
	say := func(level, where, cure, format string, args ...any) {
		out = append(out, Remark{level, fmt.Sprintf(format, args...), where, cure})
	}
	out = append(out, m.strays...)
	held := lock.Held != nil && *lock.Held
	for _, f := range dbs {
		out = append(out, databaseRemarks(f, held)...)
	}
	if m.Interval != nil {
		if odd := s.OddSegment(); odd != nil {
			say(Warning, odd.Dir, "", "begins at no multiple of the other segments' interval: Kafka Streams opens another directory in its place and this one is never read")
		}
	}
	for _, d := range s.Databases {
		if s.Segmented && !strings.HasPrefix(filepath.Base(d.Dir), s.Name+".") {
			say(Note, d.Dir, "", "segment name of a release before 1.1: Kafka Streams renames it when it opens the store")
		}
	}
	if !isForeign(dbs) {
		out = append(out, familyRemarks(m)...)
	}
	if m.Status != nil && *m.Status == "unclean" {
		say(Warning, "", "under exactly-once plan for a restore from the changelog (sstool restore --measure says how long)", "%s", m.StatusWhy)
	}
	out = append(out, m.Log.remarks()...)
	out = append(out, m.Expiry.remarks(m, held)...)
	return append(out, offsetRemarks(s, m, told, files, held)...)
}

// databaseRemarks are what a database's files say.
func databaseRemarks(f *dbFacts, held bool) []Remark {
	var out []Remark
	if f.err != nil {
		out = append(out, Remark{Problem, f.err.Error(), f.Dir, ""})
	}
	for _, p := range f.problems {
		level := Problem
		if strings.HasPrefix(p.File, "OPTIONS") || p.File == "IDENTITY" {
			level = Warning // no row depends on it
		}
		out = append(out, Remark{level, problemText(f.Dir, p), f.Dir, p.Cure})
	}
	for _, r := range f.remarks {
		out = append(out, Remark{Note, r, f.Dir, ""})
	}
	if f.empty && !f.gone {
		out = append(out, Remark{Note, "directory without a database: made for a store that was never opened, or emptied", f.Dir, ""})
	}
	if f.newer > 0 && !held {
		out = append(out, Remark{Warning, fmt.Sprintf("%d SST files are newer than all the MANIFEST says: it lost its end, or the application was killed while it wrote them; RocksDB deletes them when it opens the store", f.newer), f.Dir,
			"compare with the changelog: a replay from the stored offset does not bring their rows back (sstool restore --measure)"})
	}
	if n := f.orphans - f.newer; n > 0 && !held {
		out = append(out, Remark{Note, fmt.Sprintf("%d SST files that the MANIFEST does not name: RocksDB deletes them when it opens the store", n), f.Dir, ""})
	}
	return out
}

// familyRemarks are about column families.
func familyRemarks(m *MapStore) []Remark {
	var out []Remark
	var data []string
	for _, f := range m.Families {
		switch f.Name {
		case streams.DefaultFamily, streams.TimestampFamily, streams.TimestampHeadersFamily, streams.WindowHeadersFamily, streams.SessionHeadersFamily:
			if f.Entries > 0 {
				data = append(data, f.Name)
			}
		case streams.OffsetsFamily:
		default:
			out = append(out, Remark{Warning, fmt.Sprintf("column family %q is none of Kafka Streams': it does not open the store", f.Name), m.Dir, ""})
		}
	}
	if len(data) > 1 {
		out = append(out, Remark{Note, fmt.Sprintf("rows in %s at once: rows of an older form move to the newer one when they are touched", strings.Join(data, " and ")), m.Dir, ""})
	}
	return out
}

// offsetRemarks are about how far the store says it has come.
func offsetRemarks(s *Store, m *MapStore, told toldStore, files *taskOffsets, held bool) []Remark {
	var out []Remark
	if m.Offsets.KeptIn == KeptInBoth && !slices.Contains(s.Task.Files, streams.CheckpointFile+"_"+s.Name) {
		out = append(out, Remark{Note, "offset in both .checkpoint and the offsets family: " + m.Offsets.Why, "", ""})
	}
	if told.Unlogged != "" && m.Entries > 0 {
		out = append(out, Remark{Note, "not logged: nothing can restore it", "", ""})
	}
	empty := m.Entries == 0 && m.LiveSet && len(s.Databases) > 0
	for _, o := range m.Offsets.List {
		switch {
		case o.Offset == nil:
		case *o.Offset == streams.OffsetUnknown && o.Checkpoint != nil:
			out = append(out, Remark{Note, "offset -4 in .checkpoint: nothing applied yet, it is restored from the start; with exactly-once, Kafka Streams 4.3 and later wipes the whole task over it", "", ""})
		case *o.Offset == streams.OffsetUnknown:
			out = append(out, Remark{Note, "offset -4: nothing applied yet, it is restored from the start", "", ""})
		case *o.Offset < 0:
			out = append(out, Remark{Warning, fmt.Sprintf("offset %d of %s-%d is none Kafka Streams writes", *o.Offset, o.Topic, o.Partition), "", ""})
		case empty && !held && !(o.Offset == nil || *o.Offset == 0 && m.Offsets.Next):
			out = append(out, Remark{Warning, fmt.Sprintf("empty, but with offset %d of %s-%d: if the changelog has live rows before it, they are not restored", *o.Offset, o.Topic, o.Partition), "",
				"compare with the changelog (sstool restore --measure)"})
		}
	}
	if m.Offsets.KeptIn == KeptNowhere && !errors.Is(files.err, fs.ErrPermission) && told.Unlogged == "" && told.TopicNote == "" && m.Entries > 0 && s.Task.Name != "" {
		out = append(out, Remark{Warning, "rows, but no offset (" + m.Offsets.Why + "): it is restored from the start, and exactly-once wipes the task first", "", ""})
	}
	return out
}

// OddSegment is a segment of the store that Kafka Streams never reads: it opens
// another directory in its place, as it begins at no multiple of the others'
// interval. nil: there is none that is known.
func (s *Store) OddSegment() *Database {
	if !s.Segmented {
		return nil
	}
	return oddSegment(s.Databases)
}

// oddSegment is the one segment that keeps the others from having an interval
// of a minute or more, as Kafka Streams' own defaults have.
func oddSegment(dbs []Database) *Database {
	if len(dbs) < 3 || divisorBut(dbs, -1) >= 60_000 {
		return nil
	}
	for i := range dbs {
		if divisorBut(dbs, i) >= 60_000 {
			return &dbs[i]
		}
	}
	return nil
}

// divisorBut is the greatest common divisor of the starts, one left out.
func divisorBut(dbs []Database, but int) int64 {
	d := int64(0)
	for i, db := range dbs {
		if i == but {
			continue
		}
		for n := db.Start; n != 0; {
			d, n = n, d%n
		}
	}
	return max(d, -d)
}

// taskRemarks are about a task's directory. Of a filtered tree, and where a
// directory could not be read, the missing stores mean nothing.
func taskRemarks(t *Task, o *taskOffsets, filtered bool) []Remark {
	var out []Remark
	if o.err != nil {
		out = append(out, Remark{Problem, o.err.Error(), t.Dir, checkpointTry(o.err)})
	}
	for _, w := range o.warnings {
		out = append(out, Remark{Warning, w, t.Dir, ""})
	}
	for _, odd := range t.Odd {
		out = append(out, Remark{Note, odd.What, odd.Path, ""})
	}
	if len(t.Stores) == 0 && t.Name != "" && !filtered && !t.unread {
		out = append(out, Remark{Note, "task directory without a store: left by a clean-up, harmless", t.Dir, ""})
	}
	for _, name := range t.Files {
		path := filepath.Join(t.Dir, name)
		store, isPosition := strings.CutSuffix(name, ".position")
		switch {
		case strings.HasSuffix(name, ".tmp"):
			out = append(out, Remark{Note, "left over from a write that was interrupted", path, ""})
		case isPosition && !filtered && !slices.ContainsFunc(t.Stores, func(s *Store) bool { return s.Name == store }):
			out = append(out, Remark{Note, "position of a store that is not there", path, ""})
		}
	}
	return out
}
