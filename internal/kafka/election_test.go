package kafka

import (
	"sync/atomic"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOffsetsWaitForALeader: an election while the ends of a log are asked for
// is waited out, and a partition that stays without a leader is told.
func TestOffsetsWaitForALeader(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	if err := k.Topic("t", 1); err != nil {
		t.Fatal(err)
	}
	produce(t, k, "t", numbered(0, 7)...)
	c := open(t, k)
	var left atomic.Int64
	k.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if left.Add(-1) < 0 {
			return nil, nil, false
		}
		req := kreq.(*kmsg.ListOffsetsRequest)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, rt := range req.Topics {
			t := kmsg.NewListOffsetsResponseTopic()
			t.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				p := kmsg.NewListOffsetsResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, kerr.LeaderNotAvailable.Code
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp, nil, true
	})
	left.Store(3)
	if ends, err := c.Offsets(t.Context(), "t", nil); err != nil || ends[0].End != 7 {
		t.Errorf("after an election: %v, %v", ends, err)
	}
	left.Store(1 << 40)
	if _, err := c.Offsets(t.Context(), "t", nil); op.KindOf(err) != op.Unreachable {
		t.Errorf("without a leader: %v", err)
	}
}
