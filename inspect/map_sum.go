package inspect

import (
	"cmp"
	"slices"
)

// sum fills Sums, in the order of the map.
func (m *Map) sum() {
	if m.SumBy == "" {
		return
	}
	for i := range m.Apps {
		a := &m.Apps[i]
		index := map[string]int{}
		for j := range a.Stores {
			s := &a.Stores[j]
			name := map[string]string{SumByStore: s.Name, SumByTask: s.Task, SumByApp: ""}[m.SumBy]
			at, ok := index[name]
			if !ok {
				at = len(m.Sums)
				index[name] = at
				zero := int64(0)
				m.Sums = append(m.Sums, MapSum{App: a.ID, Name: name, Keys: &zero, KeysExact: true, Lag: &zero})
				if m.SumBy == SumByStore {
					m.Sums[at].Kind = s.Kind.Kind
				}
			}
			m.Sums[at].add(s)
		}
	}
	if m.SumBy == SumByTask {
		m.sortByTask()
	}
}

func (s *MapSum) add(m *MapStore) {
	s.Stores++
	s.Segments += len(m.Segments)
	s.Keys = addOrNil(s.Keys, m.Keys.Count)
	s.KeysExact = s.KeysExact && m.Keys.Exact
	s.Deletes += m.Deletes
	s.RangeDels += m.RangeDels
	s.Files += m.Files
	s.Size += m.Size
	s.Remarks += len(m.Remarks)
	if m.Newest != nil && (s.Newest == nil || m.Newest.After(*s.Newest)) {
		s.Newest = m.Newest
	}
	var lag *int64
	if m.Cluster != nil {
		lag = m.Cluster.Lag
	}
	s.Lag = addOrNil(s.Lag, lag)
}

// addOrNil adds two numbers of which either may not be known.
func addOrNil(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}

// sortByTask puts the sums in the order of the tasks: the stores are in the
// order of their names.
func (m *Map) sortByTask() {
	order := map[[2]string]int{}
	for _, a := range m.Apps {
		for _, t := range a.Tasks {
			order[[2]string{a.ID, t.Task}] = len(order)
		}
	}
	slices.SortStableFunc(m.Sums, func(x, y MapSum) int {
		return cmp.Compare(order[[2]string{x.App, x.Name}], order[[2]string{y.App, y.Name}])
	})
}

// AllStores are the stores of all applications.
func (m *Map) AllStores() []MapStore {
	var out []MapStore
	for _, a := range m.Apps {
		out = append(out, a.Stores...)
	}
	return out
}

// SumsOf are the sums of one application.
func (m *Map) SumsOf(app string) []MapSum {
	return slices.DeleteFunc(slices.Clone(m.Sums), func(s MapSum) bool { return s.App != app })
}
