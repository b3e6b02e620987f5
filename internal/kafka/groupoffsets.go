package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// GroupOffset is one committed offset of a group.
type GroupOffset struct {
	Topic       string
	Partition   int32
	Offset      int64
	LeaderEpoch int32 // -1: none
	Metadata    string
}

// GroupOffsets are all offsets that the group has committed, by topic and
// partition. Commits of an open transaction are waited for (requireStable). A
// group that does not exist has none.
func (c *Client) GroupOffsets(ctx context.Context, group string) ([]GroupOffset, error) {
	what := fmt.Sprintf("read the committed offsets of group %q", group)
	return c.stableOffsets(ctx, group, what, func(string) bool { return true })
}

// stableOffsets are the committed offsets of the topics that are asked for,
// once no transaction is about to change them.
func (c *Client) stableOffsets(ctx context.Context, group, what string, asked func(topic string) bool) ([]GroupOffset, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	for try := 0; ; try++ {
		resp, err := c.adm.FetchOffsets(kadm.RequireStable(ctx), group)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil, nil
		}
		if noCoordinator(err) {
			if sleep(ctx, c.pause(try)); ctx.Err() == nil {
				continue
			}
		}
		if err != nil {
			return nil, c.explain(err, what, groupACL("DESCRIBE", group))
		}
		var out []GroupOffset
		var unstable, failed error
		resp.Each(func(o kadm.OffsetResponse) {
			switch {
			case !asked(o.Topic):
			case errors.Is(o.Err, kerr.UnstableOffsetCommit):
				unstable = o.Err
			case o.Err != nil:
				failed = c.explain(o.Err, what, topicACL("DESCRIBE", o.Topic))
			case o.At >= 0:
				out = append(out, GroupOffset{o.Topic, o.Partition, o.At, o.LeaderEpoch, o.Metadata})
			}
		})
		if failed != nil {
			return nil, failed
		}
		if unstable == nil {
			slices.SortFunc(out, func(a, b GroupOffset) int {
				return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
			})
			return out, nil
		}
		if sleep(ctx, c.pause(try)); ctx.Err() != nil {
			return nil, (&op.Error{Kind: op.Unreachable, What: what, Err: unstable}).
				WithTry("a transaction of the application is open: wait until it ends, or look for it with kafka-transactions.sh find-hanging")
		}
	}
}

// CommitGroupOffsets commits offsets for a group without members, which is
// created if need be. A group with members is op.Precondition.
func (c *Client) CommitGroupOffsets(ctx context.Context, group string, offsets []GroupOffset) error {
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("commit offsets for group %q", group)
	os := kadm.Offsets{}
	for _, o := range offsets {
		os.Add(kadm.Offset{Topic: o.Topic, Partition: o.Partition, At: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata})
	}
	explain := func(err error, topic string) error {
		switch {
		case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.RebalanceInProgress),
			errors.Is(err, kerr.NonEmptyGroup), errors.Is(err, kerr.FencedMemberEpoch), errors.Is(err, kerr.StaleMemberEpoch):
			return (&op.Error{Kind: op.Precondition, What: what, Err: errors.New("the group has members")}).WithTry("stop the application")
		case errors.Is(err, kerr.GroupAuthorizationFailed):
			return c.explain(err, what, groupACL("READ", group))
		}
		return c.explain(err, what, topicACL("READ", topic))
	}
	resp, err := c.adm.CommitOffsets(ctx, group, os)
	if err != nil {
		return explain(err, offsets[0].Topic)
	}
	var failed error
	resp.Each(func(o kadm.OffsetResponse) {
		if o.Err != nil && failed == nil {
			failed = explain(o.Err, o.Topic)
		}
	})
	return failed
}

// DeleteGroup deletes a group without members, with its offsets. One that does
// not exist is fine.
func (c *Client) DeleteGroup(ctx context.Context, group string) error {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("delete group %q", group)
	_, err := c.adm.DeleteGroup(ctx, group)
	switch {
	case err == nil, errors.Is(err, kerr.GroupIDNotFound):
		return nil
	case errors.Is(err, kerr.NonEmptyGroup):
		return (&op.Error{Kind: op.Precondition, What: what, Err: errors.New("the group has members")}).WithTry("stop the application")
	}
	return c.explain(err, what, groupACL("DELETE", group))
}

// DeleteGroupOffsets deletes the group's committed offsets for one topic's
// partitions; the group must not read the topic. Brokers refuse it for a topic
// that does not exist: its offsets went with it, or go when they expire.
func (c *Client) DeleteGroupOffsets(ctx context.Context, group, topic string, partitions []int32) error {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("delete the committed offsets of group %q for topic %q", group, topic)
	set := kadm.TopicsSet{}
	set.Add(topic, partitions...)
	resp, err := c.adm.DeleteOffsets(ctx, group, set)
	if err == nil {
		err = resp.Error()
	}
	switch {
	case err == nil, errors.Is(err, kerr.GroupIDNotFound):
		return nil
	case errors.Is(err, kerr.GroupSubscribedToTopic), errors.Is(err, kerr.NonEmptyGroup):
		return (&op.Error{Kind: op.Precondition, What: what, Err: errors.New("its members read it")}).WithTry("stop the application")
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return c.explain(err, what, groupACL("DELETE", group))
	}
	return c.explain(err, what, topicACL("READ", topic))
}
