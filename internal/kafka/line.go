package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetcher is a franz-go client of one reader's own. franz-go sends all fetches
// to one broker over one connection, and a broker answers one request of a
// connection at a time, so two partitions read through one client would wait
// for each other.
type fetcher struct {
	*kgo.Client
	conn atomic.Pointer[answering] // the last connection that carried a fetch
}

func (c *Client) newFetcher() (*fetcher, error) {
	f := &fetcher{}
	opts := append(slices.Clone(c.opts), kgo.Dialer(dialer(c.set.tls, c.set.setup, f)))
	var err error
	f.Client, err = kgo.NewClient(opts...)
	return f, err
}

// close ends the client and the connection that a line has taken from it.
func (f *fetcher) close() {
	f.Close()
	if conn := f.conn.Load(); conn != nil {
		conn.release()
		_ = conn.Close()
	}
}

// exchange closes a borrowed fetcher and lends another one.
func (c *Client) exchange(f *fetcher) (*fetcher, error) {
	c.mu.Lock()
	delete(c.busy, f)
	c.mu.Unlock()
	f.close()
	return c.borrow()
}

// line is a connection that franz-go has opened, secured, authenticated and
// sent a fetch over, used for the fetches that follow without franz-go: it
// allocates every response anew, and clearing and collecting tens of megabytes
// a hundred times a second is a tenth of a restore. Nothing else is sent over
// the connection meanwhile. Whatever goes wrong, the line is dropped together
// with its client, and the next request goes through franz-go again.
type line struct {
	conn    *answering
	broker  int32
	version int16
	format  *kmsg.RequestFormatter
	corr    int32
	out     []byte
	until   time.Time // the broker wants nothing before
	head    [8]byte
}

// ask sends the next request to the leader: over the line if there is one,
// through franz-go otherwise. buf is what holds the response, when it is ours.
func (r *PartitionReader) ask(ctx context.Context) (resp *kmsg.FetchResponse, buf []byte, err error) {
	if l := r.line; l != nil && l.broker == r.lead.id {
		resp, buf, err = l.fetch(ctx, r.request(), r.buffer())
		if err != nil {
			r.hangUp()
		}
		return resp, buf, err
	}
	r.dropLine() // another broker leads now
	kresp, err := r.f.Broker(int(r.lead.id)).Request(ctx, r.request())
	if err != nil {
		return nil, nil, err
	}
	resp = kresp.(*kmsg.FetchResponse)
	if conn := r.f.conn.Load(); !r.o.viaClient && conn != nil && conn.take() {
		r.line = &line{conn: conn, broker: r.lead.id, version: resp.Version, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(r.c.set.clientID))}
		r.line.throttle(resp)
	}
	return resp, nil, nil
}

// dropLine gives the connection back to franz-go.
func (r *PartitionReader) dropLine() {
	if r.line != nil {
		r.line.conn.release()
		r.line = nil
	}
}

// hangUp drops the line and the client that opened its connection, which may
// be in the middle of a response.
func (r *PartitionReader) hangUp() {
	r.line = nil
	if f, err := r.c.exchange(r.f); err == nil {
		r.f = f
	}
}

// throttle follows KIP-219: a client over its quota waits.
func (l *line) throttle(resp *kmsg.FetchResponse) {
	if d := resp.ThrottleMillis; d > 0 && resp.Version >= 8 {
		l.until = time.Now().Add(time.Duration(d) * time.Millisecond)
	}
}

// fetch sends a request and reads its response into buf, or into a larger
// buffer. The response's bytes are slices of the buffer that is returned.
func (l *line) fetch(ctx context.Context, req *kmsg.FetchRequest, buf []byte) (*kmsg.FetchResponse, []byte, error) {
	if d := time.Until(l.until); d > 0 {
		if sleep(ctx, d); ctx.Err() != nil {
			return nil, buf, ctx.Err()
		}
	}
	if d, ok := ctx.Deadline(); ok {
		_ = l.conn.SetDeadline(d)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req.SetVersion(l.version)
	l.corr++
	l.out = l.format.AppendRequest(l.out[:0], req, l.corr)
	if _, err := l.conn.Write(l.out); err != nil {
		return nil, buf, l.failed(ctx, err)
	}
	if _, err := io.ReadFull(l.conn, l.head[:]); err != nil {
		return nil, buf, l.failed(ctx, err)
	}
	size := int(int32(binary.BigEndian.Uint32(l.head[:]))) - 4
	if size < 0 || size > maxResponse {
		return nil, buf, fmt.Errorf("a response of %d bytes", size+4)
	}
	if corr := int32(binary.BigEndian.Uint32(l.head[4:])); corr != l.corr {
		return nil, buf, fmt.Errorf("the response of request %d, expected that of %d", corr, l.corr)
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if _, err := io.ReadFull(l.conn, buf); err != nil {
		return nil, buf, l.failed(ctx, err)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(l.version)
	body := kbin.Reader{Src: buf}
	if resp.IsFlexible() {
		kmsg.SkipTags(&body) // of the response's header
		if err := body.Complete(); err != nil {
			return nil, buf, err
		}
	}
	if err := resp.ReadFrom(body.Src); err != nil {
		return nil, buf, fmt.Errorf("fetch response: %w", err)
	}
	l.throttle(resp)
	return resp, buf, nil
}

func (l *line) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return context.DeadlineExceeded
	}
	return err
}
