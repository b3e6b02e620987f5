package monitor

import (
	"fmt"
	"math"
	"time"

	"sstool/internal/op"
)

// Gauge is a value against its threshold.
type Gauge struct {
	Check CheckID `json:"check"`
	Subject
	Status op.Status `json:"status"`
	Value  *float64  `json:"value"` // null when it could not be measured, or when there is nothing to measure
	Unit   Unit      `json:"unit"`
	Limit  *float64  `json:"limit"` // of a growth: the largest value that would have been ok
	Was    *float64  `json:"was"`   // of a growth: the value at the window's beginning
	Span   float64   `json:"span_seconds"`
	Note   string    `json:"note"`
	Reason string    `json:"unmeasured,omitempty"`
}

// Options are what else is known besides the metrics.
type Options struct {
	Thresholds Thresholds
	SLA        time.Duration  // of a restoration; 0 when there is none
	Restore    *RestoreReport // a measured restoration; nil when there is none
}

// Evaluate judges a history. The gauges come in the order of the checks, and of
// each by subject.
func Evaluate(h *History, o Options) []Gauge {
	var out []Gauge
	e := evaluation{h: h, o: o}
	for _, c := range Checks() {
		for _, s := range e.subjects(&c) {
			th := o.Thresholds.of(&c, s)
			if th.Severity == Off || th.Severity == "" {
				continue
			}
			g := Gauge{Check: c.ID, Subject: s, Unit: c.Unit}
			e.judge(&c, th, &g)
			out = append(out, g)
		}
		if c.rule == inTime {
			out = append(out, e.restoreTimes(&c)...)
		}
	}
	return out
}

// evaluation is one Evaluate at work.
type evaluation struct {
	h *History
	o Options
}

// subjects are what a check judges.
func (e *evaluation) subjects(c *Check) []Subject {
	switch {
	case c.rule == inTime:
		return nil
	case c.level == eachApplication:
		return e.h.applications()
	}
	var out []Subject
	for _, s := range e.h.stores() {
		if c.level == eachTable && s.segmented() || !s.onDisk() && c.ID != EstimatedKeys {
			continue
		}
		out = append(out, s)
	}
	return out
}

// judge fills a gauge in.
func (e *evaluation) judge(c *Check, th Threshold, g *Gauge) {
	metric := c.Metric
	if !g.onDisk() {
		metric = NumKeys // of in-memory stores, since 4.1
	}
	v, ok := e.value(c, metric, g)
	if !ok {
		return
	}
	switch c.rule {
	case atLeast:
		e.hitRatio(th, v, g)
	case atMost:
		g.Value, g.Limit = &v, th.Max
		g.missed(v > *th.Max, th.Severity)
		if c.Metric == PendingCompactionBytes && v == 0 { // VersionStorageInfo::EstimateCompactionBytesNeeded knows levels only
			g.Note = "with universal compaction, Kafka Streams' default, RocksDB does not tell what waits: sstool inspect levels does"
		}
	case noGrowth:
		e.growth(th, metric, v, g)
	case noStall:
		e.stalls(c, th, v, g)
	}
}

// value is what a metric says now, in the check's unit. When it says nothing the
// gauge tells why.
func (e *evaluation) value(c *Check, m Metric, g *Gauge) (float64, bool) {
	scale := c.scale
	if scale == 0 {
		scale = 1
	}
	if c.ID == InstanceSize {
		return e.sum(m, g)
	}
	v, ok := e.h.now(g.Subject, m)
	switch {
	case m == RecordsLagMax && (!ok || math.IsNaN(v)):
		e.idle(g, ok)
		return 0, false
	case !ok:
		g.unmeasured("%s", e.missing(m, g.Subject))
		return 0, false
	case !measured(v):
		g.unmeasured("%s is %v: the application measured nothing", m, v)
		return 0, false
	}
	return v * scale, true
}

// measured says whether a metric's value is one: no metric here can be
// negative, and a store that does not know its keys says -1.
func measured(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// sum adds up the stores of an application on an instance.
func (e *evaluation) sum(m Metric, g *Gauge) (float64, bool) {
	var sum float64
	seen := false
	for _, s := range e.h.subjects(m) {
		if v, _ := e.h.now(s, m); s.Instance == g.Instance && s.Application == g.Application && measured(v) {
			sum, seen = sum+v, true
		}
	}
	if !seen {
		g.unmeasured("%s", e.missing(m, g.Subject))
	}
	return sum, seen
}

// idle is the lag of a consumer that fetches nothing, or that is not shown, as
// Micrometer does before it has read a partition: good when no task is being
// restored, and not known when that is not known.
func (e *evaluation) idle(g *Gauge, shown bool) {
	restoring, ok := e.h.now(g.Subject, ActiveRestoringTasks)
	switch {
	case ok && restoring == 0:
		g.Status, g.Note = op.OK, "no task is being restored, and no record was fetched lately"
	case !shown:
		g.unmeasured("no restore consumer is among the metrics shown")
	case ok:
		g.unmeasured("%.0f tasks are being restored, but no record was fetched lately", restoring)
	default:
		g.unmeasured("no record was fetched lately, and no metric tells whether a task is being restored")
	}
}

// hitRatio judges the block cache. Kafka Streams says 0 as well when no block
// was looked up at all; only when reads were served, and none by a memtable, is
// it known that there were some.
func (e *evaluation) hitRatio(th Threshold, v float64, g *Gauge) {
	if v == 0 {
		if size, ok := e.h.now(g.Subject, TotalSSTFilesSize); ok && size == 0 {
			g.unmeasured("the store has no files yet: all rows are in memtables")
			return
		}
		read, ok := e.h.now(g.Subject, BytesReadRate)
		memtables, known := e.h.now(g.Subject, MemtableHitRatio)
		switch {
		case !ok || !known:
			g.unmeasured("0 is also said when no block was looked up, and %s and %s are not shown", BytesReadRate, MemtableHitRatio)
			return
		case read == 0:
			g.unmeasured("nothing was read: 0 is also said when no block was looked up")
			return
		case memtables > 0:
			g.unmeasured("0 is also said when no block was looked up, and memtables served %.0f %% of the reads", 100*memtables)
			return
		}
	}
	g.Value, g.Limit = &v, th.Min
	g.missed(v < *th.Min, th.Severity)
}

// growth judges what a value did within the window: it must have grown by more
// than the share, and must not have levelled off.
func (e *evaluation) growth(th Threshold, m Metric, now float64, g *Gauge) {
	g.Value = &now
	if now <= *th.Floor {
		g.Limit, g.Note = th.Floor, "too little for its growth to count"
		g.missed(false, th.Severity)
		return
	}
	points := e.h.window(g.Subject, m, th.Window)
	var span time.Duration
	if len(points) > 0 {
		span = points[len(points)-1].Time.Sub(points[0].Time)
	}
	if len(points) < 2 {
		g.unmeasured("growth needs two scrapes %s apart, there is one", short(th.Window))
		return
	}
	if span < th.Window-th.Window/20 {
		g.unmeasured("growth needs two scrapes %s apart, these are %s apart", short(th.Window), short(span))
		return
	}
	was := points[0].Value
	limit := max(was*(1+*th.Growth), *th.Floor)
	g.Was, g.Limit, g.Span = &was, &limit, span.Seconds()
	g.missed(now > limit && !levelled(points), th.Severity)
}

// levelled says whether a growth came to its end: less than a quarter of it is
// in the window's second half. Two points cannot tell.
func levelled(points []Point) bool {
	if len(points) < 4 {
		return false
	}
	first, last := points[0], points[len(points)-1]
	half := first.Time.Add(last.Time.Sub(first.Time) / 2)
	middle := first
	for _, p := range points {
		if p.Time.Sub(half).Abs() < middle.Time.Sub(half).Abs() {
			middle = p
		}
	}
	return last.Value-middle.Value < (last.Value-first.Value)/4
}

// recorded is how often Kafka Streams reads RocksDB's statistics.
const recorded = time.Minute

// stalls judges a counter of time by the share of the time that it grew by.
func (e *evaluation) stalls(c *Check, th Threshold, total float64, g *Gauge) {
	g.Limit = th.Max
	if total == 0 {
		g.Value, g.Note = &total, "none since the store was opened"
		g.missed(false, th.Severity)
		return
	}
	points := e.h.series[Key{g.Subject, c.Metric}]
	first := points[0]
	last := points[len(points)-1]
	span := last.Time.Sub(first.Time)
	switch {
	case span < recorded:
		g.unmeasured("writes stood still for %s since the store was opened: two scrapes at least %s apart tell whether they still do", short(seconds(total)), short(recorded))
		return
	case last.Value < first.Value:
		g.unmeasured("the counter began anew between the scrapes: the store was opened again")
		return
	}
	share := (last.Value - first.Value) * c.scale / span.Seconds()
	g.Value, g.Span = &share, span.Seconds()
	g.missed(share > *th.Max, th.Severity)
}

// missing says why a metric is not there.
func (e *evaluation) missing(m Metric, s Subject) string {
	info := metricInfo{}
	for _, i := range metrics() {
		if i.name == m {
			info = i
		}
	}
	switch {
	case m == NumKeys:
		return "in-memory stores do not tell their keys before Kafka Streams 4.1"
	case info.debug && !e.debugging(s):
		return "needs metrics.recording.level=DEBUG"
	}
	return fmt.Sprintf("%s is not among the metrics shown: a rule of the exporter or a filter leaves it out", m)
}

// debugging says whether the application is known to record at level DEBUG: it
// says so (since 4.0), or shows a metric that it would not show else.
func (e *evaluation) debugging(s Subject) bool {
	client := Subject{Instance: s.Instance, Application: s.Application}
	if level, ok := e.h.now(client, RecordingLevel); ok {
		return level >= 1
	}
	for _, m := range metrics() {
		if _, ok := e.h.now(s, m.name); ok && m.debug {
			return true
		}
	}
	return false
}

func (g *Gauge) unmeasured(format string, args ...any) {
	g.Status, g.Reason = op.Unmeasured, fmt.Sprintf(format, args...)
}

func (g *Gauge) missed(missed bool, s op.Status) {
	g.Status = op.OK
	if missed {
		g.Status = s
	}
}

// short is a duration without the zeros at its end.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d >= time.Second:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
