package kafka

import (
	"context"
	"errors"
	"io"
)

// peekBytes is asked for by Peek: a batch or a few.
const peekBytes = 64 << 10

var errPeeked = errors.New("peeked")

// Peek calls fn with the first records of a range, at most n and of one small
// fetch only: a look, for a guess or an estimate.
func (c *Client) Peek(ctx context.Context, o ReadOptions, n int, fn func(*Record) error) error {
	o.MaxBytes = peekBytes
	reader, err := c.OpenPartition(ctx, o)
	if err != nil {
		return err
	}
	defer reader.Close()
	b, err := reader.Next(ctx)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	var dec Decoder
	_, err = dec.Decode(b, func(r *Record) error {
		if n--; n < 0 {
			return errPeeked
		}
		return fn(r)
	})
	if errors.Is(err, errPeeked) {
		return nil
	}
	return err
}
