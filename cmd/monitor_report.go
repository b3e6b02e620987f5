package cmd

import (
	"fmt"
	"slices"
	"strings"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

// renderMonitor shows what missed its threshold, why that matters and what
// helps; what could not be measured, and why; and with all what is ok.
func renderMonitor(w *tableWriter, r *monitor.Result, all bool) {
	w.monitorGauges(r, all)
	told := map[string]bool{}
	for _, f := range r.Findings {
		if f.Status == op.Unmeasured || told[f.ID] {
			continue
		}
		told[f.ID] = true
		w.wrapped("", fmt.Sprintf("%s: %s: %s.", f.ID, f.Title, f.Consequence))
		for _, t := range f.Remedy {
			w.wrapped("  try: ", t)
		}
		w.line("")
	}
	for _, f := range r.Findings {
		if f.Status == op.Unmeasured {
			of := f.Subject
			if n := len(f.Evidence); n > 1 {
				of = fmt.Sprintf("%s, %d times", f.Subject, n)
			}
			w.wrapped("unmeasured  ", fmt.Sprintf("%s (%s): %s", f.ID, strings.TrimPrefix(of, "instance "), f.Reason))
		}
	}
	if r.Summary.Unmeasured > 0 {
		w.line("")
	}
	for _, s := range r.Sources {
		if s.Error != "" {
			w.wrapped("failed  ", s.Error)
			continue
		}
		var schemes []string
		for _, k := range s.Schemes {
			schemes = append(schemes, string(k))
		}
		w.wrapped("", fmt.Sprintf("%s: %s series of Kafka Streams (%s)", s.Target, humanCount(int64(s.Series)), strings.Join(schemes, ", ")))
	}
	sum := r.Summary
	over := ""
	if r.Span > 0 {
		over = " over " + monitor.Seconds.Format(r.Span)
	}
	w.sentence("%s missed (%s, %s), %d ok, %d unmeasured%s", counted(sum.Missed(), "threshold"), counted(sum.Problem, "problem"), counted(sum.Warning, "warning"), sum.OK, sum.Unmeasured, over)
}

// monitorGauges is the table of values: those that missed, or all that were
// measured.
func (w *tableWriter) monitorGauges(r *monitor.Result, all bool) {
	columns := []column{
		{name: "STATUS"}, {name: "CHECK"}, {name: "INSTANCE"}, {name: "TASK"}, {name: "STORE"}, {name: "VALUE", right: true}, {name: "BEFORE", right: true}, {name: "THRESHOLD", right: true},
	}
	var rows [][]string
	for i := range r.Gauges {
		g := &r.Gauges[i]
		if g.Status == op.Unmeasured || g.Status == op.OK && !all {
			continue
		}
		rows = append(rows, []string{string(g.Status), string(g.Check), g.Instance, g.Task, g.Store, amount(g, g.Value), amount(g, g.Was), limit(g)})
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return op.Status(a[0]).Weight() - op.Status(b[0]).Weight() })
	for i := len(columns) - 1; i >= 2; i-- { // columns that say nothing
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
			columns = slices.Delete(columns, i, i+1)
			for j := range rows {
				rows[j] = slices.Delete(rows[j], i, i+1)
			}
		}
	}
	w.table(columns, rows)
	w.line("")
}

func amount(g *monitor.Gauge, v *float64) string {
	if v == nil {
		return ""
	}
	return g.Unit.Format(*v)
}

func limit(g *monitor.Gauge) string {
	if g.Limit == nil {
		return ""
	}
	sign := "<= "
	if monitor.CheckNamed(g.Check).Minimum() {
		sign = ">= "
	}
	return sign + g.Unit.Format(*g.Limit)
}
