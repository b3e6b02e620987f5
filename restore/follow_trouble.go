package restore

import (
	"fmt"
	"sync"
	"time"

	"sstool/internal/op"
)

// followTroubles are the partitions that cannot be read now. A broker that is
// away is told of once, and once a minute as long as that lasts: not by each of
// its partitions.
type followTroubles struct {
	sink       op.Sink
	partitions int

	mu    sync.Mutex
	since map[*followPart]time.Time
	last  time.Time // when it was told of last
	told  bool      // of what is now
}

// passing is how long a trouble lasts that nobody needs to hear of: a leader
// that moves.
const passing = 2 * time.Second

func (t *followTroubles) add(part *followPart, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since == nil {
		t.since = map[*followPart]time.Time{}
	}
	now := time.Now()
	if _, ok := t.since[part]; !ok {
		t.since[part] = now
	}
	if now.Sub(t.since[part]) < passing || now.Sub(t.last) < time.Minute {
		return
	}
	t.last, t.told = now, true
	t.sink.Warn("follow", fmt.Sprintf("%d of %d partitions cannot be read and are tried again: %v", len(t.since), t.partitions, err))
}

// answered notes an answer to a question asked at that time.
func (t *followTroubles) answered(part *followPart, at time.Time) {
	t.mu.Lock()
	since, ok := t.since[part]
	t.mu.Unlock()
	if ok && at.After(since) {
		t.gone(part)
	}
}

func (t *followTroubles) gone(part *followPart) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, part)
	if len(t.since) == 0 && t.told {
		t.told = false
		t.sink.Warn("follow", "all partitions can be read again")
	}
}

func (t *followTroubles) has(part *followPart) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.since[part]
	return ok
}
