package kafka

import (
	"context"
	"slices"
)

// GroupIDs are the ids of all groups that the user may see, of any protocol.
// Those of Kafka Streams are application ids.
func (c *Client) GroupIDs(ctx context.Context) ([]string, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	listed, err := c.adm.ListGroups(ctx)
	if err != nil {
		return nil, c.explain(err, "list the groups of "+c.address(), groupACL("DESCRIBE", "*"))
	}
	out := listed.Groups()
	slices.Sort(out)
	return out, nil
}
