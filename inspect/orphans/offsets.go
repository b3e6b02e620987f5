package orphans

import (
	"fmt"
	"slices"

	"sstool/internal/kafka"
)

// findOffsets looks for groups of applications that are gone, and for committed
// offsets of topics and partitions that are gone or not read.
func (r *run) findOffsets() {
	for _, a := range r.apps {
		if !a.examined || a.group == nil {
			continue
		}
		if a.gone {
			why := fmt.Sprintf("application %s is gone: its group is %s and keeps %d committed offsets", a.id, a.group.State, len(r.commits[a.id]))
			r.add(Orphan{Kind: KindGroup, Name: a.id, ApplicationID: a.id, Verdict: Unused, Why: why, Candidates: []string{}, Deletable: true})
			continue
		}
		byTopic := map[string][]kafka.GroupOffset{}
		var topics []string
		for _, o := range r.commits[a.id] {
			if byTopic[o.Topic] == nil {
				topics = append(topics, o.Topic)
			}
			byTopic[o.Topic] = append(byTopic[o.Topic], o)
		}
		for _, topic := range topics {
			r.decideOffsets(a, topic, byTopic[topic])
		}
	}
}

// decideOffsets gives the verdict on a group's offsets for one topic.
func (r *run) decideOffsets(a *app, topic string, offsets []kafka.GroupOffset) {
	x := Orphan{Kind: KindOffsets, Name: a.id + ": " + topic, ApplicationID: a.id, Group: a.id, Topic: topic, Verdict: Unused, Candidates: []string{}, Deletable: true}
	t := r.topics[topic]
	lines := func(keep func(kafka.GroupOffset) bool) {
		for _, o := range offsets {
			if keep(o) {
				x.Partitions = append(x.Partitions, o.Partition)
				x.Lines = append(x.Lines, Line{o.Topic, o.Partition, o.Offset})
			}
		}
	}
	switch {
	case t == nil:
		lines(func(kafka.GroupOffset) bool { return true })
		x.Why, x.Deletable = "there is no such topic", false // brokers refuse to delete them alone
	case a.group.Members > 0 && slices.Contains(a.group.Topics, topic):
		return
	case len(a.topologies) > 0 && !a.reads(topic):
		lines(func(kafka.GroupOffset) bool { return true })
		x.Why = fmt.Sprintf("the topology of %s does not read the topic", a.id)
	default:
		lines(func(o kafka.GroupOffset) bool { return int(o.Partition) >= len(t.Partitions) })
		x.Why = fmt.Sprintf("the topic has %d partitions", len(t.Partitions))
		x.Deletable = len(t.Partitions) > 0
	}
	if len(x.Partitions) > 0 {
		r.add(x)
	}
}
