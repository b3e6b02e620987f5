package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// checkIdle refuses while the application's group has members. Who may not see
// the group does not know, and that counts as active. A group that does not
// exist is idle.
func checkIdle(ctx context.Context, c *kafka.Client, applicationID string) error {
	what := fmt.Sprintf("application %q must be stopped", applicationID)
	state, members, err := c.Group(ctx, applicationID)
	switch {
	case op.KindOf(err) == op.NotFound:
		return nil
	case kafka.Denied(err):
		return &op.Error{Kind: op.Precondition, What: what, Err: fmt.Errorf("whether it is cannot be seen: %w", err)}
	case err != nil:
		return err
	case members > 0:
		return op.Errorf(op.Precondition, "%s: its group has %d members (%s)", what, members, state).
			WithTry("stop every instance. Kafka Streams does not leave the group when it closes: the members are there until session.timeout.ms is over (--wait waits for that)")
	}
	return nil
}

// waitIdle is checkIdle that waits for members to leave.
func waitIdle(ctx context.Context, c *kafka.Client, applicationID string, wait time.Duration, sink op.Sink) error {
	deadline := time.Now().Add(wait)
	for told := false; ; {
		err := checkIdle(ctx, c, applicationID)
		if op.KindOf(err) != op.Precondition || kafka.Denied(err) || time.Now().After(deadline) {
			return err
		}
		if !told {
			sink.Emit(op.Event{Type: op.Phase, Name: "wait", Message: fmt.Sprintf("the group %q has members: waiting up to %s until it has none", applicationID, wait)})
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// checkCluster refuses another cluster than the wanted one; "" wants any.
func checkCluster(ctx context.Context, c *kafka.Client, want string) error {
	got, err := c.ClusterID(ctx)
	if err == nil && want != "" && got != want {
		err = op.Errorf(op.Precondition, "the cluster is %q, not %q, which this is about", got, want).WithTry("check --bootstrap-server and the context")
	}
	return err
}

// changelogFacts are what is known of a changelog that may be written to.
type changelogFacts struct {
	Topic   *kafka.TopicInfo
	Offsets map[int32]kafka.PartitionOffsets
	Config  map[string]string // effective
}

// ID is the topic's id, "" before Kafka 2.8.
func (f *changelogFacts) ID() string { return idOf(f.Topic) }

func idOf(t *kafka.TopicInfo) string {
	if t.ID == [16]byte{} {
		return ""
	}
	return topicID(t.ID)
}

// Ends are the end offsets of all partitions.
func (f *changelogFacts) Ends() map[int32]int64 {
	out := map[int32]int64{}
	for p, o := range f.Offsets {
		out[p] = o.End
	}
	return out
}

// checkChangelog refuses what is not a changelog that Kafka Streams made for
// the application, one that is not compacted, and one with an open transaction.
func checkChangelog(ctx context.Context, c *kafka.Client, applicationID, topic string) (*changelogFacts, error) {
	if _, ok := streams.StoreOfChangelog(applicationID, topic); !ok {
		return nil, op.Errorf(op.Precondition, "topic %q is not a changelog of application %q: it belongs to somebody else, and is never written", topic, applicationID).
			WithTry("an optimised KTable and a global table keep no changelog of their own: delete rows by sending nulls where the topic is written")
	}
	ti, err := c.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	f := &changelogFacts{Topic: ti}
	if f.Config, err = c.TopicConfig(ctx, topic); err != nil {
		return nil, err
	}
	policy := strings.Split(strings.ReplaceAll(f.Config["cleanup.policy"], " ", ""), ",")
	if !slices.Contains(policy, "compact") {
		return nil, op.Errorf(op.Precondition, "topic %q has cleanup.policy=%s: without compact it is no changelog of a key-value store", topic, f.Config["cleanup.policy"])
	}
	if f.Offsets, err = c.Offsets(ctx, topic, nil); err != nil {
		return nil, err
	}
	return f, checkNoTransaction(ctx, c, topic, f.Offsets)
}

// checkNoTransaction refuses a topic with a transaction that is neither
// committed nor aborted.
func checkNoTransaction(ctx context.Context, c *kafka.Client, topic string, offsets map[int32]kafka.PartitionOffsets) error {
	for p, o := range offsets {
		if o.LastStable >= o.End {
			continue
		}
		txns, _ := c.OpenTransactions(ctx, topic, p) // best effort: it takes another ACL
		e := &kafka.OpenTransactionError{Topic: topic, Partition: p, LastStable: o.LastStable, To: o.End, Transactions: txns}
		return &op.Error{Kind: op.Precondition, What: fmt.Sprintf("%s-%d has an open transaction", topic, p), Err: errors.Unwrap(e), Try: "wait until it ends (transaction.timeout.ms); an instance of the application that died may have left it"}
	}
	return nil
}

// checkEnds refuses a topic that has grown, or was cut, since it was looked at.
func checkEnds(ctx context.Context, c *kafka.Client, topic string, planned map[int32]int64) error {
	offsets, err := c.Offsets(ctx, topic, nil)
	if err != nil {
		return err
	}
	if err := checkNoTransaction(ctx, c, topic, offsets); err != nil {
		return err
	}
	if len(offsets) != len(planned) {
		return op.Errorf(op.Precondition, "topic %q has %d partitions, it had %d", topic, len(offsets), len(planned)).WithTry("run it again")
	}
	for p, end := range planned {
		if now := offsets[p].End; now != end {
			return op.Errorf(op.Precondition, "%s-%d ends at %d, not at %d: somebody has written to it since it was looked at", topic, p, now, end).
				WithTry("see that the application is stopped, and run it again: it is planned anew")
		}
	}
	return nil
}

// checkWritable refuses when the broker says that the user may not write.
func checkWritable(ctx context.Context, c *kafka.Client, topic string) error {
	may, err := c.MayWrite(ctx, topic)
	if err == nil && !may {
		err = op.Errorf(op.Precondition, "the user may not write to topic %q: it needs the ACL WRITE on Topic:%s", topic, topic)
	}
	return err
}

// checkStill refuses a complete migration whose old topic has got records since
// it was copied: the application has run under the old names, and what it would
// go on from under the new ones is older than its committed offsets.
func checkStill(ctx context.Context, c *kafka.Client, t *CopiedTopic, file string) error {
	old, err := c.Topic(ctx, t.Old)
	if op.KindOf(err) == op.NotFound || err == nil && topicID(old.ID) != t.OldID {
		return nil // it is no longer what was copied
	}
	if err != nil {
		return err
	}
	ends, err := c.Offsets(ctx, t.Old, nil)
	if err != nil {
		return err
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if end := ends[p.Partition].End; end != p.End {
			return op.Errorf(op.Precondition, "%s-%d ends at offset %d, it was copied up to %d: the application has run under the old name since", t.Old, p.Partition, end, p.End).
				WithTry("do not start it under the new names: they are behind. sstool migrate abort %s removes the copies, then migrate anew", file)
		}
	}
	return nil
}
