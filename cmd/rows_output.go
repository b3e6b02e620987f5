package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/serde"
)

// rowsOutput writes rows as they come, in constant memory, and what is said of
// them at the end. It is the inspect.RowWriter of formats that need no more
// than a row to write it.
type rowsOutput struct {
	a      *app
	format format
	kind   string // of the JSON document
	count  bool   // only numbers are shown
	out    *behind
	first  func() // called before the first row is written
	rows   int64

	once sync.Once
	cols []rowColumn // of tables and CSV
	line []byte

	page  [][]string
	pages int
}

// pageRows is how many rows of a table are laid out together.
const pageRows = 500

func (a *app) newRowsOutput(f format, kind string, count bool, first func()) *rowsOutput {
	return &rowsOutput{a: a, format: f, kind: kind, count: count, out: &behind{out: a.io.Out}, first: first}
}

// scan writes the rows of a scan: those of a store with all that the computer
// has, unless they are laid out together.
func (w *rowsOutput) scan(ctx context.Context, src rowSource, o inspect.RowsScan) (*inspect.RowsResult, error) {
	if store, ok := src.(*inspect.Rows); ok && w.format != formatTable {
		return store.ScanTo(ctx, o, w)
	}
	return src.Scan(ctx, o, w.row)
}

// row writes one row; its error is that of stdout.
func (w *rowsOutput) row(row *inspect.Row) error {
	if w.format == formatTable {
		return w.pageRow(row)
	}
	w.line = w.AppendRow(w.line[:0], row)
	return w.WriteRows(w.line, 1)
}

// AppendRow implements inspect.RowWriter.
func (w *rowsOutput) AppendRow(dst []byte, row *inspect.Row) []byte {
	switch {
	case w.format == formatCSV:
		return appendRecord(dst, w.columns(row), row)
	case w.format == formatJSON:
		dst = append(dst, betweenRows...)
	}
	if row.Queried {
		dst = serde.AppendJSON(dst, row.Result)
	} else {
		dst = row.AppendJSON(dst)
	}
	if w.format == formatJSONL {
		dst = append(dst, '\n')
	}
	return dst
}

// betweenRows separates the rows of a JSON document.
const betweenRows = ",\n"

// columns are those of all rows: they have one kind.
func (w *rowsOutput) columns(row *inspect.Row) []rowColumn {
	w.once.Do(func() { w.cols = rowColumns(row) })
	return w.cols
}

// WriteRows implements inspect.RowWriter.
func (w *rowsOutput) WriteRows(b []byte, rows int64) error {
	if w.rows == 0 {
		w.first()
		var head []byte
		switch w.format {
		case formatJSON:
			head = []byte(`{"kind":"` + w.kind + `","version":1,"rows":[` + "\n")
			b = b[len(betweenRows):]
		case formatCSV:
			head = appendHeader(head, w.cols)
		}
		if _, err := w.out.Write(head); err != nil {
			return failedWrite(err)
		}
	}
	w.rows += rows
	if len(b) >= behindBuffer/4 {
		return failedWrite(w.out.Through(b))
	}
	_, err := w.out.Write(b)
	return failedWrite(err)
}

func failedWrite(err error) error {
	if err == nil {
		return nil
	}
	return op.Errorf(op.Failed, "write stdout: %w", err)
}

// pageRow puts a row of a table on the page.
func (w *rowsOutput) pageRow(row *inspect.Row) error {
	if w.rows++; w.rows == 1 {
		w.first()
	}
	var cells []string
	for _, c := range w.columns(row) {
		w.line = c.cell(w.line[:0], row)
		text := printable(string(w.line))
		if c.name == "value" && text == "" && !row.Deleted {
			text = `""`
		}
		cells = append(cells, text)
	}
	if w.page = append(w.page, cells); len(w.page) < pageRows {
		return nil
	}
	return failedWrite(w.flushPage())
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
	cols := make([]column, len(w.cols))
	for i, c := range w.cols {
		cols[i] = c.column
	}
	t.table(cols, w.page)
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
	var b []byte
	if w.format == formatCSV {
		what := "task"
		if res.Topic != nil {
			what = "partition"
		}
		b = append(append(b, what...), ",rows\n"...)
	}
	for _, s := range res.Sources {
		if w.format == formatCSV {
			name := s.Task
			if res.Topic != nil {
				name = sourceName(s)
			}
			b = appendCSV(b, name)
			b = append(strconv.AppendInt(append(b, ','), s.Rows, 10), '\n')
			continue
		}
		o := serde.Object{{Name: "task", Value: s.Task}, {Name: "partition", Value: nil}, {Name: "rows", Value: s.Rows}}
		if s.Partition != nil {
			o[1].Value = int64(*s.Partition)
		}
		b = append(serde.AppendJSON(b, o), '\n')
	}
	_, err := w.out.Write(b)
	return failedWrite(err)
}
