package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// connectPatience is how long Open goes on asking brokers that may be
	// about to start, unless default.api.timeout.ms says otherwise.
	connectPatience = 5 * time.Second
	// probeStagger is how long one bootstrap server may take before the next
	// one is asked too.
	probeStagger = 500 * time.Millisecond
	// probeMargin lets a connection's own timeout, which names the cause,
	// come before that of the probe.
	probeMargin = 200 * time.Millisecond
)

// connect makes a client of the first bootstrap server, in the order given,
// that answers. franz-go starts with a random one and stays with it until its
// request times out, so that one server which is silent made every command
// fail or hang by chance. The other addresses are left for when that one does
// not answer any more (metadata).
func (c *Client) connect(ctx context.Context) (*kgo.Client, error) {
	giveUp := time.Now().Add(c.set.patience)
	for round := 0; ; round++ {
		addr, cl, tried := c.race(ctx)
		if cl != nil {
			for _, p := range tried {
				if p.err != nil {
					c.cfg.warn("bootstrap server %s is passed over for %s: %s", p.addr, addr, reason(p.err))
				}
			}
			rest := slices.DeleteFunc(slices.Clone(c.set.bootstrap), func(a string) bool { return a == addr })
			c.set.bootstrap = append([]string{addr}, rest...)
			c.opts = append(c.opts, kgo.SeedBrokers(addr))
			return cl, nil
		}
		mayStart := slices.ContainsFunc(tried, func(p probe) bool { return mayStart(p.err) })
		hopeless := slices.ContainsFunc(tried, func(p probe) bool { return loginRefused(p.err) })
		wait := c.pause(round)
		if ctx.Err() != nil || !mayStart || hopeless || !time.Now().Add(wait).Before(giveUp) {
			return nil, c.unreachable(ctx, tried)
		}
		sleep(ctx, wait)
	}
}

// probe is a bootstrap server that was asked, and what came of it.
type probe struct {
	addr string
	err  error
}

var errNoAnswerYet = errors.New("no answer yet")

// race asks one bootstrap server after the other, the next one when one fails
// or takes long, and returns the first that answers and all that were asked.
func (c *Client) race(ctx context.Context) (string, *kgo.Client, []probe) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the others give up, and close their clients
	type answer struct {
		i  int
		cl *kgo.Client
		e  error
	}
	answers := make(chan answer)
	var tried []probe
	pending := 0
	next := func() {
		i := len(tried)
		if i == len(c.set.bootstrap) {
			return
		}
		tried = append(tried, probe{addr: c.set.bootstrap[i], err: errNoAnswerYet})
		pending++
		go func() {
			cl, err := c.probe(ctx, c.set.bootstrap[i])
			select {
			case answers <- answer{i, cl, err}:
			case <-ctx.Done():
				if cl != nil {
					cl.Close()
				}
			}
		}()
	}
	next()
	late := time.NewTicker(probeStagger)
	defer late.Stop()
	for pending > 0 {
		select {
		case a := <-answers:
			pending--
			p := &tried[a.i]
			p.err = a.e
			if a.e == nil {
				return p.addr, a.cl, tried
			}
			if loginRefused(a.e) { // asking others too may lock the user out
				return "", nil, tried
			}
			next()
			late.Reset(probeStagger)
		case <-late.C:
			next()
		case <-ctx.Done():
			return "", nil, tried
		}
	}
	return "", nil, tried
}

// probe asks one bootstrap server for the cluster's metadata, with a client
// that knows no other. It does not retry.
func (c *Client) probe(ctx context.Context, addr string) (*kgo.Client, error) {
	cl, err := kgo.NewClient(append(slices.Clone(c.opts), kgo.SeedBrokers(addr))...)
	if err != nil {
		return nil, &op.Error{Kind: op.Usage, What: "Kafka client configuration", Err: err}
	}
	pctx, cancel := context.WithTimeout(ctx, c.set.setup+probeMargin)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	if _, err = cl.SeedBrokers()[0].Request(pctx, req); err == nil {
		return cl, nil
	}
	cl.Close()
	if ctx.Err() == nil && pctx.Err() != nil {
		err = &silentError{c.set.setup}
	}
	return nil, err
}

// mayStart tells errors of a broker that may be starting, and of name servers
// that may know better in a moment.
func mayStart(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary && !dns.IsNotFound
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// loginRefused tells that the broker knows who we are and does not want us.
func loginRefused(err error) bool { return errors.Is(err, kerr.SaslAuthenticationFailed) }

// unreachable is the error when no bootstrap server will do.
func (c *Client) unreachable(ctx context.Context, tried []probe) error {
	what := "connect to Kafka"
	if len(tried) == 1 {
		what += " at " + tried[0].addr
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	var oe *op.Error
	e := &op.Error{Kind: op.Unreachable, What: what}
	var all probeErrors
	for _, p := range tried {
		if errors.As(p.err, &oe) {
			return oe
		}
		all = append(all, p)
		if try := c.hint(p.err); e.Try == "" || try != "" && specific(p.err) {
			e.Try = try
		}
	}
	e.Err = all
	return e
}

// specific tells that the error's hint is worth more than "check the address".
func specific(err error) bool { return !mayStart(err) && !isTimeout(err) && !isDNS(err) }

// probeErrors names every address with what came of it; a single one is named
// by whoever wraps it.
type probeErrors []probe

func (e probeErrors) Error() string {
	if len(e) == 1 {
		return reason(e[0].err)
	}
	var parts []string
	for _, p := range e {
		parts = append(parts, p.addr+": "+reason(p.err))
	}
	return strings.Join(parts, "; ")
}

// Unwrap are the causes.
func (e probeErrors) Unwrap() []error {
	var out []error
	for _, p := range e {
		out = append(out, p.err)
	}
	return out
}
