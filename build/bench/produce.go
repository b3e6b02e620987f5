package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"sstool/internal/kafka"
	"sstool/internal/worldtest"
)

const producePartitions = 4

// produce holds sstool's producer against franz-go's own idempotent one, for
// tombstones and for records with a value, and a copy of a topic against the
// slower of reading and writing it. Every measurement writes a fresh topic.
func (b *bench) produce(records int64) error {
	n := records / 2
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "customer-%012d", int64(i)*7919%n)
	}
	value := make([]byte, 100)
	topic := func(name string) (string, error) {
		name = fmt.Sprintf("bench-%s-%d", name, time.Now().UnixNano())
		return name, b.client.CreateTopic(b.ctx, kafka.NewTopic{Name: name, Partitions: producePartitions, ReplicationFactor: 1,
			Configs: map[string]string{"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000000"}})
	}
	plain := func(v []byte) (float64, error) {
		t, err := topic("plain")
		if err != nil {
			return 0, err
		}
		d, err := worldtest.PlainProduce(b.ctx, b.broker.Bootstrap, t, plainRecords(keys, v))
		return float64(n) / d.Seconds(), err
	}
	own := func(v []byte) (float64, string, error) {
		t, err := topic("own")
		if err != nil {
			return 0, "", err
		}
		p, err := b.client.OpenProducer(b.ctx, kafka.ProducerOptions{Topic: t})
		if err != nil {
			return 0, "", err
		}
		defer p.Close()
		start := time.Now()
		for i, key := range keys {
			if err := p.Send(b.ctx, kafka.ProduceRecord{Partition: int32(i % producePartitions), Timestamp: start.UnixMilli(), Key: key, Value: v}); err != nil {
				return 0, "", err
			}
		}
		err = p.Flush(b.ctx)
		return float64(n) / time.Since(start).Seconds(), t, err
	}
	var tombPlain, tombOwn, plainRate, ownRate, rawRate, copyRate []float64
	for range b.rounds {
		x, err := plain(nil)
		if err != nil {
			return err
		}
		y, _, err := own(nil)
		if err != nil {
			return err
		}
		tombPlain, tombOwn = append(tombPlain, x), append(tombOwn, y)
		if x, err = plain(value); err != nil {
			return err
		}
		y, from, err := own(value)
		if err != nil {
			return err
		}
		plainRate, ownRate = append(plainRate, x), append(ownRate, y)
		start := time.Now()
		_, got, err := b.client.RawConsume(b.ctx, from)
		if err != nil || got != n {
			return fmt.Errorf("%d of %d records read: %w", got, n, err)
		}
		rawRate = append(rawRate, float64(n)/time.Since(start).Seconds())
		to, err := topic("copy")
		if err != nil {
			return err
		}
		start = time.Now()
		if err := copyTopic(b.ctx, b.client, from, to); err != nil {
			return err
		}
		copyRate = append(copyRate, float64(n)/time.Since(start).Seconds())
		i := len(copyRate) - 1
		fmt.Printf("produce: round %d: tombstones %.0f/s, plain %.0f/s; values %.0f/s, plain %.0f/s; raw consume %.0f/s, copy %.0f/s\n",
			i+1, tombOwn[i], tombPlain[i], ownRate[i], plainRate[i], rawRate[i], copyRate[i])
		for _, t := range []string{from, to} {
			if err := b.client.DeleteTopics(b.ctx, t); err != nil {
				return err
			}
		}
	}
	line := func(what string, own, against []float64, aim float64) {
		m := median(ratios(own, against))
		verdict := "ok"
		if m < aim {
			verdict = "below the aim"
		}
		fmt.Printf("produce: %s: %.0f/s, against %.0f/s: %.2f (aim %.2f, %s)\n", what, median(own), median(against), m, aim, verdict)
	}
	line("tombstones, against a plain idempotent franz-go producer", tombOwn, tombPlain, 0.7)
	line("records of 100 bytes, against the same", ownRate, plainRate, 0.7)
	slower := make([]float64, len(rawRate))
	for i := range slower {
		slower[i] = min(rawRate[i], plainRate[i])
	}
	line("a copy, against the slower of a raw consume and a plain produce", copyRate, slower, 0.7)
	return nil
}

func plainRecords(keys [][]byte, value []byte) iter.Seq[worldtest.Record] {
	return func(yield func(worldtest.Record) bool) {
		now := time.Now()
		for i, key := range keys {
			if !yield(worldtest.Record{Partition: int32(i % producePartitions), Key: key, Value: value, Timestamp: now}) {
				return
			}
		}
	}
}

// copyTopic copies partition to partition, all at once.
func copyTopic(ctx context.Context, c *kafka.Client, from, to string) error {
	offsets, err := c.Offsets(ctx, from, nil)
	if err != nil {
		return err
	}
	p, err := c.OpenProducer(ctx, kafka.ProducerOptions{Topic: to})
	if err != nil {
		return err
	}
	defer p.Close()
	group, gctx := errgroup.WithContext(ctx)
	for part, o := range offsets {
		group.Go(func() error {
			r, err := c.OpenPartition(gctx, kafka.ReadOptions{Topic: from, Partition: part, From: o.Start, To: o.End, MaxBytes: 4 << 20})
			if err != nil {
				return err
			}
			defer r.Close()
			var d kafka.Decoder
			for {
				b, err := r.Next(gctx)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err == nil {
					_, err = d.Decode(b, func(rec *kafka.Record) error {
						return p.Send(gctx, kafka.ProduceRecord{Partition: part, Timestamp: rec.Timestamp, Key: rec.Key, Value: rec.Value, Headers: rec.Headers})
					})
				}
				if err != nil {
					return err
				}
				r.Release(b)
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return p.Flush(ctx)
}
