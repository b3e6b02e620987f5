package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
)

// LogStartMovedError says that records which were still to be read are gone:
// retention, DeleteRecords or compaction of a delete policy moved the log start
// past the reader's position.
type LogStartMovedError struct {
	Topic     string
	Partition int32
	Position  int64 // the next offset to be read
	LogStart  int64 // the first offset that still exists
}

func (e *LogStartMovedError) Error() string {
	return fmt.Sprintf("read %s-%d at offset %d: the log now starts at %d, records before it are gone", e.Topic, e.Partition, e.Position, e.LogStart)
}

// Unwrap gives the error its kind; what to do is the engine's decision.
func (e *LogStartMovedError) Unwrap() error { return op.Errorf(op.Failed, "log start moved") }

// LogCutBackError says that a batch which was read is in the log no more: a
// leader without it was elected, and what it had is lost. The log may have grown
// past the position again, with other records.
type LogCutBackError struct {
	Topic     string
	Partition int32
	Position  int64 // behind the batch
	End       int64 // of what is left of the log as it was then
}

func (e *LogCutBackError) Error() string {
	return fmt.Sprintf("read %s-%d at offset %d: the log was cut back (an unclean leader election), only what is before offset %d is as it was", e.Topic, e.Partition, e.Position, e.End)
}

// Unwrap gives the error its kind and its next step.
func (e *LogCutBackError) Unwrap() error {
	return op.Errorf(op.Failed, "the log was cut back").WithTry("run the command again")
}

// TopicReplacedError says that the topic was deleted and created anew: offsets
// of the old one mean nothing in it.
type TopicReplacedError struct {
	Topic     string
	Partition int32
	Position  int64
}

func (e *TopicReplacedError) Error() string {
	return fmt.Sprintf("read %s-%d at offset %d: the topic was deleted and created anew meanwhile", e.Topic, e.Partition, e.Position)
}

// Unwrap gives the error its kind and its next step.
func (e *TopicReplacedError) Unwrap() error {
	return op.Errorf(op.Failed, "the topic was created anew").WithTry("run the command again")
}

// shownError is an error with another text.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }

// acl names what a request needs, for the message when it is denied.
type acl struct{ ops, resource, name string }

func (a *acl) String() string { return a.ops + " on " + a.resource + ":" + a.name }

func topicACL(ops, topic string) *acl { return &acl{ops, "Topic", topic} }
func groupACL(ops, group string) *acl { return &acl{ops, "Group", group} }

// explain turns an error of a request into one a person can act on. what is
// the thing that was tried, need the ACL it takes.
func (c *Client) explain(err error, what string, need *acl) error {
	if err == nil {
		return nil
	}
	var oe *op.Error
	if errors.As(err, &oe) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	e := &op.Error{Kind: op.Unreachable, What: what, Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Err = fmt.Errorf("the broker does not answer: %w", err)
		if cause := c.set.dials.last(); cause != nil {
			err = cause
			e.Err = cause
		}
	}
	switch {
	case isDenied(err) && need != nil:
		e.Err = fmt.Errorf("access denied: needs the ACL %s: %w", need, err)
		e.Try = fmt.Sprintf("kafka-acls.sh --add --allow-principal User:%s --operation %s --%s %s",
			orElse(c.set.user, "NAME"), strings.ReplaceAll(need.ops, "_", ""), strings.ToLower(need.resource), need.name)
	case isUnknownTopic(err):
		e.Kind = op.NotFound
	case isUnsupportedVersion(err):
		e.Kind = op.Failed
	default:
		e.Try = c.hint(err)
	}
	if text, ok := strings.CutPrefix(e.Err.Error(), "unable to dial: "); ok { // "dial tcp" follows
		e.Err = &shownError{text, e.Err}
	}
	return e
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func isUnsupportedVersion(err error) bool {
	return errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, kerr.UnsupportedCompressionType)
}

func isDenied(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed) ||
		errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.TransactionalIDAuthorizationFailed)
}

// Denied reports whether the broker refused a request for want of an ACL.
func Denied(err error) bool { return isDenied(err) }
