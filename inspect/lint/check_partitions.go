package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sstool/internal/topology"
)

// partitions is how many a topic of the view has; ok is false when that is
// not known.
func (r *run) partitions(v *view, f *flow) (int, bool) {
	t, ok := r.o.Facts.Topics[v.topic(f)]
	return t.Partitions, ok && t.Partitions > 0
}

// checkPartitions is P1 to P4.
func (r *run) checkPartitions() {
	if r.o.Facts == nil {
		return
	}
	for _, v := range r.views {
		stores := map[int][]*store{}
		for _, s := range v.stores {
			if !s.Global {
				stores[s.Subtopology] = append(stores[s.Subtopology], s)
			}
		}
		for i := range v.t.Subtopologies {
			if s := &v.t.Subtopologies[i]; !s.Global && !v.t.Edgeless {
				r.coPartitions(v, s, stores[s.ID])
			}
		}
		if r.o.Facts.Complete {
			r.missingTopics(v)
		}
		if v.id == "" {
			continue
		}
		for _, s := range v.stores {
			if s.Global {
				continue
			}
			r.changelogPartitions(v, s)
			r.changelogPolicy(v, s)
		}
		for _, f := range v.topics {
			if f.kind == kindRepartition {
				r.repartitionPartitions(v, f)
			}
		}
	}
}

// counted is what the sources of a sub-topology read.
type counted struct {
	tasks  int         // the most partitions of a topic; 0 when one is not known
	widest string      // that topic
	with   map[int]int // how many topics have so many partitions
}

// count counts the topics of a sub-topology, once.
func (r *run) count(v *view, s *topology.Subtopology) counted {
	c, ok := r.counts[s]
	if ok {
		return c
	}
	c.with = map[int]int{}
	done, all := map[string]bool{}, true
	for src := range s.Of(topology.Source) {
		all = all && src.Pattern == ""
		for _, name := range src.Topics {
			p, known := r.partitions(v, v.flows[name])
			all = all && known
			if known && !done[name] {
				c.with[p]++
			}
			done[name] = true
			if p > c.tasks {
				c.tasks, c.widest = p, name
			}
		}
	}
	if !all {
		c.tasks, c.widest = 0, ""
	}
	if r.counts == nil {
		r.counts = map[*topology.Subtopology]counted{}
	}
	r.counts[s] = c
	return c
}

// coPartitions is P1: the topics whose records get to one store must have
// equal partition counts, whether they are joined there or were merged before.
func (r *run) coPartitions(v *view, s *topology.Subtopology, stores []*store) {
	if len(r.count(v, s).with) < 2 {
		return
	}
	sources, by := reach(v, s)
	done := map[string]bool{}
	for _, st := range stores {
		users := map[int]int{} // by source
		for _, p := range st.Processors {
			for i := range by[p].all() {
				users[i]++
			}
		}
		counts := map[string]int{}
		var topics []string
		merged := false
		for _, i := range slices.Sorted(maps.Keys(users)) {
			merged = merged || users[i] == len(st.Processors)
			for _, name := range sources[i].Topics {
				if n, ok := r.partitions(v, v.flows[name]); ok && counts[name] == 0 {
					counts[name] = n
					topics = append(topics, name)
				}
			}
		}
		slices.Sort(topics)
		key := strings.Join(topics, ",")
		if done[key] || len(topics) < 2 || !slices.ContainsFunc(topics, func(t string) bool { return counts[t] != counts[topics[0]] }) {
			continue
		}
		done[key] = true
		var said []string
		for _, t := range topics {
			said = append(said, fmt.Sprintf("%s %d", t, counts[t]))
		}
		what := "the application does not start"
		if merged {
			what = "rows of one key are split over tasks, and nothing says so"
		}
		f := r.report(v, "P1", st.Line, kindStore, st.Name, "the topics that meet in store %s have different partition counts (%s): %s", st.Name, strings.Join(said, ", "), what)
		for _, t := range topics {
			f.with(v, v.flows[t].line, t)
		}
	}
}

// changelogPartitions is P2 (PI/InternalTopicManager.makeReady).
func (r *run) changelogPartitions(v *view, s *store) {
	t, ok := r.o.Facts.Topics[s.changelog]
	c := r.count(v, v.subOf(s.Processors[0]))
	if n := c.tasks; ok && n > 0 && t.Partitions != n {
		r.report(v, "P2", s.Line, kindStore, s.Name, "changelog %s has %d partitions, sub-topology %d has %d tasks (topic %s has %d partitions)",
			s.changelog, t.Partitions, s.Subtopology, n, c.widest, n)
	}
}

// changelogPolicy is C12 by the changelog's cleanup.policy: "delete" in it
// loses rows of a key-value store. The store of a stream-stream join has
// "delete" alone, other windows "compact,delete".
func (r *run) changelogPolicy(v *view, s *store) {
	policy := r.o.Facts.Topics[s.changelog].Config["cleanup.policy"]
	windowed, why, ok := v.windowed(s)
	if policy == "" || !ok {
		return
	}
	deletes := strings.Contains(policy, "delete")
	switch {
	case !windowed && deletes:
		r.report(v, "C12", s.Line, kindStore, s.Name, "store %s is a key-value store (%s), but its changelog has cleanup.policy=%s: it is that of a window store, and rows older than its retention are lost", s.Name, why, policy)
	case windowed && !deletes:
		f := r.report(v, "C12", s.Line, kindStore, s.Name, "store %s is a window store (%s), but its changelog has cleanup.policy=%s: expired windows stay for ever", s.Name, why, policy)
		f.Severity = Warning
	}
}

// repartitionPartitions is P3. In front of a join Kafka Streams takes the
// number of the other side.
func (r *run) repartitionPartitions(v *view, f *flow) {
	have, ok := r.partitions(v, f)
	if !ok {
		return
	}
	from := r.count(v, v.subOf(f.sinks[0].Name))
	others := r.count(v, v.subOf(f.sources[0].Name)).with[have] - 1 // but for the topic itself
	if from.tasks == 0 || from.tasks == have || others > 0 {
		return
	}
	t := r.report(v, "P3", f.line, f.kind, f.name, "repartition topic %s has %d partitions, what feeds it has %d tasks (topic %s): Kafka Streams stops unless withNumberOfPartitions(%d) is in the code",
		v.topic(f), have, from.tasks, from.widest, have)
	if v.ofRepartition(f) {
		t.Severity = Info
	}
}

// ofRepartition says whether a repartition topic is that of repartition(),
// whose number of partitions can be set: groupings, joins and toTable() have
// their store right behind theirs.
func (v *view) ofRepartition(f *flow) bool {
	if f.generated && f.gen.word() == "REPARTITION" {
		return true
	}
	for _, src := range f.sources {
		for _, name := range src.Next {
			if n := v.index[name]; n == nil || len(n.Stores) > 0 {
				return false
			}
		}
	}
	return !v.t.Edgeless
}

// missingTopics is P4.
func (r *run) missingTopics(v *view) {
	for _, f := range v.topics {
		if _, exists := r.o.Facts.Topics[f.name]; exists || f.internal() {
			continue
		}
		if len(f.sources) > 0 {
			r.report(v, "P4", f.line, kindTopic, f.name, "topic %s does not exist (%s): the application stops at its first rebalance", f.name, r.o.Facts.From)
			continue
		}
		t := r.report(v, "P4", f.line, kindTopic, f.name, "output topic %s does not exist (%s): unless the broker creates it, with its own partition count, writing fails", f.name, r.o.Facts.From)
		t.Severity = Warning
	}
}

// checkSamples is P5.
func (r *run) checkSamples() {
	byTopic := map[string][]Sample{}
	for _, s := range r.o.Samples {
		byTopic[s.Topic] = append(byTopic[s.Topic], s)
	}
	for _, v := range r.views {
		for _, f := range v.topics {
			keys, misplaced := 0, 0
			var example *Sample
			for _, s := range byTopic[v.topic(f)] {
				keys += s.Keys
				misplaced += s.Misplaced
				if s.Misplaced > 0 && example == nil {
					example = &s
				}
			}
			if misplaced > 0 && len(f.sources) > 0 {
				r.report(v, "P5", f.line, f.kind, f.name, "%d of %d keys sampled in topic %s are not where the default partitioner puts them: %q is in partition %d, belongs in %d",
					misplaced, keys, v.topic(f), example.Example, example.Partition, example.Belongs)
			}
		}
	}
}
