package kafka

import (
	"errors"
	"io"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// halfRead reads some of a partition of 200 records and moves its leader.
func halfRead(t *testing.T) (*kafkatest.Cluster, *PartitionReader) {
	k := startCluster(t, kafkatest.Options{Brokers: 2})
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	r, err := open(t, k).OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if b, err := r.Next(t.Context()); err != nil || b.Mark != (LogMark{10, 0}) {
		t.Fatalf("%+v, %v", b, err)
	}
	if err := k.MoveTopicPartition("t", 0, 1-k.LeaderFor("t", 0)); err != nil {
		t.Fatal(err)
	}
	return k, r
}

func rest(t *testing.T, r *PartitionReader) (next int64, err error) {
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			return next, err
		}
		next = b.Next
	}
}

// TestLogCutBack: a new leader that has not what was read ends the reader, also
// when its log goes further than the position; one that has it, and one that
// does not say, do not.
func TestLogCutBack(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		_, r := halfRead(t)
		if next, err := rest(t, r); err != io.EOF || next != 200 {
			t.Error(next, err)
		}
	})
	t.Run("cut", func(t *testing.T) {
		k, r := halfRead(t)
		k.CutBack(5)
		next, err := rest(t, r)
		var cut *LogCutBackError
		if !errors.As(err, &cut) || cut.End != 5 || cut.Position < 10 || cut.Position < next {
			t.Error(next, err)
		}
		optest.WantKind(t, err, op.Failed, "t-0", "cut back")
	})
	t.Run("before", func(t *testing.T) {
		k := startCluster(t, kafkatest.Options{})
		topic(t, k, "t", 1)
		batches(t, k, "t", 3)
		k.CutBack(20)
		c := open(t, k)
		if _, _, _, err := readAll(t, c, ReadOptions{Topic: "t", From: 20, To: 30, Mark: LogMark{20, 0}}); err != nil {
			t.Error("a reader that goes on:", err)
		}
		k.CutBack(20)
		_, _, _, err := readAll(t, c, ReadOptions{Topic: "t", From: 25, To: 30, Mark: LogMark{25, 0}})
		optest.WantKind(t, err, op.Failed, "t-0", "only what is before offset 20")
	})
	for _, code := range []*kerr.Error{kerr.ClusterAuthorizationFailed, kerr.FencedLeaderEpoch} {
		t.Run(code.Message, func(t *testing.T) {
			k, r := halfRead(t)
			k.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				if code == kerr.ClusterAuthorizationFailed {
					k.KeepControl() // a retriable one is told once
				}
				resp := kreq.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
				rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rt.Topic, rp.ErrorCode = "t", code.Code
				rt.Partitions = append(rt.Partitions, rp)
				resp.Topics = append(resp.Topics, rt)
				return resp, nil, true
			})
			if next, err := rest(t, r); err != io.EOF || next != 200 {
				t.Error(next, err)
			}
		})
	}
}
