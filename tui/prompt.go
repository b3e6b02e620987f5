package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// prompt is the line that is typed on: a command, a filter, a key.
type prompt struct {
	input  textinput.Model
	label  string
	help   string
	done   func(m *Model, value string) tea.Cmd
	change func(m *Model, value string) // with every key; nil: nothing
	abort  func(m *Model)
	names  []string // for completion
}

func newPrompt(m *Model, label, value, help string, done func(m *Model, value string) tea.Cmd) *prompt {
	in := textinput.New()
	in.Prompt = label
	in.SetWidth(max(10, m.w-width(label)-2))
	in.CharLimit = 2000
	styles := in.Styles()
	plain := lipgloss.NewStyle()
	styles.Focused.Text, styles.Focused.Prompt = plain, m.theme.styles[accent]
	styles.Focused.Suggestion, styles.Focused.Placeholder = m.theme.styles[dim], m.theme.styles[dim]
	styles.Cursor.Blink = false
	in.SetStyles(styles)
	in.SetValue(value)
	in.CursorEnd()
	in.Focus()
	return &prompt{input: in, label: label, help: help, done: done}
}

// complete offers words; Tab takes the one that is shown.
func (p *prompt) complete(names []string) {
	p.names = names
	p.input.ShowSuggestions = true
	p.input.SetSuggestions(names)
}

func newCommandPrompt(m *Model) *prompt {
	p := newPrompt(m, ":", "", "", func(m *Model, value string) tea.Cmd { return m.run(value) })
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		for _, v := range c.values(m) {
			names = append(names, c.name+" "+v)
		}
	}
	p.complete(names)
	return p
}

func newFilterPrompt(m *Model) *prompt {
	was := m.top().filter
	value := ""
	if was != nil {
		value = was.source
	}
	p := newPrompt(m, "/", value, "a regular expression; ! in front keeps what does not match; Enter keeps it, Esc drops it", func(m *Model, value string) tea.Cmd {
		f, err := newFilter(value)
		if err != nil {
			m.say(bad, "not a regular expression: "+err.Error())
			m.setFilter(was)
			return nil
		}
		m.setFilter(f)
		return nil
	})
	p.change = func(m *Model, value string) {
		if f, err := newFilter(value); err == nil {
			m.setFilter(f)
		}
	}
	p.abort = func(m *Model) { m.setFilter(was) }
	return p
}

// key is a key while something is typed.
func (p *prompt) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		m.prompt = nil
		if p.abort != nil {
			p.abort(m)
		}
		return nil
	case "enter":
		m.prompt = nil
		m.message = note{}
		return p.done(m, strings.TrimSpace(p.input.Value()))
	case "backspace":
		if p.input.Value() == "" && p.label == ":" {
			m.prompt = nil
			return nil
		}
	}
	cmd := p.update(msg)
	if p.change != nil {
		p.change(m, strings.TrimSpace(p.input.Value()))
	}
	return cmd
}

func (p *prompt) paste(m *Model, s string) tea.Cmd {
	p.input.SetValue(p.input.Value() + strings.Join(strings.Fields(s), " "))
	p.input.CursorEnd()
	if p.change != nil {
		p.change(m, strings.TrimSpace(p.input.Value()))
	}
	return nil
}

func (p *prompt) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	p.input, cmd = p.input.Update(msg)
	return cmd
}

func (p *prompt) view(m *Model) string {
	p.input.SetWidth(max(1, m.w-width(p.label)-4))
	s := ansi.Truncate(p.input.View(), m.w-1, "")
	return " " + s + strings.Repeat(" ", max(0, m.w-1-lipgloss.Width(s)))
}

// hint lists what Tab would complete, or says what is typed here.
func (p *prompt) hint(*Model) line {
	if p.help != "" {
		return toned(dim, " "+p.help)
	}
	typed := p.input.Value()
	l := toned(dim, " Tab completes: ")
	n := 0
	for _, name := range p.names {
		if !strings.HasPrefix(name, typed) || strings.Contains(strings.TrimPrefix(name, typed), " ") {
			continue
		}
		l = l.add(accent, name+" ")
		if n++; n > 14 {
			break
		}
	}
	if n == 0 && typed != "" && !slices.ContainsFunc(commands(), func(c command) bool { return strings.HasPrefix(typed, c.name) }) {
		return toned(warn, " there is no such command; :help lists them")
	}
	return l
}
