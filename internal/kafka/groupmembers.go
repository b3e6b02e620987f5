package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// GroupMembers are the members of a classic consumer group with what they told
// when they joined, and the group's state. While the group divides its tasks
// brokers know no more of a member than its id. A group that is not there, or of
// another protocol, is op.NotFound.
func (c *Client) GroupMembers(ctx context.Context, id string) (state string, members []GroupMember, err error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("describe group %q", id)
	for try := 0; ; try++ {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{id}
		resp, err := req.RequestWith(ctx, c.cl)
		if err == nil && len(resp.Groups) == 1 {
			err = kerr.ErrorForCode(resp.Groups[0].ErrorCode)
		}
		switch {
		case noCoordinator(err):
			if sleep(ctx, c.pause(try)); ctx.Err() == nil {
				continue
			}
		case err == kerr.GroupIDNotFound, err == nil && (len(resp.Groups) != 1 || resp.Groups[0].State == "Dead" && len(resp.Groups[0].Members) == 0):
			return "", nil, c.groupNotFound(ctx, id)
		}
		if err != nil {
			return "", nil, c.explain(err, what, groupACL("DESCRIBE", id))
		}
		g := &resp.Groups[0]
		for i := range g.Members {
			m := GroupMember{ID: g.Members[i].MemberID}
			var meta kmsg.ConsumerMemberMetadata
			if g.ProtocolType == "consumer" && meta.ReadFrom(g.Members[i].ProtocolMetadata) == nil {
				m.Data = meta.UserData
			}
			members = append(members, m)
		}
		return g.State, members, nil
	}
}
