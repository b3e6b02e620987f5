package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Special timestamps of a ListOffsets request.
const (
	tsLatest        = -1
	tsEarliest      = -2
	tsEarliestLocal = -4 // KIP-405: the first offset that is not only in tiered storage
)

// Offsets are the log ends of the given partitions (none given: all). A
// partition whose ends cannot be read makes the whole call fail.
func (c *Client) Offsets(ctx context.Context, topic string, partitions []int32) (map[int32]PartitionOffsets, error) {
	if len(partitions) == 0 {
		ti, err := c.Topic(ctx, topic)
		if err != nil {
			return nil, err
		}
		for _, p := range ti.Partitions {
			partitions = append(partitions, p.Partition)
		}
	}
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	out := make(map[int32]PartitionOffsets, len(partitions))
	for _, q := range []struct {
		ts        int64
		committed bool
		set       func(*PartitionOffsets, int64)
	}{
		{tsEarliest, false, func(p *PartitionOffsets, o int64) { p.Start = o }},
		{tsLatest, false, func(p *PartitionOffsets, o int64) { p.End = o }},
		{tsLatest, true, func(p *PartitionOffsets, o int64) { p.LastStable = o }},
	} {
		listed, err := c.listOffsets(ctx, topic, partitions, q.ts, q.committed)
		if err != nil {
			return nil, err
		}
		for p, o := range listed {
			po := out[p]
			q.set(&po, o)
			out[p] = po
		}
	}
	return out, nil
}

// OffsetForTime is the first offset whose record has a timestamp of ms or
// later; the end offset when there is none.
func (c *Client) OffsetForTime(ctx context.Context, topic string, partition int32, ms int64) (int64, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	ps := []int32{partition}
	listed, err := c.listOffsets(ctx, topic, ps, ms, false)
	if err != nil {
		return 0, err
	}
	if o := listed[partition]; o >= 0 {
		return o, nil
	}
	listed, err = c.listOffsets(ctx, topic, ps, tsLatest, false)
	return listed[partition], err
}

// How long partitions without a leader are waited for: an election takes a
// moment, a partition that has lost its brokers takes forever. The time is that
// of all calls together, until a leader answers again.
const (
	electionTime  = 10 * time.Second
	electionPause = 250 * time.Millisecond
)

// listOffsets asks the leaders for one offset per partition; all or an error.
func (c *Client) listOffsets(ctx context.Context, topic string, partitions []int32, ts int64, committed bool) (map[int32]int64, error) {
	for {
		out, err := c.listOffsetsOnce(ctx, topic, partitions, ts, committed)
		if !isElection(err) {
			if err == nil {
				c.leaderless.Store(0)
			}
			return out, err
		}
		c.leaderless.CompareAndSwap(0, time.Now().UnixNano())
		if time.Since(time.Unix(0, c.leaderless.Load())) > electionTime {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(electionPause):
		}
	}
}

// isElection says whether a partition has no leader just now, or another one
// than was thought.
func isElection(err error) bool {
	return errors.Is(err, kerr.LeaderNotAvailable) || errors.Is(err, kerr.NotLeaderForPartition)
}

func (c *Client) listOffsetsOnce(ctx context.Context, topic string, partitions []int32, ts int64, committed bool) (map[int32]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	if committed {
		req.IsolationLevel = 1
	}
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition = p
		rp.Timestamp = ts
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	what := fmt.Sprintf("list the offsets of topic %q", topic)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			return nil, c.partitionNotFound(ctx, topic, partitions)
		}
		return nil, c.explain(err, what, topicACL("DESCRIBE", topic))
	}
	out := make(map[int32]int64, len(partitions))
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				if isUnknownTopic(err) {
					return nil, c.partitionNotFound(ctx, topic, partitions)
				}
				return nil, c.explain(err, fmt.Sprintf("list the offsets of %s-%d", topic, p.Partition), topicACL("DESCRIBE", topic))
			}
			out[p.Partition] = p.Offset
		}
	}
	for _, p := range partitions {
		if _, ok := out[p]; !ok {
			return nil, op.Errorf(op.Unreachable, "%s: no answer for partition %d", what, p)
		}
	}
	return out, nil
}

// partitionNotFound says whether it is the topic or the partition that does
// not exist.
func (c *Client) partitionNotFound(ctx context.Context, topic string, partitions []int32) error {
	ti, err := c.Topic(ctx, topic)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if p < 0 || int(p) >= len(ti.Partitions) {
			return op.Errorf(op.NotFound, "topic %q has no partition %d", topic, p).WithTry("it has %d, 0 to %d", len(ti.Partitions), len(ti.Partitions)-1)
		}
	}
	return op.Errorf(op.Unreachable, "partitions of topic %q are not available now", topic)
}
