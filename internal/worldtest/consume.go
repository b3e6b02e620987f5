package worldtest

import (
	"context"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// PlainConsume reads a whole topic with franz-go's own consumer, as a Go
// program would that only wants the records: large fetches, and a garbage
// collector that runs seldom. It is the second floor of the benchmark.
func PlainConsume(ctx context.Context, bootstrap, topic string) (records int64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(16<<20), kgo.FetchMaxBytes(64<<20))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return records, err
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			records += int64(len(p.Records))
			if n := len(p.Records); n > 0 && p.Records[n-1].Offset+1 >= left[p.Partition] {
				delete(left, p.Partition)
			}
		})
	}
	return records, nil
}
