package kafka

import (
	"context"
	"io"
)

// RawConsume reads a whole topic, one partition after the other, and does
// nothing with the records: the floor that a restore is measured against. Every
// request goes through franz-go, as any program's would.
// bytes are fetched bytes of whole batches.
func (c *Client) RawConsume(ctx context.Context, topic string) (bytes, records int64, err error) {
	ends, err := c.Offsets(ctx, topic, nil)
	if err != nil {
		return 0, 0, err
	}
	for p, o := range ends {
		b, n, err := c.rawConsume(ctx, ReadOptions{Topic: topic, Partition: p, From: o.Start, To: o.End, viaClient: true})
		bytes, records = bytes+b, records+n
		if err != nil {
			return bytes, records, err
		}
	}
	return bytes, records, nil
}

func (c *Client) rawConsume(ctx context.Context, o ReadOptions) (bytes, records int64, err error) {
	r, err := c.OpenPartition(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	var d Decoder
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return bytes, records, nil
		}
		if err != nil {
			return bytes, records, err
		}
		st, err := d.Decode(b, func(*Record) error { return nil })
		bytes, records = bytes+int64(b.WireBytes), records+st.Records
		if err != nil {
			return bytes, records, err
		}
		r.Release(b)
	}
}
