package inspect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sstool/internal/streams"
)

// mapStore puts together what is known of one store of one task.
func mapStore(s *Store, facts map[factKey]*dbFacts, told toldStore, files *taskOffsets, lock MapLock, o MapOptions) MapStore {
	m := MapStore{App: s.Task.App.ID, Task: s.Task.Name, Name: s.Name, Dir: s.Dir, Segmented: s.Segmented, LiveSet: true, Kind: told.kindOf()}
	if s.Task.ID != nil {
		m.partition = &s.Task.ID.Partition
	}
	var dbs []*dbFacts
	for _, d := range s.Databases {
		dbs = append(dbs, facts[factKey{d.Dir, d.Only}])
	}
	m.addDatabases(dbs)
	if isForeign(dbs) {
		m.Kind = MapKind{Certainty: Unknown, Why: notOurs}
	}
	if s.Segmented {
		if told.Interval > 0 {
			ms := told.Interval.Milliseconds()
			m.Interval = &ms
		}
		m.IntervalW = told.IntervalWhy
		for _, f := range dbs {
			m.Segments = append(m.Segments, mapSegment(f, m.Interval))
		}
	}
	m.Offsets = storeOffsets(s, told, files, dbs)
	m.Status, m.StatusWhy = storeStatus(dbs, lock)
	m.Position = storePosition(s, files, dbs)
	if m.Oldest, m.OldestWhy = oldestKafka(&m); isForeign(dbs) {
		m.Oldest, m.OldestWhy = nil, notOurs
	}
	m.Log, m.Expiry = mapLog(dbs), m.expiry(streams.Derived{Value: o.Retention, From: "as given"}, time.Now())
	for _, o := range s.Odd {
		m.strays = append(m.strays, Remark{Problem, o.What, o.Path, "move it out of the state directory"})
	}
	for _, f := range dbs {
		for _, r := range databaseRemarks(f, lock.Held != nil && *lock.Held) {
			if r.Level != Note {
				m.files = append(m.files, r)
			}
		}
		if p := f.damage(s.Task.Name != ""); p != nil {
			m.damaged = append(m.damaged, Remark{Problem, problemText(f.Dir, *p), f.Dir, p.Cure})
		}
	}
	m.Remarks = storeRemarks(s, &m, told, files, dbs, lock)
	return m
}

// notOurs is why nothing of Kafka Streams is told of a database.
const notOurs = "the files do not have RocksDB's names: they are of another system, keys and values are raw"

// isForeign says whether a store is of another system.
func isForeign(dbs []*dbFacts) bool {
	return len(dbs) > 0 && !slices.ContainsFunc(dbs, func(f *dbFacts) bool { return !f.foreign })
}

// addDatabases adds up the databases of a store.
func (m *MapStore) addDatabases(dbs []*dbFacts) {
	families := map[string]int{}
	levels := map[int]MapLevel{}
	formats, sums, libraries := map[int]bool{}, map[string]bool{}, map[string]bool{}
	m.Keys = exactly(0, "no database")
	var newest time.Time
	for _, f := range dbs {
		m.Size += f.size
		if f.newest.After(newest) {
			newest = f.newest
		}
		m.LiveSet = m.LiveSet && (f.known || f.empty)
		if why := f.untold(); why != "" {
			m.Keys = MapKeys{Why: why}
		}
		for _, ff := range f.families {
			i, ok := families[ff.Name]
			if !ok {
				i = len(m.Families)
				families[ff.Name] = i
				m.Families = append(m.Families, MapFamily{Name: ff.Name})
			}
			sum := &m.Families[i]
			sum.Files, sum.Size, sum.Entries = sum.Files+ff.Files, sum.Size+ff.Size, sum.Entries+ff.Entries
			sum.Deletes, sum.RangeDels = sum.Deletes+ff.Deletes, sum.RangeDels+ff.RangeDels
			m.Files += ff.Files
			m.DataSize += ff.Size
			if ff.data() {
				m.Entries, m.Deletes, m.RangeDels = m.Entries+ff.Entries, m.Deletes+ff.Deletes, m.RangeDels+ff.RangeDels
				m.Keys = m.Keys.add(ff.keys)
			}
		}
		for n, l := range f.levels {
			sum := levels[n]
			levels[n] = MapLevel{n, sum.Files + l.Files, sum.Size + l.Size}
		}
		maps.Copy(formats, f.formats)
		maps.Copy(sums, f.sums)
		if f.library != "" {
			libraries[f.library] = true
		}
	}
	if !newest.IsZero() {
		t := newest.UTC().Truncate(time.Millisecond)
		m.Newest = &t
	}
	m.Levels = slices.SortedFunc(maps.Values(levels), func(a, b MapLevel) int { return cmp.Compare(a.Level, b.Level) })
	m.Formats = slices.Sorted(maps.Keys(formats))
	m.Checksums = slices.Sorted(maps.Keys(sums))
	m.WrittenBy = slices.Sorted(maps.Keys(libraries))
}

// mapSegment is one database of a segmented store.
func mapSegment(f *dbFacts, interval *int64) MapSegment {
	s := MapSegment{Start: time.UnixMilli(f.Start).UTC(), StartMs: f.Start, Size: f.size, Keys: exactly(0, "no database")}
	if interval != nil {
		end := f.Start + *interval
		s.EndMs = &end
	}
	for _, ff := range f.families {
		s.Files += ff.Files
		if ff.data() {
			s.Keys = s.Keys.add(ff.keys)
		}
	}
	if why := f.untold(); why != "" {
		s.Keys = MapKeys{Why: why}
	}
	if f.err != nil {
		s.Problems = append(s.Problems, f.err.Error())
	}
	for _, p := range f.problems {
		s.Problems = append(s.Problems, problemText(f.Dir, p))
	}
	return s
}
