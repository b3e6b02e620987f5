// Package op is what every engine shares with every face: events going out,
// error kinds coming back, and the stopwatch that says where time went.
// It knows nothing of Kafka, RocksDB or terminals and imports only the
// standard library.
package op

import (
	"sync"
	"time"
)

// EventType says what an Event tells.
type EventType string

// The event types. Progress may be dropped by a slow face; warnings and
// summaries may not.
const (
	Phase    EventType = "phase"    // a named stage of the whole operation began
	Progress EventType = "progress" // counters moved; at most ten a second per engine
	Item     EventType = "item"     // one unit (a partition, a store) finished or failed
	Warning  EventType = "warning"  // something the user must know; never dropped
	Summary  EventType = "summary"  // the operation ended; never dropped
)

// Event is one message from an engine to its faces.
type Event struct {
	Type    EventType     `json:"type"`
	Name    string        `json:"name,omitempty"`    // phase name, or the item the event is about
	Message string        `json:"message,omitempty"` // for people
	Done    int64         `json:"done,omitempty"`    // units done so far
	Total   int64         `json:"total,omitempty"`   // units in all; 0 when unknown
	Unit    string        `json:"unit,omitempty"`    // "records", "bytes", …
	Bytes   int64         `json:"bytes,omitempty"`   // bytes done so far
	Rate    float64       `json:"rate,omitempty"`    // units per second since the start
	ETA     time.Duration `json:"eta_ns,omitempty"`  // 0 when unknown
	Err     string        `json:"error,omitempty"`
	// Parts are what runs now, of an operation on several things at once; Split
	// is where the workers' time went so far, in seconds by activity.
	Parts []Part             `json:"parts,omitempty"`
	Split map[string]float64 `json:"split_seconds,omitempty"`
}

// Part is one of several things that are worked on at once.
type Part struct {
	Name  string `json:"name"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// Sink receives events. It may be called from several goroutines at once and
// must not block for long: engines call it between records. A nil Sink
// discards.
type Sink func(Event)

// Emit sends e, or does nothing when s is nil.
func (s Sink) Emit(e Event) {
	if s != nil {
		s(e)
	}
}

// Warn sends a warning about name.
func (s Sink) Warn(name, message string) {
	s.Emit(Event{Type: Warning, Name: name, Message: message})
}

// Throttle lets at most ten progress events a second through. It is safe for
// concurrent use.
type Throttle struct {
	mu   sync.Mutex
	last time.Time
}

// Ready reports whether a tenth of a second has passed since it last said yes.
func (t *Throttle) Ready(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.last) < 100*time.Millisecond {
		return false
	}
	t.last = now
	return true
}
