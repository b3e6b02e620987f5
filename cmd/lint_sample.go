package cmd

import (
	"context"
	"errors"
	"io"
	"slices"

	"sstool/inspect/lint"
	"sstool/internal/kafka"
	"sstool/internal/serde"
)

// sampleKeys looks at the newest records of each partition of a topic: do their
// keys belong there? Records without a key belong anywhere.
func sampleKeys(ctx context.Context, c *kafka.Client, topic string, perPartition int64) ([]lint.Sample, error) {
	info, err := c.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	n := int32(len(info.Partitions))
	parts := make([]int32, n)
	for i := range parts {
		parts[i] = int32(i)
	}
	ends, err := c.Offsets(ctx, topic, parts)
	if err != nil {
		return nil, err
	}
	var out []lint.Sample
	for _, p := range parts {
		s := lint.Sample{Topic: topic, Partition: int(p)}
		e := ends[p]
		if err := readKeys(ctx, c, topic, p, max(e.Start, e.LastStable-perPartition), e.LastStable, func(key []byte) {
			s.Keys++
			if to := serde.Partition(key, n); to != p {
				s.Misplaced++
				if s.Example == nil {
					s.Example, s.Belongs = slices.Clone(key), int(to)
				}
			}
		}); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// readKeys calls fn with the key of every record of [from, to) that has one.
func readKeys(ctx context.Context, c *kafka.Client, topic string, p int32, from, to int64, fn func([]byte)) error {
	if from >= to {
		return nil
	}
	r, err := c.OpenPartition(ctx, kafka.ReadOptions{Topic: topic, Partition: p, From: from, To: to, ReadCommitted: true, MaxBytes: 1 << 20})
	if err != nil {
		return err
	}
	defer r.Close()
	var dec kafka.Decoder
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = dec.Decode(b, func(rec *kafka.Record) error {
			if rec.Key != nil {
				fn(rec.Key)
			}
			return nil
		})
		r.Release(b)
		if err != nil {
			return err
		}
	}
}
