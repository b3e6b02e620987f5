package snapshot

import (
	"context"
	"io"
	"sync"
	"time"
)

// limiter spreads bytes over time, for all transfers together.
type limiter struct {
	mu   sync.Mutex
	rate float64 // bytes per second; 0: no limit
	next time.Time
}

func newLimiter(rate int64) *limiter { return &limiter{rate: float64(rate)} }

// chunk is how much is let through at once.
const chunk = 64 << 10

// wait waits until n bytes may pass.
func (l *limiter) wait(ctx context.Context, n int) error {
	if l.rate <= 0 || n <= 0 {
		return nil
	}
	l.mu.Lock()
	now := time.Now()
	if l.next.Before(now) {
		l.next = now
	}
	at := l.next
	l.next = l.next.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	l.mu.Unlock()
	if pause := time.Until(at); pause > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return nil
}

type meteredReader struct {
	ctx   context.Context
	r     io.Reader
	alive func()
	limit *limiter
}

func (m *meteredReader) Read(p []byte) (int, error) {
	if m.limit.rate > 0 && len(p) > chunk {
		p = p[:chunk]
	}
	n, err := m.r.Read(p)
	if n > 0 {
		m.alive()
		if werr := m.limit.wait(m.ctx, n); werr != nil {
			return n, werr
		}
		m.alive()
	}
	return n, wrongSum(err)
}

type meteredWriter struct {
	ctx   context.Context
	w     io.Writer
	alive func()
	limit *limiter
}

func (m *meteredWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p
		if m.limit.rate > 0 {
			part = p[:min(len(p), chunk)]
		}
		if err := m.limit.wait(m.ctx, len(part)); err != nil {
			return n, err
		}
		m.alive()
		k, err := m.w.Write(part)
		n += k
		if err != nil {
			return n, err
		}
		m.alive()
		p = p[len(part):]
	}
	return n, nil
}
