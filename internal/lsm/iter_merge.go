package lsm

import "bytes"

// merger picks the next of many runs with a tree of losers: each step costs
// one comparison per level, mostly of eight bytes of the key.
type merger struct {
	runs    []*run
	losers  []int32 // inner nodes 1..n-1: who lost there
	winner  int32
	reverse bool
}

// build plays all matches.
func (m *merger) build(reverse bool) {
	m.reverse = reverse
	n := len(m.runs)
	if cap(m.losers) < n {
		m.losers = make([]int32, n)
	}
	m.losers = m.losers[:n]
	if n == 0 {
		return
	}
	// Leaf i is node n+i; node k plays the winners of 2k and 2k+1.
	won := make([]int32, 2*n)
	for i := range n {
		won[n+i] = int32(i)
	}
	for k := n - 1; k >= 1; k-- {
		a, b := won[2*k], won[2*k+1]
		if m.before(b, a) {
			a, b = b, a
		}
		won[k], m.losers[k] = a, b
	}
	m.winner = won[1]
	if n == 1 {
		m.winner = 0
	}
}

// replay plays the winner's matches again after it moved.
func (m *merger) replay() {
	w := m.winner
	for k := (len(m.runs) + int(w)) / 2; k >= 1; k /= 2 {
		if l := m.losers[k]; m.before(l, w) {
			m.losers[k], w = w, l
		}
	}
	m.winner = w
}

// top is the run with the next entry; nil when all are at their end.
func (m *merger) top() *run {
	if len(m.runs) == 0 {
		return nil
	}
	if r := m.runs[m.winner]; r.ok {
		return r
	}
	return nil
}

// before says whether run a's entry comes before run b's: by key, then the
// newest first; everything the other way round in reverse. Runs at their end
// come last.
func (m *merger) before(a, b int32) bool {
	x, y := m.runs[a], m.runs[b]
	switch {
	case !x.ok:
		return false
	case !y.ok:
		return true
	case x.head != y.head:
		return (x.head < y.head) != m.reverse
	}
	c := bytes.Compare(x.e.Key, y.e.Key)
	if c == 0 {
		c = newer(x.e, y.e)
	}
	if c == 0 {
		c = int(a) - int(b) // a tombstone in two files: as good as any, but the same both ways
	}
	return (c < 0) != m.reverse
}

// newer orders two entries of a key as tables do: negative when a is the newer
// one.
func newer(a, b *Entry) int {
	switch {
	case a.Seq != b.Seq:
		if a.Seq > b.Seq {
			return -1
		}
		return 1
	case a.Kind != b.Kind:
		if a.Kind > b.Kind {
			return -1
		}
		return 1
	}
	return 0
}
