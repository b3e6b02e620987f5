package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ACL is one rule of access to a topic.
type ACL struct {
	Topic      string // or the beginning of names
	Prefixed   bool   // Topic is the beginning of names
	Principal  string // "User:name"
	Host       string // "*": every
	Operation  string // "READ", "WRITE", …
	Permission string // "ALLOW", "DENY"
}

// TopicACLs are the rules that bear on the topic, those for beginnings of its
// name and for every topic included. A cluster without access control has none.
func (c *Client) TopicACLs(ctx context.Context, topic string) ([]ACL, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("list the ACLs of topic %q", topic)
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourceName = kmsg.ACLResourceTypeTopic, &topic
	req.ResourcePatternType = kmsg.ACLResourcePatternTypeMatch
	req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	resp, err := req.RequestWith(ctx, c.cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if errors.Is(err, kerr.SecurityDisabled) {
		return nil, nil
	}
	if err != nil {
		return nil, c.explain(err, what, &acl{"DESCRIBE", "Cluster", "kafka-cluster"})
	}
	var out []ACL
	for _, r := range resp.Resources {
		for _, a := range r.ACLs {
			out = append(out, ACL{r.ResourceName, r.ResourcePatternType == kmsg.ACLResourcePatternTypePrefixed, a.Principal, a.Host, a.Operation.String(), a.PermissionType.String()})
		}
	}
	slices.SortFunc(out, func(a, b ACL) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Host, b.Host))
	})
	return out, nil
}

// CreateACLs adds rules; one that exists is as it should be.
func (c *Client) CreateACLs(ctx context.Context, acls []ACL) error {
	if len(acls) == 0 {
		return nil
	}
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("create ACLs for topic %q", acls[0].Topic)
	req := kmsg.NewPtrCreateACLsRequest()
	for _, a := range acls {
		r := kmsg.NewCreateACLsRequestCreation()
		r.ResourceType, r.ResourceName, r.ResourcePatternType = kmsg.ACLResourceTypeTopic, a.Topic, kmsg.ACLResourcePatternTypeLiteral
		if a.Prefixed {
			r.ResourcePatternType = kmsg.ACLResourcePatternTypePrefixed
		}
		r.Principal, r.Host = a.Principal, a.Host
		var err error
		if r.Operation, err = kmsg.ParseACLOperation(a.Operation); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if r.PermissionType, err = kmsg.ParseACLPermissionType(a.Permission); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		req.Creations = append(req.Creations, r)
	}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return c.explain(err, what, nil)
	}
	for i, r := range resp.Results {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			what := fmt.Sprintf("create an ACL for topic %q", acls[min(i, len(acls)-1)].Topic)
			if isDenied(err) {
				return c.explain(err, what, &acl{"ALTER", "Cluster", "kafka-cluster"})
			}
			message := ""
			if r.ErrorMessage != nil {
				message = *r.ErrorMessage
			}
			return c.adminError(err, message, what)
		}
	}
	return nil
}
