package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/human"
)

// The frame around a body: two lines at the top (who and where), the tabs if
// there are any, a line that sums up, the body, a line that says something, and
// the keys.

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screenText())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "sstool " + safe(m.context().Name)
	return v
}

const (
	leastWidth  = 40
	leastHeight = 10
	sideFrom    = 150 // columns from which on a pane beside the table is shown
)

func (m *Model) screenText() string {
	if m.w < leastWidth || m.h < leastHeight {
		return fmt.Sprintf("sstool needs %d×%d\nthis is %d×%d", leastWidth, leastHeight, m.w, m.h)
	}
	lines := []string{m.titleLine(), m.crumbLine()}
	if len(m.level().tabs) > 1 {
		lines = append(lines, m.tabLine())
	}
	lines = append(lines, m.summaryLine())
	lines = append(lines, m.bodyLines()...)
	lines = append(lines, m.messageLine(), m.hintLine())
	if m.dialog != nil {
		m.dialog.draw(m, lines)
	}
	return strings.Join(lines, "\n")
}

func (m *Model) bodyTop() int {
	if len(m.level().tabs) > 1 {
		return 4
	}
	return 3
}

func (m *Model) bodyHeight() int { return max(1, m.h-m.bodyTop()-2) }

// bodyLines is the body, with everything about the row under the cursor beside
// it where there is room.
func (m *Model) bodyLines() []string {
	f := m.top()
	h, w := m.bodyHeight(), m.w
	t, isTable := f.screen.body().(*table)
	d, describes := f.screen.(describer)
	if !isTable || !describes || m.w < sideFrom || len(t.order) == 0 {
		return f.screen.body().render(m.theme, w, h)
	}
	left := max(m.w*5/9, min(t.natural()+2, m.w-56))
	left = min(left, m.w-50)
	right := m.w - left - 3
	lines := f.screen.body().render(m.theme, left, h)
	title, text := d.describe(m)
	pane := newText(append([]line{toned(header, safe(title)), nil}, text...))
	pane.wrap = true
	side := pane.render(m.theme, right, h)
	for i := range lines {
		lines[i] += m.theme.paint(dim, " "+m.theme.glyphs.vertical+" ") + side[i]
	}
	return lines
}

// titleLine says who looks at what, and how live it is.
func (m *Model) titleLine() string {
	c := m.context()
	left := " sstool"
	if c.Name != "" {
		left += "  " + safe(c.Name)
	}
	if c.Path != "" {
		left += "  " + safe(c.Path)
	}
	var right []string
	if c.Connect != nil {
		right = append(right, m.clusterText())
	}
	if m.o.AllowWrites {
		right = append(right, "WRITES ALLOWED")
	} else {
		right = append(right, "read only")
	}
	right = append(right, m.now.Format("15:04:05"))
	r := strings.Join(right, "  ") + " "
	room := m.w - width(r) - 1
	if room < 8 {
		return m.theme.paint(bar, padRight(left, m.w, m.theme.glyphs.ellipsis))
	}
	if width(left) > room {
		left = shortened(left, room, m.theme)
	}
	return m.theme.paint(bar, padRight(left, room, "")+" "+r)
}

func (m *Model) clusterText() string {
	name := safe(m.context().Cluster)
	if m.snap.clusterID != "" {
		name = safe(m.snap.clusterID)
	}
	if width(name) > 28 {
		name = shortened(name, 28, m.theme)
	}
	switch {
	case m.snap.kafkaErr != nil:
		return name + " " + m.theme.glyphs.hollow + " no answer"
	case !m.snap.asked:
		return name + " " + m.theme.glyphs.hollow + " connecting"
	}
	return name + " " + m.theme.glyphs.dot
}

func (m *Model) crumbLine() string {
	crumbs := m.crumbs()
	right := m.activity()
	room := m.w - right.width() - 2
	build := func() line {
		l := line{{text: " "}}
		for i, c := range crumbs {
			if i > 0 {
				l = l.add(dim, m.theme.glyphs.crumb)
			}
			k := accent
			if i == len(crumbs)-1 {
				k = strong
			}
			l = l.add(k, safe(c))
		}
		return l
	}
	l := build()
	for l.width() > room && len(crumbs) > 2 { // the middle can be spared
		crumbs = append([]string{m.theme.glyphs.ellipsis}, crumbs[max(1, len(crumbs)-2):]...)
		if l = build(); len(crumbs) <= 3 {
			break
		}
	}
	return l.draw(m.theme, room) + "  " + right.draw(m.theme, right.width())
}

// activity is what goes on beside the screen.
func (m *Model) activity() line {
	if n := m.jobs.running(); n > 0 {
		return m.jobs.short(m)
	}
	if err := m.snap.diskErr; err != nil && m.snap.disk != nil {
		return toned(bad, shortened("cannot be read any more: "+safe(err.Error()), m.w/2, m.theme)+" ")
	}
	if m.reading != "" {
		return toned(dim, "reading "+m.theme.glyphs.ellipsis+" ")
	}
	if f := m.top(); f.busy {
		s := "reading " + m.theme.glyphs.ellipsis
		if d := m.now.Sub(f.began); d >= 2e9 {
			s += " " + human.Duration(d.Round(1e9))
		}
		return toned(dim, s+" ")
	}
	return nil
}

func (m *Model) tabLine() string {
	l := line{{text: " "}}
	at := m.level().at
	for i, t := range m.tabNames() {
		k := dim
		if i == at {
			k = selected
		}
		l = l.add(k, t)
	}
	return l.draw(m.theme, m.w)
}

func (m *Model) tabNames() []string {
	names := make([]string, len(m.level().tabs))
	total := 1
	for i, f := range m.level().tabs {
		names[i] = fmt.Sprintf(" %d %s ", i+1, f.screen.crumb())
		total += width(names[i])
	}
	if total <= m.w {
		return names
	}
	for i, f := range m.level().tabs {
		names[i] = " " + f.screen.crumb() + " " // the digits work all the same
	}
	return names
}

// tabAt is the tab at column x.
func (m *Model) tabAt(x int) int {
	at := 1
	for i, n := range m.tabNames() {
		if at += width(n); x < at {
			return i
		}
	}
	return -1
}

func (m *Model) summaryLine() string {
	f := m.top()
	l := append(line{{text: " "}}, f.screen.summary(m, f)...)
	if f.filter != nil {
		shown, all := f.screen.body().size()
		l = l.add(warn, fmt.Sprintf("  /%s  %d of %d", safe(f.filter.source), shown, all))
	}
	return l.draw(m.theme, m.w)
}

func (m *Model) messageLine() string {
	if m.prompt != nil {
		return m.prompt.view(m)
	}
	return toned(m.message.tone, " "+m.message.text).draw(m.theme, m.w)
}

// hintLine names the keys of this screen, as many as fit.
func (m *Model) hintLine() string {
	if m.prompt != nil {
		return m.prompt.hint(m).draw(m.theme, m.w)
	}
	var l line
	add := func(action, what string) {
		k := m.keys.first(action)
		if k == "" {
			return
		}
		piece := line{{text: " "}, {text: keyName(k), tone: accent}, {text: " " + what + " ", tone: dim}}
		if l.width()+piece.width() <= m.w {
			l = append(l, piece...)
		}
	}
	f := m.top()
	if _, ok := f.screen.(opener); ok {
		add(doEnter, "open")
	}
	if len(m.stack) > 1 {
		add(doBack, "back")
	}
	add(doCommand, "command")
	add(doFilter, "filter")
	if k, ok := f.screen.(keyer); ok {
		for _, a := range k.hints() {
			add(a, hintText(a))
		}
	}
	if len(m.level().tabs) > 1 {
		add(doNextTab, "tabs")
	}
	if _, ok := f.screen.(describer); ok {
		add(doDescribe, "describe")
	}
	if _, ok := f.screen.body().(*table); ok {
		add(doSort, "sort")
	}
	add(doCopy, "copy")
	if len(m.actions()) > 0 {
		add(doActions, "actions")
	}
	add(doHelp, "help")
	add(doQuit, "quit")
	return l.draw(m.theme, m.w)
}

func hintText(action string) string {
	return map[string]string{
		doGoto: "find key", doSearch: "search all", doDecoder: "decoder", doKeyDecoder: "key decoder", doMore: "more", doExact: "measure", doCancel: "cancel", doActions: "actions", doEnter: "open",
	}[action]
}

// keyName is a key as people write it.
func keyName(k string) string {
	switch k {
	case "enter":
		return "Enter"
	case "esc":
		return "Esc"
	case "tab":
		return "Tab"
	}
	return strings.Replace(k, "ctrl+", "^", 1)
}
