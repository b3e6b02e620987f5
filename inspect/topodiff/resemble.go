package topodiff

import (
	"cmp"
	"slices"
	"strings"
)

// maxComparisons bounds the work on what neither names nor structure tell.
const maxComparisons = 1 << 20

// resembling pairs stores and internal topics that are left: of the same role
// and of a common origin, the most alike first.
func (m *matcher) resembling() {
	for _, k := range []kind{store, internal} {
		type candidate struct {
			o, n  int32
			score float64
		}
		old, new := m.left(k)
		if len(old)*len(new) > maxComparisons {
			continue
		}
		olds, news := m.old.places(old), m.new.places(new)
		var all []candidate
		for i, o := range old {
			for j, n := range new {
				a, b := &m.old.v[o], &m.new.v[n]
				if a.role != b.role || a.role == "" || a.global != b.global {
					continue
				}
				from := overlap(olds[i].from, news[j].from)
				if from == 0 {
					continue
				}
				all = append(all, candidate{o, n, from + overlap(olds[i].to, news[j].to)})
			}
		}
		m.old.byNumber(old)
		m.new.byNumber(new)
		rank := func(of []int32, i int32) int { return slices.Index(of, i) }
		slices.SortStableFunc(all, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(rank(old, a.o), rank(old, b.o)), cmp.Compare(rank(new, a.n), rank(new, b.n)))
		})
		for _, c := range all {
			if m.free(c.o, c.n) {
				m.pair(c.o, c.n)
			}
		}
	}
}

// left are the unmatched vertices of a kind.
func (m *matcher) left(k kind) (old, new []int32) {
	for i := range m.old.v {
		if m.old.v[i].kind == k && m.toNew[i] < 0 {
			old = append(old, int32(i))
		}
	}
	for i := range m.new.v {
		if m.new.v[i].kind == k && m.toOld[i] < 0 {
			new = append(new, int32(i))
		}
	}
	return old, new
}

// surroundings are the topics of others that lead to a vertex and that it
// leads to, sorted.
type surroundings struct{ from, to []string }

func (g *graph) places(of []int32) []surroundings {
	out := make([]surroundings, len(of))
	for k, i := range of {
		out[k] = surroundings{g.origins(i), g.downstream(g.writers(i))}
	}
	return out
}

// overlap is how much two sorted sets have in common, 0 to 1.
func overlap(a, b []string) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := strings.Compare(a[i], b[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			i, j, both = i+1, j+1, both+1
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
