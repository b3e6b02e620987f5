package kafka

import (
	"context"
	"errors"
	"io"
	"sync"
)

// EachBlock reads the range with several workers, and ends with the first error
// of any. fn is called by worker 0 … workers-1 with blocks as they come; number
// is the block's, in the order of offsets from 0 on. The block is the worker's
// until fn returns.
func (c *Client) EachBlock(ctx context.Context, o ReadOptions, workers int, fn func(worker int, number int64, b *Block) error) error {
	reader, err := c.OpenPartition(ctx, o)
	if err != nil {
		return err
	}
	defer reader.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // one worker at a time takes a block, and its number
	number := int64(-1)
	next := func() (*Block, int64, error) {
		mu.Lock()
		defer mu.Unlock()
		b, err := reader.Next(ctx)
		number++
		return b, number, err
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for {
				b, n, err := next()
				if errors.Is(err, io.EOF) {
					return
				}
				if err == nil {
					err = fn(w, n, b)
				}
				if err != nil {
					cancel(err)
					return
				}
				reader.Release(b)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
