package tui

import (
	"slices"
	"strings"
)

// gap is between columns.
const gap = 2

// layout says which columns fit into w and how wide each is; 0 is left out.
func (t *table) layout(w int) []int {
	full := make([]int, len(t.cols))
	for j, c := range t.cols {
		full[j] = width(c.name)
		if j == t.sortCol {
			full[j] += 2
		}
	}
	for _, i := range t.order {
		for j, c := range t.rows[i].cells {
			full[j] = max(full[j], width(c.text))
		}
	}
	out := slices.Clone(full)
	for j, c := range t.cols {
		if c.hide {
			out[j] = 0
		}
	}
	least := func() int {
		n := -gap
		for j, c := range t.cols {
			if out[j] == 0 {
				continue
			}
			if c.flex > 0 {
				n += min(full[j], c.flex) + gap
			} else {
				n += full[j] + gap
			}
		}
		return n
	}
	total := func() int {
		n := -gap
		for _, x := range out {
			if x > 0 {
				n += x + gap
			}
		}
		return n
	}
	drop := func(from int) bool {
		worst := -1
		for j, c := range t.cols {
			if out[j] > 0 && c.prio >= from && (worst < 0 || c.prio >= t.cols[worst].prio) && j != t.sortCol {
				worst = j
			}
		}
		if worst >= 0 {
			out[worst] = 0
		}
		return worst >= 0
	}
	// What matters little goes before names are shortened, what matters more only
	// when that is not enough.
	for total() > w-2 && drop(4) {
	}
	for least() > w-2 && drop(1) {
	}
	// What is narrow may find room that something wide had to leave.
	for prio := 1; prio <= 20; prio++ {
		for j, c := range t.cols {
			if out[j] == 0 && c.prio == prio && !c.hide {
				if out[j] = full[j]; total() > w-2 {
					out[j] = 0
				}
			}
		}
	}
	for total() > w-2 {
		widest := -1
		for j, c := range t.cols {
			if out[j] > 0 && c.flex > 0 && out[j] > c.flex && (widest < 0 || out[j] > out[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			break
		}
		out[widest]--
	}
	return out
}

func (t *table) natural() int {
	n := 2 - gap
	for _, x := range t.layout(1 << 20) {
		n += x + gap
	}
	return n
}

func (t *table) headLine(th *theme, widths []int) line {
	l := line{{text: " "}}
	first := true
	for j, c := range t.cols {
		if widths[j] == 0 {
			continue
		}
		name := c.name
		if j == t.sortCol {
			arrow := th.glyphs.up
			if num := len(t.rows) > 0 && t.rows[0].cells[j].is; num != t.reverse {
				arrow = th.glyphs.down
			}
			name += " " + arrow
		}
		if !first {
			l = append(l, span{text: strings.Repeat(" ", gap)})
		}
		first = false
		l = l.add(header, align(c, name, widths[j], th.glyphs.ellipsis))
	}
	return l
}

func align(c col, s string, n int, ellipsis string) string {
	if c.right {
		return padLeft(s, n, ellipsis)
	}
	return padRight(s, n, ellipsis)
}

func (t *table) line(th *theme, r *row, widths []int) line {
	l := line{{text: " "}}
	first := true
	for j, c := range t.cols {
		if widths[j] == 0 {
			continue
		}
		if !first {
			l = append(l, span{text: strings.Repeat(" ", gap)})
		}
		first = false
		s := r.cells[j].text
		if c.flex > 0 && !c.prose && width(s) > widths[j] {
			s = shortened(s, widths[j], th)
		}
		l = l.add(r.cells[j].tone, align(c, s, widths[j], th.glyphs.ellipsis))
	}
	return l
}

func (t *table) render(th *theme, w, h int) []string {
	out := make([]string, 0, h)
	if len(t.order) == 0 {
		return t.nothing(th, w, h)
	}
	widths := t.layout(w)
	out = append(out, t.headLine(th, widths).draw(th, w))
	room := h - 1
	t.cursor = max(0, min(t.cursor, len(t.order)-1))
	if t.cursor < t.top {
		t.top = t.cursor
	}
	if t.cursor >= t.top+room {
		t.top = t.cursor - room + 1
	}
	t.top = max(0, min(t.top, len(t.order)-room))
	for i := t.top; i < len(t.order) && len(out) < h; i++ {
		l := t.line(th, &t.rows[t.order[i]], widths)
		if i == t.cursor {
			out = append(out, l.drawAs(th, selected, w))
			continue
		}
		out = append(out, l.draw(th, w))
	}
	for len(out) < h {
		out = append(out, strings.Repeat(" ", w))
	}
	return out
}

func (t *table) nothing(th *theme, w, h int) []string {
	say := t.say()
	var out []string
	out = append(out, strings.Repeat(" ", w))
	for i, s := range strings.Split(say, "\n") {
		k := dim
		if t.wrong && i == 0 && len(t.rows) == 0 {
			k = bad
		}
		for _, l := range fold(toned(k, "  "+s), w-2) {
			out = append(out, l.draw(th, w))
		}
	}
	for len(out) < h {
		out = append(out, strings.Repeat(" ", w))
	}
	return out[:h]
}

// say is what stands there instead of rows.
func (t *table) say() string {
	if len(t.rows) > 0 {
		return "Nothing matches the filter; Esc removes it."
	}
	return t.empty
}

func (t *table) plain() []string {
	if len(t.order) == 0 {
		return []string{t.say()}
	}
	var out []string
	for i, n := range t.order {
		r := &t.rows[n]
		var parts []string
		for j, c := range r.cells {
			if c.text != "" && c.text != "-" {
				parts = append(parts, strings.TrimSpace(strings.ToLower(t.cols[j].name)+" "+c.text))
			}
		}
		out = append(out, strings.TrimSpace(plainNumber(i+1)+" "+strings.Join(parts, ", ")))
	}
	return out
}
