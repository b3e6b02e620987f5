package cmd

import (
	"strings"
	"unsafe"

	"sstool/inspect"
	"sstool/internal/serde"
)

// appendHeader appends the names of the columns.
func appendHeader(dst []byte, cols []rowColumn) []byte {
	for i, c := range cols {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.name...)
	}
	return append(dst, '\n')
}

// appendRecord appends a row as CSV has it. Cells are escaped, so it is one
// line, and quoted as encoding/csv does.
func appendRecord(dst []byte, cols []rowColumn, row *inspect.Row) []byte {
	for i, c := range cols {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := len(dst)
		if dst = c.cell(dst, row); !plainCell(dst[at:]) {
			dst = appendCSV(dst[:at], string(dst[at:]))
		}
	}
	return append(dst, '\n')
}

// plainCell says whether a cell is surely written as it is.
func plainCell(b []byte) bool {
	i := serde.PlainRun(unsafe.String(unsafe.SliceData(b), len(b)), ',', '"')
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c >= 0x7f || c == ',' || c == '"' {
			return false
		}
	}
	return len(b) == 0 || b[0] != ' ' && b[0] != '\\'
}

// appendCSV appends one cell.
func appendCSV(dst []byte, s string) []byte {
	s = printable(s)
	if s != `\.` && !strings.HasPrefix(s, " ") && !strings.ContainsAny(s, `,"`) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}
