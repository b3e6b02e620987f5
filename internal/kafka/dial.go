package kafka

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
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

// dialer connects within the timeout, the TLS handshake included.
func dialer(t *tlsClient, timeout time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if t == nil {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return (&tls.Dialer{Config: t.config(host)}).DialContext(ctx, network, addr)
	}
}
