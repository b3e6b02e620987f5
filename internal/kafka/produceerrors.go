package kafka

import (
	"errors"
	"fmt"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// stalled is the error when a batch could not be written in time.
func (p *Producer) stalled(d *delivery) error {
	what := fmt.Sprintf("%s: partition %d took nothing for %s", p.what, d.l.partition, p.stall())
	err := d.last
	if isUnknownTopic(err) { // the metadata knew it
		err = errors.New(err.Error())
	}
	e, ok := p.c.explain(err, what, topicACL("WRITE", p.o.Topic)).(*op.Error)
	switch {
	case !ok:
		return err
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		return e.WithTry("bring the brokers of the topic back: fewer replicas are in sync than its min.insync.replicas")
	case e.Try == "":
		return e.WithTry("check the brokers, or allow more with delivery.timeout.ms in the client properties")
	}
	return e
}

// tooLarge is the error for a single record that the topic does not take.
func (p *Producer) tooLarge(d *delivery) error {
	return op.Errorf(op.Failed, "%s: a record of partition %d takes %d bytes, more than the topic's max.message.bytes", p.what, d.l.partition, len(d.b.buf)).
		WithTry("raise max.message.bytes of the topic")
}

// refused is the error for a batch that no retry helps.
func (p *Producer) refused(d *delivery, err error, part *kmsg.ProduceResponseTopicPartition) error {
	what := fmt.Sprintf("%s: partition %d", p.what, d.l.partition)
	text := ""
	if part.ErrorMessage != nil {
		text = *part.ErrorMessage
	}
	for _, r := range part.ErrorRecords {
		if r.ErrorMessage != nil && *r.ErrorMessage != "" {
			text = fmt.Sprintf("record %d of %d: %s", r.RelativeOffset, d.b.count, *r.ErrorMessage)
			break
		}
	}
	if text != "" {
		err = &shownError{err.Error() + ": " + text, err}
	}
	switch {
	case isDenied(err):
		return p.c.explain(err, what, topicACL("WRITE", p.o.Topic))
	case errors.Is(err, kerr.OutOfOrderSequenceNumber), errors.Is(err, kerr.UnknownProducerID), errors.Is(err, kerr.DuplicateSequenceNumber):
		return &op.Error{Kind: op.Failed, What: what, Err: fmt.Errorf("the broker does not know all that it had confirmed, records may be lost (an unclean leader election?): %w", err),
			Try: "run the command again: it reads back what is there"}
	case errors.Is(err, kerr.InvalidTimestamp):
		return &op.Error{Kind: op.Failed, What: what, Err: err, Try: "see message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic"}
	}
	return &op.Error{Kind: op.Failed, What: what, Err: err}
}
