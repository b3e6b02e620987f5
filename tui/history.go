package tui

import (
	"time"

	"sstool/inspect"
)

// sample is what a store looked like at a time.
type sample struct {
	at         time.Time
	size       int64
	files      int
	entries    int64
	tombstones int64
	levels     []inspect.MapLevel
	lag        *int64
}

const samplesKept = 240

// history keeps samples of every store for as long as the dashboard looks.
type history struct {
	byStore map[string][]sample
}

func newHistory() *history { return &history{byStore: map[string][]sample{}} }

// add takes a sample of each store in which something differs, or of each when
// the lag was measured.
func (h *history) add(s *snapshot) {
	if s.disk == nil {
		return
	}
	seen := map[string]bool{}
	for _, a := range s.disk.Apps {
		for i := range a.Stores {
			x := &a.Stores[i]
			id := storeID(x)
			seen[id] = true
			n := sample{at: s.at, size: x.Size, files: x.Files, entries: x.Entries, tombstones: x.Deletes + x.RangeDels, levels: x.Levels}
			if x.Cluster != nil {
				n.lag = x.Cluster.Lag
			}
			list := h.byStore[id]
			if len(list) > 0 {
				last := list[len(list)-1]
				if last.at.Equal(n.at) || last.size == n.size && last.files == n.files && n.lag == nil && last.lag == nil {
					continue
				}
			}
			if list = append(list, n); len(list) > samplesKept {
				list = append(list[:0:0], list[len(list)-samplesKept:]...)
			}
			h.byStore[id] = list
		}
	}
	for id := range h.byStore {
		if !seen[id] {
			delete(h.byStore, id)
		}
	}
}

// lags are the lags seen, oldest first.
func (h *history) lags(id string) []float64 {
	var out []float64
	for _, s := range h.byStore[id] {
		if s.lag != nil {
			out = append(out, float64(*s.lag))
		}
	}
	return out
}
