package topodiff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// stores says what happens to every store.
func (d *differ) stores() {
	d.r.Stores = d.items(d.r.Stores, store, d.oldStore, d.takesOver, "new: it starts empty")
}

// items adds what happens to everything of a kind: old ones in their order,
// then new. fate says what became of an old one, takesOver what a new one finds;
// a new one that finds nothing starts as the text says.
func (d *differ) items(to []Item, of kind, fate func(int32) Item, takesOver func(*Item, int32), starts string) []Item {
	for i := range d.old.v {
		if d.old.v[i].kind == of {
			to = append(to, fate(int32(i)))
		}
	}
	for i := range d.new.v {
		if d.new.v[i].kind == of && d.toOld[i] < 0 {
			it := Item{Change: Added, New: d.instance(d.new, int32(i), d.newNames, d.newParts)}
			takesOver(&it, int32(i))
			if len(it.Effects) == 0 {
				it.effect(Starts, Note, starts)
			}
			d.ambiguous(&it, -1, int32(i))
			to = append(to, it)
		}
	}
	slices.SortStableFunc(to, compareItems)
	return to
}

// compareItems orders items as they are in the old version; what is added comes
// last.
func compareItems(a, b Item) int {
	place := func(i *Item) (in *Instance, rank, sub int) {
		if in = i.Old; in == nil {
			in, rank = i.New, 1
		}
		if in.Subtopology != nil {
			sub = *in.Subtopology
		}
		return in, rank, sub
	}
	x, rankA, subA := place(&a)
	y, rankB, subB := place(&b)
	return cmp.Or(cmp.Compare(rankA, rankB), cmp.Compare(subA, subB), strings.Compare(x.Name, y.Name))
}

// oldStore is a store of the old version with what became of it.
func (d *differ) oldStore(o int32) Item {
	v := &d.old.v[o]
	n := d.toNew[o]
	it := Item{Change: Removed, Old: d.instance(d.old, o, d.oldNames, d.oldParts)}
	if n < 0 {
		d.storeRemoved(&it, v)
		d.ambiguous(&it, o, -1)
		return it
	}
	w := &d.new.v[n]
	it.New = d.instance(d.new, n, d.newNames, d.newParts)
	it.MatchedBy = string(d.how[o])
	it.Change = Kept
	if v.name != w.name {
		it.Change = Renamed
	}
	it.Moved = v.sub != w.sub && !v.global && !w.global
	switch {
	case v.global && w.global:
		d.globalStore(&it, v, w)
	case v.global != w.global:
		d.globalChanged(&it, v, w)
	case d.oldNames.changelog(v.name) != d.newNames.changelog(w.name):
		d.storeRenamed(&it, o, n)
	default:
		d.storeKept(&it, o, n)
	}
	d.ambiguous(&it, o, n)
	return it
}

// ambiguous says when several stores or topics look the same, so that the
// order in which they are built is all there is to tell them apart; o or n is
// -1 when there is none.
func (d *differ) ambiguous(it *Item, o, n int32) {
	switch {
	case o >= 0 && d.unsure[0][o] || n >= 0 && d.unsure[1][n]:
		it.effect(Ambiguous, Warning, "several here look the same in the text, and there were more or fewer of them before: which one came or went, and which name now stands for which, cannot be told; a wrong one takes over the other's rows. Names tell them apart")
	case it.Change == Renamed && d.how[o] == byOrder:
		it.effect(Ambiguous, Note, "several here look the same in the text; they are matched in the order they are built in")
	}
}

// storeRemoved: the store is gone.
func (d *differ) storeRemoved(it *Item, v *vertex) {
	if v.global {
		it.effect(Refilled, Note, "a global store: only its directory stays behind")
		return
	}
	if d.isOptimized(v, d.old) {
		it.effect(Refilled, Note, "its changelog is the source topic, which stays")
		return
	}
	text := fmt.Sprintf("its rows are dropped: changelog %s is abandoned", d.oldNames.changelog(v.name))
	if more := d.waiting(v); more != "" {
		text += ", and " + more
	}
	if by := d.takenBy(v.name); by != nil {
		text = fmt.Sprintf("its rows are dropped, and its changelog %s goes to another store: %s", d.oldNames.changelog(v.name), d.describe(d.new, by))
	}
	it.effect(StateDropped, Loss, text)
	it.fix("accept", "--accept "+v.name, "if that is meant, say so; delete the topic when no rollback is needed any more")
}

// waiting says that a store's rows are results still to come, if they are. A
// suppression with a name keeps "<name>-store", as others may.
func (d *differ) waiting(v *vertex) string {
	if waits(v.role) {
		return "results that wait in it are never emitted"
	}
	if len(v.stores) == 1 && v.role == "" && v.name == d.old.v[v.stores[0]].name+"-store" {
		return "if it is a suppression, results that wait in it are never emitted"
	}
	return ""
}

// takenBy is the store of the new version that has the name of one of the old
// version, with another identity.
func (d *differ) takenBy(name string) *vertex {
	for _, i := range d.new.names[nameKey{store, name}] {
		if v := &d.new.v[i]; !v.global {
			if o := d.toOld[i]; o < 0 || d.old.v[o].name != name {
				return v
			}
		}
	}
	return nil
}

// describe says which store that is, for people.
func (d *differ) describe(g *graph, v *vertex) string {
	what := v.role
	if what == "" {
		what = "store"
	}
	text := fmt.Sprintf("the %s in sub-topology %d", what, v.sub)
	if from := g.upstream(v.stores); len(from) > 0 {
		text += " over " + someOf(from)
	}
	return text
}

func someOf(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// takesOver says when a new name is the old name of another store.
func (d *differ) takesOver(it *Item, n int32) {
	w := &d.new.v[n]
	if w.global || d.oldNames.changelog(w.name) != d.newNames.changelog(w.name) {
		return
	}
	for _, i := range d.old.names[nameKey{store, w.name}] {
		v := &d.old.v[i]
		if v.global || d.toNew[i] == n {
			continue
		}
		it.effect(StateTakenOver, Loss, fmt.Sprintf("%s does not start empty: it takes over changelog %s of another store, %s: wrong rows, or rows it cannot read",
			w.name, d.oldNames.changelog(v.name), d.describe(d.old, v)))
		if it.Change == Added {
			it.fix("name", "", "give it a name that no store of the old version has")
		}
		return
	}
}

// isOptimized says whether the store's changelog is the topic it reads.
func (d *differ) isOptimized(v *vertex, g *graph) bool {
	return d.o.Optimized && !v.global && g.tables[v.name] != ""
}

// globalStore: both are global; Kafka Streams reads the topic again.
func (d *differ) globalStore(it *Item, v, w *vertex) {
	if v.name != w.name {
		it.effect(Refilled, Note, fmt.Sprintf("a global store: it is filled from its topic again, the directory global/…/%s stays behind; queries by its name break", v.name))
	}
	d.otherRows(it)
}

// globalChanged: a table became global, or the other way round.
func (d *differ) globalChanged(it *Item, v, w *vertex) {
	if w.global {
		it.effect(Refilled, Warning, fmt.Sprintf("a global store now: it is filled from its topic; changelog %s is abandoned", d.oldNames.changelog(v.name)))
		return
	}
	it.effect(StateLost, Loss, fmt.Sprintf("no global store any more: it starts empty, with the new changelog %s", d.newNames.changelog(w.name)))
	it.fix("reset", "", "read the topic from its beginning again: reset the offsets of its source")
}

// storeRenamed: another changelog, so the rows are lost.
func (d *differ) storeRenamed(it *Item, o, n int32) {
	v, w := &d.old.v[o], &d.new.v[n]
	if d.isOptimized(v, d.old) && d.isOptimized(w, d.new) && d.old.tables[v.name] == d.new.tables[w.name] {
		it.effect(Refilled, Warning, fmt.Sprintf("nothing is lost, its changelog is the topic %s itself: it is read again", d.new.tables[w.name]))
		return
	}
	text := fmt.Sprintf("changelog %s is abandoned, %s starts empty", d.oldNames.changelog(v.name), w.name)
	if more := d.waiting(v); more != "" {
		text += "; " + more
	}
	it.effect(StateLost, Loss, text)
	d.takesOver(it, n)
	if it.Moved {
		it.effect(DirectoriesOrphaned, Note, fmt.Sprintf("it also moves from sub-topology %d to %d", v.sub, w.sub))
	}
	d.otherRows(it)
	if d.oldNames != d.newNames {
		it.fix("name", "", fmt.Sprintf("keep the application id %s and the topology's name: both are in the name of every internal topic", d.oldNames.orAny()))
		return
	}
	d.keepStore(it, v, w)
}

// storeKept: the same changelog.
func (d *differ) storeKept(it *Item, o, n int32) {
	v, w := &d.old.v[o], &d.new.v[n]
	if it.Moved {
		it.effect(DirectoriesOrphaned, Warning, fmt.Sprintf("task ids change from %d_* to %d_*: the local directories are orphaned, and the whole changelog is replayed", v.sub, w.sub))
		d.replay(it, w)
	}
	if a, b := it.Old.Partitions, it.New.Partitions; a != nil && b != nil && *a != *b && !d.isOptimized(w, d.new) {
		it.effect(PartitionsChange, Loss, fmt.Sprintf("changelog %s has %d partitions and the new version needs %d: Kafka Streams does not start (\"has invalid partitions\"), and keys would be in other partitions",
			d.newNames.changelog(w.name), *a, *b))
		it.fix("reset", "", "reset needed: a reset of the application (kafka-streams-application-reset.sh) and processing its input again; or keep the number of partitions")
	}
	if v.role != w.role && v.role != "" && w.role != "" {
		it.effect(ContentMayDiffer, Warning, fmt.Sprintf("another operator keeps it, %s instead of %s: the rows of %s may be of another form", w.role, v.role, d.newNames.changelog(w.name)))
		if v.role == tableSource && w.role != tableSource {
			it.effect(ContentMayDiffer, Note, "a table read from a topic may have had that topic as its changelog (topology.optimization); it has one of its own now")
		}
		it.fix("name", "", "give it a new name when its rows mean something else; reset needed when the form changes and the name stays")
	}
	d.otherRows(it)
}

// otherRows says when a store that was matched is filled from other topics.
func (d *differ) otherRows(it *Item) {
	if d.old.t.Edgeless || d.new.t.Edgeless || slices.Equal(it.Old.SourceTopics, it.New.SourceTopics) {
		return
	}
	it.effect(ContentMayDiffer, Warning, fmt.Sprintf("it is filled from %s now, before from %s", orNothing(it.New.SourceTopics), orNothing(it.Old.SourceTopics)))
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "no topic"
	}
	return someOf(names)
}

// instance is a store or topic in one version.
func (d *differ) instance(g *graph, i int32, names prefix, parts *partitions) *Instance {
	v := &g.v[i]
	in := &Instance{Name: v.name, Generated: !v.given(), Role: v.role, Global: v.global, Line: v.line}
	in.SourceTopics = g.origins(i)
	users, n := v.stores, parts.changelog(i)
	topic := names.changelog(v.name)
	if v.kind == internal {
		users, n, topic = v.in, parts.of(i), names.full(v.name)
	} else {
		in.Subtopology = &v.sub
	}
	if names.known() && !v.global {
		in.Topic = &topic
	}
	if n > 0 && !v.global {
		in.Partitions = &n
	}
	for _, p := range users {
		in.Processors = append(in.Processors, g.v[p].name)
	}
	slices.Sort(in.Processors)
	return in
}
