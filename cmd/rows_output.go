package cmd

import (
	"bytes"
	"encoding/json"
	"strings"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/serde"
)

// rowsOutput writes rows as they come, in constant memory, and what is said of
// them at the end.
type rowsOutput struct {
	a      *app
	format format
	kind   string // of the JSON document
	count  bool   // only numbers are shown
	out    *behind
	rows   int64

	line  []byte
	page  [][]string
	cols  []column
	pages int
}

// pageRows is how many rows of a table are laid out together.
const pageRows = 500

func (a *app) newRowsOutput(f format, kind string, count bool) *rowsOutput {
	return &rowsOutput{a: a, format: f, kind: kind, count: count, out: &behind{out: a.io.Out}}
}

// row writes one row; its error is that of stdout.
func (w *rowsOutput) row(row *inspect.Row) error {
	if w.format == formatTable || w.format == formatCSV {
		row.Decode()
		return failedWrite(w.cells(row))
	}
	w.line = w.line[:0]
	if w.format == formatJSON {
		if w.rows == 0 {
			w.line = append(w.line, `{"kind":"`+w.kind+`","version":1,"rows":[`+"\n"...)
		} else {
			w.line = append(w.line, ",\n"...)
		}
	}
	if row.Queried {
		w.line = serde.AppendJSON(w.line, row.Result)
	} else {
		w.line = row.AppendJSON(w.line)
	}
	if w.format == formatJSONL {
		w.line = append(w.line, '\n')
	}
	w.rows++
	_, err := w.out.Write(w.line)
	return failedWrite(err)
}

func failedWrite(err error) error {
	if err == nil {
		return nil
	}
	return op.Errorf(op.Failed, "write stdout: %w", err)
}

// cells writes a row of a table or of CSV.
func (w *rowsOutput) cells(row *inspect.Row) error {
	if w.cols == nil {
		w.cols = rowColumns(row)
		if w.format == formatCSV {
			header := make([]string, len(w.cols))
			for i, c := range w.cols {
				header[i] = c.name
			}
			if err := w.record(header); err != nil {
				return err
			}
		}
	}
	w.rows++
	cells := rowCells(row)
	if w.format == formatCSV {
		return w.record(cells)
	}
	for i, c := range cells {
		if cells[i] = printable(c); w.cols[i].name == "value" && cells[i] == "" && !row.Deleted {
			cells[i] = `""`
		}
	}
	w.page = append(w.page, cells)
	if len(w.page) < pageRows {
		return nil
	}
	return w.flushPage()
}

// record writes a line of CSV. Cells are escaped, so it is one line, and quoted
// as encoding/csv does.
func (w *rowsOutput) record(cells []string) error {
	w.line = w.line[:0]
	for i, c := range cells {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = appendCSV(w.line, c)
	}
	_, err := w.out.Write(append(w.line, '\n'))
	return err
}

// appendCSV appends one cell.
func appendCSV(dst []byte, s string) []byte {
	plain := s != `\.` && !strings.HasPrefix(s, " ")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c >= 0x7f:
			if p := printable(s); p != s {
				return appendCSV(dst, p)
			}
			return appendQuoted(dst, s, plain && !strings.ContainsAny(s, `,"`))
		case c == ',' || c == '"':
			plain = false
		}
	}
	return appendQuoted(dst, s, plain)
}

func appendQuoted(dst []byte, s string, plain bool) []byte {
	if plain {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// flushPage lays out the rows that wait for it.
func (w *rowsOutput) flushPage() error {
	if len(w.page) == 0 {
		return nil
	}
	t := newTableWriter(w.out, formatTable)
	if w.pages++; w.pages > 1 {
		t.line("")
	}
	t.table(w.cols, w.page)
	w.page = w.page[:0]
	return t.flush()
}

// end writes what is said of the rows: in the JSON document and below the
// table; for programs that read lines, notes go to stderr.
func (w *rowsOutput) end(res *inspect.RowsResult, note func(string)) error {
	switch w.format {
	case formatJSON:
		b, err := envelope(w.kind, res)
		if err != nil {
			return err
		}
		head := []byte(`{"kind":"` + w.kind + `","version":1,`)
		rest := bytes.TrimPrefix(b, head)
		if w.rows == 0 {
			w.out.Write(head)
			w.out.Write([]byte(`"rows":[],`))
		} else {
			w.out.Write([]byte("\n],"))
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, append([]byte("{"), rest...), "", "  "); err != nil {
			return err
		}
		pretty.WriteByte('\n')
		w.out.Write(pretty.Bytes()[1:])
	case formatTable:
		if err := w.flushPage(); err != nil {
			return err
		}
		t := newTableWriter(w.out, formatTable)
		w.report(t, res)
		if err := t.flush(); err != nil {
			return err
		}
	case formatCSV, formatJSONL:
		if w.count {
			if err := w.counts(res); err != nil {
				return err
			}
		}
	}
	for _, n := range rowNotes(res, w.format, w.count) {
		note(n)
	}
	return failedWrite(w.out.Flush())
}

// counts writes how many rows each source has.
func (w *rowsOutput) counts(res *inspect.RowsResult) error {
	if w.format == formatCSV {
		if err := w.record([]string{"source", "rows"}); err != nil {
			return failedWrite(err)
		}
	}
	for _, s := range res.Sources {
		if w.format == formatCSV {
			if err := w.record([]string{sourceName(s), i64(s.Rows)}); err != nil {
				return failedWrite(err)
			}
			continue
		}
		o := serde.Object{{Name: "task", Value: s.Task}, {Name: "partition", Value: nil}, {Name: "rows", Value: s.Rows}}
		if s.Partition != nil {
			o[1].Value = int64(*s.Partition)
		}
		if _, err := w.out.Write(append(serde.AppendJSON(nil, o), '\n')); err != nil {
			return failedWrite(err)
		}
	}
	return nil
}
