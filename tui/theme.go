package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"sstool/internal/human"
)

// tone is what a piece of text is to the reader; the theme makes a look of it.
type tone int

const (
	plainTone tone = iota
	dim
	accent
	good
	warn
	bad
	strong
	selected
	header
	bar // of the top line
	matched
	numTones
)

// Themes are the names that Options.Theme may have.
func Themes() []string { return []string{"auto", "dark", "light", "none"} }

// theme is how tones look and which characters lines are drawn with.
type theme struct {
	name   string
	styles [numTones]lipgloss.Style
	heat   []lipgloss.Style // from nothing to all
	ascii  bool
	glyphs glyphs
}

// glyphs are the characters beyond letters.
type glyphs struct {
	rule, vertical, crumb, up, down, dot, hollow, ellipsis, cursor, bullet string
	tl, tr, bl, br                                                         string
	spark, shade                                                           []rune
}

func unicodeGlyphs() glyphs {
	return glyphs{rule: "─", vertical: "│", crumb: " › ", up: "▲", down: "▼", dot: "●", hollow: "○", ellipsis: "…", cursor: "▌", bullet: "•",
		tl: "╭", tr: "╮", bl: "╰", br: "╯", spark: []rune("▁▂▃▄▅▆▇█"), shade: []rune("·░▒▓█")}
}

func asciiGlyphs() glyphs {
	return glyphs{rule: "-", vertical: "|", crumb: " > ", up: "^", down: "v", dot: "*", hollow: "o", ellipsis: "~", cursor: "_", bullet: "*",
		tl: "+", tr: "+", bl: "+", br: "+", spark: []rune("_.-=*#"), shade: []rune(".:-=#")}
}

// newTheme makes a theme: dark, light, or none for one without colours.
func newTheme(name string, ascii bool) *theme {
	t := &theme{name: name, ascii: ascii, glyphs: unicodeGlyphs()}
	if ascii {
		t.glyphs = asciiGlyphs()
	}
	plain := lipgloss.NewStyle()
	for i := range t.styles {
		t.styles[i] = plain
	}
	t.styles[strong], t.styles[header], t.styles[bad] = plain.Bold(true), plain.Bold(true), plain.Bold(true)
	t.styles[selected], t.styles[bar], t.styles[matched] = plain.Reverse(true), plain.Reverse(true), plain.Underline(true)
	if name == "none" {
		return t
	}
	pick := lipgloss.LightDark(name != "light")
	fg := func(light, dark string) lipgloss.Style {
		return plain.Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	t.styles[dim] = fg("#6b7280", "#7d86a8")
	t.styles[accent] = fg("#1d5fb8", "#7aa2f7")
	t.styles[good] = fg("#2f7d32", "#9ece6a")
	t.styles[warn] = fg("#96600c", "#e0af68")
	t.styles[bad] = fg("#b3261e", "#f7768e").Bold(true)
	t.styles[header] = fg("#1d5fb8", "#7aa2f7").Bold(true)
	t.styles[selected] = plain.Background(pick(lipgloss.Color("#cfe0fb"), lipgloss.Color("#2e3c64"))).Bold(true)
	t.styles[bar] = plain.Foreground(pick(lipgloss.Color("#ffffff"), lipgloss.Color("#c8d3f5"))).Background(pick(lipgloss.Color("#1d5fb8"), lipgloss.Color("#24304f")))
	t.styles[matched] = fg("#96600c", "#e0af68").Underline(true)
	for _, c := range lipgloss.Blend1D(5, stops(name != "light")...) {
		t.heat = append(t.heat, plain.Foreground(c))
	}
	return t
}

func stops(dark bool) []color.Color {
	if dark {
		return []color.Color{lipgloss.Color("#3b4261"), lipgloss.Color("#e0af68"), lipgloss.Color("#f7768e")}
	}
	return []color.Color{lipgloss.Color("#c3cad9"), lipgloss.Color("#c98a1b"), lipgloss.Color("#b3261e")}
}

// paint is text in a tone.
func (t *theme) paint(k tone, s string) string {
	if k == plainTone || s == "" {
		return s
	}
	return t.styles[k].Render(s)
}

// hot is text as hot as share says, 0 to 1.
func (t *theme) hot(share float64, s string) string {
	if len(t.heat) == 0 {
		return s
	}
	return t.heat[min(len(t.heat)-1, int(share*float64(len(t.heat))))].Render(s)
}

// span is a piece of text and its tone. Its text is safe: safe makes it so.
type span struct {
	text string
	tone tone
	heat float64 // of tone dim and above 0: how hot, for strips
}

// safe is text as it may reach the terminal.
func safe(s string) string { return human.Printable(s) }

// line is text in pieces; its width is known without looking at escapes.
type line []span

func text(s string) line                 { return line{{text: s}} }
func toned(k tone, s string) line        { return line{{text: s, tone: k}} }
func (l line) add(k tone, s string) line { return append(l, span{text: s, tone: k}) }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += width(s.text)
	}
	return n
}

// bare is the text alone.
func (l line) bare() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// cut is the piece of the line from column skip on, at most room columns wide;
// what is left out at the end is marked.
func (l line) cut(skip, room int, ellipsis string) line {
	if skip <= 0 && l.width() <= room {
		return l
	}
	total := l.width() - skip
	var out line
	at := 0
	left := room
	over := total > room
	if over {
		left = max(0, room-width(ellipsis))
	}
	for _, s := range l {
		w := width(s.text)
		from := max(0, skip-at)
		at += w
		if from >= w || left <= 0 {
			continue
		}
		piece := ansi.Cut(s.text, from, min(w, from+left))
		left -= width(piece)
		s.text = piece
		out = append(out, s)
	}
	if over && room > 0 {
		out = append(out, span{text: ellipsis, tone: dim})
	}
	return out
}

// clean is the line with all text safe, should a screen have forgotten it.
func (l line) clean() line {
	for i, s := range l {
		if c := safe(s.text); c != s.text {
			out := append(line{}, l...)
			out[i].text = c
			return out.clean()
		}
	}
	return l
}

// draw paints the line and fills it up to room columns.
func (l line) draw(t *theme, room int) string {
	l = l.clean().cut(0, room, t.glyphs.ellipsis)
	var b strings.Builder
	n := 0
	for _, s := range l {
		n += width(s.text)
		if s.heat > 0 || s.tone == dim && s.heat < 0 {
			b.WriteString(t.hot(max(0, s.heat), s.text))
			continue
		}
		b.WriteString(t.paint(s.tone, s.text))
	}
	if n < room {
		b.WriteString(strings.Repeat(" ", room-n))
	}
	return b.String()
}

// drawAs paints the whole line in one tone.
func (l line) drawAs(t *theme, k tone, room int) string {
	s := l.clean().cut(0, room, t.glyphs.ellipsis).bare()
	return t.paint(k, s+strings.Repeat(" ", max(0, room-width(s))))
}

func width(s string) int {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// padRight fills s up to n columns, or cuts it.
func padRight(s string, n int, ellipsis string) string {
	w := width(s)
	if w > n {
		return ansi.Truncate(s, n, ellipsis)
	}
	return s + strings.Repeat(" ", n-w)
}

func padLeft(s string, n int, ellipsis string) string {
	w := width(s)
	if w > n {
		return ansi.Truncate(s, n, ellipsis)
	}
	return strings.Repeat(" ", n-w) + s
}

// sparkline draws values as a row of little bars, the newest at the right.
func (t *theme) sparkline(values []float64, room int) string {
	if len(values) > room {
		values = values[len(values)-room:]
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if top > 0 {
			i = min(len(t.glyphs.spark)-1, int(v/top*float64(len(t.glyphs.spark)-1)+0.5))
		}
		b.WriteRune(t.glyphs.spark[i])
	}
	return b.String()
}
