package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
)

// looks is how often the watch looks at the partitions within the time that
// one of them may take nothing. It counts looks, not time: a process that was
// stopped for a while has not waited.
const looks = 8

// watch waits for the first failure and finds out what a person needs to know
// of it.
func (p *Producer) watch() {
	tick := time.NewTicker(p.c.set.delivery / looks)
	defer tick.Stop()
	for {
		select {
		case <-p.life.Done():
			return
		case f := <-p.first:
			p.fail(p.refused(f))
			return
		case <-tick.C:
			if partition := p.stuck(); partition >= 0 {
				p.stop()
				p.fail(p.stalled(partition))
				return
			}
		}
	}
}

// stuck is a partition that takes nothing, -1: none.
func (p *Producer) stuck() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing { // watch hears of it
		return -1
	}
	for i := range p.lanes {
		l := &p.lanes[i]
		if l.still++; l.sent == l.done || l.done != l.seen {
			l.seen, l.still = l.done, 0
		}
		if l.still > looks {
			p.failing = true
			return int32(i)
		}
	}
	return -1
}

// stalled is the error when a partition took nothing in time. Why franz-go had
// to try again it does not say; the brokers are asked.
func (p *Producer) stalled(partition int32) error {
	what := fmt.Sprintf("%s: partition %d took nothing for %s", p.what, partition, p.c.set.delivery)
	fail := func(err error, try string) error {
		return &op.Error{Kind: op.Unreachable, What: what, Err: err, Try: try}
	}
	const wait = "check the brokers, or allow more with delivery.timeout.ms in the client properties"
	ctx, cancel := context.WithTimeout(p.life, 2*p.c.set.setup)
	defer cancel()
	ti, err := p.topic(ctx)
	var e *op.Error
	switch {
	case errors.As(err, &e) && e.Kind == op.Unreachable:
		return fail(err, cmp.Or(e.Try, wait))
	case err != nil:
		return err
	case int(partition) >= len(ti.Partitions):
		return fail(errors.New("the topic does not have it any more"), wait)
	}
	part := ti.Partitions[partition]
	if part.Leader < 0 {
		return fail(fmt.Errorf("it has no leader: %w", kerr.LeaderNotAvailable), wait)
	}
	if conf, err := p.c.TopicConfig(ctx, p.o.Topic); err == nil {
		if least, err := strconv.Atoi(conf["min.insync.replicas"]); err == nil && part.InSync < least {
			return fail(fmt.Errorf("%d of %d replicas are in sync: %w", part.InSync, part.Replicas, kerr.NotEnoughReplicas),
				"bring the brokers of the topic back: fewer replicas are in sync than its min.insync.replicas")
		}
	}
	err = p.c.explain(context.DeadlineExceeded, what, nil)
	if errors.As(err, &e) && e.Try == "" {
		err = e.WithTry(wait)
	}
	return err
}

// topic looks the topic up; one that was made anew is another topic.
func (p *Producer) topic(ctx context.Context) (*TopicInfo, error) {
	ti, err := p.c.Topic(ctx, p.o.Topic)
	var zero [16]byte
	if err == nil && ti.ID != p.topicID && ti.ID != zero && p.topicID != zero {
		return nil, op.Errorf(op.Precondition, "%s: the topic was deleted and created anew meanwhile", p.what).WithTry("run the command again")
	}
	return ti, err
}

// writeACL is what the user lacks when the error is a denial.
func (p *Producer) writeACL(err error) *acl {
	if errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return &acl{"IDEMPOTENT_WRITE", "Cluster", "kafka-cluster"}
	}
	return topicACL("WRITE", p.o.Topic) // since Kafka 2.8 that will do, on any topic
}

// refused is the error for a record that no retry helps.
func (p *Producer) refused(f failure) error {
	what := fmt.Sprintf("%s: partition %d", p.what, f.partition)
	if isUnknownTopic(f.err) {
		if _, err := p.topic(p.life); err != nil {
			return err
		}
		f.err = errors.New(f.err.Error()) // the metadata knows it
	}
	e := &op.Error{Kind: op.Failed, What: what, Err: f.err}
	switch {
	case isDenied(f.err), permanent(f.err):
		return p.c.explain(f.err, what, p.writeACL(f.err))
	case errors.Is(f.err, kerr.OutOfOrderSequenceNumber), errors.Is(f.err, kerr.UnknownProducerID), errors.Is(f.err, kerr.DuplicateSequenceNumber):
		e.Err = fmt.Errorf("the broker does not know all that it had confirmed, records may be lost (an unclean leader election?): %w", f.err)
		e.Try = "run the command again: it reads back what is there"
	case errors.Is(f.err, kerr.InvalidTimestamp):
		e.Try = "see message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic"
	case errors.Is(f.err, kerr.InvalidRecord):
		e.Try = "a compacted topic takes no record without key; the broker's log says more"
	case errors.Is(f.err, kerr.MessageTooLarge), errors.Is(f.err, kerr.RecordListTooLarge):
		e.Try = "raise max.message.bytes of the topic, or allow the user DESCRIBE_CONFIGS on it, so that batches fit"
	}
	return e
}
