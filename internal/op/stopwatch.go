package op

import "time"

// Activity is what a worker is busy with.
type Activity int

// The activities a restore is split into. A worker is always in exactly one,
// so they sum to the worker's lifetime by construction.
const (
	Idle    Activity = iota // no work to hand: another worker is the bottleneck
	Network                 // waiting for a fetch response
	Decode                  // CRC, decompression, record parsing, key and value conversion
	Sort                    // routing, spilling, deduplicating and sorting rows (bulk profile)
	Write                   // handing rows to RocksDB
	Stall                   // RocksDB delayed or stopped the write
	Flush                   // memtable flush, compaction, ingest, close
	Verify                  // reading back what was written
	NumActivities
)

var activityNames = [NumActivities]string{"idle", "network", "decode", "sort", "write", "stall", "flush", "verify"}

// String is the activity's name in tables and JSON.
func (a Activity) String() string { return activityNames[a] }

// Split is time by activity.
type Split [NumActivities]time.Duration

// Add adds o to s.
func (s *Split) Add(o Split) {
	for i := range s {
		s[i] += o[i]
	}
}

// Sum is the time of all activities together.
func (s Split) Sum() time.Duration {
	var t time.Duration
	for _, d := range s {
		t += d
	}
	return t
}

// Stopwatch attributes one worker's time to activities. It is not safe for
// concurrent use: each worker owns one.
type Stopwatch struct {
	now   Activity
	since time.Time
	split Split
}

// StartWatch starts a stopwatch in activity a.
func StartWatch(a Activity) *Stopwatch { return &Stopwatch{now: a, since: time.Now()} }

// Enter ends the current activity, begins a, and returns the one that ended so
// that a caller can go back to it.
func (w *Stopwatch) Enter(a Activity) (was Activity) {
	t := time.Now()
	w.split[w.now] += t.Sub(w.since)
	was, w.now, w.since = w.now, a, t
	return was
}

// Move re-attributes d from one activity to another, as when RocksDB reports
// afterwards how much of a write was a stall. It moves no more than is there.
func (w *Stopwatch) Move(from, to Activity, d time.Duration) {
	d = min(d, w.split[from])
	w.split[from] -= d
	w.split[to] += d
}

// Split stops nothing: it returns the time so far, the current activity included.
func (w *Stopwatch) Split() Split {
	w.Enter(w.now)
	return w.split
}
