package migrate

import (
	"cmp"
	"context"
	"strings"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// topic looks at one topic to be copied.
func (p *MigrationPlan) topic(ctx context.Context, t TopicMove, exists map[string]*kafka.TopicInfo) error {
	if !streams.IsInternalTopic(p.OldApp, t.Old) {
		return op.Errorf(op.Precondition, "topic %q is none that Kafka Streams made for %q: a source topic that serves as changelog belongs to you and is not copied", t.Old, p.OldApp).
			WithTry("the store reads the same topic under its new name")
	}
	info := exists[t.Old]
	if info == nil {
		_, err := p.client.Topic(ctx, t.Old)
		return cmp.Or(err, error(op.Errorf(op.NotFound, "topic %q does not exist", t.Old)))
	}
	ends, overrides, err := p.facts(ctx, t)
	if err != nil {
		return err
	}
	tp := TopicPlan{TopicMove: t, PartitionCount: len(info.Partitions), Config: overrides, ACLs: []string{}}
	for _, part := range info.Partitions {
		tp.Replicas = max(tp.Replicas, part.Replicas)
	}
	if t.Why != ChangelogTopic && p.Kind != ApplicationChanged {
		if tp.Drained, err = p.drained(ctx, t.Old, ends); err != nil {
			return err
		}
		if !tp.Drained && !p.o.WithRepartition {
			return op.Errorf(op.Precondition, "topic %q holds records that the application has not processed", t.Old).
				WithTry("let the application run until it has processed them and stop it while no input comes, or copy them too: --with-repartition")
		}
	}
	if !tp.Drained {
		ct, err := p.copied(t, info, exists[t.New], ends, overrides, tp.Replicas)
		if err != nil {
			return err
		}
		if err := p.collides(t.New, exists); err != nil {
			return err
		}
		for i := range ct.Partitions {
			old, _ := ct.Partitions[i].Map.End()
			tp.Records += ct.Partitions[i].End - old
		}
		if sizes := p.client.PartitionSizes(ctx, t.Old); len(sizes) == len(info.Partitions) {
			var n int64
			for _, s := range sizes {
				n += s
			}
			tp.Bytes = &n
		}
	} else if exists[t.New] != nil {
		p.warn("topic %q is drained and not copied; %q exists already", t.Old, t.New)
	}
	acls, err := p.client.TopicACLs(ctx, t.Old)
	if err != nil {
		p.warn("the ACLs of %s are not known: %s", t.Old, err)
	}
	for _, a := range acls {
		if a.Topic == t.Old && !a.Prefixed {
			tp.ACLs = append(tp.ACLs, a.String())
		}
	}
	p.Topics = append(p.Topics, tp)
	return nil
}

// copied is what the migration file says of a topic, or a new entry.
func (p *MigrationPlan) copied(t TopicMove, info, is *kafka.TopicInfo, ends map[int32]kafka.PartitionOffsets, overrides map[string]string, replicas int) (*CopiedTopic, error) {
	ct := p.m.topic(t.Old)
	if ct == nil {
		if is != nil {
			return nil, p.taken(t.New)
		}
		p.m.Topics = append(p.m.Topics, CopiedTopic{TopicMove: t, OldID: topicID(info.ID), Replicas: replicas, Overrides: overrides})
		ct = &p.m.Topics[len(p.m.Topics)-1]
		for i := range info.Partitions {
			e := ends[int32(i)]
			ct.Partitions = append(ct.Partitions, CopiedPartition{Partition: int32(i), End: e.End, Map: NewOffsetMap(e.Start)})
		}
		return ct, nil
	}
	switch {
	case ct.New != t.New:
		return nil, op.Errorf(op.Precondition, "%s copies %q to %q, not to %q", p.File, t.Old, ct.New, t.New)
	case ct.OldID != topicID(info.ID):
		return nil, op.Errorf(op.Precondition, "topic %q was deleted and made anew since this migration was begun", t.Old).WithTry("sstool migrate abort %s", p.File)
	case len(ct.Partitions) != len(info.Partitions):
		return nil, op.Errorf(op.Precondition, "topic %q has %d partitions, %d when this migration was begun", t.Old, len(info.Partitions), len(ct.Partitions)).WithTry("sstool migrate abort %s", p.File)
	case is == nil && ct.NewID != "":
		return nil, op.Errorf(op.Precondition, "the copy %q, which this migration made, was deleted meanwhile", t.New).WithTry("sstool migrate abort %s", p.File)
	case is != nil && ct.NewID != "" && ct.NewID != topicID(is.ID):
		return nil, p.taken(t.New)
	}
	// What has come since is copied as well, unless the copy is in use already.
	for i := range ct.Partitions {
		cp := &ct.Partitions[i]
		if end := ends[cp.Partition].End; end != cp.End {
			if end < cp.End || p.m.done("configure:"+t.New) {
				return nil, errMoved(t.Old, cp.Partition, cp.End, end).WithTry("sstool migrate abort %s removes the copies, then run this again", p.File)
			}
			cp.End = end
			delete(p.m.Done, "copy:"+t.New)
			delete(p.m.Done, "verify:"+t.New)
		}
	}
	ct.Overrides = overrides
	return ct, nil
}

func (p *MigrationPlan) taken(topic string) error {
	return op.Errorf(op.Precondition, "topic %q exists already, and this migration did not make it", topic).
		WithTry("choose a name that is free (sstool lint says which names collide); if an earlier run made it, give its --ledger FILE")
}

// collides refuses a name that differs from an existing one in '.' and '_'
// only: the brokers do.
func (p *MigrationPlan) collides(name string, exists map[string]*kafka.TopicInfo) error {
	plain := func(s string) string { return strings.ReplaceAll(s, ".", "_") }
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	for other := range exists {
		if other != name && plain(other) == plain(name) {
			return op.Errorf(op.Precondition, "topic %q cannot be created beside %q: brokers take '.' and '_' for the same", name, other)
		}
	}
	return nil
}
