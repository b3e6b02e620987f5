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

// CommittedOffsets are the offsets that the group has committed for the topic;
// a partition without one is left out. Commits of an open transaction are
// waited for (requireStable), as Kafka Streams does.
func (c *Client) CommittedOffsets(ctx context.Context, group, topic string) (map[int32]int64, error) {
	what := fmt.Sprintf("read the committed offsets of group %q for topic %q", group, topic)
	offsets, err := c.stableOffsets(ctx, group, what, func(t string) bool { return t == topic })
	if err != nil {
		return nil, err
	}
	out := map[int32]int64{}
	for _, o := range offsets {
		out[o.Partition] = o.Offset
	}
	return out, nil
}

// Group is the state of a group of any protocol (classic, consumer, streams)
// and how many members it has. One that does not exist is op.NotFound.
func (c *Client) Group(ctx context.Context, id string) (state string, members int, err error) {
	g, err := c.GroupUse(ctx, id)
	if err != nil {
		return "", 0, err
	}
	return g.State, g.Members, nil
}

// GroupUse is what a group does now.
type GroupUse struct {
	Protocol string // classic, consumer (KIP-848) or streams (KIP-1071)
	State    string
	Members  int
	Topics   []string // the members have subscribed to or were assigned, sorted; of the streams protocol all of its topology's
}

// GroupUse asks for a group of any protocol. One that does not exist is
// op.NotFound.
func (c *Client) GroupUse(ctx context.Context, id string) (*GroupUse, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("describe group %q", id)
	need := groupACL("DESCRIBE", id)
	for _, describe := range []func(context.Context, string) (*GroupUse, error){
		c.consumerGroup, c.classicGroup, c.streamsGroup,
	} {
		g, err := c.patiently(ctx, id, describe)
		switch {
		case err == nil:
			slices.Sort(g.Topics)
			g.Topics = slices.Compact(g.Topics)
			return g, nil
		case isDenied(err), ctx.Err() != nil:
			return nil, c.explain(err, what, need)
		case errors.Is(err, kerr.GroupIDNotFound):
		default:
			// A broker that does not know this kind of group has none.
			if !unsupported(err) {
				return nil, c.explain(err, what, need)
			}
		}
	}
	return nil, c.groupNotFound(ctx, id)
}

// patiently asks again while the group's coordinator is not there: a fresh
// cluster makes the topic that it needs at the first question.
func (c *Client) patiently(ctx context.Context, id string, describe func(context.Context, string) (*GroupUse, error)) (*GroupUse, error) {
	for try := 0; ; try++ {
		g, err := describe(ctx, id)
		if !noCoordinator(err) {
			return g, err
		}
		if sleep(ctx, c.pause(try)); ctx.Err() != nil {
			return nil, err
		}
	}
}

// noCoordinator reports whether the group's coordinator is not there yet.
func noCoordinator(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}

// classicGroup asks with DescribeGroups. Up to v5 an unknown group is "Dead".
func (c *Client) classicGroup(ctx context.Context, id string) (*GroupUse, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{id}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, err
	}
	if len(resp.Groups) != 1 {
		return nil, kerr.GroupIDNotFound
	}
	g := &resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return nil, err
	}
	if g.State == "Dead" && len(g.Members) == 0 {
		return nil, kerr.GroupIDNotFound
	}
	use := &GroupUse{Protocol: "classic", State: g.State, Members: len(g.Members)}
	for i := range g.Members {
		if g.ProtocolType != "consumer" { // of Connect, or of a schema registry
			break
		}
		var sub kmsg.ConsumerMemberMetadata
		if sub.ReadFrom(g.Members[i].ProtocolMetadata) == nil {
			use.Topics = append(use.Topics, sub.Topics...)
		}
		var got kmsg.ConsumerMemberAssignment
		if got.ReadFrom(g.Members[i].MemberAssignment) == nil {
			for _, t := range got.Topics {
				use.Topics = append(use.Topics, t.Topic)
			}
		}
	}
	return use, nil
}

// consumerGroup asks with ConsumerGroupDescribe (KIP-848).
func (c *Client) consumerGroup(ctx context.Context, id string) (*GroupUse, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{id}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, err
	}
	if len(resp.Groups) != 1 {
		return nil, kerr.GroupIDNotFound
	}
	g := &resp.Groups[0]
	use := &GroupUse{Protocol: "consumer", State: g.State, Members: len(g.Members)}
	for i := range g.Members {
		m := &g.Members[i]
		use.Topics = append(use.Topics, m.SubscribedTopics...)
		for _, t := range slices.Concat(m.Assignment.TopicPartitions, m.TargetAssignment.TopicPartitions) {
			use.Topics = append(use.Topics, t.Topic)
		}
	}
	return use, kerr.ErrorForCode(g.ErrorCode)
}

// streamsGroup asks with StreamsGroupDescribe (KIP-1071).
func (c *Client) streamsGroup(ctx context.Context, id string) (*GroupUse, error) {
	g, err := c.describeStreamsGroup(ctx, id, false)
	if err != nil {
		return nil, err
	}
	use := &GroupUse{Protocol: "streams", State: g.State, Members: len(g.Members)}
	if g.Topology != nil {
		for _, s := range g.Topology.Subtopologies {
			use.Topics = append(use.Topics, slices.Concat(s.SourceTopics, s.RepartitionSinkTopics, topicNames(s.RepartitionSourceTopics), topicNames(s.StateChangelogTopics))...)
		}
	}
	return use, nil
}

// unsupported tells that a broker does not know a request or refuses its kind.
func unsupported(err error) bool {
	return errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, kerr.InvalidRequest) ||
		strings.Contains(err.Error(), "broker is too old") || strings.Contains(err.Error(), "request key is unknown")
}

func (c *Client) groupNotFound(ctx context.Context, id string) error {
	e := op.Errorf(op.NotFound, "group %q does not exist at %s", id, c.address())
	listed, err := c.adm.ListGroups(ctx)
	if err != nil {
		return e
	}
	if near := Nearest(id, listed.Groups(), 3); len(near) > 0 {
		return e.WithTry("the nearest existing groups: %s", strings.Join(near, ", "))
	}
	return e
}
