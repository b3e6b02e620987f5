package monitor

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"sstool/internal/op"
)

// RestoreReport is what is used of a saved report: sstool restore --measure -o json.
type RestoreReport struct {
	Kind          string  `json:"kind"`
	Application   string  `json:"application_id"`
	Median        float64 `json:"median_seconds"`
	RecordsPerSec float64 `json:"records_per_second"`
	StoreBytes    int64   `json:"store_bytes"`
	Estimate      *struct {
		Seconds float64 `json:"seconds"`
		Basis   string  `json:"basis"`
	} `json:"application_estimate"`
	Partitions []struct {
		Store string `json:"store"`
		Task  string `json:"task"`
	} `json:"partitions"`
}

// ParseRestoreReport reads a saved report.
func ParseRestoreReport(name string, b []byte) (*RestoreReport, error) {
	var r RestoreReport
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, op.Errorf(op.Usage, "%s is no report of a restore: %w", name, err)
	}
	if (r.Kind != "restore.measure" && r.Kind != "restore.into") || r.Median <= 0 {
		return nil, op.Errorf(op.Usage, "%s is no report of a restore: its kind is %q", name, r.Kind).
			WithTry("sstool restore --measure … -o json > report.json")
	}
	return &r, nil
}

// restoreTimes judges how long restorations take: the ones that run, and the one
// that would follow the loss of everything, by the report.
func (e *evaluation) restoreTimes(c *Check) []Gauge {
	th := e.o.Thresholds.Checks[c.ID]
	if e.o.SLA > 0 {
		th.Max = value(e.o.SLA.Seconds())
	}
	if th.Max == nil || th.Severity == Off || th.Severity == "" {
		return nil // nothing was promised
	}
	var out []Gauge
	for _, s := range e.h.applications() {
		tasks, ok := e.h.now(s, ActiveRestoringTasks)
		if !ok || tasks == 0 {
			continue
		}
		g := Gauge{Check: c.ID, Subject: s, Unit: c.Unit, Limit: th.Max}
		if left, ok := e.running(s, &g); ok {
			g.Value, g.Note = &left, fmt.Sprintf("what is left of the restoration that runs: %.0f tasks", tasks)
			g.missed(left > *th.Max, th.Severity)
		}
		out = append(out, g)
	}
	g := Gauge{Check: c.ID, Unit: c.Unit, Limit: th.Max}
	if e.o.Restore == nil {
		g.unmeasured("no --restore-report was given")
		if len(out) > 0 {
			return out
		}
	} else {
		e.reported(&g)
		g.missed(*g.Value > *th.Max, th.Severity)
	}
	return append(out, g)
}

// running is how long a restoration that runs still takes.
func (e *evaluation) running(s Subject, g *Gauge) (float64, bool) {
	var remaining float64
	seen := false
	for _, t := range e.h.subjects(RestoreRemainingRecords) {
		if v, _ := e.h.now(t, RestoreRemainingRecords); t.Instance == s.Instance && t.Application == s.Application && !math.IsNaN(v) {
			remaining, seen = remaining+v, true
		}
	}
	rate, ok := e.h.now(s, RestoreRecordsRate)
	switch {
	case !seen:
		g.unmeasured("%s", e.missing(RestoreRemainingRecords, s))
	case !ok || math.IsNaN(rate) || rate <= 0:
		g.unmeasured("%s is not known, or 0", RestoreRecordsRate)
	default:
		return remaining / rate, true
	}
	return 0, false
}

// reported is the measured time, scaled to the size that the same stores have
// now. Copies of a task on several instances are restored from the same records.
func (e *evaluation) reported(g *Gauge) {
	r := e.o.Restore
	g.Application = r.Application
	took, what := r.Median, "measured by sstool restore"
	if r.Estimate != nil && r.Estimate.Seconds > 0 {
		took, what = r.Estimate.Seconds, "the application's own restore, estimated from the measured one"
	}
	g.Value, g.Note = &took, what
	measured := map[[2]string]bool{}
	for _, p := range r.Partitions {
		measured[[2]string{p.Store, p.Task}] = true
	}
	sizes := map[[2]string]float64{}
	for _, s := range e.h.subjects(TotalSSTFilesSize) {
		at := [2]string{s.Store, s.Task}
		if v, _ := e.h.now(s, TotalSSTFilesSize); measured[at] && !math.IsNaN(v) {
			sizes[at] = max(sizes[at], v)
		}
	}
	if len(sizes) == 0 || len(sizes) < len(measured) || r.StoreBytes <= 0 {
		g.Note += "; not scaled to the size of now, which the metrics do not tell of all its stores"
		return
	}
	var now float64
	for _, v := range sizes {
		now += v
	}
	if times := now / float64(r.StoreBytes); times > 1 {
		g.Note += fmt.Sprintf(": %s then, and the stores are %.2f times as large now", short(seconds(took).Round(time.Second)), times)
		took *= times
	}
}
