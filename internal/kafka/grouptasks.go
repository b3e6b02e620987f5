package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// GroupPartition is a partition that a group divides.
type GroupPartition struct {
	Topic     string
	Partition int32
}

// GroupTask are partitions that go to one member together.
type GroupTask struct {
	Name       string
	Partitions []GroupPartition
}

// GroupMember is a member as the group knows it.
type GroupMember struct {
	ID    string
	Data  []byte   // what it told when it joined
	Owned []string // tasks it had then; GroupMembers does not tell
}

// TaskGroupOptions say what a group divides and how. The functions are called
// by the client's own goroutines and must not call the TaskGroup.
type TaskGroupOptions struct {
	Group string
	// Protocol names the way of dividing: brokers refuse a member that does not
	// know the one that the others use.
	Protocol string
	Tasks    []GroupTask
	// Tell is what this member tells the one that divides, each time it joins.
	Tell func() []byte
	// Divide gives every member its tasks; one member is asked, whenever
	// somebody came or went. A task that nobody gets is nobody's.
	Divide func(ctx context.Context, members []GroupMember) (map[string][]string, error)
	// Assigned receives all tasks of this member after each division.
	Assigned func(tasks []string)
	// Failed receives an error that ends the membership for good.
	Failed func(error)
}

// TaskGroup is this process's membership in a consumer group whose members
// divide tasks instead of reading records. It is franz-go's consumer, of which
// only the membership is used: nothing is fetched.
type TaskGroup struct {
	c  *Client
	o  TaskGroupOptions
	cl *kgo.Client
}

// groupTimings are a consumer's settings under their Java names, with Kafka's
// defaults; heartbeats are more frequent, because that is how members learn that
// another one came.
func (c *Client) groupTimings() (session, heartbeat time.Duration, err error) {
	session, heartbeat = 45*time.Second, 500*time.Millisecond
	for key, d := range map[string]*time.Duration{"session.timeout.ms": &session, "heartbeat.interval.ms": &heartbeat} {
		if v := strings.TrimSpace(c.cfg.Properties[key]); v != "" {
			n, err := strconv.ParseInt(v, 10, 32)
			if err != nil || n < 1 {
				return 0, 0, op.Errorf(op.Usage, "client property %s: %q is not a number of milliseconds", key, v)
			}
			*d = time.Duration(n) * time.Millisecond
		}
	}
	if c.cfg.Properties["heartbeat.interval.ms"] == "" {
		heartbeat = min(heartbeat, session/3)
	}
	if heartbeat >= session {
		return 0, 0, op.Errorf(op.Usage, "client property heartbeat.interval.ms must be less than session.timeout.ms")
	}
	return session, heartbeat, nil
}

// JoinTaskGroup makes this process a member; the group is created if need be.
// It returns before the first division.
func (c *Client) JoinTaskGroup(o TaskGroupOptions) (*TaskGroup, error) {
	session, heartbeat, err := c.groupTimings()
	if err != nil {
		return nil, err
	}
	g := &TaskGroup{c: c, o: o}
	var topics []string
	for _, t := range o.Tasks {
		for _, p := range t.Partitions {
			topics = append(topics, p.Topic)
		}
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	g.cl, err = kgo.NewClient(append(slices.Clone(c.opts), kgo.SeedBrokers(c.set.bootstrap...),
		kgo.ConsumerGroup(o.Group), kgo.Balancers(taskBalancer{g}), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(session), kgo.HeartbeatInterval(heartbeat), kgo.RebalanceTimeout(max(time.Minute, session)),
		kgo.WithHooks(groupErrors{g}))...)
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: fmt.Sprintf("join group %q", o.Group), Err: err}
	}
	g.cl.PauseFetchTopics(topics...)
	return g, nil
}

// Rebalance asks for a new division. It has an effect when Tell tells
// something else than before.
func (g *TaskGroup) Rebalance() { g.cl.ForceRebalance() }

// Leave ends the membership, so that others take over at once.
func (g *TaskGroup) Leave() {
	ctx, cancel := context.WithTimeout(context.Background(), g.c.set.setup)
	defer cancel()
	_ = g.cl.LeaveGroupContext(ctx) // else the session times out
	g.cl.Close()
}

// ErrDividing says that a commit came while the group divides anew, or after
// it has gone on without this member: to be tried again.
var ErrDividing = errors.New("the group is dividing its tasks anew")

// Commit commits offsets as a member, with their metadata.
func (g *TaskGroup) Commit(ctx context.Context, offsets []GroupOffset) error {
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := g.c.timeout(ctx)
	defer cancel()
	plain := map[string]map[int32]kgo.EpochOffset{}
	metadata := map[GroupPartition]string{}
	for _, o := range offsets {
		if plain[o.Topic] == nil {
			plain[o.Topic] = map[int32]kgo.EpochOffset{}
		}
		plain[o.Topic][o.Partition] = kgo.EpochOffset{Epoch: -1, Offset: o.Offset}
		metadata[GroupPartition{o.Topic, o.Partition}] = o.Metadata
	}
	cctx := kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			t := &req.Topics[i]
			for j := range t.Partitions {
				t.Partitions[j].Metadata = kmsg.StringPtr(metadata[GroupPartition{t.Topic, t.Partitions[j].Partition}])
			}
		}
		return nil
	})
	var failed error
	g.cl.CommitOffsetsSync(cctx, plain, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if failed == nil {
					failed = kerr.ErrorForCode(p.ErrorCode)
				}
			}
		}
	})
	what := fmt.Sprintf("commit offsets for group %q", g.o.Group)
	for _, again := range []error{kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID} {
		if errors.Is(failed, again) {
			return fmt.Errorf("%s: %w", what, ErrDividing)
		}
	}
	return g.c.explain(failed, what, groupACL("READ", g.o.Group))
}

// groupErrors tells errors that trying again does not mend.
type groupErrors struct{ g *TaskGroup }

// OnGroupManageError is kgo's hook.
func (h groupErrors) OnGroupManageError(err error) {
	g := h.g
	what := fmt.Sprintf("join group %q", g.o.Group)
	switch {
	case errors.Is(err, kerr.InconsistentGroupProtocol), errors.Is(err, kerr.GroupIDNotFound):
		g.o.Failed((&op.Error{Kind: op.Precondition, What: what, Err: errors.New("its members divide something else, or are no members of this kind")}).
			WithTry("give every worker the same specification and the same flags, or another group name"))
	case isDenied(err):
		g.o.Failed(g.c.explain(err, what, groupACL("READ", g.o.Group)))
	case errors.Is(err, kerr.InvalidSessionTimeout):
		g.o.Failed((&op.Error{Kind: op.Usage, What: what, Err: err}).
			WithTry("session.timeout.ms within the broker's group.min.session.timeout.ms and group.max.session.timeout.ms"))
	case errors.Is(err, kerr.InvalidGroupID), errors.Is(err, kerr.GroupMaxSizeReached):
		g.o.Failed(&op.Error{Kind: op.Precondition, What: what, Err: err})
	}
}

// taskBalancer divides tasks, whole ones, in the way that TaskGroupOptions say.
type taskBalancer struct{ g *TaskGroup }

func (b taskBalancer) ProtocolName() string { return b.g.o.Protocol }

// IsCooperative: a member keeps what it has while the group divides.
func (b taskBalancer) IsCooperative() bool { return true }

func (b taskBalancer) JoinGroupMetadata(topics []string, current map[string][]int32, generation int32) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics, meta.Generation, meta.UserData = 3, topics, generation, b.g.o.Tell()
	for topic, parts := range current {
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic, owned.Partitions = topic, parts
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
	}
	slices.SortFunc(meta.OwnedPartitions, func(a, b kmsg.ConsumerMemberMetadataOwnedPartition) int { return strings.Compare(a.Topic, b.Topic) })
	return meta.AppendTo(nil)
}

func (b taskBalancer) ParseSyncAssignment(data []byte) (map[string][]int32, error) {
	got, err := kgo.ParseConsumerSyncAssignment(data)
	if err != nil {
		return nil, err
	}
	b.g.o.Assigned(b.whole(func(p GroupPartition) bool { return slices.Contains(got[p.Topic], p.Partition) }))
	return got, nil
}

// whole are the tasks of which all partitions are there.
func (b taskBalancer) whole(has func(GroupPartition) bool) []string {
	var out []string
	for _, t := range b.g.o.Tasks {
		if !slices.ContainsFunc(t.Partitions, func(p GroupPartition) bool { return !has(p) }) {
			out = append(out, t.Name)
		}
	}
	return out
}

func (b taskBalancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	cb, err := kgo.NewConsumerBalancer(b, members)
	return cb, cb.MemberTopics(), err
}

// Balance is asked of the group's leader.
func (b taskBalancer) Balance(cb *kgo.ConsumerBalancer, _ map[string]int32) kgo.IntoSyncAssignment {
	var members []GroupMember
	byID := map[string]*kmsg.JoinGroupResponseMember{}
	cb.EachMember(func(m *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		byID[m.MemberID] = m
		owned := map[GroupPartition]bool{}
		for _, t := range meta.OwnedPartitions {
			for _, p := range t.Partitions {
				owned[GroupPartition{t.Topic, p}] = true
			}
		}
		members = append(members, GroupMember{m.MemberID, meta.UserData, b.whole(func(p GroupPartition) bool { return owned[p] })})
	})
	ctx, cancel := b.g.c.timeout(context.Background())
	defer cancel()
	divided, err := b.g.o.Divide(ctx, members)
	if err != nil {
		cb.SetError(err)
		return nil
	}
	plan := cb.NewPlan()
	for id, names := range divided {
		for _, t := range b.g.o.Tasks {
			if m := byID[id]; m != nil && slices.Contains(names, t.Name) {
				for _, p := range t.Partitions {
					plan.AddPartition(m, p.Topic, p.Partition)
				}
			}
		}
	}
	plan.AdjustCooperative(cb)
	return plan
}
