package tui

import (
	"cmp"
	"slices"
	"strings"
)

// col is a column of a table.
type col struct {
	name  string
	right bool
	flex  int  // may be shortened to this many columns; 0: never
	prio  int  // 0 is always there; the highest are left out first
	hide  bool // says nothing here
	prose bool // a sentence: shortened at its end, not in the middle
}

// cell is what stands in a column, and what it is sorted by.
type cell struct {
	text string // as it is; the table makes it safe
	tone tone
	num  float64 // sorts when isNum
	is   bool    // a number: larger ones first
}

func str(s string) cell               { return cell{text: s} }
func tonedCell(k tone, s string) cell { return cell{text: s, tone: k} }
func num(n float64, s string) cell    { return cell{text: s, num: n, is: true} }
func (c cell) in(k tone) cell         { c.tone = k; return c }
func missing() cell                   { return cell{text: "-", tone: dim, num: -1, is: true} }

// row is a line of a table.
type row struct {
	id    string // keeps the cursor on the same thing when the rows are made again
	cells []cell
	data  any
}

// table is rows with a cursor, sorted and filtered.
type table struct {
	cols  []col
	rows  []row
	order []int // rows that are shown
	f     *filter

	sortCol int // -1: as they come
	reverse bool

	cursor int // into order
	top    int
	empty  string // what to say when there is no row
	wrong  bool   // it is an error
	head   int    // lines above the first row as drawn
}

func newTable(cols []col, empty string) *table {
	return &table{cols: cols, sortCol: -1, empty: empty, head: 1}
}

// set replaces the rows; the cursor stays on its thing.
func (t *table) set(rows []row) {
	id := ""
	if r := t.current(); r != nil {
		id = r.id
	}
	for i := range rows {
		for j := range rows[i].cells {
			rows[i].cells[j].text = safe(rows[i].cells[j].text)
		}
	}
	t.rows = rows
	t.arrange()
	t.seek(id)
}

func (t *table) seek(id string) {
	for i, n := range t.order {
		if t.rows[n].id == id {
			t.cursor = i
			return
		}
	}
	t.cursor = max(0, min(t.cursor, len(t.order)-1))
}

func (t *table) current() *row {
	if t.cursor < 0 || t.cursor >= len(t.order) {
		return nil
	}
	return &t.rows[t.order[t.cursor]]
}

func (t *table) filter(f *filter) {
	id := ""
	if r := t.current(); r != nil {
		id = r.id
	}
	t.f = f
	t.arrange()
	t.seek(id)
}

func (t *table) size() (shown, all int) { return len(t.order), len(t.rows) }

// arrange makes the order anew.
func (t *table) arrange() {
	t.order = t.order[:0]
	for i := range t.rows {
		if t.f.keeps(rowText(&t.rows[i])) {
			t.order = append(t.order, i)
		}
	}
	if t.sortCol < 0 || t.sortCol >= len(t.cols) {
		return
	}
	slices.SortStableFunc(t.order, func(i, j int) int {
		a, b := t.rows[i].cells[t.sortCol], t.rows[j].cells[t.sortCol]
		c := 0
		if a.is || b.is {
			c = cmp.Compare(b.num, a.num)
		} else {
			c = cmp.Compare(a.text, b.text)
		}
		if t.reverse {
			return -c
		}
		return c
	})
}

func rowText(r *row) string {
	var b strings.Builder
	for i, c := range r.cells {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.text)
	}
	return b.String()
}

// sort goes to the next column, or back to the order as it came.
func (t *table) sort() {
	id := ""
	if r := t.current(); r != nil {
		id = r.id
	}
	for t.sortCol++; t.sortCol < len(t.cols) && t.cols[t.sortCol].hide; t.sortCol++ {
	}
	if t.sortCol >= len(t.cols) {
		t.sortCol = -1
	}
	t.reverse = false
	t.arrange()
	t.seek(id)
}

// hide leaves columns out that say nothing here.
func (t *table) hide(hidden bool, names ...string) {
	for j := range t.cols {
		if slices.Contains(names, t.cols[j].name) {
			t.cols[j].hide = hidden
		}
	}
}

func (t *table) sorted() string {
	if t.sortCol < 0 {
		return ""
	}
	return t.cols[t.sortCol].name
}

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
				parts = append(parts, strings.ToLower(t.cols[j].name)+" "+c.text)
			}
		}
		out = append(out, strings.TrimSpace(plainNumber(i+1)+" "+strings.Join(parts, ", ")))
	}
	return out
}

func (t *table) do(action string, h int) bool {
	page := max(1, h-2)
	switch action {
	case doUp:
		t.cursor--
	case doDown:
		t.cursor++
	case doPageUp:
		t.cursor -= page
	case doPageDown:
		t.cursor += page
	case doTop:
		t.cursor = 0
	case doBottom:
		t.cursor = len(t.order) - 1
	case doSort:
		t.sort()
	case doReverse:
		id := ""
		if r := t.current(); r != nil {
			id = r.id
		}
		t.reverse = !t.reverse
		t.arrange()
		t.seek(id)
	default:
		return false
	}
	t.cursor = max(0, min(t.cursor, len(t.order)-1))
	return true
}

func (t *table) click(y int) bool {
	i := t.top + y - t.head
	if y < t.head || i < 0 || i >= len(t.order) {
		return false
	}
	was := t.cursor
	t.cursor = i
	return was == i
}
