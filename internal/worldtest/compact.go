package worldtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Compact lets the broker's cleaner go over all of a topic, and waits for it:
// superseded records are gone, their offsets are gaps. The newest segment is
// never cleaned, so each partition's last data record is written once more to
// begin a new one, a little newer than all others: the broker rolls by their
// timestamps.
// Records behind an open transaction are not reached.
func (b *Broker) Compact(ctx context.Context, topic string) error {
	const (
		segmentMs = "segment.ms"
		dirty     = "min.cleanable.dirty.ratio"
		lag       = "min.compaction.lag.ms"
	)
	before, err := b.topicConfig(ctx, topic)
	if err != nil {
		return err
	}
	eager := map[string]string{segmentMs: "1", dirty: "0", lag: "0"}
	if err := SetTopicConfig(ctx, b.Bootstrap, topic, eager); err != nil {
		return err
	}
	restore := map[string]string{segmentMs: before[segmentMs], dirty: before[dirty], lag: before[lag]}
	defer func() { _ = SetTopicConfig(context.WithoutCancel(ctx), b.Bootstrap, topic, restore) }()

	target, err := b.roll(ctx, topic)
	if err != nil {
		return fmt.Errorf("compact %s: %w", topic, err)
	}
	// The controller answers before the broker has the new configuration, so
	// the records may have gone into the old segment: then once more.
	for deadline := time.Now().Add(2 * time.Minute); !b.begins(topic, target); {
		if time.Now().After(deadline) {
			return fmt.Errorf("compact %s: no segments begin at %v", topic, target)
		}
		time.Sleep(200 * time.Millisecond)
		if target, err = b.roll(ctx, topic); err != nil {
			return fmt.Errorf("compact %s: %w", topic, err)
		}
	}
	return b.awaitCleaner(ctx, topic, target)
}

// DropTombstones compacts a topic and lets it forget deleted keys, as it does
// after delete.retention.ms. A topic that Compact has gone over keeps those it
// had then: the time they may go is set at their first cleaning.
func (b *Broker) DropTombstones(ctx context.Context, topic string) error {
	const retention = "delete.retention.ms"
	before, err := b.topicConfig(ctx, topic)
	if err != nil {
		return err
	}
	if err := SetTopicConfig(ctx, b.Bootstrap, topic, map[string]string{retention: "0"}); err != nil {
		return err
	}
	// The first pass stamps tombstones with the time they may go, the second drops them.
	for range 2 {
		if err := b.Compact(ctx, topic); err != nil {
			return err
		}
	}
	return SetTopicConfig(ctx, b.Bootstrap, topic, map[string]string{retention: before[retention]})
}

func (b *Broker) topicConfig(ctx context.Context, topic string) (map[string]string, error) {
	snapshot := Snapshot{Topics: map[string]TopicState{}}
	err := withAdmin(b.Bootstrap, func(admin *kadm.Client) error { return snapshot.topics(ctx, admin, []string{topic}) })
	return snapshot.Topics[topic].Config, err
}

// roll begins a new segment in each partition that has data and returns the
// offset before which each can be cleaned.
func (b *Broker) roll(ctx context.Context, topic string) (map[int32]int64, error) {
	log, err := ReadTopic(ctx, b.Bootstrap, topic)
	if err != nil {
		return nil, err
	}
	var copies []Record
	for partition, records := range log {
		var last *kgo.Record
		var newest time.Time
		for _, r := range records {
			if !r.Attrs.IsControl() && r.Key != nil {
				last = r
			}
			if r.Timestamp.After(newest) {
				newest = r.Timestamp
			}
		}
		if last != nil {
			copies = append(copies, Record{Partition: partition, Key: last.Key, Value: last.Value,
				Headers: last.Headers, Timestamp: newest.Add(2 * time.Millisecond)})
		}
	}
	client, err := newProducer(b.Bootstrap)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	target := map[int32]int64{}
	for _, result := range client.ProduceSync(ctx, convert(topic, copies)...) {
		if result.Err != nil {
			return nil, result.Err
		}
		target[result.Record.Partition] = result.Record.Offset
	}
	return target, nil
}

// begins tells whether a segment of each partition begins at its offset.
func (b *Broker) begins(topic string, at map[int32]int64) bool {
	for partition, offset := range at {
		log := filepath.Join(b.Dir, "logs", fmt.Sprintf("%s-%d", topic, partition), fmt.Sprintf("%020d.log", offset))
		if _, err := os.Stat(log); err != nil {
			return false
		}
	}
	return true
}

// awaitCleaner waits until the cleaner has noted the target offsets in its
// checkpoint file.
func (b *Broker) awaitCleaner(ctx context.Context, topic string, target map[int32]int64) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	path := filepath.Join(b.Dir, "logs", "cleaner-offset-checkpoint")
	for {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		cleaned := map[int32]int64{}
		for line := range strings.Lines(string(content)) {
			var name string
			var partition int32
			var offset int64
			if n, _ := fmt.Sscan(line, &name, &partition, &offset); n == 3 && name == topic {
				cleaned[partition] = offset
			}
		}
		waiting := 0
		for partition, offset := range target {
			if cleaned[partition] < offset {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: cleaned up to %v, not yet to %v: %w", topic, cleaned, target, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
