package monitor

import (
	"maps"
	"math"
	"slices"
	"time"
)

// History is what was scraped so far, series by series.
type History struct {
	series    map[Key][]Point
	newest    map[string]time.Time // by instance
	processes map[Subject]string
}

// Add puts a scrape in.
func (h *History) Add(s *Scrape) {
	if h.series == nil {
		h.series, h.newest, h.processes = map[Key][]Point{}, map[string]time.Time{}, map[Subject]string{}
	}
	for k, points := range s.Points {
		for _, p := range points {
			h.series[k] = merged(h.series[k], p)
			if p.Time.After(h.newest[k.Subject.Instance]) {
				h.newest[k.Subject.Instance] = p.Time
			}
		}
	}
	maps.Copy(h.processes, s.Processes)
}

// Trim forgets what is older than keep before the newest of its instance.
func (h *History) Trim(keep time.Duration) {
	for k, points := range h.series {
		from := h.newest[k.Subject.Instance].Add(-keep)
		i := slices.IndexFunc(points, func(p Point) bool { return !p.Time.Before(from) })
		if i < 0 {
			delete(h.series, k)
		} else if i > 0 {
			h.series[k] = slices.Clone(points[i:])
		}
	}
}

// Saved is the whole history as one scrape, to be written.
func (h *History) Saved() *Scrape {
	return &Scrape{Points: h.series, Processes: h.processes}
}

// now is the value of a series when its instance was last scraped. A store that
// has left an instance has no such value: what was is not what is.
func (h *History) now(s Subject, m Metric) (float64, bool) {
	points := h.series[Key{s, m}]
	if len(points) == 0 || !points[len(points)-1].Time.Equal(h.newest[s.Instance]) {
		return math.NaN(), false
	}
	return points[len(points)-1].Value, true
}

// window is what a series was in the last time of a length, without values that
// say nothing. The span between two scrapes is never exact: a twentieth
// less, or a first scrape a twentieth before, is as good.
func (h *History) window(s Subject, m Metric, length time.Duration) []Point {
	from := h.newest[s.Instance].Add(-length - length/20)
	var out []Point
	for _, p := range h.series[Key{s, m}] {
		if !p.Time.Before(from) && measured(p.Value) {
			out = append(out, p)
		}
	}
	return out
}

// subjects are the subjects that a metric was last told of, in order.
func (h *History) subjects(m Metric) []Subject {
	var out []Subject
	for k := range h.series {
		if _, ok := h.now(k.Subject, m); ok && k.Metric == m {
			out = append(out, k.Subject)
		}
	}
	slices.SortFunc(out, compareSubjects)
	return out
}

// stores are the stores that any metric was last told of, in order.
func (h *History) stores() []Subject {
	seen := map[Subject]bool{}
	for k := range h.series {
		if _, ok := h.now(k.Subject, k.Metric); ok && k.Subject.Store != "" {
			seen[k.Subject] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), compareSubjects)
}

// applications are the applications of all instances, in order.
func (h *History) applications() []Subject {
	seen := map[Subject]bool{}
	for k := range h.series {
		if _, ok := h.now(k.Subject, k.Metric); ok {
			seen[Subject{Instance: k.Subject.Instance, Application: k.Subject.Application}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), compareSubjects)
}
