package kafkatest

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func consume(t *testing.T, c *Cluster, topic string, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.Addrs()...), kgo.ConsumeTopics(topic))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		out = append(out, fs.Records()...)
	}
	return out
}

// What is written is what franz-go's own consumer reads.
func TestProduce(t *testing.T) {
	c, err := Start(Options{Brokers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, codec := range []string{"none", "gzip", "snappy", "xerial", "lz4", "zstd"} {
		if err := c.Topic(codec, 3); err != nil {
			t.Fatal(err)
		}
		var r Record
		err := c.Produce(t.Context(), codec, codec, func(yield func(*Record) bool) {
			for i := range 30_000 {
				r = Record{Partition: int32(i % 3), Timestamp: int64(1 + i), Key: fmt.Appendf(nil, "k%d", i), Value: make([]byte, 100), Headers: []Header{{"h", nil}}}
				if i%10 == 0 {
					r.Value = nil
				}
				if !yield(&r) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		recs := consume(t, c, codec, 30_000)
		if len(recs) != 30_000 {
			t.Fatal(codec, len(recs))
		}
		for _, r := range recs {
			i := int(r.Offset)*3 + int(r.Partition)
			if string(r.Key) != fmt.Sprintf("k%d", i) || r.Timestamp.UnixMilli() != int64(1+i) || (r.Value == nil) != (i%10 == 0) || len(r.Headers) != 1 {
				t.Fatalf("%s: partition %d offset %d: %q", codec, r.Partition, r.Offset, r.Key)
			}
		}
	}
}

func TestTransactions(t *testing.T) {
	c, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Topic("t", 1); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, commit := range []bool{false, true} {
		if err := c.Transaction(ctx, "t", commit, Record{Key: fmt.Append(nil, commit), Timestamp: 1}); err != nil {
			t.Fatal(err)
		}
	}
	recs := consume(t, c, "t", 1, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if string(recs[0].Key) != "true" || recs[0].Offset != 2 {
		t.Fatal(recs[0])
	}
}

func TestListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if _, err := Start(Options{Listen: addr}); err == nil {
		t.Fatal("started on an address in use")
	}
	l.Close()
	c, err := Start(Options{Listen: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Addrs(); len(got) != 1 || got[0] != addr {
		t.Fatal(got)
	}
	for _, bad := range []string{"nonsense", "127.0.0.1:x", "127.0.0.1:99999"} {
		if _, err := Start(Options{Listen: bad}); err == nil {
			t.Errorf("started on %q", bad)
		}
	}
}
