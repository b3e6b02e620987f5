package kafka

import (
	"context"
	"errors"
	"fmt"

	"sstool/internal/op"
	"sstool/internal/topology"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// StreamsTopology asks for the topology of an application with
// group.protocol=streams. Brokers know its topics by sub-topology (KIP-1071);
// with a plugin for descriptions also its nodes (KIP-1331, Kafka 4.4). What is
// missing in the model is in its Problems. A group that does not exist is
// op.NotFound, one of another protocol or without a topology op.Precondition.
func (c *Client) StreamsTopology(ctx context.Context, id string) (*topology.Model, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	what := fmt.Sprintf("read the topology of group %q", id)
	g, err := c.describeStreamsGroup(ctx, id, true)
	switch {
	case err == nil:
	case isDenied(err), ctx.Err() != nil:
		return nil, c.explain(err, what, groupACL("DESCRIBE", id))
	case errors.Is(err, kerr.GroupIDNotFound), unsupported(err):
		return nil, c.noStreamsGroup(ctx, id)
	default:
		return nil, c.explain(err, what, groupACL("DESCRIBE", id))
	}
	held := topology.Held{ApplicationID: id}
	if d := g.TopologyDescription; d != nil {
		for _, s := range d.Subtopologies {
			held.Subtopologies = append(held.Subtopologies, topology.HeldSubtopology{ID: s.SubtopologyID, Nodes: heldNodes(s.Nodes...)})
		}
		for _, s := range d.GlobalStores {
			held.Globals = append(held.Globals, heldNodes(s.Source, s.Processor))
		}
		return held.Model()
	}
	held.Partial = "the brokers keep no descriptions (Kafka 4.4 does with group.streams.topology.description.plugin.class)"
	if g.TopologyDescriptionStatus == descriptionFailed {
		held.Partial = "the brokers failed to read the description that they keep, their log says why"
	}
	if g.Topology != nil {
		for _, s := range g.Topology.Subtopologies {
			held.Subtopologies = append(held.Subtopologies, topology.HeldSubtopology{
				ID: s.SubtopologyID, Sources: s.SourceTopics, Sinks: s.RepartitionSinkTopics,
				Repartitions: topicNames(s.RepartitionSourceTopics), Changelogs: topicNames(s.StateChangelogTopics),
			})
		}
	}
	if len(held.Subtopologies) == 0 {
		return nil, op.Errorf(op.Precondition, "the brokers hold no topology of group %q (state %s)", id, g.State).
			WithTry("start the application and wait until its group is Stable; NotReady says that a source topic is missing or has the wrong number of partitions")
	}
	return held.Model()
}

// descriptionFailed is a TopologyDescriptionStatus.
const descriptionFailed = 2

// heldNodes are nodes as the wire has them: 1 is a source, 3 a sink.
func heldNodes(nodes ...kmsg.TopologyDescriptionNode) []topology.Node {
	var out []topology.Node
	for _, n := range nodes {
		x := topology.Node{Kind: topology.Processor, Name: n.Name, Stores: n.Stores, Next: n.Successors}
		switch n.NodeType {
		case 1:
			x.Kind, x.Topics = topology.Source, n.SourceTopics
		case 3:
			x.Kind = topology.Sink
			if n.SinkTopic != nil {
				x.Topics = []string{*n.SinkTopic}
			}
		}
		out = append(out, x)
	}
	return out
}

func topicNames(topics []kmsg.TopicInfo) []string {
	var out []string
	for _, t := range topics {
		out = append(out, t.Topic)
	}
	return out
}

// noStreamsGroup says whether the group is of another protocol, or nowhere.
func (c *Client) noStreamsGroup(ctx context.Context, id string) error {
	if _, _, err := c.Group(ctx, id); err != nil {
		return err
	}
	return op.Errorf(op.Precondition, "group %q is none of the streams protocol: brokers know the topology only of applications with group.protocol=streams (KIP-1071)", id).
		WithTry("give a FILE with the text of topology.describe()")
}

// describeStreamsGroup asks the group's coordinator, to which franz-go does not
// route the request. An older broker ignores the wish for nodes.
func (c *Client) describeStreamsGroup(ctx context.Context, id string, nodes bool) (*kmsg.StreamsGroupDescribeResponseGroup, error) {
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey, find.CoordinatorKeys = id, []string{id}
	fr, err := find.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, err
	}
	node, code := fr.NodeID, fr.ErrorCode
	if len(fr.Coordinators) > 0 {
		node, code = fr.Coordinators[0].NodeID, fr.Coordinators[0].ErrorCode
	}
	if err := kerr.ErrorForCode(code); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups, req.IncludeTopologyDescription = []string{id}, nodes
	kresp, err := c.cl.Broker(int(node)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.StreamsGroupDescribeResponse)
	if len(resp.Groups) != 1 {
		return nil, kerr.GroupIDNotFound
	}
	g := &resp.Groups[0]
	return g, kerr.ErrorForCode(g.ErrorCode)
}
