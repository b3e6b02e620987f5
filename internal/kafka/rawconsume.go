package kafka

import "context"

// RawConsume reads a whole topic, one partition after the other, and does
// nothing with the records: the floor that a restore is measured against. It
// sends a fetch request through franz-go, decodes the batches of the response
// and checks their CRCs, and sends the next, as one goroutine. bytes are
// fetched bytes of whole batches.
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
	r, rctx, err := c.newReader(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	defer close(r.done) // nobody fetches ahead
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	var d Decoder
	for r.pos < o.To {
		b, err := r.next(rctx)
		if err != nil {
			return bytes, records, err
		}
		st, err := d.Decode(b, func(*Record) error { return nil })
		bytes, records = bytes+int64(b.WireBytes), records+st.Records
		if err != nil {
			return bytes, records, err
		}
		r.pos = b.Next
	}
	return bytes, records, nil
}
