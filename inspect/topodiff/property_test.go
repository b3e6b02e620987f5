package topodiff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sstool/internal/topology"
)

// TestSame: a topology has not changed against itself.
func TestSame(t *testing.T) {
	for name, text := range texts(t) {
		r := diff(t, text, text, Options{OldApp: "app"})
		if r.Losses+r.Warnings+len(r.Nodes) > 0 {
			t.Errorf("%s: %d losses, %d warnings, nodes %v\n%s", name, r.Losses, r.Warnings, r.Nodes, short(r))
		}
		for i := range r.Stores {
			if it := &r.Stores[i]; it.Change != Kept || it.Moved || len(it.Effects) > 0 {
				t.Errorf("%s: store %s %s %v", name, it.Name(), it.Change, it.Effects)
			}
		}
	}
}

// TestRenumbered: under any other numbers, everything has its counterpart, and
// what a person named has not changed.
func TestRenumbered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, text := range texts(t) {
		for range 10 {
			numbers := random.Perm(top(text) + 20)
			new := renumber(text, func(n int) int { return numbers[n] })
			r := diff(t, text, new, Options{})
			if len(r.Nodes) > 0 {
				t.Fatalf("%s: nodes %v\n%s", name, r.Nodes, new)
			}
			for _, items := range [][]Item{r.Stores, r.Topics} {
				for i := range items {
					it := &items[i]
					switch {
					case it.Change == Added || it.Change == Removed || it.Moved:
						t.Fatalf("%s: %s %s\n%s", name, it.Change, it.Name(), new)
					case !it.Old.Generated && it.Change != Kept:
						t.Fatalf("%s: %s %s", name, it.Change, it.Name())
					case it.MatchedBy != string(byOrder) && it.New.Name != renumber(it.Old.Name, func(n int) int { return numbers[n] }):
						t.Fatalf("%s: %s became %s", name, it.Old.Name, it.New.Name)
					}
				}
			}
		}
	}
}

// TestInserted: an unnamed filter on any arrow shifts the numbers behind it,
// and every store is found again.
func TestInserted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, text := range texts(t) {
		for range 15 {
			new, shift, ok := insertFilter(t, text, random)
			if !ok {
				break
			}
			r := diff(t, text, new, Options{})
			if len(r.Nodes) != 1 || r.Nodes[0].Change != Added {
				t.Errorf("%s: nodes %v", name, r.Nodes)
			}
			for _, items := range [][]Item{r.Stores, r.Topics} {
				for i := range items {
					it := &items[i]
					if it.Old == nil || it.New == nil {
						t.Fatalf("%s: %s %s\n%s\n%s", name, it.Change, it.Name(), short(r), new)
					}
					want := renumber(it.Old.Name, shift)
					if it.New.Name != want || (it.Change == Kept) != (want == it.Old.Name) || it.Moved {
						t.Fatalf("%s: %s became %s, want %s\n%s", name, it.Old.Name, it.New.Name, want, new)
					}
					if (it.Severity == Loss) != (want != it.Old.Name) && !it.Old.Global {
						t.Fatalf("%s: %s %s is %q", name, it.Change, it.Name(), it.Severity)
					}
				}
			}
		}
	}
}

// insertFilter does to a text what an unnamed filter() in the program does: it
// takes the number after that of the node before it.
func insertFilter(t *testing.T, text string, random *rand.Rand) (new string, shift func(int) int, ok bool) {
	topo := parse(t, text)
	var from []*topology.Node
	for s, n := range topo.All() {
		if len(n.Next) > 0 && !s.Global {
			from = append(from, n)
		}
	}
	if len(from) == 0 || topo.Edgeless {
		return "", nil, false
	}
	a := from[random.IntN(len(from))]
	b := a.Next[random.IntN(len(a.Next))]
	number := random.IntN(top(text) + 1)
	if _, _, n := splitName(a.Name); n >= 0 {
		number = n + 1
	}
	shift = func(n int) int {
		if n >= number {
			return n + 1
		}
		return n
	}
	renamed := func(s string) string { return renumber(s, shift) }
	filter := fmt.Sprintf("KSTREAM-FILTER-%010d", number)
	parent, child := renamed(a.Name), renamed(b)
	topo = parse(t, renamed(text))
	for i := range topo.Subtopologies {
		s := &topo.Subtopologies[i]
		for j := range s.Nodes {
			n := &s.Nodes[j]
			replace := func(list []string, old string) []string {
				for k := range list {
					if list[k] == old {
						list[k] = filter
					}
				}
				return list
			}
			if n.Name == parent {
				n.Next = replace(n.Next, child)
				s.Nodes = append(s.Nodes, topology.Node{Kind: topology.Processor, Name: filter, Next: []string{child}, Prev: []string{parent}})
				n = &s.Nodes[j]
			}
			if n.Name == child {
				n.Prev = replace(n.Prev, parent)
			}
		}
	}
	return topology.Print(topo), shift, true
}

// TestDeterministic: the same comparison twice says the same.
func TestDeterministic(t *testing.T) {
	for name, text := range texts(t) {
		new := renumber(text, func(n int) int { return n + n%3 })
		a, b := short(diff(t, text, new, Options{})), short(diff(t, text, new, Options{}))
		if a != b {
			t.Errorf("%s:\n%s\n%s", name, a, b)
		}
	}
}

// FuzzDiff compares whatever parses: with itself nothing changed, with another
// every store and topic is told once.
func FuzzDiff(f *testing.F) {
	var last string
	for _, text := range texts(f) {
		f.Add(text, last)
		last = text
	}
	f.Fuzz(func(t *testing.T, old, new string) {
		if len(old)+len(new) > 1<<14 || strings.Count(old+new, "Sub-topolog") > 50 {
			return
		}
		a, err := topology.ParseText(old, topology.Options{})
		if err != nil {
			return
		}
		b, err := topology.ParseText(new, topology.Options{})
		if err != nil {
			b = a
		}
		for i := range a.Topologies {
			x := &a.Topologies[i]
			same, err := Diff(t.Context(), x, x, Options{OldApp: "app"})
			if err != nil || same.Losses+same.Warnings+len(same.Nodes) > 0 {
				t.Fatalf("with itself: %v\n%s", err, short(same))
			}
			y := &b.Topologies[min(i, len(b.Topologies)-1)]
			r, err := Diff(t.Context(), x, y, Options{OldApp: "app"})
			if err != nil {
				t.Fatal(err)
			}
			before, after := 0, 0
			for i := range r.Stores {
				if r.Stores[i].Old != nil {
					before++
				}
				if r.Stores[i].New != nil {
					after++
				}
			}
			if before != r.Old.Stores || after != r.New.Stores {
				t.Fatalf("%d of %d old stores, %d of %d new ones", before, r.Old.Stores, after, r.New.Stores)
			}
		}
	})
}

// TestRemoved: without an operator that keeps a store, and with it again: the
// store is gone, or new, and all others are found.
func TestRemoved(t *testing.T) {
	tried := 0
	for name, text := range texts(t) {
		topo := parse(t, text)
		for s, n := range topo.All() {
			if s.Global || len(n.Next) > 0 || len(n.Stores) != 1 || len(s.Nodes) < 3 {
				continue
			}
			gone := n.Stores[0]
			smaller, used := without(t, text, n.Name)
			if strings.Contains(smaller, gone) {
				continue // others use it, too
			}
			tried++
			to := func(k int) int {
				less := 0
				for _, u := range used {
					if u >= 0 && u < k {
						less++
					}
				}
				return k - less
			}
			new := renumber(smaller, to)
			forth, back := diff(t, text, new, Options{}), diff(t, new, text, Options{})
			for i := range forth.Stores {
				it := &forth.Stores[i]
				switch {
				case it.Has(Ambiguous): // and says so
				case it.Name() == gone && it.Change == Removed && it.Has(StateDropped):
				case it.New == nil || it.New.Name != renumber(it.Old.Name, to):
					t.Errorf("%s without %s:\n%s", name, gone, short(forth))
				}
			}
			if forth.New.Stores != back.Old.Stores || len(forth.Stores) != len(back.Stores) {
				t.Errorf("%s: %d and %d stores", name, len(forth.Stores), len(back.Stores))
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d operators tried", tried)
	}
}

// without is a text without a node, and the numbers that go with it.
func without(t *testing.T, text, name string) (string, []int) {
	topo := parse(t, text)
	var used []int
	for i := range topo.Subtopologies {
		s := &topo.Subtopologies[i]
		s.Nodes = slices.DeleteFunc(s.Nodes, func(n topology.Node) bool {
			if n.Name != name {
				return false
			}
			_, _, k := splitName(n.Name)
			_, _, m := splitName(n.Stores[0])
			used = []int{k, m}
			return true
		})
		for j := range s.Nodes {
			s.Nodes[j].Next = slices.DeleteFunc(s.Nodes[j].Next, func(to string) bool { return to == name })
		}
	}
	return topology.Print(topo), used
}
