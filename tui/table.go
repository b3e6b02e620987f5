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
