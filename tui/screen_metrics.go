package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sstool/inspect/monitor"
)

// metering scrapes the metrics of one context, and keeps what it has seen while
// other screens are shown: growth needs a past.
type metering struct {
	err error
	o   monitor.Options

	mu  sync.Mutex
	mon *monitor.Monitor
}

// Metrics are where a context's metrics are, and what they are held against.
type Metrics struct {
	Sources []*monitor.Source
	Err     error // why there are none
	Options monitor.Options
	Args    []string // of sstool monitor, for command lines
}

// scrape asks all sources once and judges all that was seen so far.
func (x *metering) scrape(ctx context.Context) (*monitor.Result, error) {
	if x.err != nil {
		return nil, x.err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.mon.Scrape(ctx); err != nil {
		return nil, err
	}
	x.mon.History.Trim(max(time.Hour, x.o.Thresholds.Longest()))
	return x.mon.Evaluate(x.o)
}

// metering is that of the context; nil without metrics.
func (m *Model) metering() *metering {
	c := m.context().Metrics
	if c == nil {
		return nil
	}
	if m.meters[m.current] == nil {
		m.meters[m.current] = &metering{err: c.Err, o: c.Options, mon: monitor.New(c.Sources)}
	}
	return m.meters[m.current]
}

// metricsScreen holds gauges against thresholds, live.
type metricsScreen struct{ t *table }

func newMetricsScreen() *metricsScreen {
	return &metricsScreen{newTable([]col{{name: "STATUS"}, {name: "CHECK"}, {name: "STORE", flex: 12}, {name: "TASK", prio: 2}, {name: "INSTANCE", flex: 12, prio: 1}, {name: "VALUE", right: true}, {name: "THRESHOLD", right: true, prio: 1}, {name: "NOTE", flex: 20, prose: true, prio: 2}}, "")}
}

func (s *metricsScreen) crumb() string   { return "metrics" }
func (s *metricsScreen) body() component { return s.t }

// every is how often a live screen is fetched again.
func (s *metricsScreen) every(m *Model) time.Duration { return 2 * m.o.poll() }

func (s *metricsScreen) summary(m *Model, f *frame) line {
	r, ok := f.data.(*monitor.Result)
	if !ok {
		return nil
	}
	n := r.Summary
	out := line{}.add(bad, failedSince(f)).add(bad, plural(n.Problem, "problem")).add(dim, ", ").add(warn, plural(n.Warning, "warning")).add(dim, fmt.Sprintf(", %d ok, %d not measured; ", n.OK, n.Unmeasured))
	failed := 0
	for _, src := range r.Sources {
		if src.Error != "" {
			failed++
		}
	}
	out = out.add(dim, plural(len(r.Sources), "source"))
	if failed > 0 {
		out = out.add(bad, fmt.Sprintf(", %d without an answer", failed))
	}
	if r.Span > 0 {
		out = out.add(dim, ", seen for "+secondsCell(&r.Span).text)
	}
	return out
}

func (s *metricsScreen) fetch(m *Model) func(context.Context) (any, error) {
	x := m.metering()
	if x == nil {
		return nil
	}
	return func(ctx context.Context) (any, error) {
		r, err := x.scrape(ctx)
		if r == nil { // no typed nil
			return nil, err
		}
		return r, err
	}
}

func (s *metricsScreen) build(m *Model, f *frame) {
	s.t.empty = "Asking …"
	if s.t.wrong = f.err != nil; s.t.wrong {
		s.t.empty = m.errorText(f.err)
	}
	if m.context().Metrics == nil {
		s.t.empty = "No metrics were given.\ntry: start with --metrics URL, where an application shows them for Prometheus"
	}
	r, ok := f.data.(*monitor.Result)
	if !ok {
		return
	}
	s.t.empty = "Nothing to judge."
	var rows []row
	several := false
	for i := range r.Gauges {
		g := &r.Gauges[i]
		several = several || g.Instance != r.Gauges[0].Instance
		value, limit := missing(), missing()
		if g.Value != nil {
			value = num(*g.Value, g.Unit.Format(*g.Value))
		}
		if g.Limit != nil {
			limit = num(*g.Limit, g.Unit.Format(*g.Limit))
		}
		rows = append(rows, row{id: string(g.Check) + "\x00" + g.Subject.String(), data: metricRow{g, r},
			cells: []cell{tonedCell(statusTone(g.Status), string(g.Status)), str(string(g.Check)), str(textIf(g.Store, "-")), str(textIf(g.Task, "-")), str(textIf(g.Instance, "-")), value.in(statusTone(g.Status)), limit, str(cmp.Or(g.Reason, g.Note))}})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return a.data.(metricRow).gauge.Status.Weight() - b.data.(metricRow).gauge.Status.Weight()
	})
	s.t.hide(!several, "INSTANCE")
	s.t.set(rows)
}

// metricRow is a gauge and the result it is of.
type metricRow struct {
	gauge *monitor.Gauge
	res   *monitor.Result
}

func (s *metricsScreen) describe(*Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	x := r.data.(metricRow)
	g := x.gauge
	out := []line{field("check", string(g.Check)), fieldIn("status", statusTone(g.Status), string(g.Status)), field("subject", g.Subject.String()), field("measured", g.Text())}
	if c := monitor.CheckNamed(g.Check); c != nil {
		out = append(out, nil, text(safe(c.About())))
	}
	for i := range x.res.Findings {
		if d := &x.res.Findings[i]; d.Status.Found() && d.ID == string(g.Check) && d.Subject == g.Subject.String() {
			out = append(out, consequenceLines(d)...)
		}
	}
	out = append(out, nil, title("Sources"))
	for _, src := range x.res.Sources {
		l := line{{text: safe(src.Target) + ": "}, {text: fmt.Sprintf("%d series of Kafka Streams among %d", src.Series, src.Samples), tone: dim}}
		if src.Error != "" {
			l = line{{text: safe(src.Target) + ": "}, {text: safe(src.Error), tone: bad}}
		}
		out = append(out, l)
	}
	return safe(string(g.Check)), out
}

func (s *metricsScreen) command(m *Model) []string {
	out := []string{"sstool", "monitor"}
	if c := m.context().Metrics; c != nil {
		out = append(out, c.Args...)
	}
	return out
}
func (s *metricsScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data.(metricRow).gauge
	}
	return nil
}
