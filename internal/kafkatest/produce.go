package kafkatest

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// batchBytes keeps a batch below the default message.max.bytes.
const batchBytes = 900 << 10

// Produce appends the records, in order, each to its partition, in large
// batches. It does not keep a record's slices: a sequence may reuse them.
func (c *Cluster) Produce(ctx context.Context, topic, codec string, recs iter.Seq[*Record]) error {
	parts := map[int32]*Batch{}
	for r := range recs {
		b := parts[r.Partition]
		if b == nil {
			b = &Batch{Codec: codec}
			parts[r.Partition] = b
		}
		b.Add(r)
		if b.Size() >= batchBytes {
			if err := c.Send(ctx, topic, r.Partition, b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	for p, b := range parts {
		if b.Len() > 0 {
			if err := c.Send(ctx, topic, p, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// ProduceAll is Produce for a few records without compression.
func (c *Cluster) ProduceAll(ctx context.Context, topic string, recs ...Record) error {
	return c.Produce(ctx, topic, "", func(yield func(*Record) bool) {
		for i := range recs {
			if !yield(&recs[i]) {
				return
			}
		}
	})
}

// Send appends one batch to a partition; its Base must be 0.
func (c *Cluster) Send(ctx context.Context, topic string, partition int32, b *Batch) error {
	raw, err := b.Append(nil)
	if err != nil {
		return err
	}
	ti := c.TopicInfo(topic)
	if ti == nil {
		return fmt.Errorf("kafkatest: no topic %q", topic)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = topic, ti.TopicID
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, raw
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, brokerRequestor{c.admin.Broker(int(c.LeaderFor(topic, partition)))})
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// brokerRequestor lets a typed request go to one broker.
type brokerRequestor struct{ b *kgo.Broker }

func (r brokerRequestor) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return r.b.RetriableRequest(ctx, req)
}

func ms(t int64) time.Time { return time.UnixMilli(t) }

func mechanism(u User) sasl.Mechanism {
	switch u.Mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: u.Name, Pass: u.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: u.Name, Pass: u.Password}.AsSha512Mechanism()
	}
	return plain.Auth{User: u.Name, Pass: u.Password}.AsMechanism()
}
