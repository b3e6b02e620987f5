package kafka

import (
	"slices"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTopicAdmin(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3})
	c := open(t, k)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.CreateTopic(ctx, NewTopic{Name: "a", Partitions: 4, ReplicationFactor: 2, Configs: map[string]string{"cleanup.policy": "compact", "segment.bytes": "1048576"}}))
	ti, err := c.Topic(ctx, "a")
	must(err)
	if len(ti.Partitions) != 4 || ti.Partitions[0].Replicas != 2 {
		t.Errorf("%+v", ti)
	}
	optest.WantKind(t, c.CreateTopic(ctx, NewTopic{Name: "a", Partitions: 4}), op.Precondition, `topic "a"`, "exists")
	optest.WantKind(t, c.CreateTopic(ctx, NewTopic{Name: "b", Partitions: 1, ReplicationFactor: 9}), op.Failed, `topic "b"`, "replication factor")

	over, err := c.TopicOverrides(ctx, "a")
	must(err)
	if len(over) != 2 || over["cleanup.policy"] != "compact" || over["segment.bytes"] != "1048576" {
		t.Error(over)
	}
	must(c.AlterTopicConfig(ctx, "a", map[string]string{"retention.ms": "5"}, []string{"segment.bytes"}))
	must(c.AlterTopicConfig(ctx, "a", nil, nil))
	over, err = c.TopicOverrides(ctx, "a")
	must(err)
	if len(over) != 2 || over["cleanup.policy"] != "compact" || over["retention.ms"] != "5" {
		t.Error(over)
	}
	_, err = c.TopicOverrides(ctx, "aa")
	optest.WantKind(t, err, op.NotFound, `topic "aa"`)
	optest.WantKind(t, c.AlterTopicConfig(ctx, "aa", map[string]string{"retention.ms": "5"}, nil), op.NotFound, `topic "aa"`)
	if may, err := c.MayWrite(ctx, "a"); !may || err != nil {
		t.Error(may, err)
	}
	_, err = c.MayWrite(ctx, "aa")
	optest.WantKind(t, err, op.NotFound, `topic "aa"`)
	must(c.DeleteTopics(ctx, "a", "aa"))
	must(c.DeleteTopics(ctx))
	_, err = c.Topic(ctx, "a")
	optest.WantKind(t, err, op.NotFound)
}

func TestGroupOffsets(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	ctx := t.Context()
	topic(t, k, "a", 3)
	topic(t, k, "b", 1)
	produce(t, k, "a", numbered(0, 10)...)
	if got, err := c.GroupOffsets(ctx, "g"); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
	want := []GroupOffset{{"a", 0, 5, -1, "meta"}, {"a", 2, 0, -1, ""}, {"b", 0, 7, 3, ""}}
	if err := c.CommitGroupOffsets(ctx, "g", want); err != nil {
		t.Fatal(err)
	}
	got, err := c.GroupOffsets(ctx, "g")
	if err != nil || !slices.Equal(got, want) {
		t.Error(got, err)
	}
	m, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("a"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.PollFetches(ctx)
	optest.WantKind(t, c.CommitGroupOffsets(ctx, "g", want), op.Precondition, `group "g"`, "has members", "stop the application")
	if got, err := c.GroupOffsets(ctx, "g"); err != nil || !slices.Equal(got, want) {
		t.Error(got, err)
	}
}

func TestGroupOffsetsUnstable(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"default.api.timeout.ms": "8000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic(t, k, "t", 1)
	k.ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		req := kreq.(*kmsg.OffsetFetchRequest)
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group = "g"
		ti := kmsg.NewOffsetFetchResponseGroupTopic()
		ti.Topic, ti.TopicID = "t", k.TopicInfo("t").TopicID
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Offset, p.ErrorCode = 7, kerr.UnstableOffsetCommit.Code
		ti.Partitions = append(ti.Partitions, p)
		g.Topics = append(g.Topics, ti)
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	_, err = c.GroupOffsets(t.Context(), "g")
	optest.WantKind(t, err, op.Unreachable, `group "g"`, "UNSTABLE_OFFSET_COMMIT", "transaction")
}

func TestACLs(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}},
		Extra: kafkatest.DescribeOnly("bob", "b", "t")})
	ctx := t.Context()
	c, err := Open(ctx, Config{Bootstrap: k.Addrs(), Properties: Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
		"sasl.jaas.config": `x.PlainLoginModule required username="root" password="r";`}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	add := []ACL{{"app-", true, "User:ann", "*", "WRITE", "ALLOW"}, {"app-x", false, "User:eve", "10.0.0.1", "READ", "DENY"}}
	if err := c.CreateACLs(ctx, append(slices.Clone(add), ACL{"other", false, "User:ann", "*", "READ", "ALLOW"})); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateACLs(ctx, add); err != nil {
		t.Error("a second time:", err)
	}
	got, err := c.TopicACLs(ctx, "app-x")
	if err != nil || !slices.Equal(got, add[1:]) { // kfake's MATCH finds no beginnings of names
		t.Error(got, err)
	}
	if err := c.CreateACLs(ctx, []ACL{{Topic: "x", Operation: "DANCE"}}); err == nil {
		t.Error("created")
	}
	plain := open(t, startCluster(t, kafkatest.Options{}))
	if got, err := plain.TopicACLs(ctx, "x"); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
}
