package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicInfo is a topic and where its partitions are led.
type TopicInfo struct {
	Name       string
	ID         [16]byte // zero before Kafka 2.8
	Internal   bool
	Partitions []PartitionInfo // in partition order
}

// PartitionInfo is one partition of a topic.
type PartitionInfo struct {
	Partition   int32
	Leader      int32 // -1: no leader now
	LeaderEpoch int32
	Replicas    int
	InSync      int
}

// PartitionOffsets are the ends of a partition's log.
type PartitionOffsets struct {
	Start      int64
	End        int64 // the high watermark, what read_uncommitted sees
	LastStable int64 // the end for read_committed
}

func topicInfo(t *kmsg.MetadataResponseTopic) TopicInfo {
	ti := TopicInfo{ID: t.TopicID, Internal: t.IsInternal}
	if t.Topic != nil {
		ti.Name = *t.Topic
	}
	for _, p := range t.Partitions {
		ti.Partitions = append(ti.Partitions, PartitionInfo{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: len(p.Replicas), InSync: len(p.ISR),
		})
	}
	slices.SortFunc(ti.Partitions, func(a, b PartitionInfo) int { return int(a.Partition - b.Partition) })
	return ti
}

// Topic describes one topic. A missing one is op.NotFound and names the
// nearest existing topics.
func (c *Client) Topic(ctx context.Context, name string) (*TopicInfo, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("look up topic %q at %s", name, c.address())
	resp, err := c.metadata(ctx, c.cl, []string{name})
	if err != nil {
		return nil, c.explain(err, what, nil)
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || *t.Topic != name {
			continue
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); err {
		case nil, kerr.LeaderNotAvailable:
			ti := topicInfo(t)
			return &ti, nil
		case kerr.UnknownTopicOrPartition, kerr.InvalidTopicException:
			return nil, c.topicNotFound(ctx, name)
		default:
			return nil, c.explain(err, what, topicACL("DESCRIBE", name))
		}
	}
	return nil, c.topicNotFound(ctx, name)
}

func (c *Client) topicNotFound(ctx context.Context, name string) error {
	e := op.Errorf(op.NotFound, "topic %q does not exist at %s (or the user may not DESCRIBE it)", name, c.address())
	all, err := c.Topics(ctx)
	if err != nil {
		return e
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if near := Nearest(name, names, 3); len(near) > 0 {
		return e.WithTry("the nearest existing topics: %s", strings.Join(near, ", "))
	}
	return e
}

// Topics describes every topic the user may see, by name.
func (c *Client) Topics(ctx context.Context) ([]TopicInfo, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	resp, err := c.metadata(ctx, c.cl, nil)
	if err != nil {
		return nil, c.explain(err, "list the topics of "+c.address(), nil)
	}
	var out []TopicInfo
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic != nil && (t.ErrorCode == 0 || t.ErrorCode == kerr.LeaderNotAvailable.Code) {
			out = append(out, topicInfo(t))
		}
	}
	slices.SortFunc(out, func(a, b TopicInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// TopicConfig is the topic's effective configuration, defaults included.
func (c *Client) TopicConfig(ctx context.Context, name string) (map[string]string, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("read the configuration of topic %q", name)
	rcs, err := c.adm.DescribeTopicConfigs(ctx, name)
	if err == nil {
		if len(rcs) == 0 {
			return nil, c.topicNotFound(ctx, name)
		}
		if err = rcs[0].Err; err == nil {
			out := make(map[string]string, len(rcs[0].Configs))
			for _, kv := range rcs[0].Configs {
				out[kv.Key] = kv.MaybeValue()
			}
			return out, nil
		}
	}
	if isUnknownTopic(err) {
		return nil, c.topicNotFound(ctx, name)
	}
	return nil, c.explain(err, what, topicACL("DESCRIBE_CONFIGS", name))
}

func isUnknownTopic(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InvalidTopicException)
}

// Brokers is how many brokers the cluster has now.
func (c *Client) Brokers(ctx context.Context) (int, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	resp, err := c.metadata(ctx, c.cl, []string{})
	if err != nil {
		return 0, c.explain(err, "count the brokers of "+c.address(), nil)
	}
	return len(resp.Brokers), nil
}
