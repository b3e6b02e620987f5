package kafka

import (
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
