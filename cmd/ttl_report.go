package cmd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sstool/migrate"
)

func renderTTLPlan(w *tableWriter, p migrate.TTLPlan) {
	w.line("Plan: delete rows of %s. Nothing is changed.", printable(p.Stores[0].Store))
	w.line("")
	w.ttlPlan(&p)
	if len(p.Steps) > 0 && !w.machine() {
		w.line("\nWithout --dry-run it would")
		for _, s := range p.Steps {
			w.wrapped("  ", s)
		}
	}
	if len(p.Refused) > 0 {
		w.line("\nIt would be refused now")
		for _, s := range p.Refused {
			w.wrapped("  ", s)
		}
	}
	w.ttlAdvice(&p)
}

// renderTTL draws what became of it.
func renderTTL(w *tableWriter, r migrate.TTLResult) {
	if r.Plan != nil && !w.machine() {
		w.ttlHead(r.Plan)
		w.ttlPartitions(r.Plan)
		w.ttlRelated(r.Plan)
		w.line("")
	}
	w.deletion(&r.DeletionResult)
	if r.Plan != nil && r.Tombstones+r.Earlier > 0 {
		w.ttlAdvice(r.Plan)
	}
}

// ttlPlan draws what was found.
func (w *tableWriter) ttlPlan(p *migrate.TTLPlan) {
	if w.machine() {
		w.ttlPartitions(p)
		return
	}
	w.ttlHead(p)
	w.ttlPartitions(p)
	w.ttlRelated(p)
	w.ttlHistogram(p)
	w.ttlSamples(p)
}

// ttlHead says what the plan is about.
func (w *tableWriter) ttlHead(p *migrate.TTLPlan) {
	s := p.Stores[0]
	rows := [][2]string{{"store", fmt.Sprintf("%s of %s, %s (%s)", s.Store, p.ApplicationID, s.Kind, s.KindWhy)}, {"changelog", s.Topic}, {"age from", p.AgeFrom}}
	if p.Cutoff != nil {
		rows = append(rows, [2]string{"cutoff", ttlCutoff(p.Cutoff)})
	}
	if p.KeysGiven != nil {
		rows = append(rows, [2]string{"keys", fmt.Sprintf("%s given, %s found", humanCount(*p.KeysGiven), humanCount(*p.KeysFound))})
	}
	rows = append(rows, [2]string{"keys, values", decoderText(p.KeyDecoder) + ", " + decoderText(p.ValueDecoder)})
	w.pairs(rows)
	w.line("")
}

func decoderText(d migrate.TTLDecoder) string {
	if d.Guessed {
		return d.Name + " (as they look)"
	}
	return d.Name
}

func ttlCutoff(c *migrate.TTLCutoff) string {
	switch {
	case c.StreamTime:
		return fmt.Sprintf("older than %s before the newest timestamp of the partition", humanDuration(time.Duration(*c.OlderThan)*time.Millisecond))
	case c.OlderThan != nil:
		return fmt.Sprintf("older than %s: before %s", humanDuration(time.Duration(*c.OlderThan)*time.Millisecond), ttlTime(c.Before))
	}
	return "before " + ttlTime(c.Before)
}

func ttlTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format("2006-01-02T15:04:05Z")
}

func (w *tableWriter) ttlPartitions(p *migrate.TTLPlan) {
	var rows [][]string
	row := func(name, source string, c *migrate.TTLCounts, cutoff *time.Time) {
		rows = append(rows, []string{name, source, w.count(c.Rows), w.bytes(c.Bytes), w.count(c.Selected.Rows), w.bytes(c.Selected.Bytes), w.share(c.Selected.Rows, c.Rows), w.count(c.Unknown),
			cmp.Or(ttlTime(c.Oldest), w.none()), cmp.Or(ttlTime(c.Newest), w.none()), cmp.Or(ttlTime(cutoff), w.none())})
	}
	for i := range p.Partitions {
		x := &p.Partitions[i]
		row(fmt.Sprint(x.Partition), x.Source, &x.TTLCounts, x.Cutoff)
	}
	if len(rows) > 1 && !w.machine() {
		row("TOTAL", "", &p.Total, nil)
	}
	w.table([]column{{name: "PARTITION", short: "PART"}, {name: "SOURCE", wide: true}, {name: "ROWS", right: true}, {name: "BYTES", right: true},
		{name: "DELETE ROWS", short: "DELETE", right: true}, {name: "DELETE BYTES", short: "BYTES", right: true}, {name: "SHARE", right: true, wide: true},
		{name: "UNKNOWN TIME", short: "NO TIME", right: true}, {name: "OLDEST"}, {name: "NEWEST", wide: true}, {name: "CUTOFF", wide: true}}, rows)
}

func (w *tableWriter) ttlRelated(p *migrate.TTLPlan) {
	if len(p.Stores) == 1 {
		return
	}
	var rows [][]string
	for _, s := range p.Stores[1:] {
		role := "the same keys"
		if s.Role == migrate.RoleTimestamps {
			role = "the times"
		}
		rows = append(rows, []string{s.Store, s.Kind, role, w.count(s.Selected.Rows), w.bytes(s.Selected.Bytes), s.Topic})
	}
	w.line("")
	w.table([]column{{name: "RELATED STORE"}, {name: "KIND"}, {name: "HAS"}, {name: "DELETE", right: true}, {name: "BYTES", right: true}, {name: "CHANGELOG", wide: true}}, rows)
}

func (w *tableWriter) ttlHistogram(p *migrate.TTLPlan) {
	if p.Spread == nil {
		return
	}
	var rows [][]string
	list := p.Histogram
	for len(list) > 0 && list[len(list)-1].Rows == 0 {
		list = list[:len(list)-1]
	}
	for _, a := range list {
		text := "over " + humanDuration(time.Duration(a.From)*time.Millisecond)
		if a.To != nil {
			text = "up to " + humanDuration(time.Duration(*a.To)*time.Millisecond)
		}
		rows = append(rows, []string{text, w.count(a.Rows), w.bytes(a.Bytes), w.share(a.Rows, p.Total.Rows), w.count(a.Selected.Rows), "|" + strings.Repeat("#", int(30*a.Rows/max(p.Total.Rows, 1)))})
	}
	w.line("")
	w.table([]column{{name: "AGE"}, {name: "ROWS", right: true}, {name: "BYTES", right: true}, {name: "SHARE", right: true}, {name: "DELETE", right: true}, {name: ""}}, rows)
}

func (w *tableWriter) ttlSamples(p *migrate.TTLPlan) {
	var rows [][]string
	for i := range p.Partitions {
		for _, s := range p.Partitions[i].Samples {
			rows = append(rows, []string{fmt.Sprint(p.Partitions[i].Partition), cut(s.Text(), 44), cmp.Or(ttlTime(s.Timestamp), w.none()), w.bytes(s.Bytes)})
		}
	}
	if len(rows) == 0 {
		return
	}
	w.line("\nAny of the rows that go")
	w.table([]column{{name: "PARTITION", short: "PART"}, {name: "KEY"}, {name: "TIME"}, {name: "BYTES", right: true}}, rows)
}

func (w *tableWriter) ttlAdvice(p *migrate.TTLPlan) {
	if len(p.Advice) == 0 {
		return
	}
	w.line("\nTo know")
	for _, a := range p.Advice {
		w.wrapped("  "+a.Topic+": ", a.Text)
	}
}
