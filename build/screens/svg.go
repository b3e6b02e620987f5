package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// look is how a run of characters is painted.
type look struct {
	fg, bg        string
	bold, reverse bool
}

const (
	cellW, cellH = 8.4, 18.0
	ink, paper   = "#c8d3f5", "#1a1b26"
)

// svg draws what tmux captured with its colours, a cell each.
func svg(screen string, w, h int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`+"\n", float64(w)*cellW+16, float64(h)*cellH+16)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", paper)
	var at look
	for y, l := range strings.Split(strings.TrimRight(screen, "\n"), "\n") {
		x := 0
		for l != "" {
			if strings.HasPrefix(l, "\x1b[") {
				end := strings.IndexByte(l, 'm')
				if end < 0 {
					break
				}
				at.obey(l[2:end])
				l = l[end+1:]
				continue
			}
			run, rest, esc := strings.Cut(l, "\x1b")
			if l = rest; esc {
				l = "\x1b" + rest
			}
			at.draw(&b, run, x, y)
			x += len([]rune(run))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (l *look) draw(b *strings.Builder, run string, x, y int) {
	n := len([]rune(run))
	fg, bg := l.fg, l.bg
	if l.reverse {
		if fg, bg = bg, fg; bg == "" {
			bg = ink
		}
		if fg == "" {
			fg = paper
		}
	}
	left, top := 8+float64(x)*cellW, 8+float64(y)*cellH
	if bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, float64(n)*cellW, cellH, bg)
	}
	if strings.TrimSpace(run) == "" {
		return
	}
	if fg == "" {
		fg = ink
	}
	weight := ""
	if l.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s"%s xml:space="preserve" textLength="%.1f">%s</text>`+"\n", left, top+13.5, fg, weight, float64(n)*cellW, html.EscapeString(run))
}

// colour reads 2;r;g;b or 5;n, and says how many codes that were.
func colour(codes []string) (c string, used int) {
	n := make([]int, len(codes))
	for i, s := range codes {
		n[i], _ = strconv.Atoi(s)
	}
	rgb := func(r, g, b int) string { return fmt.Sprintf("#%02x%02x%02x", r, g, b) }
	switch {
	case len(n) >= 4 && n[0] == 2:
		return rgb(n[1], n[2], n[3]), 4
	case len(n) >= 2 && n[0] == 5 && n[1] >= 232: // greys
		v := 8 + 10*(n[1]-232)
		return rgb(v, v, v), 2
	case len(n) >= 2 && n[0] == 5 && n[1] >= 16: // the cube of 6×6×6
		level := func(i int) int { return []int{0, 95, 135, 175, 215, 255}[i%6] }
		return rgb(level((n[1]-16)/36), level((n[1]-16)/6), level(n[1]-16)), 2
	}
	return "", 0
}

// obey changes the look as an SGR sequence says.
func (l *look) obey(sgr string) {
	codes := strings.FieldsFunc(sgr, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		*l = look{}
	}
	for i := 0; i < len(codes); i++ {
		switch n, _ := strconv.Atoi(codes[i]); n {
		case 0:
			*l = look{}
		case 1:
			l.bold = true
		case 7:
			l.reverse = true
		case 22:
			l.bold = false
		case 27:
			l.reverse = false
		case 39:
			l.fg = ""
		case 49:
			l.bg = ""
		case 38, 48:
			c, used := colour(codes[i+1:])
			if used == 0 {
				return
			}
			if n == 38 {
				l.fg = c
			} else {
				l.bg = c
			}
			i += used
		}
	}
}
