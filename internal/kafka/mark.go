package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LogMark is a place in a log that can be recognized: the batch before Offset
// was written by the leader of that epoch. A log in which that is so no longer
// was cut back, by an unclean leader election, however long it has grown since
// (KIP-101, KIP-320). The zero value is the start of every log.
type LogMark struct {
	Offset int64 `json:"offset"`
	Epoch  int32 `json:"epoch"`
}

// Pass moves the mark on to o, if that is further.
func (m *LogMark) Pass(o LogMark) {
	if o.Offset > m.Offset {
		*m = o
	}
}

// prove asks a leader that is new to the reader whether its log has what was
// read before. The fetch that follows names the same leader epoch, so nothing
// comes in between. Where there is no answer it is not known: brokers before 2.3
// tell only other brokers, and a log of before 0.11 knows no epoch (-1).
func (r *PartitionReader) prove(ctx context.Context, deadline time.Time) error {
	if r.mark.Offset == 0 {
		r.proven = r.lead.epoch
		return nil
	}
	rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = r.o.Partition, r.lead.epoch, r.mark.Epoch
	rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
	rt.Topic, rt.Partitions = r.o.Topic, append(rt.Partitions, rp)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	ctx, cancel = r.c.timeout(ctx)
	defer cancel()
	kresp, err := r.f.Broker(int(r.lead.id)).Request(ctx, req)
	switch {
	case isUnsupportedVersion(err):
		r.proven = r.lead.epoch
		return nil
	case err != nil:
		return err
	}
	resp := kresp.(*kmsg.OffsetForLeaderEpochResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return errors.New("an answer without the partition")
	}
	p := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil && !isDenied(err) {
		return err
	} else if err == nil && p.EndOffset >= 0 && p.EndOffset < r.mark.Offset {
		return &fatalError{&LogCutBackError{Topic: r.o.Topic, Partition: r.o.Partition, Position: r.mark.Offset, End: p.EndOffset}}
	}
	r.proven = r.lead.epoch
	return nil
}
