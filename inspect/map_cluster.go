package inspect

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// WithCluster is the map with what the cluster of o says now; m stays as it is,
// so that a reader may ask again and again.
func (m *Map) WithCluster(ctx context.Context, o MapOptions, sink op.Sink) *Map {
	c := m.Copy()
	c.askCluster(ctx, o, sink)
	c.Sums = nil
	c.sum()
	return c
}

// Copy is a map whose stores can be changed without changing m's.
func (m *Map) Copy() *Map {
	c := *m
	c.Apps = slices.Clone(m.Apps)
	for i := range c.Apps {
		a := &c.Apps[i]
		a.Stores, a.Remarks = slices.Clone(a.Stores), slices.Clip(a.Remarks)
		for j := range a.Stores {
			a.Stores[j].Remarks = slices.Clip(a.Stores[j].Remarks)
		}
	}
	return &c
}

// askCluster adds what the cluster says. A topic that cannot be asked is told;
// the rest is asked all the same.
func (m *Map) askCluster(ctx context.Context, o MapOptions, sink op.Sink) {
	c := &MapCluster{}
	m.Cluster = c
	if o.ClientErr != nil {
		c.Error = o.ClientErr.Error()
		m.unmeasured(c.Error)
		return
	}
	if id, err := o.Client.ClusterID(ctx); err == nil {
		c.ID = &id
	}
	topics, err := o.Client.Topics(ctx)
	if err != nil {
		c.Error = err.Error()
		m.unmeasured(c.Error)
		return
	}
	q := &topicAsker{client: o.Client, partitions: map[string]int{}, ends: map[string]topicEnds{}, configs: map[string]topicConfig{}}
	for _, t := range topics {
		q.partitions[t.Name] = len(t.Partitions)
	}
	wanted, orphans := m.topics(q.partitions, o)
	q.ask(ctx, wanted, sink)
	if o.Retention == 0 {
		q.askConfigs(ctx, m.expiring(q.partitions))
	}
	for i := range m.Apps {
		a := &m.Apps[i]
		for j := range a.Stores {
			s := &a.Stores[j]
			s.Cluster = q.lag(s)
			if c, ok := q.configs[changelogOf(s)]; ok && s.expires() {
				s.expiryByTopic(c.config, c.err, a.Lock.Held != nil && *a.Lock.Held, time.Now())
			}
			s.Remarks = append(s.Remarks, lagRemarks(s)...)
		}
		if r, ok := foreignOffsets(a); ok {
			a.Remarks = append(a.Remarks, r)
		}
	}
	for i, or := range orphans {
		if e, ok := q.ends[or.Topic]; ok && e.err == nil {
			n := int64(0)
			for _, p := range e.at {
				n += p.End - p.Start
			}
			orphans[i].Records = &n
		}
	}
	c.Orphans = orphans
	for _, e := range q.ends {
		if e.err != nil {
			c.Failed++
		}
	}
}

func (m *Map) unmeasured(why string) {
	for i := range m.Apps {
		for j := range m.Apps[i].Stores {
			m.Apps[i].Stores[j].Cluster = &MapLag{Why: why}
		}
	}
}

// topics are those to ask for: the stores' own, and the applications'
// changelogs that no store here belongs to.
func (m *Map) topics(have map[string]int, o MapOptions) (wanted []string, orphans []MapOrphan) {
	own := map[string]bool{}
	for _, a := range m.Apps {
		for i := range a.Stores {
			if t := changelogOf(&a.Stores[i]); t != "" {
				own[t] = true
			}
		}
	}
	for t := range own {
		if _, ok := have[t]; ok {
			wanted = append(wanted, t)
		}
	}
	if len(o.Stores) == 0 && len(o.Tasks) == 0 && len(o.Kinds) == 0 {
		for t, n := range have {
			for _, a := range m.Apps {
				store, ok := streams.StoreOfChangelog(a.ID, t)
				if a.ID == "" || !ok || own[t] || m.longerApp(a.ID, t) {
					continue
				}
				orphans = append(orphans, MapOrphan{App: a.ID, Topic: t, Store: store, Partitions: n})
				wanted = append(wanted, t)
			}
		}
	}
	slices.Sort(wanted)
	slices.SortFunc(orphans, func(x, y MapOrphan) int { return compareStrings(x.App, y.App, x.Topic, y.Topic) })
	return slices.Compact(wanted), orphans
}

// longerApp says whether the topic is rather another application's, whose id
// begins with this one's.
func (m *Map) longerApp(id, topic string) bool {
	return slices.ContainsFunc(m.Apps, func(a MapApp) bool {
		_, ok := streams.StoreOfChangelog(a.ID, topic)
		return ok && len(a.ID) > len(id)
	})
}

// changelogOf is the topic a store is restored from; "" when none is known.
func changelogOf(s *MapStore) string { return s.Offsets.Topic }

// topicEnds is what a topic's leaders answered.
type topicEnds struct {
	at  map[int32]kafka.PartitionOffsets
	err error
}

// topicConfig is the configuration of a topic.
type topicConfig struct {
	config map[string]string
	err    error
}

// topicAsker asks for the ends of topics, several at once, and for the
// configuration of some.
type topicAsker struct {
	client     *kafka.Client
	partitions map[string]int

	mu      sync.Mutex
	ends    map[string]topicEnds
	configs map[string]topicConfig
}

const topicsAtOnce = 8

func (q *topicAsker) ask(ctx context.Context, topics []string, sink op.Sink) {
	ForEach(ctx, len(topics), topicsAtOnce, func(i int) {
		t := topics[i]
		at, err := q.client.Offsets(ctx, t, nil)
		q.mu.Lock()
		q.ends[t] = topicEnds{at, err}
		q.mu.Unlock()
		if err != nil {
			sink.Warn(t, fmt.Sprintf("offsets of %s: %v", t, err))
		}
	})
}

func (q *topicAsker) askConfigs(ctx context.Context, topics []string) {
	ForEach(ctx, len(topics), topicsAtOnce, func(i int) {
		config, err := q.client.TopicConfig(ctx, topics[i])
		q.mu.Lock()
		q.configs[topics[i]] = topicConfig{config, err}
		q.mu.Unlock()
	})
}

// expiring are the changelogs of stores whose segments expire.
func (m *Map) expiring(have map[string]int) (topics []string) {
	all := m.AllStores()
	for i := range all {
		s := &all[i]
		t := changelogOf(s)
		if _, ok := have[t]; ok && s.expires() && !slices.Contains(topics, t) {
			topics = append(topics, t)
		}
	}
	return topics
}

// lag compares a store with its changelog.
func (q *topicAsker) lag(s *MapStore) *MapLag {
	l := &MapLag{Topic: changelogOf(s)}
	if l.Topic == "" {
		l.Why = s.Offsets.Why
		if l.Why == "" {
			l.Why = "its changelog is not known"
		}
		return l
	}
	n, ok := q.partitions[l.Topic]
	if !ok {
		l.Why = "the cluster has no topic " + l.Topic
		return l
	}
	l.Partitions = &n
	e := q.ends[l.Topic]
	if e.err != nil {
		l.Why = e.err.Error()
		return l
	}
	var parts []int32
	if s.partition != nil {
		parts = []int32{int32(*s.partition)}
	} else {
		for p := range e.at {
			parts = append(parts, p)
		}
		slices.Sort(parts)
	}
	lag, replay, full := int64(0), int64(0), int64(0)
	known := true
	for _, p := range parts {
		at, ok := e.at[p]
		if !ok {
			l.Why = fmt.Sprintf("%s has %d partitions, none for this task", l.Topic, n)
			return l
		}
		l.Ends = append(l.Ends, MapTopicAt{p, at.Start, at.End, at.LastStable})
		full += at.End - at.Start
		next, ok := s.Offsets.next(p)
		if !ok {
			known = false
			replay += at.End - at.Start
			continue
		}
		lag += max(0, at.End-next)
		replay += max(0, at.End-max(next, at.Start))
	}
	l.Replay, l.Full = &replay, &full
	if known {
		l.Lag = &lag
	} else {
		l.Why = "no offset: " + s.Offsets.Why
	}
	return l
}

// next is the offset from which a restore of partition p would go on.
func (m *MapOffsets) next(p int32) (int64, bool) {
	for _, o := range m.List {
		if o.Topic == m.Topic && o.Partition == p && o.Offset != nil && *o.Offset >= 0 {
			if m.Next {
				return *o.Offset, true
			}
			return *o.Offset + 1, true
		}
	}
	return 0, false
}
