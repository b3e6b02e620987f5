package kafka

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/topology"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTopicFacts(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3, ClusterID: "abc"})
	c := open(t, k)
	topic(t, k, "b", 4, "cleanup.policy", "compact", "retention.ms", "1234")
	topic(t, k, "a", 1)
	ctx := t.Context()
	if id, err := c.ClusterID(ctx); id != "abc" || err != nil {
		t.Error(id, err)
	}
	ti, err := c.Topic(ctx, "b")
	if err != nil || ti.Name != "b" || len(ti.Partitions) != 4 || ti.ID == [16]byte{} {
		t.Fatal(ti, err)
	}
	for i, p := range ti.Partitions {
		if p.Partition != int32(i) || p.Leader != k.LeaderFor("b", int32(i)) {
			t.Errorf("%+v", p)
		}
	}
	all, err := c.Topics(ctx)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Error(all, err)
	}
	conf, err := c.TopicConfig(ctx, "b")
	if err != nil || conf["cleanup.policy"] != "compact" || conf["retention.ms"] != "1234" || conf["max.message.bytes"] == "" {
		t.Error(conf, err)
	}
}

func TestOffsets(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 2})
	c := open(t, k)
	topic(t, k, "t", 3)
	ctx := t.Context()
	for i := range 100 {
		produce(t, k, "t", kafkatest.Record{Partition: 1, Timestamp: int64(1000 + 10*i), Key: []byte("k")})
	}
	if err := k.DeleteRecords("t", 1, 30); err != nil {
		t.Fatal(err)
	}
	o, err := c.Offsets(ctx, "t", nil)
	if err != nil || len(o) != 3 || o[0] != (PartitionOffsets{}) || o[1] != (PartitionOffsets{30, 100, 100}) {
		t.Fatal(o, err)
	}
	o, err = c.Offsets(ctx, "t", []int32{1})
	if err != nil || len(o) != 1 {
		t.Fatal(o, err)
	}
	for _, x := range [][2]int64{{0, 30}, {1300, 30}, {1301, 31}, {1990, 99}, {1991, 100}, {9999, 100}} {
		if got, err := c.OffsetForTime(ctx, "t", 1, x[0]); got != x[1] || err != nil {
			t.Errorf("time %d: %d, %v", x[0], got, err)
		}
	}
}

func TestSizesAndLastTimestamp(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 3)
	ctx := t.Context()
	last := func(p int32, end, want int64) {
		t.Helper()
		if got, err := c.NewestTimestamp(ctx, "t", p, end, 1); got != want || err != nil {
			t.Errorf("partition %d before %d: %d, %v", p, end, got, err)
		}
	}
	last(0, 0, -1)
	produce(t, k, "t", numbered(0, 10)...)
	last(0, 10, 1009)
	last(0, 5, 1004)
	if err := k.Transaction(ctx, "t", true, kafkatest.Record{Partition: 1, Key: []byte("k"), Timestamp: 5}); err != nil {
		t.Fatal(err)
	}
	last(1, 1, 5)
	last(1, 2, -1) // a transaction marker
	sizes := c.PartitionSizes(ctx, "t")
	if len(sizes) != 3 || sizes[0] < 100 || sizes[1] == 0 || sizes[2] != 0 {
		t.Error(sizes)
	}
	if got := c.PartitionSizes(ctx, "nothing"); len(got) != 0 {
		t.Error(got)
	}
	if err := k.DeleteRecords("t", 0, 10); err != nil {
		t.Fatal(err)
	}
	last(0, 10, -1) // all expired
}

func TestGroups(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 3)
	produce(t, k, "t", numbered(0, 10)...)
	ctx := t.Context()
	_, _, err := c.Group(ctx, "orders")
	optest.WantKind(t, err, op.NotFound, `group "orders"`)
	if o, err := c.CommittedOffsets(ctx, "orders", "t"); err != nil || len(o) != 0 {
		t.Error(o, err)
	}
	for _, kind := range []string{"classic", "consumer"} {
		opts := []kgo.Opt{kgo.SeedBrokers(k.Addrs()...), kgo.ConsumerGroup("orders-" + kind), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
		if kind == "consumer" {
			opts = append(opts, kgo.ServerSideBalancer())
		}
		m, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		fs := m.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		if err := m.CommitRecords(ctx, fs.Records()[:5]...); err != nil {
			t.Fatal(err)
		}
		state, members, err := c.Group(ctx, "orders-"+kind)
		if err != nil || state != "Stable" || members != 1 {
			t.Error(kind, state, members, err)
		}
		o, err := c.CommittedOffsets(ctx, "orders-"+kind, "t")
		if err != nil || len(o) != 1 || o[0] != 5 {
			t.Error(kind, o, err)
		}
		m.LeaveGroup()
		m.Close()
		if state, members, err = c.Group(ctx, "orders-"+kind); err != nil || state != "Empty" || members != 0 {
			t.Error(kind, state, members, err)
		}
	}
	_, _, err = c.Group(ctx, "orders-clasic")
	optest.WantKind(t, err, op.NotFound, "orders-classic")
}

// A fresh cluster has no coordinator yet.
func TestGroupCoordinatorComes(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	n := 0
	k.ControlKey(int16(kmsg.DescribeGroups), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if n++; n > 3 {
			return nil, nil, false
		}
		req := kreq.(*kmsg.DescribeGroupsRequest)
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.ErrorCode = req.Groups[0], kerr.CoordinatorNotAvailable.Code
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	_, _, err := c.Group(t.Context(), "app")
	optest.WantKind(t, err, op.NotFound, "app")
	if n < 4 {
		t.Errorf("asked %d times", n)
	}
}

// A streams group (KIP-1071), which kfake does not know.
func TestStreamsGroup(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	ctx := t.Context()
	resp := kmsg.NewStreamsGroupDescribeResponseGroup()
	resp.Group, resp.State = "app", "Stable"
	resp.Members = make([]kmsg.StreamsGroupDescribeResponseGroupMember, 2)
	knowStreamsGroups(k, &resp)
	c := open(t, k)
	state, members, err := c.Group(ctx, "app")
	if err != nil || state != "Stable" || members != 2 {
		t.Fatal(state, members, err)
	}
	_, err = c.StreamsTopology(ctx, "app")
	optest.WantKind(t, err, op.Precondition, "hold no topology of group \"app\" (state Stable)")

	resp.Topology = &kmsg.StreamsGroupDescribeResponseGroupTopology{Subtopologies: []kmsg.StreamsGroupDescribeResponseGroupTopologySubtopology{{
		SubtopologyID: "0", SourceTopics: []string{"in"}, StateChangelogTopics: []kmsg.TopicInfo{{Topic: "app-totals-changelog"}},
	}}}
	m, err := c.StreamsTopology(ctx, "app")
	if err != nil || !m.Topologies[0].Partial || len(m.Problems) != 1 || m.Topologies[0].Stores()[0].Name != "totals" {
		t.Fatalf("%+v, %v", m, err)
	}
	resp.TopologyDescriptionStatus = 2
	if m, err = c.StreamsTopology(ctx, "app"); err != nil || !strings.Contains(m.Problems[0].Message, "failed to read the description") {
		t.Fatalf("%+v, %v", m, err)
	}

	node := func(kind int8, name string, next ...string) kmsg.TopologyDescriptionNode {
		return kmsg.TopologyDescriptionNode{NodeType: kind, Name: name, Successors: next}
	}
	source, processor, sink := node(1, "s", "p"), node(2, "p", "k"), node(3, "k")
	source.SourceTopics, processor.Stores, sink.SinkTopic = []string{"in"}, []string{"totals"}, kmsg.StringPtr("out")
	global := kmsg.TopologyDescriptionGlobalStore{Source: node(1, "gs", "gp"), Processor: node(2, "gp")}
	global.Processor.Stores = []string{"g"}
	resp.TopologyDescriptionStatus = 3
	resp.TopologyDescription = &kmsg.StreamsGroupDescribeResponseGroupTopologyDescription{
		Subtopologies: []kmsg.TopologyDescriptionSubtopology{{SubtopologyID: "1", Nodes: []kmsg.TopologyDescriptionNode{sink, processor, source}}},
		GlobalStores:  []kmsg.TopologyDescriptionGlobalStore{global},
	}
	if m, err = c.StreamsTopology(ctx, "app"); err != nil || len(m.Problems) > 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	const want = `Topologies:
   Sub-topology: 0 for global store (will not generate tasks)
    Source: gs (topics: [])
      --> gp
    Processor: gp (stores: [g])
      --> none
      <-- gs
  Sub-topology: 1
    Source: s (topics: [in])
      --> p
    Processor: p (stores: [totals])
      --> k
      <-- s
    Sink: k (topic: out)
      <-- p
`
	if got := topology.Print(&m.Topologies[0]); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	resp.ErrorCode = kerr.GroupIDNotFound.Code
	_, err = c.StreamsTopology(ctx, "app")
	optest.WantKind(t, err, op.NotFound, `group "app"`)
	resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
	_, err = c.StreamsTopology(ctx, "app")
	optest.WantKind(t, err, op.Unreachable, "DESCRIBE")
}

// knowStreamsGroups makes brokers answer with a group, and say that they know
// the request.
func knowStreamsGroups(k *kafkatest.Cluster, group *kmsg.StreamsGroupDescribeResponseGroup) {
	k.ControlKey(int16(kmsg.StreamsGroupDescribe), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		r := req.ResponseKind().(*kmsg.StreamsGroupDescribeResponse)
		r.Groups = append(r.Groups, *group)
		return r, nil, true
	})
	k.ControlKey(int16(kmsg.ApiVersions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		r := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key := int16(0); key <= 89; key++ {
			if q := kmsg.RequestForKey(key); q != nil && (key < 70 || key == 89) {
				a := kmsg.NewApiVersionsResponseApiKey()
				a.ApiKey, a.MaxVersion = key, min(q.MaxVersion(), 13)
				r.ApiKeys = append(r.ApiKeys, a)
			}
		}
		return r, nil, true
	})
}

func TestUnstableOffsets(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"default.api.timeout.ms": "8000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic(t, k, "t", 1)
	n := 0
	k.ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		req := kreq.(*kmsg.OffsetFetchRequest)
		if !req.RequireStable {
			t.Error("not requireStable")
		}
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group = "g"
		ti := kmsg.NewOffsetFetchResponseGroupTopic()
		ti.Topic, ti.TopicID = "t", k.TopicInfo("t").TopicID
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Offset = 7
		if n++; n < 3 || n > 3 {
			p.ErrorCode = kerr.UnstableOffsetCommit.Code
		}
		ti.Partitions = append(ti.Partitions, p)
		g.Topics = append(g.Topics, ti)
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	if o, err := c.CommittedOffsets(t.Context(), "g", "t"); err != nil || o[0] != 7 {
		t.Error(o, err)
	}
	start := time.Now()
	_, err = c.CommittedOffsets(t.Context(), "g", "t")
	optest.WantKind(t, err, op.Unreachable, `group "g"`, "UNSTABLE_OFFSET_COMMIT", "transaction")
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %s", d)
	}
}

func TestDenied(t *testing.T) {
	// bob may connect and nothing else.
	k := startCluster(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}},
		Extra: []kfake.Opt{kfake.EnableACLs(), kfake.User("PLAIN", "bob", "b"), kfake.User("PLAIN", "eve", "e",
			kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "t", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true})}})
	topic(t, k, "t", 1)
	produce(t, k, "t", numbered(0, 10)...)
	ctx := t.Context()
	as := func(user, pass string) *Client {
		c, err := Open(ctx, Config{Bootstrap: k.Addrs(), Properties: Properties{"default.api.timeout.ms": "3600000", // a denial is not asked again
			"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": `x.PlainLoginModule required username="` + user + `" password="` + pass + `";`}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	bob, eve := as("bob", "b"), as("eve", "e")
	read := func(c *Client) error {
		r, err := c.OpenPartition(ctx, ReadOptions{Topic: "t", To: 10, StallTimeout: time.Hour})
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = r.Next(ctx)
		return err
	}
	for _, x := range []struct {
		name, want string
		call       func() error
	}{
		{"topic", "DESCRIBE on Topic:t", func() error { _, err := bob.Topic(ctx, "t"); return err }},
		{"offsets", "DESCRIBE on Topic:t", func() error { _, err := bob.Offsets(ctx, "t", []int32{0}); return err }},
		{"time", "DESCRIBE on Topic:t", func() error { _, err := bob.OffsetForTime(ctx, "t", 0, 5); return err }},
		{"config", "DESCRIBE_CONFIGS on Topic:t", func() error { _, err := bob.TopicConfig(ctx, "t"); return err }},
		{"open", "DESCRIBE on Topic:t", func() error { return read(bob) }},
		{"read", "READ on Topic:t", func() error { return read(eve) }},
		{"transactions", "READ on Topic:t", func() error { _, err := eve.OpenTransactions(ctx, "t", 0); return err }},
		{"group", "DESCRIBE on Group:g", func() error { _, _, err := bob.Group(ctx, "g"); return err }},
		{"committed", "DESCRIBE on Group:g", func() error { _, err := bob.CommittedOffsets(ctx, "g", "t"); return err }},
	} {
		t.Run(x.name, func(t *testing.T) {
			start := time.Now()
			err := x.call()
			user := "User:bob"
			if x.name == "read" || x.name == "transactions" {
				user = "User:eve"
			}
			optest.WantKind(t, err, op.Unreachable, x.want, "access denied", "kafka-acls.sh", user)
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %s", d)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"orders-payments-changelog", "orders-payment-total-changelog", "orders-clicks-changelog", "customers", "x"}
	for _, x := range []struct {
		want string
		out  []string
	}{
		{"orders-payment-changelog", []string{"orders-payments-changelog", "orders-payment-total-changelog", "orders-clicks-changelog"}},
		{"custmoers", []string{"customers"}},
		{"CUSTOMERS", []string{"customers"}},
		{"customer", []string{"customers"}},
		{"zzzzzzzz", nil},
		{"", nil},
	} {
		if got := Nearest(x.want, names, 3); !slices.Equal(got, x.out) {
			t.Errorf("%q: %q", x.want, got)
		}
	}
	if d := editDistance("abcd", "abdc"); d != 1 {
		t.Error(d)
	}
}
