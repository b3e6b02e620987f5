package kafka

import (
	"context"
	"errors"
	"fmt"
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
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("describe group %q", id)
	need := groupACL("DESCRIBE", id)
	for _, describe := range []func(context.Context, string) (string, int, error){
		c.consumerGroup, c.classicGroup, c.streamsGroup,
	} {
		state, members, err := c.patiently(ctx, id, describe)
		switch {
		case err == nil:
			return state, members, nil
		case isDenied(err), ctx.Err() != nil:
			return "", 0, c.explain(err, what, need)
		case errors.Is(err, kerr.GroupIDNotFound):
		default:
			// A broker that does not know this kind of group has none.
			if !unsupported(err) {
				return "", 0, c.explain(err, what, need)
			}
		}
	}
	return "", 0, c.groupNotFound(ctx, id)
}

// patiently asks again while the group's coordinator is not there: a fresh
// cluster makes the topic that it needs at the first question.
func (c *Client) patiently(ctx context.Context, id string, describe func(context.Context, string) (string, int, error)) (string, int, error) {
	for try := 0; ; try++ {
		state, members, err := describe(ctx, id)
		if !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.CoordinatorLoadInProgress) && !errors.Is(err, kerr.NotCoordinator) {
			return state, members, err
		}
		if sleep(ctx, c.pause(try)); ctx.Err() != nil {
			return "", 0, err
		}
	}
}

// classicGroup asks with DescribeGroups. Up to v5 an unknown group is "Dead".
func (c *Client) classicGroup(ctx context.Context, id string) (string, int, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{id}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return "", 0, err
	}
	if len(resp.Groups) != 1 {
		return "", 0, kerr.GroupIDNotFound
	}
	g := &resp.Groups[0]
	if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
		return "", 0, err
	}
	if g.State == "Dead" && len(g.Members) == 0 {
		return "", 0, kerr.GroupIDNotFound
	}
	return g.State, len(g.Members), nil
}

// consumerGroup asks with ConsumerGroupDescribe (KIP-848).
func (c *Client) consumerGroup(ctx context.Context, id string) (string, int, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{id}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return "", 0, err
	}
	if len(resp.Groups) != 1 {
		return "", 0, kerr.GroupIDNotFound
	}
	g := &resp.Groups[0]
	return g.State, len(g.Members), kerr.ErrorForCode(g.ErrorCode)
}

// streamsGroup asks with StreamsGroupDescribe (KIP-1071).
func (c *Client) streamsGroup(ctx context.Context, id string) (string, int, error) {
	g, err := c.describeStreamsGroup(ctx, id, false)
	if err != nil {
		return "", 0, err
	}
	return g.State, len(g.Members), nil
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
