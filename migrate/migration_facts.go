package migrate

import (
	"context"
	"errors"
	"time"

	"sstool/internal/kafka"
)

// Estimate is how long the copying may take, and what that is known from.
type Estimate struct {
	Seconds float64 `json:"seconds"`
	From    string  `json:"from"`
}

// facts are a topic's ends and settings, with what speaks against copying it.
func (p *MigrationPlan) facts(ctx context.Context, t TopicMove) (map[int32]kafka.PartitionOffsets, map[string]string, error) {
	ends, err := p.client.Offsets(ctx, t.Old, nil)
	if err == nil {
		err = checkNoTransaction(ctx, p.client, t.Old, ends)
	}
	if err != nil {
		return nil, nil, err
	}
	overrides, err := p.client.TopicOverrides(ctx, t.Old)
	return ends, overrides, err
}

// drained says whether the group has processed every record of a topic. What
// lies behind its offsets may still be transaction markers.
func (p *MigrationPlan) drained(ctx context.Context, topic string, ends map[int32]kafka.PartitionOffsets) (bool, error) {
	committed, err := p.client.CommittedOffsets(ctx, p.OldApp, topic)
	if err != nil {
		return false, err
	}
	for part, e := range ends {
		from, ok := committed[part]
		if !ok || from < e.Start {
			from = e.Start
		}
		if from >= e.LastStable {
			continue
		}
		any, err := p.anyRecord(ctx, topic, part, from, e.LastStable)
		if any || err != nil {
			return false, err
		}
	}
	return true, nil
}

var errFound = errors.New("found")

// anyRecord looks for a record that a read_committed reader would see.
func (p *MigrationPlan) anyRecord(ctx context.Context, topic string, part int32, from, to int64) (bool, error) {
	_, err := readSome(ctx, p.client, kafka.ReadOptions{Topic: topic, Partition: part, From: from, To: to, ReadCommitted: true, MaxBytes: 1 << 20},
		func(*kafka.Record) error { return errFound }, 0)
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// readSome reads until the end, or until limit bytes were read (0: no limit).
func readSome(ctx context.Context, c *kafka.Client, o kafka.ReadOptions, fn func(*kafka.Record) error, limit int64) (bytes int64, err error) {
	r, err := c.OpenPartition(ctx, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var dec kafka.Decoder
	for limit == 0 || bytes < limit {
		b, err := r.Next(ctx)
		if isEOF(err) {
			return bytes, nil
		}
		if err != nil {
			return bytes, err
		}
		bytes += int64(b.WireBytes)
		if _, err := dec.Decode(b, fn); err != nil {
			return bytes, err
		}
		r.Release(b)
	}
	return bytes, nil
}

// estimate reads a little of the largest topic to tell how long copying and
// verification may take. A copy costs about as much again as the reading, and
// the verification reads both topics.
func (p *MigrationPlan) estimate(ctx context.Context) error {
	var total int64
	var largest *TopicPlan
	known := true
	for i := range p.Topics {
		t := &p.Topics[i]
		p.Records += t.Records
		if t.Drained {
			continue
		}
		if t.Bytes == nil {
			known = false
			continue
		}
		total += *t.Bytes
		if largest == nil || *t.Bytes > *largest.Bytes {
			largest = t
		}
	}
	if !known || largest == nil {
		return nil
	}
	p.Bytes = &total
	const sample = 8 << 20
	ct := p.m.topic(largest.Old)
	best := &ct.Partitions[0]
	for i := range ct.Partitions {
		if c := &ct.Partitions[i]; c.End-c.Map.Start() > best.End-best.Map.Start() {
			best = c
		}
	}
	begun := time.Now()
	n, err := readSome(ctx, p.client, kafka.ReadOptions{Topic: largest.Old, Partition: best.Partition, From: best.Map.Start(), To: best.End, MaxBytes: sample / 4},
		func(*kafka.Record) error { return nil }, sample)
	if _, moved := asMoved(err); err != nil && !moved {
		return err
	}
	if n == 0 {
		p.Estimate = &Estimate{0, "there is nothing to copy"}
		return nil
	}
	const copying, verifying = 3, 3 // times a plain reading, both topics included
	p.Estimate = &Estimate{time.Since(begun).Seconds() / float64(n) * float64(total) * (copying + verifying),
		"reading the first " + megabytes(n) + " of the largest topic"}
	return nil
}
