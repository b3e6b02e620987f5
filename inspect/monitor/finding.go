package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sstool/internal/human"
	"sstool/internal/op"
)

// area is what all findings are about.
const area = "metrics"

// findings are the gauges that are not ok: one for each that missed its
// threshold, and one for all that were not measured for the same reason.
func findings(gauges []Gauge) []op.Finding {
	out := []op.Finding{}
	type cause struct {
		check    CheckID
		instance string
		reason   string
	}
	at := map[cause]int{}
	for _, g := range gauges {
		c := CheckNamed(g.Check)
		switch g.Status {
		case op.OK:
		case op.Unmeasured:
			k := cause{g.Check, g.Instance, g.Reason}
			if i, ok := at[k]; ok {
				out[i].Evidence = append(out[i].Evidence, g.Subject.String())
				continue
			}
			at[k] = len(out)
			out = append(out, op.Finding{ID: string(g.Check), Area: area, Status: g.Status, Subject: g.Instance, Title: c.Title, Evidence: []string{g.Subject.String()}, Remedy: []string{}, Reason: g.Reason})
		default:
			out = append(out, op.Finding{
				ID: string(g.Check), Area: area, Status: g.Status, Subject: g.Subject.String(), Title: c.Title,
				Evidence: []string{g.Text()}, Consequence: c.consequence, Remedy: c.remedy,
			})
		}
	}
	slices.SortStableFunc(out, func(a, b op.Finding) int { return cmp.Compare(a.Status.Weight(), b.Status.Weight()) })
	return out
}

// Text says what was measured, against which threshold.
func (g *Gauge) Text() string {
	c := CheckNamed(g.Check)
	if g.Reason != "" {
		return "unmeasured: " + g.Reason
	}
	if g.Value == nil {
		return g.Note
	}
	text := g.Unit.Format(*g.Value)
	switch {
	case g.Was != nil:
		text = fmt.Sprintf("%s, from %s %s before", text, g.Unit.Format(*g.Was), short(seconds(g.Span)))
		if g.Status.Found() {
			text += ", and it does not level off"
		}
	case c.rule == noStall && g.Note == "":
		text += fmt.Sprintf(" of the last %s", short(seconds(g.Span)))
	}
	if g.Limit != nil && g.Status.Found() {
		word := "at most"
		if c.rule == atLeast {
			word = "at least"
		}
		text += fmt.Sprintf("; the threshold is %s %s", word, g.Unit.Format(*g.Limit))
	}
	if g.Note != "" {
		text += " (" + g.Note + ")"
	}
	return text
}

// Format writes a value for people.
func (u Unit) Format(v float64) string {
	switch u {
	case Ratio:
		return fmt.Sprintf("%.3g %%", 100*v)
	case Bytes:
		return human.Bytes(whole(v))
	case Seconds:
		return human.Duration(time.Duration(whole(v * float64(time.Second))))
	}
	return human.Count(whole(v))
}

// whole is a whole number; a page may show one that is larger than any is.
func whole(v float64) int64 { return int64(min(v, 1<<62)) }
