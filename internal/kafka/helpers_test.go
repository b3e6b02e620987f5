package kafka

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"testing"
	"time"

	"sstool/internal/kafkatest"
)

func startCluster(t testing.TB, o kafkatest.Options) *kafkatest.Cluster {
	t.Helper()
	c, err := kafkatest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t testing.TB, k *kafkatest.Cluster) *Client {
	t.Helper()
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func topic(t testing.TB, k *kafkatest.Cluster, name string, partitions int32, configs ...string) {
	t.Helper()
	if err := k.Topic(name, partitions, configs...); err != nil {
		t.Fatal(err)
	}
}

func produce(t testing.TB, k *kafkatest.Cluster, topic string, recs ...kafkatest.Record) {
	t.Helper()
	if err := k.ProduceAll(t.Context(), topic, recs...); err != nil {
		t.Fatal(err)
	}
}

// numbered makes n records k<i> = v<i> with timestamp 1000+i.
func numbered(from, n int) []kafkatest.Record {
	var out []kafkatest.Record
	for i := from; i < from+n; i++ {
		out = append(out, kafkatest.Record{Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i)})
	}
	return out
}

// got is a copy of a record, printable.
type got struct {
	off, ts  int64
	key, val string // "<nil>" for null
	headers  int
}

func str(b []byte) string {
	if b == nil {
		return "<nil>"
	}
	return string(b)
}

// readAll reads [From, To) and returns records, statistics and all events.
func readAll(t testing.TB, c *Client, o ReadOptions) ([]got, BlockStats, []ReadEvent, error) {
	t.Helper()
	var events []ReadEvent
	prev := o.OnEvent
	o.OnEvent = func(e ReadEvent) {
		events = append(events, e)
		if prev != nil {
			prev(e)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r, err := c.OpenPartition(ctx, o)
	if err != nil {
		return nil, BlockStats{}, events, err
	}
	recs, st, err := drain(ctx, r, o)
	r.Close()
	return recs, st, events, err
}

func drain(ctx context.Context, r *PartitionReader, o ReadOptions) (recs []got, st BlockStats, err error) {
	var d Decoder
	pos := o.From
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			if pos < o.To {
				return recs, st, fmt.Errorf("end of file at position %d of %d", pos, o.To)
			}
			return recs, st, nil
		}
		if err != nil {
			return recs, st, err
		}
		if b.First != pos || b.Next <= b.First || b.Next > o.To {
			return recs, st, fmt.Errorf("block %d to %d at position %d, end %d", b.First, b.Next, pos, o.To)
		}
		pos = b.Next
		s, err := d.Decode(b, func(r *Record) error {
			recs = append(recs, got{r.Offset, r.Timestamp, str(r.Key), str(r.Value), r.HeaderCount})
			return nil
		})
		st.Add(s)
		if err != nil {
			return recs, st, err
		}
		r.Release(b)
	}
}

func end(t testing.TB, c *Client, topic string) int64 {
	t.Helper()
	o, err := c.Offsets(t.Context(), topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o[0].End
}

func crc(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }
