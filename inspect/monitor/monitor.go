package monitor

import (
	"context"
	"errors"
	"time"

	"sstool/internal/op"

	"golang.org/x/sync/errgroup"
)

// Monitor is sources and what they showed so far.
type Monitor struct {
	Sources []*Source
	History History

	told []SourceResult // of the last round
}

// New makes a monitor of sources that were opened.
func New(sources []*Source) *Monitor { return &Monitor{Sources: sources} }

// atOnce is how many sources are asked at the same time.
const atOnce = 16

// Scrape asks all sources once and takes what they show into the history. A
// source that fails is no error while another one answers: Result tells.
func (m *Monitor) Scrape(ctx context.Context) error {
	scrapes := make([]*Scrape, len(m.Sources))
	failures := make([]error, len(m.Sources))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, s := range m.Sources {
		g.Go(func() error {
			scrapes[i], failures[i] = s.Scrape(ctx)
			return nil
		})
	}
	_ = g.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	m.told = m.told[:0:0]
	answered := 0
	for i, s := range m.Sources {
		r := SourceResult{Target: s.Target(), Instance: s.Name, Schemes: []Scheme{}}
		if err := failures[i]; err != nil {
			r.Error = err.Error()
		} else {
			answered++
			m.History.Add(scrapes[i])
			r.At, r.Samples, r.Series, r.Schemes = &scrapes[i].At, scrapes[i].Samples, len(scrapes[i].Points), scrapes[i].Schemes
		}
		m.told = append(m.told, r)
	}
	if answered == 0 {
		return failures[0]
	}
	return nil
}

// Seen says whether any source has shown metrics of Kafka Streams so far.
func (m *Monitor) Seen() bool { return len(m.History.series) > 0 }

// Since takes an earlier scrape into the history: a file that History.Saved
// wrote, or any saved scrape. A plain one does not say of which instance it is;
// when there is one source, it is of that.
func (m *Monitor) Since(ctx context.Context, file string) error {
	sources, err := Open([]string{file}, Access{})
	if err != nil {
		return err
	}
	if len(m.Sources) == 1 {
		sources[0].Name = m.Sources[0].Name
	}
	s, err := sources[0].Scrape(ctx)
	if err != nil {
		return err
	}
	m.History.Add(s)
	return nil
}

// SourceResult is what became of a source in the last round.
type SourceResult struct {
	Target   string     `json:"target"`
	Instance string     `json:"instance"`
	At       *time.Time `json:"at"`
	Samples  int        `json:"samples"` // all, of whatever program
	Series   int        `json:"series"`  // of Kafka Streams, those that are used
	Schemes  []Scheme   `json:"schemes"`
	Error    string     `json:"error,omitempty"`
}

// Summary counts gauges.
type Summary struct {
	OK         int `json:"ok"`
	Warning    int `json:"warning"`
	Problem    int `json:"problem"`
	Unmeasured int `json:"unmeasured"`
}

// Missed is the number of thresholds that were missed.
func (s Summary) Missed() int { return s.Warning + s.Problem }

// Result is the JSON document.
type Result struct {
	At       time.Time      `json:"at"`
	Span     float64        `json:"span_seconds"` // from the first scrape that is known to the last
	Sources  []SourceResult `json:"sources"`
	Summary  Summary        `json:"summary"`
	Findings []op.Finding   `json:"findings"`
	Gauges   []Gauge        `json:"gauges"`
}

// ErrNoStreams is the cause when metrics are shown, and none of Kafka Streams.
var ErrNoStreams = errors.New("none of them is a metric of Kafka Streams that is known")

// Evaluate judges what was scraped so far.
func (m *Monitor) Evaluate(o Options) (*Result, error) {
	if !m.Seen() {
		n, target := 0, ""
		for _, s := range m.told {
			if n += s.Samples; s.Error == "" {
				target = s.Target
			}
		}
		e := op.Errorf(op.Usage, "%s shows %d samples: %w", target, n, ErrNoStreams)
		return nil, e.WithTry("sstool monitor --help tells which spellings are known")
	}
	r := &Result{Sources: m.told, Gauges: Evaluate(&m.History, o)}
	var first time.Time
	for _, points := range m.History.series {
		if t := points[0].Time; first.IsZero() || t.Before(first) {
			first = t
		}
		if t := points[len(points)-1].Time; t.After(r.At) {
			r.At = t
		}
	}
	r.Span = r.At.Sub(first).Seconds()
	for _, g := range r.Gauges {
		switch g.Status {
		case op.OK:
			r.Summary.OK++
		case op.Attention:
			r.Summary.Warning++
		case op.Wrong:
			r.Summary.Problem++
		default:
			r.Summary.Unmeasured++
		}
	}
	r.Findings = findings(r.Gauges)
	return r, nil
}
