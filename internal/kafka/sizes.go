package kafka

import (
	"context"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kadm"
)

// PartitionSizes are the bytes that each partition's log takes on a broker,
// the largest replica's. Partitions are missing where the brokers do not tell
// (DESCRIBE on Cluster): sizes are only ever an estimate, so that is no error.
func (c *Client) PartitionSizes(ctx context.Context, topic string) map[int32]int64 {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	out := map[int32]int64{}
	ti, err := c.Topic(ctx, topic)
	if err != nil {
		return out
	}
	set := kadm.TopicsSet{}
	for _, p := range ti.Partitions {
		set.Add(topic, p.Partition)
	}
	dirs, err := c.adm.DescribeAllLogDirs(ctx, set)
	if err != nil && len(dirs) == 0 {
		return out
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		if d.Err != nil {
			return
		}
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if p.Topic == topic && !p.IsFuture {
				out[p.Partition] = max(out[p.Partition], p.Size)
			}
		})
	})
	return out
}

// TopicSizes are the bytes that topics take on all brokers together, every
// replica; topics are missing where a broker does not tell.
func (c *Client) TopicSizes(ctx context.Context, topics []TopicInfo) map[string]int64 {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	out := map[string]int64{}
	if len(topics) == 0 {
		return out
	}
	set := kadm.TopicsSet{}
	want := map[string]int{} // replicas
	for _, t := range topics {
		for _, p := range t.Partitions {
			set.Add(t.Name, p.Partition)
			want[t.Name] += p.Replicas
		}
	}
	dirs, err := c.adm.DescribeAllLogDirs(ctx, set)
	if err != nil && len(dirs) == 0 {
		return out
	}
	have := map[string]int{}
	dirs.Each(func(d kadm.DescribedLogDir) {
		if d.Err == nil {
			d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
				if !p.IsFuture {
					have[p.Topic]++
				}
				out[p.Topic] += p.Size
			})
		}
	})
	for name := range out {
		if have[name] < want[name] {
			delete(out, name)
		}
	}
	return out
}

// NewestTimestamp is the largest timestamp of the data records in the last back
// offsets before end, -1 when there are none: transaction markers, or an empty
// log. It is what Kafka Streams looks at before it restores a windowed store
// (KAFKA-13499).
func (c *Client) NewestTimestamp(ctx context.Context, topic string, partition int32, end, back int64) (int64, error) {
	ts := int64(-1)
	if end <= 0 {
		return ts, nil
	}
	for from := max(0, end-back); ; {
		r, err := c.OpenPartition(ctx, ReadOptions{Topic: topic, Partition: partition, From: from, To: end, MaxBytes: 1 << 20})
		if err != nil {
			return ts, err
		}
		err = eachTimestamp(ctx, r, func(t int64) { ts = max(ts, t) })
		r.Close()
		var moved *LogStartMovedError
		if errors.As(err, &moved) && moved.LogStart < end {
			from = moved.LogStart
			continue
		}
		if errors.As(err, &moved) { // the log is empty: everything has expired
			err = nil
		}
		return ts, err
	}
}

func eachTimestamp(ctx context.Context, r *PartitionReader, fn func(int64)) error {
	var d Decoder
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = d.Decode(b, func(rec *Record) error { fn(rec.Timestamp); return nil })
		}
		if err != nil {
			return err
		}
		r.Release(b)
	}
}
