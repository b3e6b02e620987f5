package kafka

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client is a connection to one cluster. It is safe for concurrent use.
type Client struct {
	cfg    Config
	opts   []kgo.Opt
	set    settings
	cl     *kgo.Client
	adm    *kadm.Client
	mu     sync.Mutex
	idle   []*fetcher        // those whose reader is done
	busy   map[*fetcher]bool // and those at work
	closed bool

	leaderless atomic.Int64 // since when partitions have had no leader, in ns since 1970; 0: they have
}

// settings are the parts of the configuration that the package itself needs.
type settings struct {
	bootstrap  []string      // once connected, the one that answered first
	apiTimeout time.Duration // for one administrative question, retries included
	setup      time.Duration // for one connection, up to the broker's first answer
	patience   time.Duration // while no bootstrap server accepts connections
	backoff    time.Duration
	backoffMax time.Duration
	request    time.Duration // for one request that a broker works on
	delivery   time.Duration // for one batch to be written, retries included
	user       string        // the SASL user, for messages about missing ACLs
	dials      dials
	clientID   string
	tls        *tlsClient // nil without TLS
}

// Open connects to the cluster and asks for its metadata, so that a wrong
// address or password fails here and not later.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	opts, set, err := cfg.options()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, opts: opts, set: set, busy: map[*fetcher]bool{}}
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	if c.cl, err = c.connect(ctx); err != nil {
		return nil, err
	}
	c.adm = kadm.NewClient(c.cl)
	return c, nil
}

// Close ends all connections. Readers that are still open fail.
func (c *Client) Close() {
	c.mu.Lock()
	all := c.idle
	for f := range c.busy {
		all = append(all, f)
	}
	c.idle, c.closed = nil, true
	c.mu.Unlock()
	c.cl.Close()
	for _, f := range all {
		f.close()
	}
}

// ClusterID is the cluster's own identifier.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	ctx, cancel := c.timeout(ctx)
	defer cancel()
	resp, err := c.metadata(ctx, c.cl, []string{})
	if err != nil {
		return "", c.explain(err, "ask "+c.address()+" for its cluster id", nil)
	}
	if resp.ClusterID == nil {
		return "", nil
	}
	return *resp.ClusterID, nil
}

// metadata asks for some topics; nil asks for all, an empty list for none.
// Any broker can tell, so that none is waited for longer than need be.
func (c *Client) metadata(ctx context.Context, cl *kgo.Client, topics []string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, rt)
	}
	if topics == nil {
		return req.RequestWith(ctx, cl) // it may be long
	}
	widened := len(c.set.bootstrap) == 1
	for limit := c.set.setup; ; limit *= 2 {
		actx, cancel := context.WithTimeout(ctx, limit)
		resp, err := req.RequestWith(actx, cl)
		var silent *silentError
		again := actx.Err() != nil || errors.As(err, &silent)
		cancel()
		switch {
		case err == nil, ctx.Err() != nil, permanent(err):
			return resp, err
		case !widened: // the client may know the first bootstrap server only
			widened = true
			if cl.UpdateSeedBrokers(c.set.bootstrap...) != nil {
				return resp, err
			}
		case !again:
			return resp, err
		}
		// That broker does not answer; franz-go asks another one next.
	}
}

func (c *Client) timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.set.apiTimeout)
}

func (c *Client) address() string {
	if len(c.set.bootstrap) == 0 {
		return "(no address)"
	}
	s := c.set.bootstrap[0]
	if n := len(c.set.bootstrap) - 1; n > 0 {
		s += " and others"
	}
	return s
}

// borrow returns a fetcher for a reader.
func (c *Client) borrow() (*fetcher, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, kgo.ErrClientClosed
	}
	var f *fetcher
	if n := len(c.idle); n > 0 {
		f, c.idle = c.idle[n-1], c.idle[:n-1]
	} else {
		var err error
		if f, err = c.newFetcher(); err != nil {
			return nil, err
		}
	}
	c.busy[f] = true
	return f, nil
}

func (c *Client) giveBack(f *fetcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, f)
	if !c.closed { // else Close has closed it
		c.idle = append(c.idle, f)
	}
}
