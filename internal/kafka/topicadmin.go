package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// NewTopic is a topic to be created.
type NewTopic struct {
	Name              string
	Partitions        int
	ReplicationFactor int // 0: the cluster's default
	Configs           map[string]string
}

// CreateTopic creates a topic and waits until its partitions have leaders. One
// that exists is op.Precondition.
func (c *Client) CreateTopic(ctx context.Context, t NewTopic) error {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("create topic %q", t.Name)
	replicas := int16(-1)
	if t.ReplicationFactor > 0 {
		replicas = int16(t.ReplicationFactor)
	}
	configs := map[string]*string{}
	for k, v := range t.Configs {
		configs[k] = &v
	}
	resp, err := c.adm.CreateTopic(ctx, int32(t.Partitions), replicas, configs, t.Name)
	switch {
	case err == nil:
	case errors.Is(err, kerr.TopicAlreadyExists):
		return op.Errorf(op.Precondition, "%s: it exists already", what)
	case isDenied(err):
		return c.explain(err, what, topicACL("CREATE", t.Name))
	default:
		return c.adminError(err, resp.ErrMessage, what)
	}
	for try := 0; ; try++ {
		ti, err := c.Topic(ctx, t.Name)
		if err == nil && len(ti.Partitions) == t.Partitions && !slices.ContainsFunc(ti.Partitions, func(p PartitionInfo) bool { return p.Leader < 0 }) {
			return nil
		}
		if err != nil && op.KindOf(err) != op.NotFound {
			return err
		}
		if sleep(ctx, c.pause(try)); ctx.Err() != nil {
			return c.explain(ctx.Err(), what+": it was created, and has no leaders yet", nil)
		}
	}
}

// adminError explains what a controller refused; the request reached it.
func (c *Client) adminError(err error, message, what string) error {
	var ke *kerr.Error
	if !errors.As(err, &ke) {
		return c.explain(err, what, nil)
	}
	e := &op.Error{Kind: op.Failed, What: what, Err: err}
	if message != "" {
		e.Err = &shownError{ke.Message + ": " + message, err}
	}
	switch ke {
	case kerr.InvalidReplicationFactor:
		e.Try = "the cluster has too few brokers for the replication factor"
	case kerr.TopicDeletionDisabled:
		e.Try = "the brokers have delete.topic.enable=false"
	case kerr.NotController, kerr.RequestTimedOut:
		e.Kind, e.Try = op.Unreachable, "check the controllers, and run it again"
	}
	return e
}

// TopicOverrides are the settings that the topic itself has; what it gets from
// the brokers' configuration or defaults is left out.
func (c *Client) TopicOverrides(ctx context.Context, topic string) (map[string]string, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	rcs, err := c.adm.DescribeTopicConfigs(ctx, topic)
	if err == nil && len(rcs) == 1 {
		err = rcs[0].Err
	}
	switch {
	case err == nil && len(rcs) == 0, isUnknownTopic(err):
		return nil, c.topicNotFound(ctx, topic)
	case err != nil:
		return nil, c.explain(err, fmt.Sprintf("read the configuration of topic %q", topic), topicACL("DESCRIBE_CONFIGS", topic))
	}
	out := map[string]string{}
	for _, kv := range rcs[0].Configs {
		if kv.Source == kmsg.ConfigSourceDynamicTopicConfig && kv.Value != nil {
			out[kv.Key] = *kv.Value
		}
	}
	return out, nil
}

// AlterTopicConfig sets and removes settings of the topic and leaves the others
// as they are.
func (c *Client) AlterTopicConfig(ctx context.Context, topic string, set map[string]string, remove []string) error {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("change the configuration of topic %q", topic)
	var changes []kadm.AlterConfig
	for _, k := range slices.Sorted(maps.Keys(set)) {
		v := set[k]
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: k, Value: &v})
	}
	for _, k := range remove {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: k})
	}
	if len(changes) == 0 {
		return nil
	}
	resp, err := c.adm.AlterTopicConfigs(ctx, changes, topic)
	message := ""
	if err == nil && len(resp) == 1 {
		err, message = resp[0].Err, resp[0].ErrMessage
	}
	switch {
	case err == nil:
		return nil
	case isUnknownTopic(err):
		return c.topicNotFound(ctx, topic)
	case isDenied(err):
		return c.explain(err, what, topicACL("ALTER_CONFIGS", topic))
	}
	return c.adminError(err, message, what)
}

// DeleteTopics deletes topics; one that does not exist is as it should be.
// After an error some may be deleted.
func (c *Client) DeleteTopics(ctx context.Context, names ...string) error {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	if len(names) == 0 {
		return nil
	}
	resps, err := c.adm.DeleteTopics(ctx, names...)
	if err != nil {
		return c.explain(err, "delete topics", topicACL("DELETE", names[0]))
	}
	for _, r := range resps.Sorted() {
		what := fmt.Sprintf("delete topic %q", r.Topic)
		switch {
		case r.Err == nil, isUnknownTopic(r.Err):
		case isDenied(r.Err):
			return c.explain(r.Err, what, topicACL("DELETE", r.Topic))
		default:
			return c.adminError(r.Err, r.ErrMessage, what)
		}
	}
	return nil
}

// MayWrite reports whether the user may write to the topic, as far as the
// broker tells: one without access control allows everything.
func (c *Client) MayWrite(ctx context.Context, topic string) (bool, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("ask what the user may do with topic %q", topic)
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	req.IncludeTopicAuthorizedOperations = true
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return false, c.explain(err, what, nil)
	}
	if len(resp.Topics) != 1 {
		return false, c.topicNotFound(ctx, topic)
	}
	t := &resp.Topics[0]
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case isUnknownTopic(err):
		return false, c.topicNotFound(ctx, topic)
	case err != nil && !errors.Is(err, kerr.LeaderNotAvailable):
		return false, c.explain(err, what, topicACL("DESCRIBE", topic))
	}
	const untold = -1 << 31
	return t.AuthorizedOperations == untold || t.AuthorizedOperations&(1<<kmsg.ACLOperationWrite) != 0, nil
}
