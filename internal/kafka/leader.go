package kafka

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// leader is who answers fetches of the partition; id -1: not known.
type leader struct {
	id, epoch int32
	known     int32 // the last id that was known, to tell a move
	topicID   [16]byte
}

func noLeader() leader { return leader{id: -1, epoch: -1, known: -1} }

// unknownsForMissing is how many metadata answers in a row must say that a
// topic does not exist: a broker that has just started knows none.
const unknownsForMissing = 3

// findLeader asks until it knows the partition's leader.
func (r *PartitionReader) findLeader(ctx context.Context, deadline time.Time) error {
	unknown := 0
	var last error
	for try := 0; ; try++ {
		if try > 0 {
			sleep(ctx, r.c.pause(try-1))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return r.stalled(ctx, last)
		}
		missing, err := r.lookup(ctx, deadline)
		if err == nil {
			return nil
		}
		var fatal *fatalError
		if errors.As(err, &fatal) {
			return fatal.err
		}
		if unknown++; !missing {
			unknown = 0
		}
		if unknown >= unknownsForMissing {
			if _, e := r.c.Topic(ctx, r.o.Topic); op.KindOf(e) == op.NotFound {
				return e
			}
			return err
		}
		if last = err; try > 0 && !missing {
			r.event(ReadRetry, err, "looking for the partition's leader")
		}
	}
}

// lookup asks once; missing tells that the topic or partition is not there.
func (r *PartitionReader) lookup(ctx context.Context, deadline time.Time) (missing bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	resp, err := r.c.metadata(ctx, r.f.Client, []string{r.o.Topic})
	if err != nil {
		if permanent(err) {
			return false, &fatalError{r.c.explain(err, r.what(), nil)}
		}
		return false, err
	}
	notFound := op.Errorf(op.NotFound, "topic %q does not exist", r.o.Topic)
	if len(resp.Topics) != 1 {
		return true, notFound
	}
	t := &resp.Topics[0]
	switch err := kerr.ErrorForCode(t.ErrorCode); err {
	case nil, kerr.LeaderNotAvailable:
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID:
		return true, notFound
	case kerr.TopicAuthorizationFailed, kerr.InvalidTopicException:
		return false, &fatalError{r.c.explain(err, r.what(), topicACL("DESCRIBE", r.o.Topic))}
	default:
		return false, err
	}
	var zero [16]byte
	if r.lead.topicID != zero && t.TopicID != zero && t.TopicID != r.lead.topicID {
		return false, &fatalError{&TopicReplacedError{Topic: r.o.Topic, Partition: r.o.Partition, Position: r.pos}}
	}
	for _, p := range t.Partitions {
		if p.Partition != r.o.Partition {
			continue
		}
		if p.Leader < 0 {
			return false, fmt.Errorf("the partition has no leader: %w", kerr.LeaderNotAvailable)
		}
		if r.lead.known >= 0 && r.lead.known != p.Leader {
			r.event(ReadLeaderMoved, nil, "broker %d leads the partition now, it was %d", p.Leader, r.lead.known)
		}
		r.lead = leader{id: p.Leader, epoch: p.LeaderEpoch, known: p.Leader, topicID: t.TopicID}
		return false, nil
	}
	return true, op.Errorf(op.NotFound, "topic %q has no partition %d", r.o.Topic, r.o.Partition).WithTry("it has %d, 0 to %d", len(t.Partitions), len(t.Partitions)-1)
}

// stalled is the error when the position has not moved for StallTimeout.
func (r *PartitionReader) stalled(ctx context.Context, last error) error {
	if last == nil && r.txnSeen {
		txns, _ := r.c.OpenTransactions(ctx, r.o.Topic, r.o.Partition) // best effort: it takes another ACL
		return &OpenTransactionError{Topic: r.o.Topic, Partition: r.o.Partition, LastStable: r.pos, To: r.o.To,
			Waited: r.o.StallTimeout, Transactions: txns}
	}
	if last == nil {
		last = errors.New("the broker has no records there (its log may have been cut back)")
	}
	if isUnknownTopic(last) { // the metadata knows the topic: a broker lags behind
		last = errors.New(last.Error())
	}
	what := fmt.Sprintf("%s: no progress for %s", r.what(), r.o.StallTimeout)
	err := r.c.explain(last, what, topicACL("READ", r.o.Topic))
	var oe *op.Error
	switch {
	case !errors.As(err, &oe):
	case oe.Try == "":
		err = oe.WithTry("check the brokers, or allow more with --stall-timeout")
	case mayStart(err):
		err = oe.WithTry("%s; or allow more with --stall-timeout", oe.Try)
	}
	return err
}

// permanent tells errors that trying again does not cure.
func permanent(err error) bool {
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.Is(err, kgo.ErrClientClosed) || errors.Is(err, kerr.SaslAuthenticationFailed) ||
		errors.Is(err, kerr.UnsupportedSaslMechanism) || isDenied(err) ||
		errors.As(err, &unknownCA) || errors.As(err, &host) || errors.As(err, &invalid) || isAlert(err) && strings.Contains(err.Error(), "certificate")
}

// pause is the time before the given retry, 0 the first.
func (c *Client) pause(try int) time.Duration { return pause(c.set, try) }

func pause(set settings, try int) time.Duration {
	return min(set.backoff<<min(max(try, 0), 10), set.backoffMax)
}

// sleep waits, or less when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
