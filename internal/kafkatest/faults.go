package kafkatest

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OnFetch runs fn once, before the n-th fetch request from now on is answered:
// the moment at which a fault belongs. The cluster answers others meanwhile; the
// client must not go away before fn returns (AtFetch).
func (c *Cluster) OnFetch(n int32, fn func()) {
	var seen atomic.Int32
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if seen.Add(1) == n {
			c.SleepControl(fn)
		}
		return nil, nil, false
	})
}

// AtFetch runs fn once, when the n-th fetch request from now on arrives. fn
// must not call the cluster, which waits for it.
func (c *Cluster) AtFetch(n int32, fn func()) {
	var seen atomic.Int32
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if seen.Add(1) == n {
			fn()
		}
		return nil, nil, false
	})
}

// FailFetches breaks the connection of every fetch while away says so.
func (c *Cluster) FailFetches(away func() bool) {
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if away() {
			return nil, errors.New("the broker is away"), true
		}
		return nil, nil, false
	})
}

// AtProduce runs fn whenever a produce request arrives, with its number from
// now on; an error breaks the connection before anything is written. fn must
// not call the cluster, which waits for it.
func (c *Cluster) AtProduce(fn func(n int32) error) {
	var seen atomic.Int32
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		err := fn(seen.Add(1))
		return nil, err, err != nil
	})
}

// ServeLog answers every fetch of a one-partition topic from these bytes, a
// log of record batches that ends at offset end: for logs that no broker
// accepts from a producer.
func (c *Cluster) ServeLog(log []byte, end int64) {
	c.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		if len(req.Topics) == 0 {
			return resp, nil, true
		}
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset = end, end
		p.RecordBatches = logFrom(log, req.Topics[0].Partitions[0].FetchOffset)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		rt.Partitions = append(rt.Partitions, p)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
}

// CutBack lets a leader tell the next one who asks that only what is before
// offset end is in the log as it was, as after an unclean leader election. What
// the log holds stays.
func (c *Cluster) CutBack(end int64) {
	c.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, p.LeaderEpoch, end
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

// logFrom is the log from the batch on that holds the offset.
func logFrom(log []byte, offset int64) []byte {
	const header = 61
	for len(log) >= header {
		base := int64(binary.BigEndian.Uint64(log))
		last := base + int64(binary.BigEndian.Uint32(log[23:]))
		if last >= offset {
			return log
		}
		log = log[min(len(log), 12+int(binary.BigEndian.Uint32(log[8:]))):]
	}
	return []byte{}
}

// AccessControl are options for a cluster with ACLs, in which the first user may
// do everything.
func AccessControl() []kfake.Opt { return []kfake.Opt{kfake.EnableACLs()} }

// DescribeOnly are options of a cluster with access control and SASL users,
// of whom user may describe the topic and its configuration and do nothing
// else; it needs at least one of Options.Users.
func DescribeOnly(user, password, topic string) []kfake.Opt {
	return allowed(user, password, topic, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs)
}

// ReadOnly is DescribeOnly for a user who may read the topic too.
func ReadOnly(user, password, topic string) []kfake.Opt {
	return allowed(user, password, topic, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationRead)
}

func allowed(user, password, topic string, operations ...kmsg.ACLOperation) []kfake.Opt {
	var rules []kfake.ACL
	for _, o := range operations {
		rules = append(rules, kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: topic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: o, Allow: true})
	}
	return []kfake.Opt{kfake.EnableACLs(), kfake.User("PLAIN", user, password, rules...)}
}

// Commit stores offsets of a group without members, as an application that
// was stopped leaves them.
func (c *Cluster) Commit(ctx context.Context, group, topic string, offsets map[int32]int64) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	if ti := c.TopicInfo(topic); ti != nil {
		rt.TopicID = ti.TopicID
	}
	for p, off := range offsets {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = p, off
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, c.admin)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete deletes a topic.
func (c *Cluster) Delete(ctx context.Context, topic string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = &topic
	req.Topics, req.TopicNames = append(req.Topics, rt), []string{topic}
	resp, err := req.RequestWith(ctx, c.admin)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}
