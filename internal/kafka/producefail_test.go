package kafka

import (
	"context"
	"errors"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// A record that a topic does not take is named, and one larger than usual is
// taken where the topic says so.
func TestProducerTooLarge(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1, "max.message.bytes", "20000")
	for _, codec := range []string{"", "lz4"} {
		p := producer(t, c, ProducerOptions{Topic: "t", Compression: codec})
		if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k"), Value: make([]byte, 19_900)}); err != nil {
			t.Fatal(err)
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := p.Send(t.Context(), ProduceRecord{Key: []byte("k"), Value: make([]byte, 30_000)})
		optest.WantKind(t, err, op.Failed, `topic "t"`, "partition 0", "30086 bytes", "20000", "max.message.bytes")
		if again := p.Send(t.Context(), ProduceRecord{}); again != err {
			t.Errorf("then %v", again)
		}
		if err := p.Flush(t.Context()); err == nil {
			t.Error("flushed")
		}
	}
	topic(t, k, "large", 1, "max.message.bytes", "8000000")
	p := producer(t, c, ProducerOptions{Topic: "large", BufferBytes: 1 << 20})
	want := workload(t, p, 1, 100)
	if err := p.Send(t.Context(), ProduceRecord{Timestamp: 1, Key: []byte("k"), Value: make([]byte, 7_000_000)}); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want[0] = append(want[0], got{100, 1, "k", string(make([]byte, 7_000_000)), 0})
	wantRecords(t, c, "large", want)
}

// What franz-go cannot write as it is, is not written otherwise.
func TestProducerUnwritable(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	for _, x := range []struct {
		r    ProduceRecord
		kind op.Kind
		want string
	}{
		{ProduceRecord{Timestamp: 1_750_000_000_000_000}, op.Failed, "1750000000000000"}, // microseconds
		{ProduceRecord{Timestamp: -1 << 63}, op.Failed, "timestamp"},
		{ProduceRecord{Headers: []byte{2, 2, 'a'}}, op.Corrupt, "headers of 3 bytes"},
	} {
		p := producer(t, c, ProducerOptions{Topic: "t"})
		optest.WantKind(t, p.Send(t.Context(), x.r), x.kind, `topic "t"`, "partition 0", x.want)
	}
	p := producer(t, c, ProducerOptions{Topic: "t"})
	for _, ts := range []int64{-1, 0, maxTimestamp} {
		if err := p.Send(t.Context(), ProduceRecord{Timestamp: ts, Headers: []byte{0}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, c, "t", [][]got{{{0, -1, "<nil>", "<nil>", 0}, {1, 0, "<nil>", "<nil>", 0}, {2, maxTimestamp, "<nil>", "<nil>", 0}}})
}

// Behind a batch that was refused nothing is written, however fast the caller
// goes on.
func TestProducerNoGap(t *testing.T) {
	for range 5 {
		k := startCluster(t, kafkatest.Options{})
		c := open(t, k)
		topic(t, k, "t", 1)
		k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: kerr.InvalidRecord, Count: 1})
		p := producer(t, c, ProducerOptions{Topic: "t", OnAck: func(int32, int64, int64) { t.Error("acknowledged") }})
		var err error
		for err == nil {
			err = p.Send(t.Context(), ProduceRecord{Key: []byte("k")})
		}
		optest.WantKind(t, err, op.Failed, "partition 0", "INVALID_RECORD")
		p.Close()
		if n := end(t, c, "t"); n != 0 {
			t.Errorf("%d records behind those that were refused", n)
		}
	}
}

// One partition takes nothing while others do: that is noticed although the
// producer as a whole gets on.
func TestProducerStuck(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"delivery.timeout.ms": "8000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic(t, k, "t", 3)
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1})
	p := producer(t, c, ProducerOptions{Topic: "t"})
	start := time.Now()
	for i := 0; err == nil; i++ {
		err = p.Send(t.Context(), ProduceRecord{Partition: int32(i % 3), Key: []byte("k")})
		time.Sleep(time.Millisecond)
	}
	optest.WantKind(t, err, op.Unreachable, "partition 1 took nothing for 8s")
	if d := time.Since(start); d < 6*time.Second || d > time.Minute {
		t.Errorf("after %s", d)
	}
}

// No broker answers any more.
func TestProducerBrokersGone(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"delivery.timeout.ms": "8000", "socket.connection.setup.timeout.ms": "5000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	topic(t, k, "t", 1)
	p := producer(t, c, ProducerOptions{Topic: "t"})
	k.Close()
	if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	err = p.Flush(t.Context())
	optest.WantKind(t, err, op.Unreachable, "partition 0 took nothing for 8s", "connection refused")
	if again := p.Send(t.Context(), ProduceRecord{}); again != err {
		t.Errorf("then %v", again)
	}
}

func TestProducerErrors(t *testing.T) {
	for _, x := range []struct {
		code *kerr.Error
		kind op.Kind
		want []string
	}{
		{kerr.TopicAuthorizationFailed, op.Unreachable, []string{"access denied", "WRITE on Topic:t", "kafka-acls.sh"}},
		{kerr.NotEnoughReplicas, op.Unreachable, []string{"took nothing for 8s", "NOT_ENOUGH_REPLICAS", "min.insync.replicas"}},
		{kerr.InvalidRecord, op.Failed, []string{"partition 0", "INVALID_RECORD", "without key"}},
		{kerr.InvalidTimestamp, op.Failed, []string{"message.timestamp.before.max.ms"}},
		{kerr.OutOfOrderSequenceNumber, op.Failed, []string{"may be lost", "again"}},
		{kerr.PolicyViolation, op.Failed, []string{"POLICY_VIOLATION"}},
		{kerr.UnknownServerError, op.Failed, []string{"UNKNOWN_SERVER_ERROR"}},
		{kerr.MessageTooLarge, op.Failed, []string{"MESSAGE_TOO_LARGE", "max.message.bytes", "DESCRIBE_CONFIGS"}},
		{kerr.NotLeaderForPartition, op.Unreachable, []string{"took nothing", "delivery.timeout.ms"}},
	} {
		t.Run(x.code.Message, func(t *testing.T) {
			t.Parallel()
			k := startCluster(t, kafkatest.Options{})
			delivery := "600000" // what is refused for good is told at once
			if x.kind == op.Unreachable && x.code != kerr.TopicAuthorizationFailed {
				delivery = "8000"
			}
			c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"delivery.timeout.ms": delivery}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			topic(t, k, "t", 1, "min.insync.replicas", map[bool]string{true: "2", false: "1"}[x.code == kerr.NotEnoughReplicas])
			p := producer(t, c, ProducerOptions{Topic: "t"})
			k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: x.code, Count: -1})
			if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err != nil {
				t.Fatal(err)
			}
			optest.WantKind(t, p.Flush(t.Context()), x.kind, x.want...)
		})
	}
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	_, err := c.OpenProducer(t.Context(), ProducerOptions{Topic: "tt"})
	optest.WantKind(t, err, op.NotFound, `topic "tt"`)
	_, err = c.OpenProducer(t.Context(), ProducerOptions{Topic: "t", Compression: "brotli"})
	optest.WantKind(t, err, op.Usage, "brotli", "zstd")
	p := producer(t, c, ProducerOptions{Topic: "t"})
	optest.WantKind(t, p.Send(t.Context(), ProduceRecord{Partition: 3}), op.Usage, "no partition 3")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flushed := make(chan struct{})
	k.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.SleepControl(func() { <-flushed })
		return nil, nil, false
	})
	if err := p.Send(ctx, ProduceRecord{}); err != nil {
		t.Error(err)
	}
	if err := p.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(flushed)
}

// A topic that is deleted, and one that is made anew, while it is written; also
// where brokers know topics by their names only.
func TestProducerTopicGone(t *testing.T) {
	for _, x := range []struct{ again, named bool }{{false, false}, {true, false}, {true, true}} {
		var o kafkatest.Options
		if x.named {
			o.Extra = append(o.Extra, kfake.MaxVersions(kversion.V3_9_0()))
		}
		k := startCluster(t, o)
		c := open(t, k)
		topic(t, k, "t", 1)
		p := producer(t, c, ProducerOptions{Topic: "t"})
		if err := c.DeleteTopics(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		kind := op.NotFound
		if x.again {
			topic(t, k, "t", 1)
			kind = op.Precondition
		}
		if err := p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err != nil {
			t.Fatal(err)
		}
		optest.WantKind(t, p.Flush(t.Context()), kind, `"t"`)
	}
}

func TestProducerDenied(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}},
		Extra: kafkatest.DescribeOnly("bob", "b", "t")})
	topic(t, k, "t", 1)
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
		"sasl.jaas.config": `x.PlainLoginModule required username="bob" password="b";`}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if may, err := c.MayWrite(t.Context(), "t"); may || err != nil {
		t.Error(may, err)
	}
	p, err := c.OpenProducer(t.Context(), ProducerOptions{Topic: "t"})
	if err == nil {
		if err = p.Send(t.Context(), ProduceRecord{Key: []byte("k")}); err == nil {
			err = p.Flush(t.Context())
		}
		p.Close()
	}
	optest.WantKind(t, err, op.Unreachable, "access denied", "IDEMPOTENT_WRITE on Cluster:kafka-cluster", "User:bob")
	optest.WantKind(t, c.CreateTopic(t.Context(), NewTopic{Name: "x", Partitions: 1}), op.Unreachable, "CREATE on Topic:x")
	optest.WantKind(t, c.DeleteTopics(t.Context(), "t"), op.Unreachable, "DELETE on Topic:t")
	optest.WantKind(t, c.AlterTopicConfig(t.Context(), "t", map[string]string{"retention.ms": "1"}, nil), op.Unreachable, "ALTER_CONFIGS on Topic:t")
	optest.WantKind(t, c.CommitGroupOffsets(t.Context(), "g", []GroupOffset{{Topic: "t", Offset: 1}}), op.Unreachable, "READ on Group:g")
	_, err = c.GroupOffsets(t.Context(), "g")
	optest.WantKind(t, err, op.Unreachable, "DESCRIBE on Group:g")
	_, err = c.TopicACLs(t.Context(), "t")
	optest.WantKind(t, err, op.Unreachable, "DESCRIBE on Cluster:kafka-cluster")
	optest.WantKind(t, c.CreateACLs(t.Context(), []ACL{{Topic: "t", Principal: "User:x", Host: "*", Operation: "READ", Permission: "ALLOW"}}), op.Unreachable, "ALTER on Cluster:kafka-cluster")
}
