package worldtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CreateTopic creates a topic; one that exists already is left as it is.
func CreateTopic(ctx context.Context, bootstrap, topic string, partitions int32, config map[string]string) error {
	return withAdmin(bootstrap, func(admin *kadm.Client) error {
		configs := map[string]*string{}
		for key, value := range config {
			configs[key] = &value
		}
		_, err := admin.CreateTopic(ctx, partitions, 1, configs, topic)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		return err
	})
}

// SetTopicConfig changes settings of a topic; an empty value goes back to the
// default.
func SetTopicConfig(ctx context.Context, bootstrap, topic string, config map[string]string) error {
	return withAdmin(bootstrap, func(admin *kadm.Client) error { return alterTopic(ctx, admin, topic, config) })
}

func alterTopic(ctx context.Context, admin *kadm.Client, topic string, config map[string]string) error {
	var alter []kadm.AlterConfig
	for _, key := range slices.Sorted(maps.Keys(config)) {
		value := config[key]
		if value == "" {
			alter = append(alter, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: key})
		} else {
			alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &value})
		}
	}
	responses, err := admin.AlterTopicConfigs(ctx, alter, topic)
	if err != nil {
		return err
	}
	response, err := responses.On(topic, nil)
	if err != nil {
		return err
	}
	return response.Err
}

// MoveLogStart deletes a partition's records before offset. Only topics that
// are not just compacted allow that: the cleanup policy is then changed and
// changed back.
func MoveLogStart(ctx context.Context, bootstrap, topic string, partition int32, offset int64) error {
	return uncompacted(ctx, bootstrap, topic, func() error {
		return withAdmin(bootstrap, func(admin *kadm.Client) error {
			var offsets kadm.Offsets
			offsets.AddOffset(topic, partition, offset, -1)
			responses, err := admin.DeleteRecords(ctx, offsets)
			if err != nil {
				return err
			}
			return responses.Error()
		})
	})
}

// TopicState is one topic of a snapshot.
type TopicState struct {
	Name       string
	Config     map[string]string // what was set on the topic itself
	Partitions []PartitionState
}

// PartitionState is where a partition begins and ends.
type PartitionState struct {
	LogStart   int64
	End        int64 // read uncommitted
	LastStable int64
}

// Snapshot is the broker's side of an application.
type Snapshot struct {
	Topics    map[string]TopicState
	Committed map[string]map[int32]int64 // the group's offsets
}

// TakeSnapshot looks at all topics named <app>-… and at the group app.
func TakeSnapshot(ctx context.Context, bootstrap, app string) (Snapshot, error) {
	snapshot := Snapshot{Topics: map[string]TopicState{}, Committed: map[string]map[int32]int64{}}
	err := withAdmin(bootstrap, func(admin *kadm.Client) error {
		all, err := admin.ListTopics(ctx)
		if err != nil {
			return err
		}
		var names []string
		for name := range all {
			if strings.HasPrefix(name, app+"-") {
				names = append(names, name)
			}
		}
		if err := snapshot.topics(ctx, admin, names); err != nil {
			return err
		}
		offsets, err := admin.FetchOffsets(ctx, app)
		// The first group that is asked for makes the broker create the topic of all groups.
		for end := time.Now().Add(time.Minute); kerr.IsRetriable(err) && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			offsets, err = admin.FetchOffsets(ctx, app)
		}
		if err != nil {
			return err
		}
		offsets.Each(func(o kadm.OffsetResponse) {
			if snapshot.Committed[o.Topic] == nil {
				snapshot.Committed[o.Topic] = map[int32]int64{}
			}
			snapshot.Committed[o.Topic][o.Partition] = o.At
		})
		return nil
	})
	return snapshot, err
}

func (s *Snapshot) topics(ctx context.Context, admin *kadm.Client, names []string) error {
	if len(names) == 0 {
		return nil
	}
	configs, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return err
	}
	for _, c := range configs {
		state := TopicState{Name: c.Name, Config: map[string]string{}}
		for _, entry := range c.Configs {
			if entry.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
				state.Config[entry.Key] = entry.MaybeValue()
			}
		}
		s.Topics[c.Name] = state
	}
	starts, err := admin.ListStartOffsets(ctx, names...)
	if err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(ctx, names...)
	if err != nil {
		return err
	}
	stable, err := admin.ListCommittedOffsets(ctx, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		state := s.Topics[name]
		for p := range int32(len(ends[name])) {
			state.Partitions = append(state.Partitions, PartitionState{
				LogStart: starts[name][p].Offset, End: ends[name][p].Offset, LastStable: stable[name][p].Offset,
			})
		}
		s.Topics[name] = state
	}
	return nil
}

// ReadTopic returns all records of a topic in offset order, partition by
// partition: those of aborted and open transactions too, control records with
// Attrs.IsControl().
func ReadTopic(ctx context.Context, bootstrap, topic string) (map[int32][]*kgo.Record, error) {
	snapshot := Snapshot{Topics: map[string]TopicState{}}
	err := withAdmin(bootstrap, func(admin *kadm.Client) error { return snapshot.topics(ctx, admin, []string{topic}) })
	if err != nil {
		return nil, err
	}
	from := map[int32]kgo.Offset{}
	open := map[int32]int64{}
	for p, state := range snapshot.Topics[topic].Partitions {
		if state.LogStart < state.End {
			from[int32(p)] = kgo.NewOffset().At(state.LogStart)
			open[int32(p)] = state.End
		}
	}
	out := map[int32][]*kgo.Record{}
	if len(open) == 0 {
		return out, nil
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for len(open) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			out[r.Partition] = append(out[r.Partition], r)
			// The last offset is never compacted away.
			if r.Offset >= open[r.Partition]-1 {
				delete(open, r.Partition)
			}
		})
	}
	return out, nil
}

func withAdmin(bootstrap string, do func(*kadm.Client) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	return do(kadm.NewClient(client))
}

// AddPartitions raises a topic's number of partitions to n.
func AddPartitions(ctx context.Context, bootstrap, topic string, n int) error {
	return withAdmin(bootstrap, func(admin *kadm.Client) error {
		responses, err := admin.UpdatePartitions(ctx, n, topic)
		if err != nil {
			return err
		}
		return responses.Error()
	})
}

// TopicNames lists the topics whose names have the prefix.
func TopicNames(ctx context.Context, bootstrap, prefix string) ([]string, error) {
	var out []string
	err := withAdmin(bootstrap, func(admin *kadm.Client) error {
		topics, err := admin.ListTopics(ctx)
		for _, name := range topics.Names() {
			if strings.HasPrefix(name, prefix) {
				out = append(out, name)
			}
		}
		return err
	})
	return out, err
}
