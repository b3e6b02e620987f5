package tui

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/serde"
)

type teaCmd = tea.Cmd

// rowsPage is how many rows are read at a time.
const rowsPage = 500

// rowView is a row of a store, decoded and copied out of the scan.
type rowView struct {
	key, foreign, start, end, from, to, time, side, value string
	deleted                                               bool
	doc                                                   any
	hexKey, hexValue                                      string
	errs                                                  []string
}

type rowsData struct {
	res  *inspect.RowsResult
	rows []rowView
}

// rowsScreen shows rows as people read them.
type rowsScreen struct {
	place
	t          *table
	key1, val  serde.Serde // nil: as they look
	from       string      // where it begins; "": at the first key
	search     string      // only rows in whose text this is found
	limit      int64
	shownKinds string
}

func newRowsScreen(p place) *rowsScreen {
	return &rowsScreen{place: p, t: newTable(nil, ""), limit: rowsPage}
}

func (s *rowsScreen) crumb() string   { return "rows" }
func (s *rowsScreen) body() component { return s.t }
func (s *rowsScreen) hints() []string {
	return []string{doGoto, doSearch, doDecoder, doKeyDecoder, doMore}
}

func (s *rowsScreen) summary(m *Model, f *frame) line {
	d, ok := f.data.(*rowsData)
	if !ok {
		return s.storeLine(m)
	}
	l := line{}.add(dim, fmt.Sprintf("%s, keys ", plural(len(d.rows), "row"))).add(plainTone, decoderText(d.res.Key)).add(dim, ", values ").add(plainTone, decoderText(d.res.Value))
	if s.from != "" {
		l = l.add(dim, ", from ").add(warn, safe(s.from))
	}
	if s.search != "" {
		l = l.add(dim, ", with ").add(warn, safe(s.search))
	}
	if d.res.Limited {
		l = l.add(dim, ", there are more: "+m.keys.first(doMore))
	}
	if d.res.Undecoded > 0 {
		l = l.add(warn, fmt.Sprintf(", %s not decoded", human.Count(d.res.Undecoded)))
	}
	return l
}

func decoderText(d inspect.Decoder) string {
	if d.Guessed {
		return d.Name + " (guessed)"
	}
	return d.Name
}

// key asks where to begin, what to look for, and how to decode.
func (s *rowsScreen) key(m *Model, f *frame, action string) (tea.Cmd, bool) {
	again := func(m *Model) tea.Cmd { return m.fetch(f, true) }
	ask := func(label, value, help string, done func(m *Model, value string) tea.Cmd) *prompt {
		p := newPrompt(m, label, value, help, done)
		m.prompt = p
		return p
	}
	decoder := func(label string, at *serde.Serde) {
		was := ""
		if *at != nil {
			was = (*at).Name()
		}
		ask(label, was, strings.Join(serde.Names(), " ")+"; empty: as they look", func(m *Model, value string) tea.Cmd {
			var err error
			if *at = nil; value != "" {
				if *at, err = serde.Parse(value); err != nil {
					*at = nil
					m.fail(err)
					return nil
				}
			}
			return again(m)
		}).complete(serde.Names())
	}
	switch action {
	case doGoto:
		ask("find key: ", s.from, "rows from this key on, as the key decoder reads it; empty: from the first", func(m *Model, value string) tea.Cmd {
			s.from, s.limit = value, rowsPage
			return again(m)
		})
	case doSearch:
		ask("search all rows: ", s.search, "a regular expression, over keys and values as they are shown; empty: all rows", func(m *Model, value string) tea.Cmd {
			if _, err := regexp.Compile(value); err != nil {
				m.fail(err)
				return nil
			}
			s.search, s.from, s.limit = value, "", rowsPage
			return again(m)
		})
	case doDecoder:
		decoder("decoder of values: ", &s.val)
	case doKeyDecoder:
		decoder("decoder of keys: ", &s.key1)
	case doMore:
		if d, ok := f.data.(*rowsData); ok && d.res.Limited {
			s.limit += rowsPage
			return again(m), true
		}
		m.say(dim, "these are all rows")
	default:
		return nil, false
	}
	return nil, true
}

func (s *rowsScreen) fetch(m *Model) func(context.Context) (any, error) {
	o := inspect.RowsOptions{Path: m.real(s.dir), Key: s.key1, Value: s.val}
	from, search, limit := s.from, s.search, s.limit
	return func(ctx context.Context) (any, error) {
		r, err := inspect.OpenRows(ctx, o)
		if err != nil {
			return nil, err
		}
		scan := inspect.RowsScan{Limit: limit}
		if from != "" {
			if scan.From, err = r.KeyBytes(ctx, from); err != nil {
				return nil, err
			}
		}
		var re *regexp.Regexp
		if search != "" {
			if re, err = regexp.Compile(search); err != nil {
				return nil, err
			}
			scan.Limit = 0
		}
		d := &rowsData{}
		more := false
		errStop := errors.New("enough")
		d.res, err = r.Scan(ctx, scan, func(row *inspect.Row) error {
			v := viewOf(row)
			if re != nil && !re.MatchString(v.key+" "+v.foreign+" "+v.value) {
				return nil
			}
			if int64(len(d.rows)) >= limit {
				more = true
				return errStop
			}
			d.rows = append(d.rows, v)
			return nil
		})
		if errors.Is(err, errStop) {
			err = nil
		}
		if d.res == nil {
			return nil, err
		}
		d.res.Limited = d.res.Limited || more
		return d, err
	}
}

// viewOf copies what is shown of a row.
func viewOf(r *inspect.Row) rowView {
	doc := r.Object()
	v := rowView{deleted: r.Deleted, side: r.Side, doc: jsonDocument(doc), hexKey: fmt.Sprintf("%x", r.Key.Bytes), hexValue: fmt.Sprintf("%x", r.Value.Bytes)}
	at := func(t *int64) string {
		if t == nil {
			return ""
		}
		return serde.Time(*t).String()
	}
	v.key = string(r.AppendKey(nil))
	if r.ForeignKey.Bytes != nil {
		v.foreign = string(r.AppendForeignKey(nil))
	}
	v.start, v.end, v.from, v.to, v.time = at(r.Start), at(r.End), at(r.ValidFrom), at(r.ValidTo), at(r.Time)
	switch {
	case r.Deleted:
		v.value = "(deleted)"
	case r.List != nil:
		var parts []string
		for i := range r.List {
			parts = append(parts, strings.TrimSpace(r.List[i].Side+" "+serde.Text(r.List[i].Data)))
		}
		v.value = strings.Join(parts, ", ")
	case r.Subscription != nil:
		v.value = r.Subscription.InstructionName()
	default:
		v.value = string(r.AppendValue(nil))
	}
	for _, e := range []string{r.Key.Err, r.Value.Err} {
		if e != "" {
			v.errs = append(v.errs, e)
		}
	}
	return v
}

// rawJSON is a document that is JSON already.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func jsonDocument(v any) any { return rawJSON(serde.AppendJSON(nil, v)) }

func (s *rowsScreen) build(m *Model, f *frame) {
	s.t.empty = "Reading rows …"
	if s.t.wrong = f.err != nil; s.t.wrong {
		s.t.empty = m.errorText(f.err)
	}
	d, ok := f.data.(*rowsData)
	if !ok {
		s.t.set(nil)
		return
	}
	if f.err == nil {
		s.t.empty = "No rows."
	}
	type column struct {
		col
		of func(*rowView) string
	}
	all := []column{
		{col{name: "FOREIGN KEY", flex: 10, prose: true}, func(v *rowView) string { return v.foreign }},
		{col{name: "KEY", flex: 14, prose: true}, func(v *rowView) string { return v.key }},
		{col{name: "START", prio: 3}, func(v *rowView) string { return v.start }},
		{col{name: "END", prio: 5}, func(v *rowView) string { return v.end }},
		{col{name: "SIDE"}, func(v *rowView) string { return v.side }},
		{col{name: "VALID FROM", prio: 3}, func(v *rowView) string { return v.from }},
		{col{name: "VALID TO", prio: 5}, func(v *rowView) string { return v.to }},
		{col{name: "TIMESTAMP", prio: 6}, func(v *rowView) string { return v.time }},
		{col{name: "VALUE", flex: 16, prose: true}, func(v *rowView) string { return v.value }},
	}
	var used []column
	names := ""
	for _, c := range all {
		for i := range d.rows {
			if c.of(&d.rows[i]) != "" {
				used = append(used, c)
				names += c.name + " "
				break
			}
		}
	}
	if names != s.shownKinds {
		s.shownKinds, s.t.cols, s.t.sortCol = names, nil, -1
		for _, c := range used {
			s.t.cols = append(s.t.cols, c.col)
		}
	}
	rows := make([]row, len(d.rows))
	for i := range d.rows {
		v := &d.rows[i]
		cells := make([]cell, len(used))
		for j, c := range used {
			cells[j] = str(clip(c.of(v)))
			if c.name == "VALUE" && v.deleted {
				cells[j] = tonedCell(dim, "(deleted)")
			}
			if len(v.errs) > 0 && c.name == "VALUE" {
				cells[j].tone = warn
			}
		}
		rows[i] = row{id: v.hexKey + v.start + v.end + v.from, data: v, cells: cells}
	}
	s.t.set(rows)
}

// clip keeps a cell within what a screen can show.
func clip(s string) string {
	if len(s) > 400 {
		return strings.ToValidUTF8(s[:400], "") + "…"
	}
	return s
}

func (s *rowsScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	v := r.data.(*rowView)
	var out []line
	for _, x := range [][2]string{{"foreign key", v.foreign}, {"key", v.key}, {"start", v.start}, {"end", v.end}, {"side", v.side}, {"valid from", v.from}, {"valid to", v.to}, {"timestamp", v.time}} {
		if x[1] != "" {
			out = append(out, field(x[0], x[1]))
		}
	}
	for _, e := range v.errs {
		out = append(out, fieldIn("not decoded", warn, e))
	}
	out = append(out, nil, title("Value"))
	for _, l := range pretty(v) {
		out = append(out, text(safe(l)))
	}
	out = append(out, nil, field("key bytes", "0x"+v.hexKey))
	if v.hexValue != "" {
		out = append(out, field("value bytes", "0x"+clipHex(v.hexValue)))
	}
	return "row " + safe(clip(v.key)), out
}

func clipHex(s string) string {
	if len(s) > 4096 {
		return s[:4096] + fmt.Sprintf("… (%s in all)", human.Bytes(int64(len(s)/2)))
	}
	return s
}

func (s *rowsScreen) command(m *Model) []string {
	out := []string{"sstool", "scan", s.dir}
	if s.key1 != nil {
		out = append(out, "--key", s.key1.Name())
	}
	if s.val != nil {
		out = append(out, "--value", s.val.Name())
	}
	if s.from != "" {
		out = append(out, "--from", s.from)
	}
	return append(out, "--limit", fmt.Sprint(s.limit))
}

func (s *rowsScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data.(*rowView).doc
	}
	return nil
}
