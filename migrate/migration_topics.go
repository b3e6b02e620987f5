package migrate

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// forever is what no record is too old or too new for.
const forever = "9223372036854775807"

// largestRecord is what a copy takes while it is filled: the limit of the old
// topic may have been larger when its records were written.
const largestRecord = 32 << 20

// throttles name brokers of a reassignment under way: they are not the topic's.
var throttles = []string{"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}

// holding are the settings under which a copy is filled: nothing is removed, and
// every record is taken with the timestamp it has. known are all settings that
// the brokers have.
func holding(overrides, known map[string]string) map[string]string {
	out := maps.Clone(overrides)
	if out == nil {
		out = map[string]string{}
	}
	for _, k := range throttles {
		delete(out, k)
	}
	size, _ := strconv.Atoi(known["max.message.bytes"])
	for k, v := range map[string]string{
		"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "message.timestamp.type": "CreateTime",
		"message.timestamp.difference.max.ms": forever, "message.timestamp.before.max.ms": forever, "message.timestamp.after.max.ms": forever,
		"max.message.bytes": strconv.Itoa(max(size, largestRecord)),
	} {
		if _, ok := known[k]; ok {
			out[k] = v
		}
	}
	return out
}

// create makes the new topic. Its id is noted, so that no later run takes
// another topic of the same name for it.
func (p *MigrationPlan) create(ctx context.Context, t *CopiedTopic) error {
	known, err := p.client.TopicConfig(ctx, t.Old)
	if err != nil {
		return err
	}
	conf := holding(t.Overrides, known)
	err = p.client.CreateTopic(ctx, kafka.NewTopic{Name: t.New, Partitions: len(t.Partitions), ReplicationFactor: t.Replicas, Configs: conf})
	if op.KindOf(err) == op.Precondition && err != nil {
		// An earlier run may have been killed between making it and noting it.
		if ends, e := p.client.Offsets(ctx, t.New, nil); e != nil || written(ends) || !p.Resumed {
			return p.taken(t.New)
		}
		err = p.client.AlterTopicConfig(ctx, t.New, conf, nil)
	}
	if err != nil {
		return err
	}
	info, err := p.client.Topic(ctx, t.New)
	if err != nil {
		return err
	}
	if len(info.Partitions) != len(t.Partitions) {
		return p.taken(t.New)
	}
	p.run.mu.Lock()
	t.NewID = topicID(info.ID)
	p.run.mu.Unlock()
	return p.note()
}

func written(ends map[int32]kafka.PartitionOffsets) bool {
	for _, e := range ends {
		if e.End > 0 {
			return true
		}
	}
	return false
}

// configure gives the copy the explicit settings of the old topic, and takes
// back those it was filled with.
func (p *MigrationPlan) configure(ctx context.Context, t *CopiedTopic) error {
	is, err := p.client.TopicOverrides(ctx, t.New)
	if err != nil {
		return err
	}
	set := maps.Clone(t.Overrides)
	for _, k := range throttles {
		delete(set, k)
	}
	var remove []string
	for k, v := range is {
		switch want, ok := set[k]; {
		case !ok:
			remove = append(remove, k)
		case want == v:
			delete(set, k)
		}
	}
	slices.Sort(remove)
	return p.client.AlterTopicConfig(ctx, t.New, set, remove)
}

// copyACLs gives the copy the rules of the old topic. Those it has not yet are
// noted before they are made: abort removes exactly them.
func (p *MigrationPlan) copyACLs(ctx context.Context, old, new string) error {
	acls, err := p.client.TopicACLs(ctx, old)
	if err != nil {
		return err
	}
	is, err := p.client.TopicACLs(ctx, new)
	if err != nil {
		return err
	}
	p.run.mu.Lock()
	for _, a := range acls {
		if a.Topic == old && !a.Prefixed {
			if a.Topic = new; !slices.Contains(is, a) && !slices.Contains(p.m.ACLs, a) {
				p.m.ACLs = append(p.m.ACLs, a)
			}
		}
	}
	p.run.mu.Unlock()
	if err := p.note(); err != nil {
		return err
	}
	return p.client.CreateACLs(ctx, slices.DeleteFunc(slices.Clone(p.m.ACLs), func(a kafka.ACL) bool { return a.Topic != new }))
}

// commit commits the group's offsets of a repartition topic for its copy.
func (p *MigrationPlan) commit(ctx context.Context, t *CopiedTopic) error {
	all, err := p.client.GroupOffsets(ctx, p.OldApp)
	if err != nil {
		return err
	}
	var out []kafka.GroupOffset
	for _, o := range all {
		if o.Topic == t.Old && int(o.Partition) < len(t.Partitions) {
			o.Topic, o.Offset, o.LeaderEpoch = t.New, t.Partitions[o.Partition].Map.Position(o.Offset), -1
			out = append(out, o)
		}
	}
	return p.client.CommitGroupOffsets(ctx, p.NewApp, out)
}
