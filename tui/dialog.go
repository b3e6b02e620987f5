package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"sstool/internal/human"
)

// dialog is a box over the screen that takes all keys.
type dialog interface {
	key(m *Model, msg tea.KeyPressMsg) tea.Cmd
	draw(m *Model, lines []string)
	plain(m *Model) []string
}

// drawBox puts a box with a title over the middle of the lines, at most as
// large as the text needs.
func drawBox(m *Model, lines []string, title string, body []line, foot string) {
	g := m.theme.glyphs
	inner := width(title) + 2
	for _, l := range body {
		inner = max(inner, l.width())
	}
	inner = max(inner, width(foot))
	inner = min(inner, m.w-8)
	var folded []line
	for _, l := range body {
		folded = append(folded, fold(l, inner)...)
	}
	room := len(lines) - 4
	if len(folded) > room-2 {
		folded = append(folded[:max(0, room-3)], toned(dim, g.ellipsis))
	}
	top := max(1, (len(lines)-len(folded)-4)/2)
	left := (m.w - inner - 4) / 2
	put := func(y int, s string) {
		if y >= len(lines) {
			return
		}
		lines[y] = over(lines[y], left, s, inner+4, m.w)
	}
	rule := func(n int) string { return strings.Repeat(g.rule, max(0, n)) }
	put(top, m.theme.paint(accent, g.tl+g.rule+" ")+m.theme.paint(strong, title)+m.theme.paint(accent, " "+rule(inner-width(title)-1)+g.tr))
	side := m.theme.paint(accent, g.vertical)
	y := top + 1
	for _, l := range folded {
		put(y, side+" "+l.draw(m.theme, inner)+" "+side)
		y++
	}
	if foot != "" {
		put(y, side+strings.Repeat(" ", inner+2)+side)
		put(y+1, side+" "+toned(dim, foot).draw(m.theme, inner)+" "+side)
		y += 2
	}
	put(y, m.theme.paint(accent, g.bl+rule(inner+2)+g.br))
}

// over is a line of w columns with s, n columns wide, put over it. A wide
// character that is half covered becomes a space.
func over(under string, left int, s string, n, w int) string {
	right := max(0, w-left-n)
	tail := ansi.Cut(under, left+n, w)
	if ansi.StringWidth(tail) > right {
		tail = ansi.Cut(under, left+n+1, w)
	}
	return fitted(ansi.Cut(under, 0, left), left) + s + strings.Repeat(" ", max(0, right-ansi.StringWidth(tail))) + tail
}

// choice is a dialog with keys to choose from.
type choice struct {
	title   string
	text    []line
	options []option
	foot    string
}

type option struct {
	key  string
	text string
	do   func(m *Model) tea.Cmd
}

func (c *choice) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	for _, o := range c.options {
		if msg.String() == o.key {
			m.dialog = nil
			return o.do(m)
		}
	}
	if a := m.keys.action(msg); a == doBack || a == doQuit {
		m.dialog = nil
	}
	return nil
}

func (c *choice) body() []line {
	out := append([]line{}, c.text...)
	if len(c.text) > 0 && len(c.options) > 0 {
		out = append(out, nil)
	}
	for _, o := range c.options {
		out = append(out, line{{text: keyName(o.key), tone: accent}, {text: "  " + o.text}})
	}
	return out
}

func (c *choice) draw(m *Model, lines []string) {
	foot := c.foot
	if foot == "" {
		foot = "Esc: nothing"
	}
	drawBox(m, lines, c.title, c.body(), foot)
}

func (c *choice) plain(*Model) []string {
	out := []string{c.title}
	for _, l := range c.body() {
		out = append(out, l.bare())
	}
	return out
}

// newConfirm asks; only y goes ahead.
func newConfirm(title string, text []line, yes func(m *Model) tea.Cmd) dialog {
	return &choice{title: title, text: text, options: []option{{"y", "yes", yes}}, foot: "any other key: no, with Esc"}
}

// newCopy asks what of the row is copied.
func newCopy(m *Model) dialog {
	c := &choice{title: "Copy"}
	s := m.top().screen
	if d, ok := s.(documenter); ok && d.document(m) != nil {
		c.options = append(c.options, option{"j", "as JSON", func(m *Model) tea.Cmd { return m.copyJSON(d.document(m)) }})
	}
	if k, ok := s.(commander); ok {
		if words := k.command(m); len(words) > 0 {
			line := human.CommandLine(words...)
			c.options = append(c.options, option{"c", "the command line: " + safe(line), func(m *Model) tea.Cmd { return m.copyText("command line", line) }})
		}
	}
	c.options = append(c.options, option{"t", "this screen as text", func(m *Model) tea.Cmd {
		return m.copyText("screen", strings.Join(m.top().screen.body().plain(), "\n")+"\n")
	}})
	return c
}

// help is the list of keys and commands for the screen it was asked on.
type help struct {
	body *textBody
}

func newHelp(m *Model) dialog {
	var lines []line
	entry := func(key, what string) {
		lines = append(lines, line{{text: padRight(key, 22, m.theme.glyphs.ellipsis) + " ", tone: accent}, {text: what}})
	}
	head := func(s string) {
		if lines != nil {
			lines = append(lines, nil)
		}
		lines = append(lines, toned(header, s))
	}
	f := m.top()
	if k, ok := f.screen.(keyer); ok && len(k.hints()) > 0 {
		head("On this screen")
		for _, a := range k.hints() {
			b := m.keys.bindings[a]
			entry(strings.Join(b.Keys(), " "), b.Help().Desc)
		}
	}
	head("Keys")
	for _, name := range m.keys.order {
		b := m.keys.bindings[name]
		if slicesHas([]string{doGoto, doSearch, doDecoder, doKeyDecoder, doMore, doExact}, name) || len(b.Keys()) == 0 {
			continue
		}
		entry(strings.Join(b.Keys(), " "), b.Help().Desc)
	}
	entry("mouse", "the wheel scrolls, a click moves the cursor, one more opens")
	head("Commands")
	for _, c := range commands() {
		entry(":"+c.name, c.help)
	}
	return &help{newText(lines)}
}

func (h *help) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	if !h.body.do(m.keys.action(msg), h.room(m)) {
		m.dialog = nil
	}
	return nil
}

func (h *help) room(m *Model) int { return min(len(h.body.lines), m.h-8) }

func (h *help) draw(m *Model, lines []string) {
	w := min(m.w-8, 84)
	drawRendered(m, lines, "Help", h.body.render(m.theme, w, h.room(m)), w, fmt.Sprintf("%s %s scroll, Esc closes", keyName(m.keys.first(doUp)), keyName(m.keys.first(doDown))))
}

func ansiCut(s string, n int) string { return ansi.Truncate(s, n, "") }

// drawRendered is drawBox for lines that are painted already.
func drawRendered(m *Model, lines []string, title string, body []string, w int, foot string) {
	if len(body) == 0 {
		body = []string{strings.Repeat(" ", w)}
	}
	drawBox(m, lines, title, append(make([]line, len(body)-1), line{{text: strings.Repeat(" ", w)}}), foot)
	top := max(1, (len(lines)-len(body)-4)/2) + 1
	left := (m.w-w-4)/2 + 2
	for i, s := range body {
		if y := top + i; y < len(lines) {
			lines[y] = over(lines[y], left, s, w, m.w)
		}
	}
}

func (h *help) plain(*Model) []string { return h.body.plain() }
