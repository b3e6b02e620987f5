package migrate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// ApplicationOptions say which application gets a new id.
type ApplicationOptions struct {
	Old, New string
	StateDir string // whose applications tell whose topics are not Old's; may be ""

	// Topics are the internal topics of the application in full, by its topology;
	// nil: those of the cluster that are called so.
	Topics []string
}

// ApplicationMoves are what a new application id takes.
type ApplicationMoves struct {
	Moves    []StoreMove
	Topics   []TopicMove
	Warnings []string
}

// ResolveApplication finds the internal topics of an application. A name that
// another application's topic could have just as well is left out, and said:
// "orders-eu-x-changelog" is of the application orders-eu, if there is one.
func ResolveApplication(ctx context.Context, c *kafka.Client, o ApplicationOptions) (*ApplicationMoves, error) {
	if o.Old == o.New {
		return nil, op.Errorf(op.Usage, "the old application id and the new one are both %q", o.Old)
	}
	for _, id := range []string{o.Old, o.New} {
		if err := streams.ValidateApplicationID(id); err != nil {
			return nil, err
		}
	}
	all, err := c.Topics(ctx)
	if err != nil {
		return nil, err
	}
	out := &ApplicationMoves{Moves: []StoreMove{}, Topics: []TopicMove{}}
	others, err := longerIDs(ctx, c, o, out)
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	for _, t := range all {
		exists[t.Name] = true
	}
	for _, t := range all {
		// Where the new id begins with the old one, a copy that an earlier run made
		// is called like a topic of the old application.
		if rest, ok := strings.CutPrefix(t.Name, o.New+"-"); ok && strings.HasPrefix(o.New, o.Old+"-") && exists[o.Old+"-"+rest] {
			continue
		}
		if o.Topics != nil && !slices.Contains(o.Topics, t.Name) || o.Topics == nil && !streams.IsInternalTopic(o.Old, t.Name) {
			continue
		}
		if i := slices.IndexFunc(others, func(id string) bool { return streams.IsInternalTopic(id, t.Name) }); i >= 0 && o.Topics == nil {
			out.Warnings = append(out.Warnings, fmt.Sprintf("topic %s is not migrated: it is taken for one of the application %q; give --topology if it is not", t.Name, others[i]))
			continue
		}
		out.add(o, t.Name)
	}
	if len(out.Moves)+len(out.Topics) == 0 {
		e := op.Errorf(op.NotFound, "application %q has no internal topics (or the user may not DESCRIBE them)", o.Old)
		if ids, err := c.GroupIDs(ctx); err == nil {
			if near := kafka.Nearest(o.Old, ids, 3); len(near) > 0 {
				e = e.WithTry("groups of a similar name: %s", strings.Join(near, ", "))
			}
		}
		return nil, e
	}
	return out, nil
}

func (a *ApplicationMoves) add(o ApplicationOptions, topic string) {
	rest := strings.TrimPrefix(topic, o.Old)
	if store, ok := streams.StoreOfChangelog(o.Old, topic); ok {
		a.Moves = append(a.Moves, StoreMove{OldApp: o.Old, NewApp: o.New, OldStore: store, NewStore: store, OldTopic: topic, NewTopic: o.New + rest})
		return
	}
	a.Topics = append(a.Topics, TopicMove{Old: topic, New: o.New + rest, Why: InternalTopicKind(o.Old, topic)})
}

// InternalTopicKind tells from the name of an internal topic what it is for
// (KI/KTableImpl for the topics of a foreign-key join).
func InternalTopicKind(app, topic string) TopicKind {
	rest := strings.ToLower(strings.TrimPrefix(topic, app))
	switch {
	case strings.HasSuffix(rest, "-changelog"):
		return ChangelogTopic
	case strings.HasSuffix(rest, "-repartition"):
		return RepartitionTopic
	case strings.Contains(rest, "subscription-registration-"):
		return RegistrationTopic
	case strings.Contains(rest, "subscription-response-"):
		return ResponseTopic
	}
	return RepartitionTopic
}

// longerIDs are the applications whose ids begin with this one's.
func longerIDs(ctx context.Context, c *kafka.Client, o ApplicationOptions, out *ApplicationMoves) ([]string, error) {
	ids, err := c.GroupIDs(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		out.Warnings = append(out.Warnings, fmt.Sprintf("the groups of the cluster are not known (%s): topics of an application whose id begins with %q would be taken for its own", err, o.Old+"-"))
	}
	if o.StateDir != "" {
		es, err := os.ReadDir(o.StateDir)
		if err != nil {
			return nil, cannotRead(err)
		}
		for _, e := range es {
			ids = append(ids, e.Name())
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, o.Old+"-") || id == o.New }), nil
}

// GroupStep commits the offsets of the old application's group for the new
// one's: for topics of the user's as they are, for internal ones mapped to the
// copies. The metadata goes along: Kafka Streams keeps there how far time has
// come in each partition.
func GroupStep(ctx context.Context, c *kafka.Client, old, new string) (Step, error) {
	offsets, err := c.GroupOffsets(ctx, old)
	if err != nil {
		return Step{}, err
	}
	if len(offsets) == 0 {
		return Step{}, op.Errorf(op.Precondition, "group %q has committed no offsets: the application would begin at auto.offset.reset and process all of its input into state that holds it already", old).
			WithTry("check the application id; offsets expire after offsets.retention.minutes without a member")
	}
	return Step{
		ID:   groupStep,
		Text: fmt.Sprintf("commit %d offsets of group %s, with their metadata, for group %s", len(offsets), old, new),
		Check: func(ctx context.Context, m *Migration) error {
			mine, err := mapGroup(m, offsets)
			if err != nil {
				return err
			}
			return freeGroup(ctx, c, new, mine)
		},
		Do: func(ctx context.Context, m *Migration, _ op.Sink) error {
			now, err := c.GroupOffsets(ctx, old)
			if err != nil {
				return err
			}
			out, err := mapGroup(m, now)
			if err != nil {
				return err
			}
			if err := freeGroup(ctx, c, new, out); err != nil {
				return err
			}
			return c.CommitGroupOffsets(ctx, new, out)
		},
	}, nil
}

// groupStep is the id of GroupStep's step.
const groupStep = "group"

// mapGroup maps committed offsets to the copies. Those of an internal topic
// that was not copied have nothing to be about.
func mapGroup(m *Migration, offsets []kafka.GroupOffset) ([]kafka.GroupOffset, error) {
	maps := m.Maps()
	var out []kafka.GroupOffset
	for _, o := range offsets {
		t := maps[o.Topic]
		if t == nil {
			if !streams.IsInternalTopic(m.OldApp, o.Topic) {
				out = append(out, o)
			}
			continue
		}
		om := maps.Find(streams.TopicPartition{Topic: o.Topic, Partition: o.Partition})
		if om == nil {
			return nil, op.Errorf(op.Failed, "partition %d of %s was not copied", o.Partition, o.Topic)
		}
		o.Topic, o.Offset, o.LeaderEpoch = t.New, om.Position(o.Offset), -1
		out = append(out, o)
	}
	return out, nil
}

// freeGroup refuses a group that has offsets of its own, other than these.
func freeGroup(ctx context.Context, c *kafka.Client, group string, mine []kafka.GroupOffset) error {
	is, err := c.GroupOffsets(ctx, group)
	if err != nil {
		return err
	}
	for _, o := range is {
		if !slices.ContainsFunc(mine, func(x kafka.GroupOffset) bool {
			return x.Topic == o.Topic && x.Partition == o.Partition && x.Offset == o.Offset
		}) {
			return op.Errorf(op.Precondition, "group %q has committed offset %d of %s-%d: it is not new", group, o.Offset, o.Topic, o.Partition).
				WithTry("choose another application id, or delete that group (kafka-consumer-groups.sh --delete --group %s) if nothing needs it", group)
		}
	}
	return nil
}
