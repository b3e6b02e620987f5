package kafka

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// produced is a record on its way. It is the record's context too: that is what
// franz-go hands back of ours.
type produced struct {
	context.Context
	rec       kgo.Record
	chunk     *chunk
	size, tag int64
}

// chunk is memory for records of one lane, used again once all are confirmed:
// no record is garbage, and none keeps the memory of others for long.
type chunk struct {
	recs []produced
	data []byte // of their keys, values and headers
	used int    // of recs
	open int    // of those, not confirmed
}

// copyTo copies a record into the lane's memory.
func (p *Producer) copyTo(l *lane, r *ProduceRecord, size int64) *produced {
	n := len(r.Key) + len(r.Value) + len(r.Headers)
	c := l.chunk
	large := n > int(p.size)/8
	if c == nil || c.used == len(c.recs) || !large && len(c.data)+n > cap(c.data) {
		c = p.newChunk()
		l.chunk = c
	}
	rec := &c.recs[c.used]
	c.used++
	c.open++
	place := func(b []byte) []byte {
		switch {
		case b == nil || large:
			return slices.Clone(b)
		case len(b) == 0:
			return []byte{}
		}
		at := len(c.data)
		c.data = append(c.data, b...)
		return c.data[at:len(c.data):len(c.data)]
	}
	rec.size, rec.tag = size, r.Tag
	rec.rec.Partition, rec.rec.Timestamp = r.Partition, time.UnixMilli(r.Timestamp)
	rec.rec.Key, rec.rec.Value, rec.rec.Headers = place(r.Key), place(r.Value), recordHeaders(place(r.Headers))
	return rec
}

func (p *Producer) newChunk() *chunk {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	c := &chunk{recs: make([]produced, max(p.size/recordOverhead, 1)), data: make([]byte, 0, p.size/2)}
	for i := range c.recs {
		rec := &c.recs[i]
		rec.Context, rec.chunk = p.ctx, c
		rec.rec.Topic, rec.rec.Context = p.o.Topic, rec
	}
	return c
}

// release takes the memory of a confirmed record back.
func (p *Producer) release(l *lane, rec *produced) {
	if rec.size > p.size/8 { // it may have memory of its own
		rec.rec.Key, rec.rec.Value, rec.rec.Headers = nil, nil, nil
	}
	c := rec.chunk
	if c.open--; c.open > 0 {
		return
	}
	c.used, c.data = 0, c.data[:0]
	if l.chunk != c {
		p.free = append(p.free, c)
	}
}
