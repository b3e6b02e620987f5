package migrate

import (
	"context"
)

// twice: producers are idempotent, but a broker that reads its log again forgets
// those whose newest record is older than producer.id.expiration.ms, a day, by
// its timestamp (ProducerStateManager.isProducerExpired); copied records are. So
// what was sent and not confirmed when it went down is sent and taken once more, in the
// same order.
const twice = "a broker that went down amid the copy took records twice"

// copied is what a partition of a copy holds beyond the ledger. It is compared
// with the old records, not written again. A piece of it may be there twice: of a
// changelog that does no harm, the newest record of each key is the same.
type copied struct {
	pc   *partCopy
	r    *hashReader
	seen []recordHash // the last ones
}

// seenMost is how many records are kept to be found again: many more than are on
// their way at a time.
const seenMost = 1 << 18

// next says whether the next record of the copy is this one; false at its end.
func (c *copied) next(ctx context.Context, h *recordHash) (bool, error) {
	for {
		had, err := c.r.read(ctx)
		switch {
		case isEOF(err):
			return false, nil
		case err != nil:
			return false, err
		case h.same(had):
			c.see(*had)
			c.confirm()
			return true, nil
		}
		if err := c.again(ctx, *had); err != nil {
			return false, err
		}
	}
}

// end says that the copy holds nothing more, but for records that it holds twice.
func (c *copied) end(ctx context.Context) error {
	for {
		had, err := c.r.read(ctx)
		if isEOF(err) {
			return nil
		}
		if err == nil {
			err = c.again(ctx, *had)
		}
		if err != nil {
			return err
		}
	}
}

// again takes a piece of the copy that begins with had and repeats all that came
// before it, from the same record on.
func (c *copied) again(ctx context.Context, had recordHash) error {
	at := len(c.seen) - 1
	for at >= 0 && !c.seen[at].same(&had) {
		at--
	}
	if at < 0 || c.pc.k.topic.Why != ChangelogTopic {
		return c.pc.k.strange(c.pc.p)
	}
	for i := at; ; {
		had.add(&c.pc.all)
		c.pc.sent++
		c.confirm()
		if i++; i == len(c.seen) {
			return nil
		}
		next, err := c.r.read(ctx)
		if err == nil && !next.same(&c.seen[i]) || isEOF(err) {
			return c.pc.k.strange(c.pc.p)
		}
		if err != nil {
			return err
		}
		had = *next
	}
}

func (c *copied) see(h recordHash) {
	if len(c.seen) == seenMost {
		c.seen = append(c.seen[:0], c.seen[seenMost/2:]...)
	}
	c.seen = append(c.seen, h)
}

// confirm counts a record that the broker has.
func (c *copied) confirm() {
	c.pc.mu.Lock()
	c.pc.acked++
	c.pc.mu.Unlock()
}
