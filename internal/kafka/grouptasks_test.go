package kafka

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
)

// A fresh cluster makes the topic that its coordinators need at the first
// question, and has no coordinator until then: it is asked again.
func TestGroupOffsetsOfAFreshCluster(t *testing.T) {
	k, err := kafkatest.Start(kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"retry.backoff.ms": "1", "retry.backoff.max.ms": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var asked atomic.Int32
	k.ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if asked.Add(1) > 100 {
			return nil, nil, false
		}
		req := kreq.(*kmsg.OffsetFetchRequest)
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		resp.ErrorCode = kerr.CoordinatorNotAvailable.Code
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group, rg.ErrorCode = g.Group, kerr.CoordinatorNotAvailable.Code
			resp.Groups = append(resp.Groups, rg)
		}
		return resp, nil, true
	})
	if got, err := c.GroupOffsets(t.Context(), "g"); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	if n := asked.Load(); n <= 100 {
		t.Errorf("asked %d times", n)
	}
}

// The timings of a member are a consumer's, under their Java names.
func TestGroupTimings(t *testing.T) {
	for _, c := range []struct {
		props Properties
		bad   bool
	}{
		{Properties{}, false},
		{Properties{"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"}, false},
		{Properties{"session.timeout.ms": "300"}, false},
		{Properties{"session.timeout.ms": "soon"}, true},
		{Properties{"heartbeat.interval.ms": "0"}, true},
		{Properties{"session.timeout.ms": "6000", "heartbeat.interval.ms": "6000"}, true},
	} {
		session, heartbeat, err := (&Client{cfg: Config{Properties: c.props}}).groupTimings()
		if (err != nil) != c.bad || c.bad && op.KindOf(err) != op.Usage || !c.bad && heartbeat >= session {
			t.Errorf("%v: %s %s %v", c.props, session, heartbeat, err)
		}
	}
}
