package kafka

import (
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"sstool/internal/kafkatest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetching returns the connection that the only busy reader fetches over.
func fetching(c *Client) *answering {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.busy {
		return f.conn.Load()
	}
	return nil
}

func TestReleasedBuffersAreUsedAgain(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	topic(t, k, "t", 1)
	batches(t, k, "t", 60)
	c := open(t, k)
	// One is less than any batch: each is read whole all the same.
	for _, size := range []int32{1, 1000} {
		seen := map[*byte]bool{}
		blocks, own := 0, 0
		r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 600, MaxBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			b, err := r.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			blocks++
			if cap(b.buf) > 0 {
				own++
				seen[&b.buf[:1][0]] = true
			}
			r.Release(b)
		}
		// A response may be a little larger than the one whose buffer it gets.
		if blocks < 10 || own != blocks-1 || len(seen) > 6 {
			t.Errorf("%d bytes a fetch: %d blocks, all but the first (%d) in %d buffers, expected few more than are in flight", size, blocks, own, len(seen))
		}
	}
}

func TestKeptBlocksKeepTheirBytes(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	topic(t, k, "t", 1)
	batches(t, k, "t", 20)
	c := open(t, k)
	r, err := c.OpenPartition(t.Context(), ReadOptions{Topic: "t", To: 200, MaxBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var kept []*Block
	for i := 0; ; i++ {
		b, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			kept = append(kept, b)
		} else {
			r.Release(b)
		}
	}
	var d Decoder
	for _, b := range kept {
		want := b.First
		if _, err := d.Decode(b, func(rec *Record) error {
			if rec.Offset != want {
				t.Errorf("offset %d, expected %d", rec.Offset, want)
			}
			want++
			return nil
		}); err != nil || want != b.Next {
			t.Fatal(err, want, b.Next)
		}
	}
	if len(kept) < 5 {
		t.Fatalf("only %d blocks kept", len(kept))
	}
}

// Whatever happens to the connection of a line, reading goes on over a new one.
func TestLineIsCut(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	topic(t, k, "t", 1)
	batches(t, k, "t", 40)
	c := open(t, k)
	var events []ReadEvent
	o := ReadOptions{Topic: "t", To: 400, MaxBytes: 1, OnEvent: func(e ReadEvent) { events = append(events, e) }}
	r, err := c.OpenPartition(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var d Decoder
	next, cuts := int64(0), 0
	var last *answering
	for {
		b, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decode(b, func(rec *Record) error {
			if rec.Offset != next {
				t.Fatalf("offset %d, expected %d", rec.Offset, next)
			}
			next++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		r.Release(b)
		if conn := fetching(c); conn != nil && conn != last && cuts < 3 {
			last = conn
			cuts++
			conn.Conn.Close()
		}
	}
	r.Close()
	if next != 400 || cuts != 3 || !slices.Contains(kinds(events), ReadRetry) {
		t.Errorf("%d records, %d cuts, events %v", next, cuts, events)
	}
}

// A client over its quota waits before the next request (KIP-219).
func TestThrottledLineWaits(t *testing.T) {
	k, c := scripted(t)
	log, size := logOf(t)
	var at []time.Time
	k.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		at = append(at, time.Now())
		req := kreq.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		resp.ThrottleMillis = 100
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset = 30, 30
		p.RecordBatches = fromOffset(log, req.Topics[0].Partitions[0].FetchOffset, size)
		rt := kmsg.NewFetchResponseTopic()
		rt.TopicID = req.Topics[0].TopicID
		rt.Partitions = append(rt.Partitions, p)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 30})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 0, 30)
	if len(at) != 3 {
		t.Fatalf("%d requests", len(at))
	}
	for i := 1; i < len(at); i++ {
		if d := at[i].Sub(at[i-1]); d < 95*time.Millisecond {
			t.Errorf("request %d came %s after the one before, the broker asked for 100 ms", i, d)
		}
	}
}

// franz-go closes connections that look idle to it; not one that is in use.
func TestTakenConnectionStaysOpen(t *testing.T) {
	open := func() (*answering, net.Conn) {
		a, b := net.Pipe()
		return &answering{Conn: a}, b
	}
	closed := func(peer net.Conn) bool {
		_ = peer.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := peer.Read(make([]byte, 1))
		return err == io.EOF
	}
	a, peer := open()
	if !a.take() {
		t.Fatal("not taken")
	}
	_ = a.Close()
	if closed(peer) {
		t.Error("closed while taken")
	}
	a.release()
	if !closed(peer) {
		t.Error("open after it was released")
	}
	a, peer = open()
	_ = a.Close()
	if a.take() || !closed(peer) {
		t.Error("taken after it was closed")
	}
}

// A line checks what it reads: the answer to another request, and lengths.
func TestLineRefusesForeignResponses(t *testing.T) {
	for name, answer := range map[string][]byte{
		"correlation id":  {0, 0, 0, 8, 0, 0, 0, 99, 0, 0, 0, 0},
		"negative length": {0xff, 0, 0, 0, 0, 0, 0, 1},
		"length below 4":  {0, 0, 0, 3, 0, 0, 0, 1},
		"huge length":     {0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1},
		"cut off":         {0, 0, 0, 40, 0, 0, 0, 1, 0, 0},
		"no response":     {0, 0, 0, 6, 0, 0, 0, 1, 0, 0xff},
	} {
		a, peer := net.Pipe()
		l := &line{conn: &answering{Conn: a}, version: 12, format: kmsg.NewRequestFormatter()}
		go func() {
			buf := make([]byte, 4096)
			_, _ = peer.Read(buf)
			_, _ = peer.Write(answer)
			peer.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		resp, _, err := l.fetch(ctx, kmsg.NewPtrFetchRequest(), nil)
		if err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
		cancel()
	}
}
