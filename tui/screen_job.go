package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"context"

	"sstool/internal/human"
	"sstool/internal/op"
)

// jobScreen shows an action: bars of what it works on, its rate, where the time
// goes; afterwards its report.
type jobScreen struct {
	j    *job
	text *textBody
}

func newJobScreen(j *job) *jobScreen {
	t := newText(nil)
	return &jobScreen{j, t}
}

func (s *jobScreen) crumb() string                             { return s.j.action.Name }
func (s *jobScreen) body() component                           { return s.text }
func (s *jobScreen) hints() []string                           { return []string{doCancel} }
func (s *jobScreen) key(*Model, *frame, string) (teaCmd, bool) { return nil, false }

func (s *jobScreen) summary(m *Model, _ *frame) line {
	return append(toned(dim, subjectText(s.j.action.Subject)+"  "), jobOutcome(m, s.j)...)
}

func subjectText(s Subject) string {
	if s.Store == "" {
		return "application " + safe(s.App)
	}
	return "store " + safe(s.Store) + ", task " + safe(s.Task)
}

// jobOutcome is how it stands with an action.
func jobOutcome(m *Model, j *job) line {
	switch {
	case j.running:
		return toned(warn, "running for "+human.Duration(m.now.Sub(j.began).Round(time.Second)))
	case j.err == nil:
		return toned(good, "done in "+human.Duration(j.ended.Sub(j.began).Round(time.Millisecond)))
	case op.KindOf(j.err) == op.Declined || errors.Is(j.err, context.Canceled):
		return toned(warn, "cancelled after "+human.Duration(j.ended.Sub(j.began).Round(time.Second)))
	}
	return toned(bad, "failed after "+human.Duration(j.ended.Sub(j.began).Round(time.Millisecond)))
}

func (s *jobScreen) build(m *Model, _ *frame) {
	j := s.j
	var out []line
	if j.err != nil {
		out = append(out, errorLines(j.err)...)
	}
	if !j.running && j.report != "" {
		out = append(out, nil)
		for _, l := range strings.Split(strings.TrimRight(j.report, "\n"), "\n") {
			l := text(" " + safe(l))
			if prose := !strings.Contains(strings.TrimSpace(l.bare()), "  "); prose {
				out = append(out, fold(l, m.w)...)
				continue
			}
			out = append(out, l) // of a table: it scrolls sideways
		}
		out = append(out, nil, toned(dim, " "+strings.Repeat(m.theme.glyphs.rule, 20)))
	}
	s.text.set(append(out, runLines(m, j)...))
}

// runLines draws what an action told while it ran.
func runLines(m *Model, j *job) []line {
	st := j.state
	var out []line
	e := st.last
	room := max(10, min(90, m.w-44))
	if st.phase != "" {
		out = append(out, nil, toned(header, " "+safe(st.phase)))
	}
	if e.Total > 0 && j.running {
		l := line{{text: " "}}
		l = append(l, barOf(m, float64(e.Done)/float64(e.Total), room, accent)...)
		l = l.add(strong, " "+padLeft(human.Share(float64(e.Done), float64(e.Total)), 7, ""))
		if e.ETA > 0 {
			l = l.add(dim, "  "+human.Duration(e.ETA.Round(time.Second))+" left")
		}
		out = append(out, nil, l)
		say := fmt.Sprintf(" %s of %s %s", amount(e.Done, e.Unit), amount(e.Total, e.Unit), e.Unit)
		if e.Unit == "bytes" {
			say = fmt.Sprintf(" %s of %s", amount(e.Done, e.Unit), amount(e.Total, e.Unit))
		}
		if e.Rate > 0 {
			say += ", " + human.Rate(e.Rate, e.Unit)
		}
		out = append(out, toned(dim, say))
	}
	if len(e.Parts) > 0 && j.running {
		out = append(out, nil, toned(header, " At work"))
		for _, p := range e.Parts {
			name := shortened(safe(p.Name), min(48, max(20, m.w-room/2-14)), m.theme)
			share := 0.0
			if p.Total > 0 {
				share = float64(p.Done) / float64(p.Total)
			}
			l := line{{text: " " + padRight(name, min(48, max(20, m.w-room/2-14)), "") + " "}}
			l = append(l, barOf(m, share, room/2, good)...)
			out = append(out, l.add(dim, " "+padLeft(human.Share(float64(p.Done), float64(p.Total)), 7, "")))
		}
	}
	if len(st.rates) > 1 {
		out = append(out, nil)
		out = append(out, rateGraph(m, st.rates, e.Unit)...)
	}
	if len(e.Split) > 0 {
		out = append(out, nil)
		out = append(out, splitLines(m, e.Split, room)...)
	}
	if len(st.warned) > 0 {
		out = append(out, nil, toned(warn, " Warnings"))
		for _, w := range st.warned {
			out = append(out, text(" "+safe(strings.TrimPrefix(w.Name+": "+w.Message, ": "))))
		}
	}
	if len(st.done) > 0 {
		out = append(out, nil, toned(header, " Finished"))
		for i := len(st.done) - 1; i >= 0; i-- {
			d := st.done[i]
			if d.Err != "" {
				out = append(out, toned(bad, " "+safe(d.Name)+": "+safe(d.Err)))
				continue
			}
			out = append(out, line{{text: " " + safe(d.Name)}, {text: "  " + safe(d.Message), tone: dim}})
		}
	}
	if len(out) == 0 && j.running {
		out = []line{nil, toned(dim, "  beginning …")}
	}
	return out
}

func amount(n int64, unit string) string {
	if unit == "bytes" {
		return human.Bytes(n)
	}
	return human.Count(n)
}

// barOf is a bar within a dim track.
func barOf(m *Model, share float64, room int, k tone) line {
	bar := human.Bar(min(1, max(0, share)), 1, room, !m.theme.ascii)
	track := "░"
	if m.theme.ascii {
		track = "."
	}
	return line{{text: bar, tone: k}, {text: strings.Repeat(track, max(0, room-width(bar))), tone: dim}}
}

// rateGraph draws the rate over time, four lines high.
func rateGraph(m *Model, rates []float64, unit string) []line {
	const high = 4
	room := max(1, min(len(rates), m.w-24))
	// As many columns as there is room: each the mean of what falls into it.
	values := make([]float64, room)
	for i := range values {
		part := rates[i*len(rates)/room : (i+1)*len(rates)/room]
		for _, v := range part {
			values[i] += v / float64(len(part))
		}
	}
	top := slices.Max(values)
	levels := len(m.theme.glyphs.spark)
	var out []line
	for y := high - 1; y >= 0; y-- {
		var b strings.Builder
		for _, v := range values {
			filled := 0
			if top > 0 {
				filled = int(v/top*float64(high*levels)+0.5) - y*levels
			}
			switch {
			case filled <= 0:
				b.WriteByte(' ')
			default:
				b.WriteRune(m.theme.glyphs.spark[min(levels, filled)-1])
			}
		}
		label := ""
		switch y {
		case high - 1:
			label = rateText(top, unit)
		case 0:
			label = "now " + rateText(rates[len(rates)-1], unit)
		}
		out = append(out, line{{text: " "}, {text: b.String(), tone: accent}, {text: " " + label, tone: dim}})
	}
	return out
}

func rateText(perSecond float64, unit string) string {
	if unit == "bytes" {
		return human.Bytes(int64(perSecond)) + "/s"
	}
	return human.Rate(perSecond, unit)
}

// splitLines say where the workers' time went.
func splitLines(m *Model, split map[string]float64, room int) []line {
	sum := 0.0
	for _, s := range split {
		sum += s
	}
	out := []line{toned(header, " Where the time goes")}
	for a := range op.NumActivities {
		name := a.String()
		s := split[name]
		if s <= 0 {
			continue
		}
		l := line{{text: " " + padRight(name, 10, "") + padLeft(human.Duration(time.Duration(s*1e9)), 9, "") + " " + padLeft(human.Share(s, sum), 8, "") + "  "}}
		out = append(out, append(l, barOf(m, s/sum, room/2, accent)...))
	}
	return out
}

func (s *jobScreen) command(*Model) []string { return s.j.action.Command }
func (s *jobScreen) document(*Model) any     { return s.j.result }

// logScreen lists the actions of this session.
type logScreen struct{ t *table }

func newLogScreen() *logScreen {
	return &logScreen{newTable([]col{{name: "BEGAN"}, {name: "ACTION", flex: 12}, {name: "SUBJECT", flex: 16, prose: true}, {name: "OUTCOME", flex: 16, prose: true}},
		"No action yet. a offers what can be done to the store or application under the cursor.")}
}

func (s *logScreen) crumb() string   { return "log" }
func (s *logScreen) body() component { return s.t }
func (s *logScreen) summary(m *Model, _ *frame) line {
	return toned(dim, plural(len(s.t.rows), "action")+" since the dashboard was started")
}
func (s *logScreen) hints() []string                           { return []string{doCancel} }
func (s *logScreen) key(*Model, *frame, string) (teaCmd, bool) { return nil, false }
func (s *logScreen) build(m *Model, _ *frame) {
	var rows []row
	for i := len(m.jobs.list) - 1; i >= 0; i-- {
		j := m.jobs.list[i]
		o := jobOutcome(m, j)
		say := o.bare()
		if j.err != nil {
			say += ": " + strings.ReplaceAll(j.err.Error(), "\n", "; ")
		}
		rows = append(rows, row{id: fmt.Sprint(j.id), data: j, cells: []cell{str(j.began.Format("15:04:05")), str(j.action.Name), str(subjectText(j.action.Subject)), tonedCell(o[0].tone, say)}})
	}
	s.t.set(rows)
}
func (s *logScreen) open(*Model) *level {
	if r := s.t.current(); r != nil {
		return single(newJobScreen(r.data.(*job)))
	}
	return nil
}
func (s *logScreen) command(*Model) []string {
	if r := s.t.current(); r != nil {
		return r.data.(*job).action.Command
	}
	return nil
}
func (s *logScreen) document(*Model) any {
	if r := s.t.current(); r != nil && r.data.(*job).result != nil {
		return r.data.(*job).result
	}
	return nil
}
