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

// LastTimestamp is the timestamp of the data record just before end, -1 when
// there is none: a transaction marker, or an empty log. It is what Kafka
// Streams 4.4 looks at before it restores a windowed store (KAFKA-13499).
func (c *Client) LastTimestamp(ctx context.Context, topic string, partition int32, end int64) (int64, error) {
	ts := int64(-1)
	if end <= 0 {
		return ts, nil
	}
	r, err := c.OpenPartition(ctx, ReadOptions{Topic: topic, Partition: partition, From: end - 1, To: end, MaxBytes: 1 << 20})
	if err != nil {
		return ts, err
	}
	defer r.Close()
	var d Decoder
	for {
		b, err := r.Next(ctx)
		var moved *LogStartMovedError
		if errors.Is(err, io.EOF) || errors.As(err, &moved) { // the log is empty: everything has expired
			return ts, nil
		}
		if err == nil {
			_, err = d.Decode(b, func(rec *Record) error { ts = rec.Timestamp; return nil })
		}
		if err != nil {
			return ts, err
		}
		r.Release(b)
	}
}
