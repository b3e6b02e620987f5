package table

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"sstool/internal/op"
)

// memory hands out large buffers outside the Go heap, where they neither cost
// garbage collections nor count towards their pacing, and adds them up.
type memory struct {
	mu      sync.Mutex
	regions map[*byte][]byte
	gauge   gauge
}

// gauge is an amount that goes up and down, and the most it ever was.
type gauge struct{ now, peak atomic.Int64 }

func (g *gauge) add(n int64) {
	v := g.now.Add(n)
	for p := g.peak.Load(); v > p && !g.peak.CompareAndSwap(p, v); p = g.peak.Load() {
	}
}

// get returns n zero bytes.
func (m *memory) get(n int) ([]byte, error) {
	b, err := mapMemory(max(n, 1))
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: "allocate a sort buffer", Err: err, Try: "lower --memory or free memory on this machine"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.regions == nil {
		m.regions = map[*byte][]byte{}
	}
	m.regions[&b[0]] = b
	m.gauge.add(int64(len(b)))
	return b, nil
}

// put frees a buffer of get; nil is fine.
func (m *memory) put(b []byte) error {
	if cap(b) == 0 {
		return nil
	}
	b = b[:1]
	m.mu.Lock()
	whole, ok := m.regions[&b[0]]
	if ok {
		delete(m.regions, &b[0])
		m.gauge.add(-int64(len(whole)))
	}
	m.mu.Unlock()
	if !ok {
		return nil
	}
	return unmapMemory(whole)
}

// close frees everything.
func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first error
	for _, b := range m.regions {
		m.gauge.add(-int64(len(b)))
		if err := unmapMemory(b); err != nil && first == nil {
			first = err
		}
	}
	m.regions = nil
	return first
}

// view sees a buffer as values of T, which holds no pointers.
func view[T any](b []byte) []T {
	var z T
	n := len(b) / int(unsafe.Sizeof(z))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// registry is a list that grows under a lock.
type registry[T any] struct {
	mu   sync.Mutex
	list []T
}

func (r *registry[T]) add(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, v)
}

func (r *registry[T]) all() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}
