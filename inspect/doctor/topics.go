package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// topicFacts is what is known of one topic that belongs to the application's
// state: a changelog, a topic between sub-topologies, or a source topic that a
// store is restored from.
type topicFacts struct {
	name   string
	store  string             // of what is restored into a store
	kind   topology.TopicKind // "" of a source topic
	told   bool               // the topology has it
	global bool               // of a global store
	stores []*inspect.MapStore
	use    inspect.ChangelogUse

	info      *kafka.TopicInfo // null: the cluster does not have it
	config    map[string]string
	configErr error
	ends      map[int32]kafka.PartitionOffsets
	endsErr   error
	sizes     map[int32]int64 // of partitions that a broker tells
	open      []openTxn
	openErr   error
}

// openTxn is an open transaction on a partition.
type openTxn struct {
	kafka.OpenTxn
	partition int32
	gap       int64 // offsets beyond the last stable one
}

// source says whether the topic is the application's input, not made by Kafka
// Streams.
func (t *topicFacts) source() bool { return t.kind == "" }

// compacted says whether the topic is compacted.
func (t *topicFacts) compacted() bool { return strings.Contains(t.config["cleanup.policy"], "compact") }

// gatherTopics finds the application's topics by exact names and asks the
// cluster about each.
func (f *facts) gatherTopics(ctx context.Context) []*topicFacts {
	if f.app == "" || f.cluster == nil || f.cluster.err != nil {
		return nil
	}
	list := f.topicNames()
	inspect.ForEach(ctx, len(list), 8, func(i int) { list[i].ask(ctx, f.o.Client, f.cluster) })
	return list
}

// topicNames are the application's topics: those of the stores here, of the
// topology, and without one those that the cluster has under its name.
func (f *facts) topicNames() []*topicFacts {
	byName := map[string]*topicFacts{}
	get := func(name string, kind topology.TopicKind) *topicFacts {
		t := byName[name]
		if t == nil {
			t = &topicFacts{name: name, kind: kind}
			if info, ok := f.cluster.topics[name]; ok {
				t.info = &info
			}
			byName[name] = t
		}
		return t
	}
	for _, s := range f.stores() {
		topic := s.Offsets.Topic
		if topic == "" {
			continue
		}
		kind := topology.Changelog
		if _, ok := streams.StoreOfChangelog(f.app, topic); !ok {
			kind = ""
		}
		t := get(topic, kind)
		t.store, t.global = s.Name, s.Task == streams.GlobalDir
		t.stores = append(t.stores, s)
		t.use = useOf(s)
	}
	if f.topology != nil {
		for _, x := range f.topology.InternalTopics(f.app) {
			if _, own := f.cluster.topics[x.Name]; !own && x.Source != "" {
				t := get(x.Source, "") // topology.optimization: its source is its changelog
				t.store, t.told = x.Bare, true
				continue
			}
			t := get(x.Name, x.Kind)
			t.told = true
			if x.Kind == topology.Changelog {
				t.store = x.Bare
			}
		}
	} else {
		for name := range f.cluster.topics {
			if !streams.IsInternalTopic(f.app, name) || f.othersTopic(name) {
				continue
			}
			store, isChangelog := streams.StoreOfChangelog(f.app, name)
			if isChangelog {
				get(name, topology.Changelog).store = store
			} else {
				get(name, topology.Repartition)
			}
		}
	}
	var out []*topicFacts
	for _, t := range byName {
		t.byName(f)
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *topicFacts) int { return strings.Compare(a.name, b.name) })
	return out
}

// stores are the application's stores in the state directory.
func (f *facts) stores() []*inspect.MapStore {
	var out []*inspect.MapStore
	for _, a := range f.apps() {
		for j := range a.Stores {
			out = append(out, &a.Stores[j])
		}
	}
	return out
}

// othersTopic says whether the topic is rather another application's, whose id
// begins with this one's.
func (f *facts) othersTopic(topic string) bool {
	longer := func(id string) bool { return len(id) > len(f.app) && streams.IsInternalTopic(id, topic) }
	if slices.ContainsFunc(f.groups, longer) {
		return true
	}
	return f.state != nil && slices.ContainsFunc(f.state.Apps, func(a inspect.MapApp) bool { return longer(a.ID) })
}

// useOf is what the directory tells of the store's changelog.
func useOf(s *inspect.MapStore) inspect.ChangelogUse {
	use := inspect.ChangelogUse{}
	if s.Kind.Kind != nil {
		use.Kind = streams.Kind(*s.Kind.Kind)
		// Windows without timestamps: the DSL makes them for joins alone.
		use.Duplicates = use.Kind == streams.Window
	}
	return use
}

// byName adds what the store's name tells.
func (t *topicFacts) byName(f *facts) {
	var processors []string
	if f.topology != nil {
		for _, s := range f.topology.Stores() {
			if s.Name == t.store {
				processors = s.Processors
			}
		}
	}
	switch topology.ParseStoreName(t.store, processors).Role {
	case topology.JoinThis, topology.JoinOther:
		t.use.Kind, t.use.Duplicates = streams.Window, true
	case topology.JoinShared:
		t.use.Kind = streams.List
	case topology.FKSubscription:
		t.use.Kind = streams.FKSubscription
	case topology.Suppression:
		t.use.Kind = streams.Suppress
	case topology.GraceBuffer:
		t.use.Kind = streams.GraceBuffer
	case topology.TableAggregate, topology.ToTable, topology.TableView, topology.TableJoin, topology.FKJoin:
		if t.use.Kind == "" {
			t.use.Kind = streams.TimestampedKV
		}
	}
}

// ask asks the cluster about the topic.
func (t *topicFacts) ask(ctx context.Context, client *kafka.Client, c *clusterFacts) {
	if t.info == nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { t.sizes = client.PartitionSizes(ctx, t.name) })
	if have, ok := c.configs[t.name]; ok {
		t.config, t.configErr = have.set, have.err
	} else {
		wg.Go(func() { t.config, t.configErr = client.TopicConfig(ctx, t.name) })
	}
	if have, ok := c.ends[t.name]; ok {
		t.ends, t.endsErr = have.at, have.err
	} else {
		t.ends, t.endsErr = client.Offsets(ctx, t.name, nil)
	}
	for p, e := range t.ends {
		if e.LastStable >= e.End {
			continue
		}
		txns, err := client.OpenTransactions(ctx, t.name, p)
		if err != nil {
			t.openErr = err
		}
		for _, x := range txns {
			t.open = append(t.open, openTxn{x, p, e.End - e.LastStable})
		}
	}
	wg.Wait()
	for _, p := range t.info.Partitions {
		t.use.Replicas = max(t.use.Replicas, p.Replicas)
	}
	if _, err := streams.DeriveHistoryRetention(t.name, t.config); err == nil && t.use.Kind == "" && !strings.Contains(t.config["cleanup.policy"], "delete") {
		t.use.Kind = streams.Versioned // no other kind of store has that setting
	}
}

// at names a partition.
func (t *topicFacts) at(p int32) string { return fmt.Sprintf("%s-%d", t.name, p) }
