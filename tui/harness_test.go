package tui

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"sstool/inspect"
	"sstool/internal/lsm/lsmtest"
)

// driver runs a model without a terminal: every message is handled, and every
// command run, before the next one.
type driver struct {
	t      testing.TB
	m      *Model
	dir    string // what is shown as shownAt
	copied []string
	quit   bool
}

// pinned is the time of all tests.
func pinned() time.Time { return time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC) }

func newDriver(t testing.TB, o Options) *driver {
	t.Helper()
	if o.Now == nil {
		o.Now = pinned
	}
	if o.Theme == "" {
		o.Theme = "dark"
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	m, err := newModel(ctx, &o)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{t: t, m: m}
	d.m.send = nil
	return d
}

// fixture is a driver on a real state directory, mapped.
func fixture(t testing.TB, name string) *driver {
	t.Helper()
	dir, _ := lsmtest.Unpack(t, name)
	return directory(t, filepath.Join(dir, "state"))
}

// shownAt is where directories of tests seem to lie.
const shownAt = "/var/lib/kafka-streams"

// directory is a driver on a state directory, which it shows as shownAt.
func directory(t testing.TB, dir string) *driver {
	t.Helper()
	hourAgo := pinned().Add(-time.Hour)
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, hourAgo, hourAgo)
	}); err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, Options{Contexts: []Context{{Path: shownAt}}})
	d.dir = dir
	d.m.real = func(path string) string { return strings.Replace(path, shownAt, dir, 1) }
	d.look()
	return d
}

// pin makes all paths in a document begin with shownAt.
func (d *driver) pin(v any) {
	if d.dir != "" && v != nil {
		relocate(reflect.ValueOf(v), d.dir, shownAt)
	}
}

func relocate(v reflect.Value, from, to string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			relocate(v.Elem(), from, to)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				relocate(v.Field(i), from, to)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			relocate(v.Index(i), from, to)
		}
	case reflect.String:
		if v.CanSet() && strings.Contains(v.String(), from) {
			v.SetString(strings.ReplaceAll(v.String(), from, to))
		}
	}
}

func chdir(t testing.TB, dir string) {
	t.Helper()
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chdir(was) })
}

// look maps the context's path, as the feed does.
func (d *driver) look() {
	d.t.Helper()
	m, err := inspect.MapPath(context.Background(), inspect.MapOptions{Path: d.m.real(d.m.context().Path)}, nil)
	if m != nil {
		m.Remarks = nil // that it lies in a temporary directory
	}
	d.pin(m)
	d.send(snapshotMsg{d.m.gen, &snapshot{disk: m, diskErr: err, at: pinned()}})
}

func (d *driver) send(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	case tea.QuitMsg:
		d.quit = true
	case fetchedMsg:
		d.pin(msg.data)
		if c, ok := msg.data.(*inspect.ChangelogResult); ok {
			for i := range c.Topics {
				c.Topics[i].Seconds, c.Topics[i].RecordsPerSecond = 0.25, 1200
			}
		}
		d.send(msg)
	default:
		if s, ok := clipboard(msg); ok {
			d.copied = append(d.copied, s)
			return
		}
		d.send(msg)
	}
}

// clipboard is the text of the message by which bubbletea sets the clipboard.
func clipboard(msg tea.Msg) (string, bool) {
	want := tea.SetClipboard("x")()
	if typeOf(msg) != typeOf(want) {
		return "", false
	}
	return strings.TrimSuffix(strings.TrimPrefix(sprint(msg), ""), ""), true
}

// keys presses keys: names of special ones, or a word letter by letter when it
// begins with "=".
func (d *driver) keys(keys ...string) *driver {
	d.t.Helper()
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "home": tea.KeyHome,
		"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "right": tea.KeyRight, "left": tea.KeyLeft, "backspace": tea.KeyBackspace}
	for _, k := range keys {
		switch {
		case strings.HasPrefix(k, "=") && len(k) > 1:
			for _, r := range k[1:] {
				d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		case strings.HasPrefix(k, "ctrl+"):
			d.send(tea.KeyPressMsg{Code: rune(k[5]), Mod: tea.ModCtrl})
		case special[k] != 0:
			d.send(tea.KeyPressMsg{Code: special[k]})
		default:
			d.send(tea.KeyPressMsg{Code: []rune(k)[0], Text: k})
		}
	}
	return d
}

func (d *driver) size(w, h int) *driver {
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// text is the screen without colours.
func (d *driver) text() string { return ansi.Strip(d.m.View().Content) }

// has checks that the screen shows all of these.
func (d *driver) has(want ...string) *driver {
	d.t.Helper()
	got := d.text()
	for _, w := range want {
		if !strings.Contains(got, w) {
			d.t.Errorf("the screen does not show %q:\n%s", w, got)
		}
	}
	return d
}

// golden compares the screen in both sizes with what is kept in
// testdata/screens; UPDATE_GOLDEN=1 rewrites it. Every line is as wide as the
// screen, and there are as many as it has.
func (d *driver) golden(dir, name string) {
	d.t.Helper()
	d.keep(dir, name, ansi.Strip)
}

// coloured is golden with the colours: ESC is written as "␛".
func (d *driver) coloured(dir, name string) {
	d.t.Helper()
	d.keep(dir, name, func(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") })
}

func (d *driver) keep(dir, name string, as func(string) string) {
	d.t.Helper()
	for _, size := range []struct {
		name string
		w, h int
	}{{"80x24", 80, 24}, {"200x50", 200, 50}} {
		d.size(size.w, size.h)
		d.check(size.w, size.h)
		lines := strings.Split(as(d.m.View().Content), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		got := strings.Join(lines, "\n") + "\n"
		path := filepath.Join(dir, name+"-"+size.name+".txt")
		if os.Getenv("UPDATE_GOLDEN") != "" && flag.Lookup("test.fuzz").Value.String() == "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				d.t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			d.t.Fatal(err)
		}
		if got != string(want) {
			d.t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
	}
	d.size(80, 24)
}

// check holds what every screen keeps: as large as the terminal, and nothing in
// it that a terminal would obey but colours.
func (d *driver) check(w, h int) {
	d.t.Helper()
	content := d.m.View().Content
	lines := strings.Split(content, "\n")
	if len(lines) != h {
		d.t.Errorf("%d lines on a screen of %d:\n%s", len(lines), h, d.text())
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != w {
			d.t.Errorf("line %d is %d columns wide on a screen of %d: %q", i, n, w, ansi.Strip(l))
		}
	}
	for i := 0; i < len(content); i++ {
		c := content[i]
		if c == 0x1b { // only colours: ESC [ … m
			end := strings.IndexByte(content[i:], 'm')
			if end < 0 || strings.Trim(content[i+1:i+end], "[0123456789;:") != "" {
				d.t.Fatalf("an escape sequence in the screen: %q", content[i:min(len(content), i+20)])
			}
			i += end
			continue
		}
		if c < 0x20 && c != '\n' || c == 0x7f {
			d.t.Fatalf("control character %#x in the screen: %q", c, content[max(0, i-20):min(len(content), i+20)])
		}
	}
}
