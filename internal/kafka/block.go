package kafka

import (
	"fmt"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Block is the usable part of one fetch response: whole batches, in offset
// order. It owns its bytes until it is released.
type Block struct {
	Topic     string
	Partition int32
	// First and Next are the reader's position before and after the block.
	// Next is never beyond ReadOptions.To.
	First, Next   int64
	WireBytes     int           // bytes of whole batches, as fetched
	ReadCommitted bool          // records of aborted transactions are skipped
	Asked         time.Time     // when the request was sent
	Wait          time.Duration // from the request to the whole response
	HighWatermark int64         // as of this response
	LastStable    int64
	LogStart      int64
	Mark          LogMark // behind the last batch; zero when that is not known

	from, to    int64 // only records in [from, to) are delivered
	raw         []byte
	buf         []byte // what raw is a part of, when it can be used again
	abortedTxns []kmsg.FetchResponseTopicPartitionAbortedTransaction
}

// scan walks the batch headers of a response and returns how many bytes are
// whole batches that begin before end, and the offset after the last of them.
// need is the size of a first batch that did not fit.
func scan(b *Block, p []byte, end int64) (n int, next int64, need int64, err error) {
	next = b.First
	prev := int64(-1)
	for n < len(p) {
		rest := p[n:]
		size, ok := batchSize(rest)
		if !ok {
			if n == 0 {
				need = batchHeader
			}
			return n, next, need, nil
		}
		if size <= magicAt || size > maxResponse {
			return 0, 0, 0, b.corrupt(rest, fmt.Errorf("length %d", size))
		}
		if size > int64(len(rest)) {
			if n == 0 {
				need = size
			}
			return n, next, need, nil
		}
		bt := batch(rest[:size])
		base, last, epoch := bt.baseOffset(), bt.baseOffset(), int32(-1)
		if bt[magicAt] >= 2 {
			if size < batchHeader {
				return 0, 0, 0, b.corrupt(rest, fmt.Errorf("length %d", size))
			}
			last = bt.lastOffset()
			epoch = bt.leaderEpoch()
		}
		if base < 0 || last < base || base <= prev {
			return 0, 0, 0, b.corrupt(rest, fmt.Errorf("offsets %d to %d after %d", base, last, prev))
		}
		if base >= end {
			return n, max(next, end), 0, nil
		}
		prev, next = last, max(next, last+1)
		if b.Mark = (LogMark{}); epoch >= 0 {
			b.Mark = LogMark{last + 1, epoch}
		}
		n += int(size)
	}
	return n, next, 0, nil
}

func (b *Block) corrupt(bt []byte, err error) error {
	at := "a batch whose header is cut off"
	if len(bt) >= 8 {
		at = fmt.Sprintf("the batch at offset %d", batch(bt).baseOffset())
	}
	return &op.Error{Kind: op.Corrupt, What: fmt.Sprintf("%s-%d: %s is corrupt", b.Topic, b.Partition, at), Err: err,
		Try: "kafka-dump-log.sh on the broker's segment; a healthy replica may have it"}
}

// oldOrCorrupt is the error for a batch that is not of format v2.
func (b *Block) oldOrCorrupt(bt batch) error {
	if m := bt[magicAt]; m > 1 {
		return b.corrupt(bt, fmt.Errorf("unknown message format %d", m))
	}
	return op.Errorf(op.Failed, "%s-%d: the message at offset %d has format v%d of Kafka before 0.11, which sstool does not read",
		b.Topic, b.Partition, bt.baseOffset(), bt[magicAt]).WithTry("copy the topic once with any current client")
}
