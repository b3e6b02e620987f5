package topodiff

import (
	"fmt"
	"slices"
)

// topics says what happens to every internal topic.
func (d *differ) topics() {
	d.r.Topics = d.items(d.r.Topics, internal, d.oldTopic, d.topicTakesOver, "new")
}

func (d *differ) oldTopic(o int32) (it Item) {
	v := &d.old.v[o]
	it = Item{Change: Removed, Old: d.instance(d.old, o, d.oldNames, d.oldParts)}
	n := d.toNew[o]
	if n < 0 {
		it.effect(InFlightLost, Loss, fmt.Sprintf("records of %s that are not read when the old version stops are never read", d.oldNames.full(v.name)))
		d.drain(&it, v)
		d.ambiguous(&it, o, -1)
		return it
	}
	defer func() { d.ambiguous(&it, o, n) }()
	w := &d.new.v[n]
	it.New = d.instance(d.new, n, d.newNames, d.newParts)
	it.MatchedBy = string(d.how[o])
	it.Change = Kept
	if v.name != w.name {
		it.Change = Renamed
	}
	if from, to := d.oldNames.full(v.name), d.newNames.full(w.name); from != to {
		it.effect(InFlightLost, Loss, fmt.Sprintf("records of %s that are not read when the old version stops are never read: the new version reads %s", from, to))
		d.topicTakesOver(&it, n)
		if d.oldNames == d.newNames {
			d.keepTopic(&it, v, w)
		}
		d.drain(&it, v)
		return it
	}
	if a, b := it.Old.Partitions, it.New.Partitions; a != nil && b != nil && *a != *b {
		it.effect(PartitionsChange, Loss, fmt.Sprintf("%s has %d partitions and the new version needs %d: Kafka Streams does not start (\"has invalid partitions\")", d.newNames.full(w.name), *a, *b))
		it.fix("reset", "", "drain it, stop, and delete it before the new version starts; the state behind it needs a reset, as keys would be in other partitions")
	}
	if what := d.writersChanged(o, n); what != "" {
		it.effect(InFlightOldForm, Warning, "its writers changed, its name did not: "+what+"; records in flight have the old form")
		d.drain(&it, v)
	}
	if also := d.newReaders(v, w); len(also) > 0 {
		it.effect(ReadersChange, Warning, fmt.Sprintf("%s get its records now and got them another way before: what is in flight may have reached them already, and counts twice", someOf(also)))
		if len(it.Fixes) == 0 {
			d.drain(&it, v)
		}
	}
	if from, to := d.readers(d.old, v), d.readers(d.new, w); !slices.Equal(from, to) {
		it.effect(ReaderMoves, Note, fmt.Sprintf("read by sub-topology %s, before by %s; its committed offsets stay", numbers(to), numbers(from)))
	}
	return it
}

// topicTakesOver says when a new name is the old name of another topic.
func (d *differ) topicTakesOver(it *Item, n int32) {
	w := &d.new.v[n]
	for _, i := range d.old.names[nameKey{internal, w.name}] {
		v := &d.old.v[i]
		if d.toNew[i] == n || d.oldNames != d.newNames {
			continue
		}
		it.effect(InFlightTakenOver, Loss, fmt.Sprintf("%s was another topic, read by sub-topology %s: its records in flight are read here, and cannot be told apart",
			d.oldNames.full(v.name), numbers(d.readers(d.old, v))))
		if len(it.Fixes) == 0 && it.Change == Added {
			d.drain(it, v)
		}
		return
	}
}

// newReaders are the nodes that a topic feeds now and something else fed
// before, by their new names.
func (d *differ) newReaders(v, w *vertex) []string {
	var out []string
	for _, s := range w.out {
		for _, j := range d.new.v[s].out {
			if i := d.toOld[j]; i >= 0 && !d.old.fedBy(i, v) {
				out = append(out, d.new.v[j].name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fedBy says whether records get from a topic to a node, with no other topic
// in between.
func (g *graph) fedBy(node int32, topic *vertex) bool {
	seen := map[int32]bool{}
	for todo := []int32{node}; len(todo) > 0; todo = todo[1:] { // the nearest first: mostly it is there
		i := todo[0]
		for _, j := range g.v[i].in {
			if &g.v[j] == topic {
				return true
			}
			if g.v[j].isNode() && !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	return false
}

// readers are the numbers of the sub-topologies that read a topic.
func (d *differ) readers(g *graph, v *vertex) []int {
	var out []int
	for _, s := range v.out {
		out = append(out, g.v[s].sub)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func numbers(of []int) string {
	text := ""
	for i, n := range of {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text
}

// writersChanged says how the nodes differ that give a topic's records their
// form: those between the topic and what it comes from, without what only
// passes records on.
func (d *differ) writersChanged(o, n int32) string {
	old, new := d.old.makers(o), d.new.makers(n)
	var gone, come []string
	for _, i := range old {
		if j := d.toNew[i]; j < 0 || !slices.Contains(new, j) {
			gone = append(gone, d.old.v[i].name)
		}
	}
	for _, j := range new {
		if i := d.toOld[j]; i < 0 || !slices.Contains(old, i) {
			come = append(come, d.new.v[j].name)
		}
	}
	slices.Sort(gone)
	slices.Sort(come)
	switch {
	case len(gone) == 0 && len(come) == 0:
		return ""
	case len(gone) == 0:
		return "with " + someOf(come)
	case len(come) == 0:
		return "without " + someOf(gone)
	}
	return fmt.Sprintf("%s instead of %s", someOf(come), someOf(gone))
}

// makers are the nodes that give a topic's records their form, back to what
// keeps state or reads a topic.
func (g *graph) makers(topic int32) []int32 {
	seen := map[int32]bool{topic: true}
	var out []int32
	todo := []int32{topic}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range g.v[i].in {
			if seen[j] {
				continue
			}
			seen[j] = true
			v := &g.v[j]
			if v.kind == external || v.kind == internal || !keepsForm(v) {
				out = append(out, j)
			}
			if v.isNode() && len(v.stores) == 0 {
				todo = append(todo, j)
			}
		}
	}
	slices.Sort(out)
	return out
}
