package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// delivery is the first ready batch of a lane, on its way.
type delivery struct {
	l      *lane
	b      *outBatch
	leader int32
	last   error // why it is tried again
}

// sender is what one of the producer's goroutines keeps.
type sender struct {
	p    *Producer
	def  *deflater
	bufs [][]byte // compressed batches
}

// send is a goroutine that delivers batches until the producer closes.
func (p *Producer) send() {
	s := &sender{p: p}
	var err error
	if s.def, err = newDeflater(p.o.Compression); err != nil {
		p.fail(err)
		return
	}
	for {
		ds := p.take()
		if ds == nil {
			return
		}
		if err := s.deliver(ds); err != nil {
			p.fail(err)
		}
	}
}

// take waits for ready batches and takes one of each lane that the same broker
// leads. nil: the producer has failed or is closed.
func (p *Producer) take() []*delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.err != nil || p.ctx.Err() != nil {
			return nil
		}
		var out []*delivery
		bytes := 0
		rest := p.order[:0]
		for _, l := range p.order {
			b := l.ready[0]
			if len(out) > 0 && (l.leader != out[0].l.leader || bytes+len(b.buf) > requestBytes) {
				rest = append(rest, l)
				continue
			}
			l.busy = true
			bytes += len(b.buf)
			out = append(out, &delivery{l: l, b: b, leader: l.leader})
		}
		p.order = rest
		if len(out) > 0 {
			return out
		}
		p.changed.Wait()
	}
}

// deliver sends the batches until the brokers have all of them.
func (s *sender) deliver(ds []*delivery) error {
	deadline := time.Now().Add(s.p.stall())
	for try := 0; len(ds) > 0; try++ {
		// What was halved is tried at once.
		if slices.ContainsFunc(ds, func(d *delivery) bool { return d.last != nil }) {
			sleep(s.p.ctx, s.p.c.pause(try-1))
			if err := s.p.ctx.Err(); err != nil {
				return err
			}
			if time.Now().After(deadline) {
				return s.p.stalled(ds[0])
			}
			if err := s.p.findLeaders(deadline, ds); err != nil {
				return err
			}
		}
		var again []*delivery
		for len(ds) > 0 {
			leader := ds[0].leader
			var one, rest []*delivery
			for _, d := range ds {
				if d.leader == leader {
					one = append(one, d)
				} else {
					rest = append(rest, d)
				}
			}
			ds = rest
			failed, err := s.request(leader, one, deadline)
			if err != nil {
				return err
			}
			again = append(again, failed...)
		}
		ds = again
	}
	return nil
}

// request sends one request. It returns what is to be tried again.
func (s *sender) request(leader int32, ds []*delivery, deadline time.Time) ([]*delivery, error) {
	p := s.p
	if leader < 0 {
		return later(ds, kerr.LeaderNotAvailable), nil
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	limit := max(min(p.c.set.request, time.Until(deadline)), time.Second)
	req.TimeoutMillis = int32(limit.Milliseconds())
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = p.o.Topic, p.topicID
	for i, d := range ds {
		for len(s.bufs) <= i {
			s.bufs = append(s.bufs, nil)
		}
		wire, buf, err := d.b.seal(s.def, s.bufs[i], p.id, p.epoch, d.l.seq)
		if s.bufs[i] = buf; err != nil {
			return nil, &op.Error{Kind: op.Failed, What: p.what, Err: err}
		}
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = d.l.partition, wire
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	ctx, cancel := context.WithTimeout(p.ctx, limit+time.Second)
	defer cancel()
	kresp, err := p.c.cl.Broker(int(leader)).Request(ctx, req)
	if p.ctx.Err() != nil {
		return nil, p.ctx.Err()
	}
	if err != nil {
		if permanent(err) || unsupported(err) {
			return nil, p.c.explain(err, p.what, topicACL("WRITE", p.o.Topic))
		}
		return later(ds, err), nil
	}
	return s.answered(ds, kresp.(*kmsg.ProduceResponse))
}

func later(ds []*delivery, err error) []*delivery {
	for _, d := range ds {
		d.last = err
	}
	return ds
}

// answered takes the broker's answer in.
func (s *sender) answered(ds []*delivery, resp *kmsg.ProduceResponse) (again []*delivery, err error) {
	if len(resp.Topics) != 1 {
		return later(ds, fmt.Errorf("the answer has %d topics", len(resp.Topics))), nil
	}
	parts := resp.Topics[0].Partitions
	for _, d := range ds {
		i := slices.IndexFunc(parts, func(x kmsg.ProduceResponseTopicPartition) bool { return x.Partition == d.l.partition })
		if i < 0 {
			d.last = errors.New("the answer lacks the partition")
			again = append(again, d)
			continue
		}
		err := kerr.ErrorForCode(parts[i].ErrorCode)
		switch {
		case err == nil:
			s.p.done(d, parts[i].BaseOffset)
		case errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge):
			if d.b.count == 1 {
				return nil, s.p.tooLarge(d)
			}
			if err := s.p.halve(d); err != nil {
				return nil, err
			}
			again = append(again, d)
		case worthRetry(err):
			d.last = err
			again = append(again, d)
		default:
			return nil, s.p.refused(d, err, &parts[i])
		}
	}
	return again, nil
}

// worthRetry tells errors that may pass. A broker may have written the batch
// all the same: the next one finds it by its sequence number.
func worthRetry(err error) bool {
	return kerr.IsRetriable(err) || errors.Is(err, kerr.UnknownServerError) || errors.Is(err, kerr.CorruptMessage)
}

// done tells the caller and lets the lane's next batch go.
func (p *Producer) done(d *delivery, base int64) {
	if p.o.OnAck != nil {
		p.ack.Lock()
		for i, tag := range d.b.tags {
			p.o.OnAck(d.l.partition, base+int64(i), tag)
		}
		p.ack.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := d.l
	l.seq = nextSeq(l.seq, d.b.count)
	l.busy = false
	if l.ready = l.ready[1:]; len(l.ready) > 0 {
		p.order = append(p.order, l)
	} else {
		l.ready = nil
	}
	p.pending--
	if p.held <= p.o.BufferBytes && len(p.free) < 2*senders+len(p.lanes) {
		d.b.reset()
		p.free = append(p.free, d.b)
	} else {
		p.held -= d.b.held()
	}
	p.changed.Broadcast()
}

// halve replaces a batch that the broker finds too large by two.
func (p *Producer) halve(d *delivery) error {
	x, y, err := d.b.halve()
	if err != nil {
		return &op.Error{Kind: op.Failed, What: p.what, Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += x.held() + y.held() - d.b.held()
	p.limit = max(min(p.limit, len(d.b.buf)/2), 2*batchHeader)
	d.l.ready = append([]*outBatch{x, y}, d.l.ready[1:]...)
	p.pending++
	d.b, d.last = x, nil
	return nil
}

// findLeaders looks the leaders of the lanes up.
func (p *Producer) findLeaders(deadline time.Time, ds []*delivery) error {
	ctx, cancel := context.WithDeadline(p.ctx, deadline)
	defer cancel()
	resp, err := p.c.metadata(ctx, p.c.cl, []string{p.o.Topic})
	if err != nil {
		if permanent(err) {
			return p.c.explain(err, p.what, nil)
		}
		later(ds, err)
		return nil
	}
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		p.mu.Lock()
		p.unknown++
		missing := p.unknown >= unknownsForMissing
		p.mu.Unlock()
		if missing { // a broker that has just started knows none
			if _, err := p.c.Topic(ctx, p.o.Topic); op.KindOf(err) == op.NotFound {
				return err
			}
		}
		return nil
	}
	t := &resp.Topics[0]
	var zero [16]byte
	if t.TopicID != p.topicID && t.TopicID != zero {
		return op.Errorf(op.Precondition, "%s: the topic was deleted and created anew meanwhile", p.what).WithTry("run the command again")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unknown = 0
	for _, part := range t.Partitions {
		if l := p.lanes[part.Partition]; l != nil {
			l.leader = part.Leader
		}
	}
	for _, d := range ds {
		d.leader = d.l.leader
	}
	return nil
}
