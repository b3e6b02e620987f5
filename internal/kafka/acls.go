package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ACL is one rule of access to a topic.
type ACL struct {
	Topic      string `json:"topic"`      // or the beginning of names
	Prefixed   bool   `json:"prefixed"`   // Topic is the beginning of names
	Principal  string `json:"principal"`  // "User:name"
	Host       string `json:"host"`       // "*": every
	Operation  string `json:"operation"`  // "READ", "WRITE", …
	Permission string `json:"permission"` // "ALLOW", "DENY"
}

// String is the rule for people.
func (a ACL) String() string {
	on := "topic"
	if a.Prefixed {
		on = "topics that begin with"
	}
	return fmt.Sprintf("%s %s %s from %s on %s %s", strings.ToLower(a.Permission), a.Principal, a.Operation, a.Host, on, a.Topic)
}

// codes are the rule's parts as the protocol has them.
func (a ACL) codes() (pattern kmsg.ACLResourcePatternType, operation kmsg.ACLOperation, permission kmsg.ACLPermissionType, err error) {
	pattern = kmsg.ACLResourcePatternTypeLiteral
	if a.Prefixed {
		pattern = kmsg.ACLResourcePatternTypePrefixed
	}
	operation, err = kmsg.ParseACLOperation(a.Operation)
	if err == nil {
		permission, err = kmsg.ParseACLPermissionType(a.Permission)
	}
	return pattern, operation, permission, err
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
		r.ResourceType, r.ResourceName, r.Principal, r.Host = kmsg.ACLResourceTypeTopic, a.Topic, a.Principal, a.Host
		var err error
		if r.ResourcePatternType, r.Operation, r.PermissionType, err = a.codes(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		req.Creations = append(req.Creations, r)
	}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return c.explain(err, what, nil)
	}
	for i, r := range resp.Results {
		what := fmt.Sprintf("create an ACL for topic %q", acls[min(i, len(acls)-1)].Topic)
		if err := c.aclError(r.ErrorCode, r.ErrorMessage, what); err != nil {
			return err
		}
	}
	return nil
}

// DeleteACLs deletes exactly these rules; one that is gone is fine.
func (c *Client) DeleteACLs(ctx context.Context, acls []ACL) error {
	if len(acls) == 0 {
		return nil
	}
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("delete ACLs of topic %q", acls[0].Topic)
	req := kmsg.NewPtrDeleteACLsRequest()
	for _, a := range acls {
		f := kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourceName, f.Principal, f.Host = kmsg.ACLResourceTypeTopic, &a.Topic, &a.Principal, &a.Host
		var err error
		if f.ResourcePatternType, f.Operation, f.PermissionType, err = a.codes(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		req.Filters = append(req.Filters, f)
	}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return c.explain(err, what, nil)
	}
	for _, r := range resp.Results {
		if err := c.aclError(r.ErrorCode, r.ErrorMessage, what); err != nil {
			return err
		}
	}
	return nil
}

// aclError is the error of one rule that was to be changed; nil for none.
func (c *Client) aclError(code int16, message *string, what string) error {
	err := kerr.ErrorForCode(code)
	switch {
	case err == nil:
		return nil
	case isDenied(err):
		return c.explain(err, what, &acl{"ALTER", "Cluster", "kafka-cluster"})
	case message == nil:
		return c.adminError(err, "", what)
	}
	return c.adminError(err, *message, what)
}
