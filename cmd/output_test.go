package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden compares got with testdata/golden/name; UPDATE_GOLDEN=1 rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make golden writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (make golden rewrites it)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestTableFormats(t *testing.T) {
	columns := []column{{name: "STORE"}, {name: "RECORDS", right: true}, {name: "BYTES", right: true, wide: true}, {name: "NOTE"}}
	rows := [][]string{
		{"account-payment.total", "1,000,000", "1024", ""},
		{"evil\x1b[2J\tname\n", "7", "0", "a,b \"c\""},
		{"käse", "0", "-", "  indented"},
	}
	for _, f := range []format{formatTable, formatWide, formatCSV, formatTSV} {
		var out bytes.Buffer
		w := newTableWriter(&out, f)
		w.line("restored %d stores", 3)
		w.table(columns, rows)
		w.pairs([][2]string{{"peak memory", "12 MiB"}, {"disk", unmeasured("no such file")}})
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		golden(t, "table."+string(f), out.Bytes())
	}
}

func TestRaggedRowIsAnError(t *testing.T) {
	w := newTableWriter(&bytes.Buffer{}, formatTable)
	w.table([]column{{name: "A"}, {name: "B"}}, [][]string{{"1"}})
	if w.flush() == nil {
		t.Error("a row with too few cells was accepted")
	}
}

func TestEnvelope(t *testing.T) {
	type inner struct {
		Names []string `json:"names"`
	}
	type doc struct {
		Items    []inner        `json:"items"`
		None     []int          `json:"none"`
		Measured *int           `json:"measured"`
		Map      map[string]int `json:"map"`
		Inner    *inner         `json:"inner"`
		HTML     string         `json:"html"`
	}
	in := doc{Items: []inner{{}}, Inner: &inner{}, HTML: "a<b"}
	got, err := envelope("restore.measure", in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"restore.measure","version":1,"items":[{"names":[]}],"none":[],"measured":null,"map":{},"inner":{"names":[]},"html":"a<b"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if in.Items[0].Names != nil || in.Inner.Names != nil {
		t.Error("the result itself was changed")
	}
	if b, err := envelope("empty", struct{}{}); err != nil || !json.Valid(b) {
		t.Errorf("empty: %s, %v", b, err)
	}
	if _, err := envelope("list", []int{1}); err == nil {
		t.Error("a list is not a document")
	}
}

// TestJSONOnATerminal: no document has a character that a terminal acts on, and
// all of them come back.
func TestJSONOnATerminal(t *testing.T) {
	const odd = "a\x7fb\u0085c\u009bd\u200be\u202ef\u2028g\ufeffh\U000e0001i"
	b, err := envelope("odd", struct {
		Name string `json:"name"`
	}{odd})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); printable(s) != s || !strings.Contains(s, `\u007f`) || !strings.Contains(s, `\u202e`) || !strings.Contains(s, `\udb40\udc01`) {
		t.Errorf("not printable: %q", s)
	}
	var back struct{ Name string }
	if err := json.Unmarshal(b, &back); err != nil || back.Name != odd {
		t.Errorf("%q, %v", back.Name, err)
	}
}
