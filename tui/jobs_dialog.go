package tui

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// planDialog shows what an action would do, and asks. What must be typed must
// be typed exactly.
type planDialog struct {
	action  Action
	planned *Planned
	steps   *textBody
	input   *textinput.Model // nil: y is enough
	wrong   bool
}

func newPlanDialog(m *Model, a Action, p *Planned) dialog {
	d := &planDialog{action: a, planned: p}
	var lines []line
	for _, w := range p.Warnings {
		lines = append(lines, line{{text: "warning: ", tone: warn}, {text: safe(w)}})
	}
	if len(p.Warnings) > 0 {
		lines = append(lines, nil)
	}
	for _, s := range p.Steps {
		k := plainTone
		if strings.Contains(s, "cannot be undone") {
			k = bad
		}
		lines = append(lines, toned(k, safe(s)))
	}
	d.steps = newText(lines)
	d.steps.wrap = true
	if a.Type != "" {
		in := textinput.New()
		in.Prompt = ""
		in.CharLimit = 500
		styles := in.Styles()
		styles.Focused.Text, styles.Cursor.Blink = lipgloss.NewStyle(), false
		in.SetStyles(styles)
		in.Focus()
		d.input = &in
	}
	return d
}

func (d *planDialog) close(m *Model) {
	m.dialog = nil
	if d.planned.Close != nil {
		d.planned.Close()
	}
	m.say(dim, d.action.Name+": nothing was done")
}

func (d *planDialog) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if k == "esc" {
		d.close(m)
		return nil
	}
	if d.input == nil {
		switch {
		case k == "y":
			m.dialog = nil
			return m.start(d.action, d.planned)
		case k == "n":
			d.close(m)
		default:
			d.steps.do(m.keys.action(msg), d.room(m))
		}
		return nil
	}
	switch k {
	case "enter":
		if d.input.Value() == d.action.Type {
			m.dialog = nil
			return m.start(d.action, d.planned)
		}
		d.wrong = true
		return nil
	case "up", "down", "pgup", "pgdown":
		d.steps.do(m.keys.action(msg), d.room(m))
		return nil
	}
	d.wrong = false
	var cmd tea.Cmd
	*d.input, cmd = d.input.Update(msg)
	return cmd
}

func (d *planDialog) room(m *Model) int { return max(3, m.h-12) }

func (d *planDialog) draw(m *Model, lines []string) {
	w := min(m.w-8, 100)
	folded := d.steps.layout(w)
	h := min(len(folded), d.room(m))
	body := d.steps.render(m.theme, w, h)
	foot := "y: go ahead   n, Esc: no   up, down: scroll"
	if d.input != nil {
		d.input.SetWidth(max(4, w-len("type ")-width(d.action.Type)-len(" to go ahead: ")-2))
		ask := line{{text: "type "}, {text: safe(d.action.Type), tone: strong}, {text: " to go ahead: "}}
		body = append(body, strings.Repeat(" ", w), ask.draw(m.theme, ask.width())+fitted(d.input.View(), w-ask.width()))
		foot = "Enter: go ahead   Esc: no"
		if d.wrong {
			foot = "that is not its name; nothing was done"
		}
	}
	drawRendered(m, lines, titleCase(d.action.Name), body, w, foot)
}

// fitted is painted text in exactly n columns.
func fitted(s string, n int) string {
	w := lipgloss.Width(s)
	if w > n {
		return ansiCut(s, n)
	}
	return s + strings.Repeat(" ", max(0, n-w))
}

func titleCase(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (d *planDialog) plain(*Model) []string {
	out := append([]string{titleCase(d.action.Name)}, d.steps.plain()...)
	if d.action.Type != "" {
		return append(out, "type "+safe(d.action.Type)+" to go ahead, esc for no")
	}
	return append(out, "y: go ahead, n: no")
}
