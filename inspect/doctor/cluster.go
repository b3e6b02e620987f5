package doctor

import (
	"context"
	"strings"
	"sync"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// clusterFacts is what the cluster says of the application.
type clusterFacts struct {
	err    error // it does not answer: nothing else is known
	id     string
	topics map[string]kafka.TopicInfo

	// group of the application
	groupState string // Empty, Stable, Dead, …
	members    int
	groupErr   error
	// committed offsets of the group, by topic and partition.
	committed    map[string]map[int32]int64
	committedErr error

	// how the application wrote
	transactional         []string // ids of the whole cluster, as far as they may be seen
	transactions, without bool     // its changelogs, lately

	// of the application's topics: its changelogs, what its stores are restored
	// from, and what its group has committed offsets of
	ends    map[string]topicEnds
	configs map[string]topicConfig // of the first two
}

// topicEnds are where a topic's partitions begin and end, or why that is not
// known.
type topicEnds struct {
	at  map[int32]kafka.PartitionOffsets
	err error
}

// topicConfig is a topic's configuration, or why it is not known.
type topicConfig struct {
	set map[string]string
	err error
}

// askCluster asks for everything at once; what cannot be had is told where it
// is needed.
func (f *facts) askCluster(ctx context.Context, sink op.Sink) *clusterFacts {
	c := &clusterFacts{topics: map[string]kafka.TopicInfo{}, committed: map[string]map[int32]int64{},
		ends: map[string]topicEnds{}, configs: map[string]topicConfig{}}
	client := f.o.Client
	if c.err = f.o.ClientErr; c.err != nil {
		return c
	}
	if c.id, c.err = client.ClusterID(ctx); c.err != nil {
		return c
	}
	var topics []kafka.TopicInfo
	if topics, c.err = client.Topics(ctx); c.err != nil {
		return c
	}
	for _, t := range topics {
		c.topics[t.Name] = t
	}
	if f.app != "" {
		c.groupState, c.members, c.groupErr = client.Group(ctx, f.app)
		var offsets []kafka.GroupOffset
		if offsets, c.committedErr = client.GroupOffsets(ctx, f.app); c.committedErr == nil {
			for _, o := range offsets {
				if c.committed[o.Topic] == nil {
					c.committed[o.Topic] = map[int32]int64{}
				}
				c.committed[o.Topic][o.Partition] = o.Offset
			}
		}
	}
	c.askTopics(ctx, client, f.stateTopics(), f.app, sink)
	return c
}

// stateTopics are the topics that the stores found are restored from.
func (f *facts) stateTopics() []string {
	var out []string
	for _, a := range f.apps() {
		for i := range a.Stores {
			if t := a.Stores[i].Offsets.Topic; t != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

const topicsAtOnce = 8

func (c *clusterFacts) askTopics(ctx context.Context, client *kafka.Client, restored []string, app string, sink op.Sink) {
	config := map[string]bool{} // whether the configuration is asked too
	for name := range c.topics {
		if _, ok := streams.StoreOfChangelog(app, name); ok && app != "" {
			config[name] = true
		}
	}
	for _, t := range restored {
		config[t] = true
	}
	for t := range c.committed {
		config[t] = config[t] || streams.IsInternalTopic(app, t)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	room := make(chan struct{}, topicsAtOnce)
	for t, withConfig := range config {
		if _, ok := c.topics[t]; !ok {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			at, err := client.Offsets(ctx, t, nil)
			var conf topicConfig
			if withConfig {
				conf.set, conf.err = client.TopicConfig(ctx, t)
			}
			mu.Lock()
			defer mu.Unlock()
			c.ends[t] = topicEnds{at, err}
			if withConfig {
				c.configs[t] = conf
			}
			if err != nil {
				sink.Warn(t, "offsets of "+t+": "+err.Error())
			}
		})
	}
	wg.Wait()
}

// writtenPartitions is how many partitions of changelogs are asked for their
// producers.
const writtenPartitions = 16

// askProducers tells how the changelogs were written lately, some partitions of
// each for all. Without the right to ask, nothing is told.
func (f *facts) askProducers(ctx context.Context) {
	c := f.cluster
	c.transactional, _ = f.o.Client.TransactionalIDs(ctx)
	asked := 0
	for _, t := range f.topics {
		if t.kind != topology.Changelog || t.info == nil {
			continue
		}
		for i := 0; i < min(2, len(t.info.Partitions)) && asked < writtenPartitions; i++ {
			asked++
			transactions, without := f.o.Client.Producing(ctx, t.name, t.info.Partitions[i].Partition)
			c.transactions, c.without = c.transactions || transactions, c.without || without
		}
	}
}

// compacted says whether a topic with this configuration is.
func compacted(config map[string]string) bool {
	return strings.Contains(config["cleanup.policy"], "compact")
}
