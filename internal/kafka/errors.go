package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
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
	return e
}

// hint is the likely cause of a connection that does not come about.
func (c *Client) hint(err error) string {
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var eof *kgo.ErrFirstReadEOF
	var record tls.RecordHeaderError
	var alert tls.AlertError
	withTLS, withSASL, _ := c.cfg.protocol()
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "check username and password in sasl.jaas.config, and sasl.mechanism"
	case errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return "check security.protocol and sasl.mechanism against the broker's listener"
	case errors.As(err, &unknownCA):
		return "add the certificate authority of the brokers to ssl.truststore.location"
	case errors.As(err, &host):
		return "use the name in the broker's certificate, or set ssl.endpoint.identification.algorithm to empty"
	case errors.As(err, &alert):
		return "the broker refused the TLS connection: check ssl.keystore.location and ssl.enabled.protocols"
	case errors.As(err, &record):
		return "the listener does not speak TLS: check security.protocol and the port"
	case errors.Is(err, io.EOF) && withSASL:
		return "the broker closed the connection while it was set up: check username, password, sasl.mechanism and security.protocol"
	case errors.As(err, &eof) && !withTLS:
		return "the listener may need TLS or SASL: check security.protocol (--command-config) and the port"
	}
	return ""
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
