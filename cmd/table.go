package cmd

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"sstool/internal/op"
)

// column is one column of a table.
type column struct {
	name  string
	short string // its name in a narrow table, when that is another
	right bool   // numbers
	wide  bool   // only with -o wide, csv and tsv
}

// tableWriter renders tables, lines and key-value pairs for people (table,
// wide) and tables for programs (csv, tsv). The first error is kept and comes
// out of flush.
type tableWriter struct {
	out    io.Writer
	format format
	buf    bytes.Buffer
	err    error
}

func newTableWriter(out io.Writer, f format) *tableWriter { return &tableWriter{out: out, format: f} }

// machine reports whether a program reads the output: no prose, no humanizing.
func (w *tableWriter) machine() bool { return w.format == formatCSV || w.format == formatTSV }

// line writes a line of prose; programs do not get it.
func (w *tableWriter) line(format string, args ...any) {
	if w.machine() {
		return
	}
	fmt.Fprintf(&w.buf, format+"\n", args...)
}

// pairs writes name-value lines, the values aligned.
func (w *tableWriter) pairs(rows [][2]string) {
	if w.machine() {
		for _, r := range rows {
			w.record([]string{r[0], r[1]})
		}
		return
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		w.line("%-*s  %s", width, r[0], printable(r[1]))
	}
}

// table writes rows under columns. Cells are escaped here.
func (w *tableWriter) table(columns []column, rows [][]string) {
	shown := make([]int, 0, len(columns))
	for i, c := range columns {
		if !c.wide || w.format != formatTable {
			shown = append(shown, i)
		}
	}
	pick := func(row []string) []string {
		if len(row) != len(columns) {
			w.fail(fmt.Errorf("table row has %d cells for %d columns", len(row), len(columns)))
			return make([]string, len(shown))
		}
		out := make([]string, len(shown))
		for i, c := range shown {
			out[i] = row[c]
		}
		return out
	}
	header := make([]string, len(shown))
	align := make([]tw.Align, len(shown))
	for i, c := range shown {
		header[i], align[i] = columns[c].name, tw.AlignLeft
		if columns[c].short != "" && w.format == formatTable {
			header[i] = columns[c].short
		}
		if columns[c].right {
			align[i] = tw.AlignRight
		}
	}
	if w.machine() {
		for i := range header {
			header[i] = strings.NewReplacer(" ", "_", "/", "_per_").Replace(strings.ToLower(header[i]))
		}
		w.record(header)
		for _, r := range rows {
			w.record(pick(r))
		}
		return
	}
	w.plain(header, align, rows, pick)
}

// plain draws a table the way kubectl does: no lines, two spaces apart.
// tablewriter's own defaults rewrite headers and trim cells; both are off.
func (w *tableWriter) plain(header []string, align []tw.Align, rows [][]string, pick func([]string) []string) {
	var drawn bytes.Buffer
	t := tablewriter.NewTable(&drawn,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Symbols:  tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	t.Header(header)
	for _, r := range rows {
		cells := pick(r)
		for i := range cells {
			if cells[i] = printable(cells[i]); cells[i] == "" {
				cells[i] = "-"
			}
		}
		w.fail(t.Append(cells))
	}
	w.fail(t.Render())
	for l := range strings.Lines(drawn.String()) {
		w.buf.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
}

// record writes one csv or tsv record. Cells are escaped, so a record is always
// one line and safe on a terminal.
func (w *tableWriter) record(cells []string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	if w.format == formatTSV {
		w.buf.WriteString(strings.Join(cells, "\t") + "\n")
		return
	}
	c := csv.NewWriter(&w.buf)
	w.fail(c.Write(cells))
	c.Flush()
}

func (w *tableWriter) fail(err error) {
	if w.err == nil && err != nil {
		w.err = op.Errorf(op.Failed, "render table: %w", err)
	}
}

// flush writes what was rendered.
func (w *tableWriter) flush() error {
	if w.err != nil {
		return w.err
	}
	if _, err := w.out.Write(w.buf.Bytes()); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

// The cells below are humanized for people and plain for programs.

func (w *tableWriter) count(n int64) string {
	if w.machine() {
		return strconv.FormatInt(n, 10)
	}
	return humanCount(n)
}

func (w *tableWriter) bytes(n int64) string {
	if w.machine() {
		return strconv.FormatInt(n, 10)
	}
	return humanBytes(n)
}

func (w *tableWriter) seconds(s float64) string {
	if w.machine() {
		return strconv.FormatFloat(s, 'f', -1, 64)
	}
	return humanSeconds(s)
}

// share is a count with its part of a whole, or in a narrow table the part alone.
func (w *tableWriter) share(part, whole int64) string {
	if w.machine() {
		return strconv.FormatInt(part, 10)
	}
	if part == 0 {
		return "0"
	}
	if w.format == formatTable {
		return humanShare(float64(part), float64(whole))
	}
	return humanCount(part) + " (" + humanShare(float64(part), float64(whole)) + ")"
}

// none stands where there is no value.
func (w *tableWriter) none() string {
	if w.machine() {
		return ""
	}
	return "-"
}

// unmeasured stands where there is a value that was not measured.
func (w *tableWriter) unmeasured() string {
	if w.machine() {
		return ""
	}
	return "unmeasured"
}
