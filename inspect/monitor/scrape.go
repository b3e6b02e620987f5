package monitor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"sstool/internal/exposition"
	"sstool/internal/op"
)

// Key names a series: a metric of a subject.
type Key struct {
	Subject Subject
	Metric  Metric
}

// Point is a value at a time.
type Point struct {
	Time  time.Time
	Value float64
}

// Scrape is what one source showed: of one moment, or of several when the
// samples bring their times along, as saved ones and those of a federation do.
type Scrape struct {
	Source    string
	At        time.Time
	Samples   int                // all samples, of whatever program
	Points    map[Key][]Point    // the ones that the catalogue knows, by time
	Processes map[Subject]string // which process an application of an instance was last
	Schemes   []Scheme           // of the stores' metrics, or of any others when there are none
}

// maxSeries bounds the memory of a scrape: 20 000 stores, all metrics of each.
const maxSeries = 400_000

// read reads a text that source showed at a time.
func read(r io.Reader, source string, at time.Time, c catalog) (*Scrape, error) {
	out := &Scrape{Source: source, At: at, Points: map[Key][]Point{}, Processes: map[Subject]string{}}
	stores, others := map[Scheme]bool{}, map[Scheme]bool{}
	series := 0
	err := exposition.Read(r, func(s *exposition.Sample) error {
		out.Samples++
		k, ok := c.find(s.Name)
		if !ok {
			return nil
		}
		sub, process := subjectOf(s, source)
		if !k.info.accepts(s, &sub) {
			return nil
		}
		t := s.Time
		if t.IsZero() {
			t = at
		}
		key := Key{sub, k.info.name}
		if _, old := out.Points[key]; !old {
			if series++; series > maxSeries {
				return op.Errorf(op.Usage, "more than %d series of Kafka Streams", maxSeries).WithTry("scrape the instances one by one")
			}
		}
		out.Points[key] = merged(out.Points[key], Point{t, s.Value})
		if process != "" {
			out.Processes[Subject{Instance: sub.Instance, Application: sub.Application}] = process
		}
		if k.info.group == stateGroup {
			stores[k.scheme] = true
		} else {
			others[k.scheme] = true
		}
		return nil
	})
	var syntax *exposition.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, op.Errorf(op.Usage, "%s is no page of metrics: %w", source, err)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", source, err)
	case out.Samples == 0:
		return nil, op.Errorf(op.Usage, "%s shows no metrics at all", source)
	}
	if len(stores) == 0 {
		stores = others
	}
	out.Schemes = slices.SortedFunc(maps.Keys(stores), func(a, b Scheme) int { return cmp.Compare(a, b) })
	for _, p := range out.Points {
		if last := p[len(p)-1].Time; last.After(out.At) {
			out.At = last
		}
	}
	return out, nil
}

// accepts says whether a sample is about what the metric is about, and takes
// what does not matter off the subject.
func (m metricInfo) accepts(s *exposition.Sample, sub *Subject) bool {
	switch m.group {
	case stateGroup:
		return sub.Store != ""
	case taskGroup:
		sub.Store, sub.Scope = "", ""
		return sub.Task != ""
	case fetchGroup: // of all partitions together, or of each: the largest counts
		if !slices.ContainsFunc(s.Labels, func(l exposition.Label) bool { return restores(l.Value) }) {
			return false
		}
	}
	*sub = Subject{Instance: sub.Instance, Application: sub.Application}
	return true
}

// merged adds a point to a series. Of two at the same time the larger counts:
// they are partitions of a consumer, or threads of an instance.
func merged(points []Point, p Point) []Point {
	i, found := slices.BinarySearchFunc(points, p.Time, func(q Point, t time.Time) int { return q.Time.Compare(t) })
	if !found {
		return slices.Insert(points, i, p)
	}
	if math.IsNaN(points[i].Value) || p.Value > points[i].Value {
		points[i].Value = p.Value
	}
	return points
}

// WriteTo writes the scrape as an exposition whose samples have their times, in
// the JMX exporter's spelling: what read reads again.
func (s *Scrape) WriteTo(w io.Writer) (int64, error) {
	byName := map[Metric]metricInfo{}
	for _, m := range metrics() {
		byName[m.name] = m
	}
	keys := slices.SortedFunc(maps.Keys(s.Points), compareKeys)
	var text strings.Builder
	for i, k := range keys {
		m := byName[k.Metric]
		name := JMX.spellings(m)[0]
		if i == 0 || keys[i-1].Metric != k.Metric {
			fmt.Fprintf(&text, "# TYPE %s untyped\n", name)
		}
		labels := s.labels(k.Subject, m.group)
		for _, p := range s.Points[k] {
			fmt.Fprintf(&text, "%s{%s} %s %d\n", name, labels, number(p.Value), p.Time.UnixMilli())
		}
	}
	n, err := io.WriteString(w, text.String())
	return int64(n), err
}

// labels writes a subject so that subjectOf reads it again.
func (s *Scrape) labels(sub Subject, g group) string {
	client := sub.Application
	if p := s.Processes[Subject{Instance: sub.Instance, Application: sub.Application}]; p != "" {
		client += "-" + p
	}
	pairs := [][2]string{{"instance", sub.Instance}}
	switch g {
	case fetchGroup:
		pairs = append(pairs, [2]string{"client_id", client + "-StreamThread-1-restore-consumer"})
	case clientGroup:
		pairs = append(pairs, [2]string{"client_id", client})
	default:
		pairs = append(pairs, [2]string{"thread_id", client + "-StreamThread-1"})
	}
	if sub.Task != "" {
		pairs = append(pairs, [2]string{"task_id", sub.Task})
	}
	if sub.Store != "" {
		label := "store"
		if sub.Scope != "" {
			label = strings.ReplaceAll(sub.Scope, "-", "_") + "_state_id"
		}
		pairs = append(pairs, [2]string{label, sub.Store})
	}
	var out []string
	for _, p := range pairs {
		out = append(out, p[0]+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p[1])+`"`)
	}
	return strings.Join(out, ",")
}

func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return fmt.Sprint(v)
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Metric, b.Metric), compareSubjects(a.Subject, b.Subject))
}

func compareSubjects(a, b Subject) int {
	return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Application, b.Application),
		cmp.Compare(a.Store, b.Store), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Scope, b.Scope))
}
