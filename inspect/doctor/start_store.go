package doctor

import (
	"fmt"
	"slices"
	"strings"

	"sstool/inspect"
	"sstool/internal/streams"
)

// store is what happens to a store that lies in a task's directory, looked at
// alone.
func (n next) store(t *lyingTask, s *inspect.MapStore) Start {
	if why, cause := n.refused(t, s); why != "" {
		return Start{Will: WillFail, Why: why, cause: cause}
	}
	if s.Offsets.Topic == "" && len(s.Offsets.List) == 0 {
		if t.global() {
			return Start{Will: WillRestore, Why: "no offset: " + s.Offsets.Why, cause: byOffset}
		}
		return Start{Will: WillNothing, Why: s.Offsets.Why}
	}
	if t.global() {
		return n.globalStore(s)
	}
	if n.eos && streams.OffsetsInStore(n.v) && s.Status != nil && (*s.Status == "unclean" || *s.Status == "open") {
		return n.corrupted(t, s, byStatus, "not closed cleanly (its status is open), which exactly-once does not go on from")
	}
	if c := n.f.cluster; c != nil && c.err == nil {
		if _, ok := c.topics[s.Offsets.Topic]; !ok {
			return n.noTopic(t, s)
		}
	}
	for _, r := range inspect.StoreOffsets(s) {
		switch {
		case r.Topic != s.Offsets.Topic:
			continue
		case r.Offset == nil:
			return n.noOffset(t, s, "no offset: "+s.Offsets.Why)
		case *r.Offset < 0 && r.Checkpoint != nil && streams.OffsetsInStore(n.v):
			return n.noOffset(t, s, fmt.Sprintf("offset %d in .checkpoint, which Kafka Streams from 4.3 on takes for none", *r.Offset))
		case *r.Offset < 0:
			return Start{Will: WillRestore, Records: n.full(t, s), Why: "nothing was applied yet", cause: byNothing}
		case r.Verdict == inspect.OffsetOutOfRange:
			return n.corrupted(t, s, byRange, "offset %d is %s of %s-%d", *r.Offset, r.Why, r.Topic, *r.Partition)
		case r.End == nil:
			return Start{Will: WillResume, Why: "the changelog's end is not known"}
		default:
			lag := n.span(t, s, *r.Partition, *r.Offset+1, *r.End)
			return Start{Will: WillResume, Records: &lag}
		}
	}
	return n.noOffset(t, s, "no offset: "+s.Offsets.Why)
}

// corrupted is the start of a store because of which its task is
// (TaskCorruptedException): every store of the task is replayed. Exactly-once
// deletes the task's directory first; at-least-once replays over the rows that
// are there (PI/StateManagerUtil.closeStateManager).
func (n next) corrupted(t *lyingTask, s *inspect.MapStore, by cause, format string, args ...any) Start {
	will := WillRestore
	if n.eos {
		will = WillWipe
	}
	return Start{Will: will, Records: n.full(t, s), Why: fmt.Sprintf(format, args...), cause: by, corrupts: true}
}

// noTopic is the start of a store whose topic does not exist.
func (n next) noTopic(t *lyingTask, s *inspect.MapStore) Start {
	topic := s.Offsets.Topic
	switch {
	case len(s.Offsets.List) == 0: // the name is what it would be: never logged, as far as can be told
		return Start{Will: WillNothing, Why: "the cluster has no topic " + topic}
	case sourced(t, topic):
		return Start{Will: WillNothing, Why: "the cluster has no topic " + topic + ", of which an offset is stored"}
	}
	start := n.corrupted(t, s, byRange, "the cluster has no topic %s: it is made anew, and the stored offset lies beyond its end", topic)
	start.Records = new(int64)
	return start
}

// noOffset is the start of a store without an offset in a directory that is
// not empty (PI/ProcessorStateManager.initializeStoreOffsets).
func (n next) noOffset(t *lyingTask, s *inspect.MapStore, why string) Start {
	if n.eos {
		return n.corrupted(t, s, byOffset, "%s, which exactly-once does not go on from", why)
	}
	return Start{Will: WillRestore, Records: n.full(t, s), Why: why, cause: byOffset}
}

// absent is what happens to a store that other tasks have and this one has
// not; s is one of theirs.
func (n next) absent(t *lyingTask, s *inspect.MapStore) Start {
	topic, ok := topicFor(t, s)
	if !ok {
		return Start{Will: WillNothing, Why: "not here, and not logged"}
	}
	p, _ := t.partition()
	for _, o := range t.task.Others {
		if o.Topic == topic && o.Partition == p && o.Offset != nil && *o.Offset >= 0 {
			start := Start{Will: WillResume, Why: "the store is not here, but .checkpoint says it is restored: it is taken for complete, and stays empty", cause: bySkipping}
			if c := n.f.cluster; c != nil && c.ends[topic].err == nil {
				if at, ok := c.ends[topic].at[p]; ok {
					lag := n.span(t, s, p, *o.Offset+1, at.End)
					start.Records = &lag
				}
			}
			return start
		}
	}
	return n.noOffset(t, s, "the store is not here, and has no offset")
}

// topicFor is the topic from which t restores a store like s.
func topicFor(t *lyingTask, s *inspect.MapStore) (string, bool) {
	return s.Offsets.Topic, s.Offsets.Topic != ""
}

// refused is why Kafka Streams of this version does not open the store, ""
// when nothing speaks against it. Each of these ends the application (open
// errors never wipe a task).
func (n next) refused(t *lyingTask, s *inspect.MapStore) (why string, by cause) {
	if broken := s.Broken(); len(broken) > 0 {
		why := broken[0].What
		// Seen on 4.0.2 and 4.4.0: of tasks up to 4.2, of global/ from 4.3 on.
		if n.eos && t.global() == streams.OffsetsInStore(n.v) {
			why += ": the application fails once; exactly-once deletes the directory then, and the start after that replays it"
		}
		return why, byFiles
	}
	if s.Oldest == nil {
		return s.OldestWhy, byVersion
	}
	if v, err := streams.ParseVersion(*s.Oldest); err == nil && n.v.Less(v) {
		return fmt.Sprintf("%s: Kafka Streams %s cannot open it, %d.%d or later can", s.OldestWhy, short(n.v), v.Major, v.Minor), byVersion
	}
	for _, f := range s.Families {
		if !slices.Contains(knownFamilies(), f.Name) {
			return fmt.Sprintf("column family %q is none of Kafka Streams'", f.Name), byVersion
		}
	}
	if s.Segmented && len(s.Strays()) > 0 && streams.OffsetsInStore(n.v) {
		return s.Strays()[0].Where + " is no segment: Kafka Streams from 4.3 on does not start", bySegments
	}
	return "", 0
}

func knownFamilies() []string {
	return []string{streams.DefaultFamily, streams.TimestampFamily, streams.TimestampHeadersFamily, streams.WindowHeadersFamily,
		streams.SessionHeadersFamily, streams.OffsetsFamily}
}

func short(v streams.Version) string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// sourced says whether the store is restored from a source topic of the
// application instead of a changelog of its own (topology.optimization).
func sourced(t *lyingTask, topic string) bool {
	_, own := streams.StoreOfChangelog(t.app.ID, topic)
	return topic != "" && !own && !t.global()
}

// span is how many offsets a restore of a partition reads. The last of a
// changelog under exactly-once is the marker of a transaction.
func (n next) span(t *lyingTask, s *inspect.MapStore, p int32, from, end int64) int64 {
	read := n.limit(t, s, p, end) - from
	if n.eos && !t.global() && !sourced(t, s.Offsets.Topic) {
		read--
	}
	return max(0, read)
}

// limit is where the restore of a partition ends: a source topic's at the
// offset that the group has committed, since the application processes what
// follows again (PI/StoreChangelogReader).
func (n next) limit(t *lyingTask, s *inspect.MapStore, p int32, end int64) int64 {
	if c := n.f.cluster; c != nil && c.err == nil && c.committedErr == nil && sourced(t, s.Offsets.Topic) {
		return min(end, c.committed[s.Offsets.Topic][p])
	}
	return end
}

// full is how many offsets a restore from the log start reads; nil when that is
// not known.
func (n next) full(t *lyingTask, s *inspect.MapStore) *int64 {
	if s == nil || n.f.cluster == nil {
		return nil
	}
	e, ok := n.f.cluster.ends[s.Offsets.Topic]
	if !ok || e.err != nil {
		return nil
	}
	total := int64(0)
	own, one := t.partition()
	for p, at := range e.at {
		if !one || p == own {
			total += n.span(t, s, p, at.Start, at.End)
		}
	}
	return &total
}

// globalStore is what happens to a global store, which a thread of its own
// restores (PI/GlobalStateManagerImpl, PI/GlobalStreamThread).
func (n next) globalStore(s *inspect.MapStore) Start {
	out := Start{Will: WillResume, Records: new(int64)}
	if n.eos && streams.OffsetsInStore(n.v) && s.Status != nil && *s.Status == "unclean" {
		return Start{Will: WillFail, Why: "not closed cleanly (its status is open): under exactly-once a global store is not wiped, and the application fails at every start", cause: byStatus}
	}
	for _, r := range inspect.StoreOffsets(s) {
		switch {
		case r.Offset == nil || *r.Offset < 0:
			if r.End == nil {
				out.Records = nil
			} else {
				add(out.Records, *r.End-*r.LogStart)
			}
			out.Will, out.Why, out.cause = WillRestore, "no offset: "+s.Offsets.Why, byOffset
		case r.Verdict == inspect.OffsetOutOfRange:
			return Start{Will: WillFail, Why: fmt.Sprintf("offset %d is %s of %s-%d: the application fails once, wipes global/, and restores it at the start after that", *r.Offset, r.Why, r.Topic, *r.Partition), cause: byRange}
		case r.End == nil:
			out.Records, out.Why = nil, "the topic's end is not known"
		default:
			add(out.Records, *r.Lag)
		}
	}
	return out
}

func add(to *int64, n int64) {
	if to != nil {
		*to += n
	}
}

// list names at most six of many, stores as task/store.
func list(names []string) string {
	names = slices.Clone(names)
	for i, n := range names {
		if task, store, ok := strings.Cut(n, ", store "); ok {
			names[i] = strings.TrimPrefix(task, "task ") + "/" + store
		}
	}
	if len(names) > 6 {
		return fmt.Sprintf("%s, … (%d)", strings.Join(names[:6], ", "), len(names))
	}
	return strings.Join(names, ", ")
}
