package migrate

import (
	"errors"
	"fmt"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// damaged says that a copy is not what was written to it.
func (k *copying) damaged(p *CopiedPartition, format string, args ...any) error {
	return op.Errorf(op.Failed, "the copy %s-%d is damaged: %s", k.topic.New, p.Partition, fmt.Sprintf(format, args...)).
		WithTry("sstool migrate abort FILE removes the copy; nothing old was changed. Then run it again")
}

// strange says that a copy under way holds something else than the old topic.
func (k *copying) strange(p *CopiedPartition) error {
	return op.Errorf(op.Precondition, "the copy %s-%d holds records that %s has not (any more): the application has written to it, or a cleaner has removed them there since the copy was interrupted, or "+twice, k.topic.New, p.Partition, k.topic.Old).
		WithTry("sstool migrate abort FILE removes the copy; nothing old was changed. Then run it again")
}

// asMoved says that a log start moved past the reader.
func asMoved(err error) (int64, bool) {
	var moved *kafka.LogStartMovedError
	if errors.As(err, &moved) {
		return moved.LogStart, true
	}
	return 0, false
}

func errMoved(topic string, partition int32, planned, end int64) *op.Error {
	return op.Errorf(op.Precondition, "%s-%d ends at offset %d, it was copied up to %d: the application has run meanwhile", topic, partition, end, planned).
		WithTry("stop it, then run this again: it copies what has come")
}

func unmeasuredRetention(from, to int64) string {
	return fmt.Sprintf("retention moved the log start of the old topic from offset %d to %d meanwhile", from, to)
}
