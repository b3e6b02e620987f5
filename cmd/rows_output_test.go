package cmd

import (
	"bytes"
	"encoding/csv"
	"testing"

	"sstool/inspect"
)

// TestAppendRecord: cells are quoted as encoding/csv does, after they are escaped.
func TestAppendRecord(t *testing.T) {
	for _, cell := range []string{"", "a", "a,b", `say "hi"`, " lead", "trail ", "eight by eight, or \"more\"", "exactly8", "seven,7", "eight88,", `\.`, "ü", "ü,ö", "new\nline", "\x1b[31m", "\xff", "a\u202eb,", "日本", "\t", `"`} {
		var want bytes.Buffer
		w := csv.NewWriter(&want)
		if err := w.Write([]string{printable(cell), "x"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		cols := []rowColumn{{cell: func(dst []byte, _ *inspect.Row) []byte { return append(dst, cell...) }}, {cell: func(dst []byte, _ *inspect.Row) []byte { return append(dst, 'x') }}}
		if got := string(appendRecord(nil, cols, nil)); got != want.String() {
			t.Errorf("%q: %q, want %q", cell, got, want.String())
		}
	}
}
