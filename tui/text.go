package tui

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// component is the body of a screen: a table or a text.
type component interface {
	render(t *theme, w, h int) []string // exactly h lines of w columns
	plain() []string                    // all of it, for a screen reader
	do(action string, h int) bool       // movement; h is the height it was drawn with
	click(y int) bool                   // whether there is a line to open
	filter(f *filter)
	size() (shown, all int)
}

// filter is a regular expression, or what does not match one.
type filter struct {
	source string
	re     *regexp.Regexp
	not    bool
}

// newFilter reads what was typed after "/"; nil for nothing. Letters match in
// any case unless one of them is a capital.
func newFilter(source string) (*filter, error) {
	f := &filter{source: source}
	expr, not := strings.CutPrefix(source, "!")
	if expr == "" {
		return nil, nil
	}
	f.not = not
	if strings.ToLower(expr) == expr {
		expr = "(?i)" + expr
	}
	var err error
	f.re, err = regexp.Compile(expr)
	return f, err
}

func (f *filter) keeps(s string) bool { return f == nil || f.re.MatchString(s) != f.not }

// textBody is text that scrolls.
type textBody struct {
	lines  []line
	kept   []line
	wrap   bool // long lines are folded
	f      *filter
	top    int
	left   int
	height int
	folded []line // at width
	at     int
}

func newText(lines []line) *textBody { return &textBody{lines: lines, kept: lines} }

// set replaces the text and keeps the place.
func (b *textBody) set(lines []line) {
	b.lines = lines
	b.filter(b.f)
}

func (b *textBody) filter(f *filter) {
	b.f, b.folded = f, nil
	if f == nil {
		b.kept = b.lines
		return
	}
	b.kept = nil
	for _, l := range b.lines {
		if f.keeps(l.bare()) {
			b.kept = append(b.kept, l)
		}
	}
}

func (b *textBody) size() (shown, all int) { return len(b.kept), len(b.lines) }

func (b *textBody) layout(w int) []line {
	if !b.wrap {
		return b.kept
	}
	if b.folded == nil || b.at != w {
		b.folded, b.at = nil, w
		for _, l := range b.kept {
			b.folded = append(b.folded, fold(l, w)...)
		}
	}
	return b.folded
}

func (b *textBody) render(t *theme, w, h int) []string {
	lines := b.layout(w)
	b.height = len(lines)
	b.top = max(0, min(b.top, len(lines)-h))
	out := make([]string, 0, h)
	for i := b.top; i < len(lines) && len(out) < h; i++ {
		out = append(out, lines[i].cut(b.left, w, t.glyphs.ellipsis).draw(t, w))
	}
	if len(lines) > h && h > 1 {
		// What is below is said in the last line's end.
		if below := len(lines) - b.top - h; below > 0 {
			note := toned(dim, " "+plural(below, "more line")+" ")
			last := lines[b.top+h-1].cut(b.left, w-note.width(), t.glyphs.ellipsis)
			out[h-1] = last.draw(t, w-note.width()) + note.draw(t, note.width())
		}
	}
	for len(out) < h {
		out = append(out, strings.Repeat(" ", w))
	}
	return out
}

func (b *textBody) plain() []string {
	var out []string
	for _, l := range b.kept {
		out = append(out, strings.TrimRight(l.clean().bare(), " "))
	}
	return out
}

func (b *textBody) do(action string, h int) bool {
	switch action {
	case doUp:
		b.top--
	case doDown:
		b.top++
	case doPageUp:
		b.top -= max(1, h-1)
	case doPageDown:
		b.top += max(1, h-1)
	case doTop:
		b.top, b.left = 0, 0
	case doBottom:
		b.top = b.height
	case doLeft:
		b.left = max(0, b.left-8)
	case doRight:
		widest := 0
		for _, l := range b.layout(b.at) {
			widest = max(widest, l.width())
		}
		b.left = min(b.left+8, max(0, widest-8))
	default:
		return false
	}
	b.top = max(0, min(b.top, b.height-h))
	return true
}

func (b *textBody) click(int) bool { return false }

// fold breaks a line at spaces so that it fits; what follows is indented as the
// line begins, and under the value of "label:  value".
func fold(l line, w int) []line {
	if l.width() <= w || w < 8 {
		return []line{l}
	}
	bare := l.bare()
	indent := len(bare) - len(strings.TrimLeft(bare, " "))
	if i := strings.Index(strings.TrimLeft(bare, " "), ":  "); i > 0 {
		value := strings.TrimLeft(bare[indent+i+1:], " ")
		indent = width(bare) - width(value)
	}
	if indent > w/2 {
		indent = 2
	}
	var out []line
	var cur line
	n, fresh := 0, true
	flush := func() {
		if last := len(cur) - 1; !fresh { // a space at the end may be one too many
			cur[last].text = strings.TrimRight(cur[last].text, " ")
		}
		out = append(out, cur)
		cur, n, fresh = line{{text: strings.Repeat(" ", indent)}}, indent, true
	}
	put := func(s span, word string) {
		s.text = word
		cur = append(cur, s)
		n += width(word)
		fresh = fresh && strings.TrimSpace(word) == ""
	}
	for _, s := range l {
		for _, word := range words(s.text) {
			for width(strings.TrimRight(word, " ")) > w-n {
				long := width(strings.TrimRight(word, " ")) > w-indent
				if long && (fresh || w-n >= 16) { // longer than any line: broken where it stands
					head := breakAt(word, w-n)
					put(s, head)
					word = word[len(head):]
				} else if word = strings.TrimLeft(word, " "); fresh {
					break
				}
				flush()
			}
			if word != "" {
				put(s, word)
			}
		}
	}
	flush()
	return out
}

// breakAt is the beginning of a word that fits into room, up to a separator of
// paths and names where there is one near the end.
func breakAt(word string, room int) string {
	head := ansi.Truncate(word, max(1, room), "")
	if head == "" {
		return word
	}
	if i := strings.LastIndexAny(head, "/-.,"); i > len(head)/2 {
		return head[:i+1]
	}
	return head
}

// words splits a text behind its spaces.
func words(s string) []string {
	var out []string
	for s != "" {
		i := strings.IndexByte(s, ' ')
		if i < 0 {
			return append(out, s)
		}
		j := i
		for j < len(s) && s[j] == ' ' {
			j++
		}
		out = append(out, s[:j])
		s = s[j:]
	}
	return out
}
