package migrate

import (
	"encoding/json"
	"errors"
	"slices"
	"sort"
)

// OffsetMap says where the records of a partition are in its copy. Offsets are
// never carried over: the copy has no transaction markers and no gaps. It is
// made of runs, places where old and new offsets advance together; when there
// are too many of them it keeps the newest and a sample of the others. Between
// two runs it rounds down, to a record before the one that was asked for: who
// goes on from there applies some records again, and misses none.
type OffsetMap struct {
	runs           []run
	oldStart       int64 // the log's start when the copy began
	oldEnd, newEnd int64 // positions behind the last record
	sampled        bool
}

// run is n records whose offsets advance together.
type run struct{ old, new, n int64 }

// maxRuns bounds the runs of a map. A half of them are always the newest ones:
// where an application stopped is near the end.
const maxRuns = 2048

// NewOffsetMap is the map of a partition whose log begins at an offset.
func NewOffsetMap(start int64) *OffsetMap { return &OffsetMap{oldStart: start, oldEnd: start} }

// Add says that the record at the offset old is at the offset new in the copy.
// Both ascend.
func (m *OffsetMap) Add(old, new int64) {
	if n := len(m.runs); n > 0 {
		if r := &m.runs[n-1]; old == r.old+r.n && new == r.new+r.n {
			r.n++
			m.oldEnd, m.newEnd = old+1, new+1
			return
		}
	}
	m.addRun(run{old, new, 1})
}

func (m *OffsetMap) addRun(r run) {
	m.oldEnd, m.newEnd = r.old+r.n, r.new+r.n
	if n := len(m.runs); n > 0 {
		if l := &m.runs[n-1]; r.old == l.old+l.n && r.new == l.new+l.n {
			l.n += r.n
			return
		}
	}
	if len(m.runs) == maxRuns {
		m.thin()
	}
	m.runs = append(m.runs, r)
}

// thin drops every other run of the older half.
func (m *OffsetMap) thin() {
	half := len(m.runs) / 2
	kept := m.runs[:0]
	for i, r := range m.runs {
		if i >= half || i%2 == 0 {
			kept = append(kept, r)
		}
	}
	m.runs, m.sampled = kept, true
}

// Skip says that there are no records to copy before the old offset, and none of
// use in the copy before the new one.
func (m *OffsetMap) Skip(old, new int64) { m.oldEnd, m.newEnd = max(m.oldEnd, old), max(m.newEnd, new) }

// Map is the offset, in the copy, of the last record at or before the old
// offset: for the offset of the last applied record, as state directories have
// it. It is not ok when no copied record is there: nothing was applied yet.
func (m *OffsetMap) Map(old int64) (int64, bool) {
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].old > old })
	if i == 0 {
		return 0, false
	}
	r := m.runs[i-1]
	if i == len(m.runs) && old-r.old >= r.n-1 {
		return m.newEnd - 1, true // behind the last record the copy may hold some twice
	}
	return r.new + min(old-r.old, r.n-1), true
}

// Position is the position in the copy of a reader that would read the old
// offset next: for committed offsets.
func (m *OffsetMap) Position(old int64) int64 {
	if old >= m.oldEnd {
		return m.newEnd
	}
	if last, ok := m.Map(old - 1); ok {
		return last + 1
	}
	return 0
}

// Start is where the old log began: an offset before it is one that Kafka
// Streams could not go on from.
func (m *OffsetMap) Start() int64 { return m.oldStart }

// End is how far the copy goes, in both topics.
func (m *OffsetMap) End() (old, new int64) { return m.oldEnd, m.newEnd }

// Exact says whether the record at the old offset is known, and not only one
// before it.
func (m *OffsetMap) Exact(old int64) bool {
	if !m.sampled {
		return true
	}
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].old > old })
	return i > len(m.runs)/2 || i > 0 && old < m.runs[i-1].old+m.runs[i-1].n
}

// mapJSON is the form of a map in a migration file.
type mapJSON struct {
	OldStart int64   `json:"old_start"`
	OldEnd   int64   `json:"old_end"`
	NewEnd   int64   `json:"new_end"`
	Sampled  bool    `json:"sampled"`
	Runs     []int64 `json:"runs"` // old, new, length; old, new, length; …
}

// MarshalJSON writes the map.
func (m *OffsetMap) MarshalJSON() ([]byte, error) {
	j := mapJSON{m.oldStart, m.oldEnd, m.newEnd, m.sampled, make([]int64, 0, 3*len(m.runs))}
	for _, r := range m.runs {
		j.Runs = append(j.Runs, r.old, r.new, r.n)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads a map, and refuses one that no copy gives.
func (m *OffsetMap) UnmarshalJSON(b []byte) error {
	var j mapJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	bad := errors.New("offset map: runs are not triples of ascending offsets")
	if len(j.Runs)%3 != 0 || len(j.Runs) > 3*maxRuns || j.OldStart < 0 || j.OldEnd < j.OldStart || j.NewEnd < 0 {
		return bad
	}
	out := OffsetMap{oldStart: j.OldStart, oldEnd: j.OldEnd, newEnd: j.NewEnd, sampled: j.Sampled}
	oldEnd, newEnd := j.OldStart, int64(0)
	for t := range slices.Chunk(j.Runs, 3) {
		r := run{t[0], t[1], t[2]}
		if r.n < 1 || r.old < oldEnd || r.new < newEnd || r.n > j.OldEnd-r.old || r.n > j.NewEnd-r.new {
			return bad
		}
		oldEnd, newEnd = r.old+r.n, r.new+r.n
		out.runs = append(out.runs, r)
	}
	if len(out.runs) == 0 && j.NewEnd != 0 {
		return bad
	}
	*m = out
	return nil
}
