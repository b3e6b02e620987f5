package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/streams"
)

// outside are the offsets that lie outside of their topics.
type outside struct {
	topic string
	at    []string // partition by partition
	all   int      // offsets looked at
	tasks []string
}

// offsetsOutside looks at all stored offsets, topic by topic.
func (f *facts) offsetsOutside() (topics []*outside, all int) {
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			for _, r := range inspect.StoreOffsets(s) {
				if r.Offset == nil || *r.Offset < 0 || r.End == nil {
					continue
				}
				i := slices.IndexFunc(topics, func(o *outside) bool { return o.topic == r.Topic })
				if i < 0 {
					i = len(topics)
					topics = append(topics, &outside{topic: r.Topic})
				}
				o := topics[i]
				o.all++
				all++
				if r.Verdict == inspect.OffsetOutOfRange {
					o.at = append(o.at, fmt.Sprintf("partition %d: offset %d is %s (log %d to %d)", *r.Partition, *r.Offset, r.Why, *r.LogStart, *r.End))
					o.tasks = append(o.tasks, f.name(t))
				}
			}
		}
	}
	return topics, all
}

// outOfRange tells offsets outside of the log: of all topics at once when none
// fits, which is another cluster.
func outOfRange(f *facts, r *report) {
	topics, all := f.offsetsOutside()
	bad, gone := 0, 0
	for _, o := range topics {
		bad += len(o.at)
		if len(o.at) > 0 && len(o.at) == o.all {
			gone++
		}
	}
	again := "stop: with the wrong cluster the start wipes state that the right one could resume; check --bootstrap-server and the cluster id"
	if all > 1 && bad == all {
		p := r.problem("", "offsets do not fit this cluster: none of %d lies within its topic", all).
			because("cluster id %s", f.cluster.id)
		for _, o := range topics {
			p.because("%s (topic id %s): %s", o.topic, topicID(f.cluster, o.topic), list(o.at))
		}
		p.then("every task is replayed from the log start (OffsetOutOfRangeException, then TaskCorruptedException), under exactly-once into an empty directory; or, as Kafka Streams 4.4 does under at-least-once, an offset beyond the end is taken for complete, silently").
			do("%s", again).
			do("after a move to another cluster: map the offsets (sstool migrate application), or remove the state directory and let it be restored")
		return
	}
	for _, o := range topics {
		if len(o.at) == 0 {
			continue
		}
		p := r.problem(o.topic, "%d of %d stored offsets lie outside of the topic", len(o.at), o.all)
		for i, at := range o.at {
			if i == 10 {
				p.because("… and %d more", len(o.at)-i)
				break
			}
			p.because("%s", at)
		}
		p.because("topic id %s in cluster %s", topicID(f.cluster, o.topic), f.cluster.id)
		p.then("%s: TaskCorruptedException, and every store of the task is replayed from the log start; exactly-once deletes the directory first, at-least-once keeps what is in it, with rows whose tombstones are gone. An offset beyond the end may be taken for complete instead, silently, as Kafka Streams 4.4 does under at-least-once", list(o.tasks))
		if len(o.at) == o.all && o.all > 1 {
			p.do("the topic was made anew, or it is of another cluster: look before the application starts; %s", again)
		}
		p.do("plan for the replay, or restore the tasks beforehand: sstool restore --into DIR")
	}
	if len(r.findings) == 0 {
		r.ok("", "%d stored offsets lie within their topics", all)
	}
}

func topicID(c *clusterFacts, topic string) string {
	id := c.topics[topic].ID
	if id == [16]byte{} {
		return "unknown"
	}
	return fmt.Sprintf("%x", id)
}

// changelogLost tells stores whose changelog is gone or empty: starting deletes
// what nothing else has any more.
func changelogLost(f *facts, r *report) {
	type lost struct {
		topic, what string
		rows        int64
		known       bool
		at          []string
	}
	var all []*lost
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			topic := s.Offsets.Topic
			if topic == "" || rowsOf(s) == 0 {
				continue
			}
			what := f.emptied(t, s)
			if what == "" {
				continue
			}
			i := slices.IndexFunc(all, func(l *lost) bool { return l.topic == topic && l.what == what })
			if i < 0 {
				i = len(all)
				all = append(all, &lost{topic: topic, what: what, known: true})
			}
			l := all[i]
			if n := rowsOf(s); n < 0 {
				l.known = false
			} else {
				l.rows += n
			}
			at := f.name(t)
			for _, o := range s.Offsets.List {
				if o.Topic == topic && o.Offset != nil {
					at += fmt.Sprintf(" at offset %d", *o.Offset)
				}
			}
			l.at = append(l.at, at)
		}
	}
	for _, l := range all {
		rows := "rows"
		if l.known {
			rows = human.Count(l.rows) + " rows"
		}
		r.problem(l.topic, "the topic %s, but stores here have %s: do NOT start the application", l.what, rows).
			because("%s", list(l.at)).
			then("the start makes the topic anew if it is gone, and finds the offsets outside of it: exactly-once deletes the only copy of the rows; at-least-once keeps it, but nothing can restore it elsewhere").
			do("copy the state directory away first").
			do("write the rows back to the changelog from the store, then start (sstool get and scan show them); or take the loss and start")
	}
}

// emptied is what became of the topic that a store with rows is restored from;
// "" when it has records, or cannot be judged.
func (f *facts) emptied(t *lyingTask, s *inspect.MapStore) string {
	topic := s.Offsets.Topic
	if _, ok := f.cluster.topics[topic]; !ok {
		if len(s.Offsets.List) == 0 {
			return "" // the name is what it would be: never logged
		}
		return "does not exist"
	}
	e := f.cluster.ends[topic]
	if e.err != nil || len(e.at) == 0 {
		return ""
	}
	p, one := t.partition()
	for q, at := range e.at {
		if (!one || p == q) && at.End > at.Start {
			return ""
		}
	}
	for _, o := range inspect.StoreOffsets(s) {
		// Retention empties the changelog of windows, whose rows expire too.
		if o.Verdict == inspect.OffsetResumes && (s.Kind.Kind == nil || streams.Kind(*s.Kind.Kind).Windowed()) {
			return ""
		}
	}
	return "is empty"
}

// zombies tells tasks that go on from an offset although tombstones behind it
// may be gone: rows that were deleted meanwhile would live on here.
func zombies(f *facts, r *report) {
	judged, atEnd := 0, int64(0)
	if eos, _ := f.exactlyOnce(); eos {
		atEnd = 1 // the last offset is the marker of a transaction
	}
	for _, t := range f.lyingTasks() {
		if t.held || t.newest.IsZero() {
			continue
		}
		age := f.o.Now.Sub(t.newest)
		for _, s := range t.stores {
			for _, o := range inspect.StoreOffsets(s) {
				if o.Verdict != inspect.OffsetResumes || o.Topic != s.Offsets.Topic {
					continue
				}
				judged++
				kept, ok := f.keepsTombstones(o.Topic)
				if !ok || age <= kept || *o.Lag <= atEnd {
					continue // at the end nothing was missed
				}
				r.problem(f.name(t)+", store "+s.Name, "zombie risk: its newest file is %s old, and %s keeps tombstones for %s", human.Duration(age), o.Topic, human.Duration(kept)).
					because("%d offsets follow the stored one (%s-%d: %d of %d)", *o.Lag, o.Topic, *o.Partition, *o.Offset, *o.End).
					then("the task resumes; rows that were deleted after it was stopped, and whose tombstones are compacted away, stay here and nowhere else").
					do("remove the task's directory and let it be restored (sstool restore --into DIR), or prove that nothing is left over: sstool verify").
					do("from Kafka Streams 4.3 on: state.cleanup.dir.max.age.ms=%d does that at every start", kept.Milliseconds())
			}
		}
	}
	if len(r.findings) == 0 {
		r.ok("", "%d stored offsets are young enough, or at the end", judged)
	}
}

// keepsTombstones is how long the topic keeps tombstones; not ok when it is not
// compacted, or its configuration is not known.
func (f *facts) keepsTombstones(topic string) (time.Duration, bool) {
	c := f.cluster.configs[topic]
	ms, err := strconv.ParseInt(c.set["delete.retention.ms"], 10, 64)
	if c.err != nil || err != nil || !compacted(c.set) {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// takenForComplete tells offsets whose store is not here.
func takenForComplete(f *facts, r *report) {
	eos, _ := f.exactlyOnce()
	for _, t := range f.lyingTasks() {
		for _, o := range t.task.Others {
			if t.global() && f.cluster != nil && f.cluster.topics[o.Topic].Name != "" {
				r.problem(f.name(t), ".checkpoint has an offset of %s, but no store here is of that topic", o.Topic).
					then("if the topology has a global store of it, an empty one is made and taken for complete: its rows are missing. If it has none, Kafka Streams up to 4.2 does not start").
					do("remove the topic's lines from %s/%s", t.task.Dir, streams.CheckpointFile)
				break
			}
		}
		for _, s := range t.missing {
			if n := f.next(eos).absent(t, s); n.cause == bySkipping {
				r.problem(f.name(t)+", store "+s.Name, ".checkpoint has an offset of it, but the store is not here").
					because("%s", n.Why).
					then("Kafka Streams makes an empty store and replays only what follows the offset: the rows before it are missing").
					do("remove the store's line from %s/%s, or the task's directory, and let it be restored", t.task.Dir, streams.CheckpointFile)
			}
		}
	}
}

// unknownTopics tells lines of .checkpoint of topics that the cluster does not
// have.
func unknownTopics(f *facts, r *report) {
	for _, t := range f.lyingTasks() {
		var names []string
		for _, o := range t.task.Others {
			if _, ok := f.cluster.topics[o.Topic]; !ok && !slices.Contains(names, o.Topic) {
				names = append(names, o.Topic)
			}
		}
		for _, s := range t.stores { // one that is not logged may be taken for the topic's
			if topic := s.Offsets.Topic; f.strayTopic(t, s) && !slices.Contains(names, topic) {
				names = append(names, topic)
			}
		}
		v, _ := f.kafka()
		switch {
		case len(names) == 0:
		case t.global() && !streams.OffsetsInStore(v):
			r.problem(f.name(t), ".checkpoint names topics that do not exist: %s", list(names)).
				then("the application does not start: in global/ a line of an unknown topic is an error up to Kafka Streams 4.2").
				do("remove the lines from %s/%s", t.task.Dir, streams.CheckpointFile)
		default:
			r.warn(f.name(t), ".checkpoint names topics that do not exist: %s", list(names)).
				then("Kafka Streams warns and ignores the lines; they are of stores that were renamed or removed, or of another cluster").
				do("check that no store lost its name: sstool topology diff OLD NEW; sstool orphans")
		}
	}
}

// strayTopic says whether a store's offset is of a topic that does not exist
// and is not its own changelog.
func (f *facts) strayTopic(t *lyingTask, s *inspect.MapStore) bool {
	_, exists := f.cluster.topics[s.Offsets.Topic]
	return !exists && len(s.Offsets.List) > 0 && sourced(t, s.Offsets.Topic)
}
