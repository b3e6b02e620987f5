package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/op"
)

func typeOf(v any) string { return fmt.Sprintf("%T", v) }
func sprint(v any) string { return fmt.Sprint(v) }

func TestSortKeepsTheCursor(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	table := d.m.top().screen.body().(*table)
	d.keys("down", "down")
	id := table.current().id
	for range len(table.cols) + 1 {
		d.keys("s")
		if table.current().id != id {
			t.Fatalf("sorted by %s the cursor is on another store", table.sorted())
		}
		d.keys("S")
		if table.current().id != id {
			t.Fatalf("turned round by %s the cursor is on another store", table.sorted())
		}
	}
}

func TestSortBySize(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	table := d.m.top().screen.body().(*table)
	for table.sorted() != "SIZE" {
		d.keys("s")
	}
	last := 1e18
	for _, n := range table.order {
		for j, c := range table.cols {
			if c.name == "SIZE" {
				if v := table.rows[n].cells[j].num; v > last {
					t.Fatalf("%v after %v", v, last)
				} else {
					last = v
				}
			}
		}
	}
	d.has("SIZE ▼")
}

func TestFilter(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	body := d.m.top().screen.body()
	_, all := body.size()
	d.keys("/", "=0_1", "enter")
	shown, _ := body.size()
	if shown == 0 || shown == all {
		t.Fatalf("%d of %d", shown, all)
	}
	d.has("/0_1")
	d.keys("/", "backspace", "backspace", "backspace", "=!0_1", "enter")
	if not, _ := body.size(); not+shown != all {
		t.Errorf("%d and %d are not %d", shown, not, all)
	}
	d.keys("/", "backspace", "backspace", "backspace", "backspace", "=(", "enter").has("not a regular expression")
	if not, _ := body.size(); not+shown != all {
		t.Error("a bad expression dropped the filter before")
	}
	d.keys("esc")
	if n, _ := body.size(); n != all {
		t.Errorf("Esc keeps the filter: %d of %d", n, all)
	}
	d.keys("/", "=nothing-like-it").has("Nothing matches")
	d.keys("esc")
	if n, _ := body.size(); n != all {
		t.Errorf("Esc while typing keeps the filter: %d of %d", n, all)
	}
}

func TestCommands(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	for typed, crumb := range map[string]string{"apps": "applications", "tasks": "applications › tasks", "stores": "applications › stores", "sto": "applications › stores", "stores w402-mini-opt-alos": "› w402-mini-opt-alos stores"} {
		d.keys(":", "="+typed, "enter").has(crumb)
	}
	d.keys(":", "=stor", "tab", "enter").has("applications › stores")
	d.keys(":", "=nonsense", "enter").has("no command nonsense")
	d.keys(":", "backspace")
	if d.m.prompt != nil {
		t.Error("backspace on an empty command line does not leave it")
	}
	d.keys(":", "=q", "enter")
	if !d.quit {
		t.Error(":q does not quit")
	}
}

func TestCopy(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.keys("y").has("as JSON", "the command line: sstool inspect")
	d.keys("j").has("JSON copied")
	d.keys("y", "c").has("command line copied")
	if len(d.copied) != 2 {
		t.Fatalf("copied %d texts", len(d.copied))
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(d.copied[0]), &doc); err != nil || doc["store"] == nil {
		t.Errorf("%v: %s", err, d.copied[0])
	}
	if !strings.HasPrefix(d.copied[1], "sstool inspect ") || !strings.Contains(d.copied[1], "/rocksdb/") {
		t.Errorf("copied %q", d.copied[1])
	}
}

func TestKeysFromTheConfiguration(t *testing.T) {
	m, err := newKeymap(map[string][]string{"describe": {"i", "f1"}, "quit": {"d"}})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{"i": doDescribe, "d": doQuit, "q": "", "j": doDown} {
		if got := m.action(tea.KeyPressMsg{Code: []rune(k)[0], Text: k}); got != want {
			t.Errorf("%s does %q, want %q", k, got, want)
		}
	}
	if got := m.action(tea.KeyPressMsg{Code: tea.KeyF1}); got != doDescribe {
		t.Errorf("f1 does %q", got)
	}
	for _, more := range []map[string][]string{{"dance": {"x"}}, {"describe": {"x"}, "quit": {"x"}}} {
		if _, err := newKeymap(more); err == nil {
			t.Errorf("%v is accepted", more)
		}
	}
}

func TestMouse(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	table := d.m.top().screen.body().(*table)
	d.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: d.m.bodyTop() + 3})
	if table.cursor != 2 {
		t.Errorf("a click on the third row puts the cursor on %d", table.cursor)
	}
	d.send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	if table.cursor != 1 {
		t.Errorf("the wheel moved the cursor to %d", table.cursor)
	}
	depth := len(d.m.stack)
	d.send(tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: d.m.bodyTop() + 2})
	if len(d.m.stack) != depth+1 {
		t.Error("a click on the cursor does not open")
	}
}

// TestEverySize draws every size, those too small included.
func TestEverySize(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	for _, open := range [][]string{{}, {"?"}, {"esc", "d"}, {"esc", "y"}, {"esc", ":"}, {"esc", "/"}} {
		d.keys(open...)
		for w := 1; w < 230; w += 3 {
			for _, h := range []int{1, 5, 9, 10, 11, 24, 60} {
				d.size(w, h)
				if w >= leastWidth && h >= leastHeight {
					d.check(w, h)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("after %v", open)
		}
	}
}

// TestFold: what is folded loses nothing, and no line is wider than the screen,
// a space at its end included.
func TestFold(t *testing.T) {
	long := "compare orders-renamed-changelog with orders-account-payment-total-changelog: all records, and the tables they make"
	for _, l := range []line{text(long), {{text: "warning: ", tone: warn}, {text: long}}, text("    " + long), text("label:  " + long), text(strings.Repeat("wörter ", 40))} {
		for w := 8; w < 140; w++ {
			var words []string
			for _, got := range fold(l, w) {
				if got.width() > w {
					t.Fatalf("%q is %d wide, at %d", got.bare(), got.width(), w)
				}
				words = append(words, strings.Fields(got.bare())...)
			}
			if got, want := strings.Join(words, ""), strings.Join(strings.Fields(l.bare()), ""); got != want {
				t.Fatalf("at %d: %q, want %q", w, got, want)
			}
		}
	}
}

// TestReportsAreReadableAt80Columns: prose is folded, and tables scroll as far
// as they go.
func TestReportsAreReadableAt80Columns(t *testing.T) {
	d := fixture(t, "4.0.2-opt-alos")
	d.m.jobs.noTick = true
	d.m.o.Actions = scripted(false, "", func(context.Context, op.Sink) error { return nil })
	d.keys("a", "1", "y")
	j := d.m.jobs.list[0]
	j.report = "STORE  " + strings.Repeat("COLUMN  ", 12) + "LAST\n\nComplete. " + strings.Repeat("Start the application on the new names; ", 4) + "the end."
	d.m.rebuild()
	d.has("the end.")
	for range 50 {
		d.keys("right")
	}
	d.has("LAST")
	d.keys("home").has("STORE  COLUMN")
}
