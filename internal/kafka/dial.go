package kafka

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dials is a franz-go hook that remembers why the last connection failed: when
// a request runs into its deadline between retries, that is the cause that a
// person needs, not "deadline exceeded".
type dials struct{ m *dialMemory }

type dialMemory struct {
	mu  sync.Mutex
	err error
}

// OnBrokerConnect is kgo.HookBrokerConnect.
func (d *dials) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	d.m.mu.Lock()
	d.m.err = err
	d.m.mu.Unlock()
}

func (d dials) last() error {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	return d.m.err
}

// dialer connects within the timeout, the TLS handshake and the first answer
// to what is sent included. A fetcher given learns which connection fetches.
func dialer(t *tlsClient, timeout time.Duration, f *fetcher) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		deadline := time.Now().Add(timeout)
		dctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(dctx, network, addr)
		if err != nil {
			return nil, err
		}
		if t != nil {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				conn.Close()
				return nil, err
			}
			secure := tls.Client(conn, t.config(host))
			if err := secure.HandshakeContext(dctx); err != nil {
				conn.Close()
				if ctx.Err() == nil && dctx.Err() != nil {
					err = &silentError{timeout}
				}
				return nil, &handshakeError{err}
			}
			conn = secure
		}
		return &answering{Conn: conn, deadline: deadline, timeout: timeout, fetcher: f}, nil
	}
}

// answering is a connection whose peer must say something before the deadline.
// franz-go gives the first request of a connection the whole request timeout,
// and what accepts connections without answering would hold everything up.
type answering struct {
	net.Conn
	deadline time.Time
	timeout  time.Duration
	answered atomic.Bool
	fetcher  *fetcher // may be nil

	mu            sync.Mutex
	taken, closed bool
}

// take keeps franz-go from closing the connection, which looks idle to it
// while a line uses it; false when it was closed already.
func (a *answering) take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = !a.closed
	return a.taken
}

// release undoes take.
func (a *answering) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken = false; a.closed {
		_ = a.Conn.Close()
	}
}

func (a *answering) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed = true; a.taken {
		return nil
	}
	return a.Conn.Close()
}

// Write notes the connection that carries fetches: a request begins with its
// length and its key.
func (a *answering) Write(p []byte) (int, error) {
	if a.fetcher != nil && len(p) >= 6 && binary.BigEndian.Uint16(p[4:]) == uint16(kmsg.Fetch) {
		a.fetcher.conn.Store(a)
	}
	return a.Conn.Write(p)
}

// SetReadDeadline keeps the deadline of the first answer.
func (a *answering) SetReadDeadline(t time.Time) error {
	if !a.answered.Load() && (t.IsZero() || t.After(a.deadline)) {
		t = a.deadline
	}
	return a.Conn.SetReadDeadline(t)
}

func (a *answering) Read(p []byte) (int, error) {
	if a.answered.Load() {
		return a.Conn.Read(p)
	}
	n, err := a.Conn.Read(p)
	switch {
	case n > 0:
		a.answered.Store(true)
		if foreign := notKafka(p[:n]); foreign != nil {
			return 0, foreign
		}
	case errors.Is(err, os.ErrDeadlineExceeded) && !time.Now().Before(a.deadline):
		err = &silentError{a.timeout}
	}
	return n, err
}

// silentError is a timeout of what accepts connections and never answers.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string {
	return fmt.Sprintf("accepts connections, but has not answered within %s", e.after.Round(time.Millisecond))
}

// Timeout and Temporary are net.Error. It is not temporary: franz-go would try
// the same broker once more before the next one.
func (e *silentError) Timeout() bool   { return true }
func (e *silentError) Temporary() bool { return false }

// Unwrap says to franz-go that it is the connection, so that it may ask
// another broker.
func (e *silentError) Unwrap() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
}

// maxFirstAnswer is far more than an ApiVersions response takes.
const maxFirstAnswer = 16 << 20

// notKafka looks at what a peer says first. A TLS alert and many another
// protocol's greeting would be taken for the length of a response of hundreds
// of megabytes, and waited for.
func notKafka(p []byte) error {
	switch {
	case len(p) >= 2 && p[0] == 21 && p[1] == 3:
		return &foreignError{"answers with a TLS alert", true}
	case len(p) >= 4 && binary.BigEndian.Uint32(p) > maxFirstAnswer:
		return &foreignError{"does not answer in Kafka's protocol", false}
	}
	return nil
}

// foreignError is a peer that speaks something else.
type foreignError struct {
	text string
	tls  bool
}

func (e *foreignError) Error() string { return e.text }
func (e *foreignError) Unwrap() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: errors.New(e.text)} // as for silentError
}

// handshakeError is a TLS connection that did not come about.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string {
	if silent, ok := e.err.(*silentError); ok {
		return fmt.Sprintf("no answer to the TLS handshake within %s", silent.after.Round(time.Millisecond))
	}
	return "TLS handshake: " + e.err.Error()
}
func (e *handshakeError) Unwrap() error { return e.err }
