package cmd

import (
	"bytes"
	"encoding/csv"
	"testing"
)

// TestAppendCSV: cells are quoted as encoding/csv does, after they are escaped.
func TestAppendCSV(t *testing.T) {
	for _, cell := range []string{"", "a", "a,b", `say "hi"`, " lead", "trail ", `\.`, "ü", "ü,ö", "new\nline", "\x1b[31m", "\xff", "a\u202eb,", "日本", "\t", `"`} {
		var want bytes.Buffer
		w := csv.NewWriter(&want)
		if err := w.Write([]string{printable(cell), "x"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if got := string(appendCSV(nil, cell)) + ",x\n"; got != want.String() {
			t.Errorf("%q: %q, want %q", cell, got, want.String())
		}
	}
}
