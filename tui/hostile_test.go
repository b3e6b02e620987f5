package tui

import (
	"strings"
	"testing"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/op"
)

// hostile is what a name, a key or a topic may have in it.
const hostile = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\u202egnp.exe\r\n\x00\xff\u200b\u009bname"

// TestHostileNames: nothing from the state reaches the terminal raw, on any
// screen. check holds it for each.
func TestHostileNames(t *testing.T) {
	n := int64(5)
	kind := hostile
	store := inspect.MapStore{App: hostile, Task: hostile, Name: hostile, Dir: "/" + hostile, Kind: inspect.MapKind{Kind: &kind, Why: hostile, Certainty: inspect.Certain},
		Keys: inspect.MapKeys{Count: &n, Exact: true}, Families: []inspect.MapFamily{{Name: hostile}}, WrittenBy: []string{hostile}, LiveSet: true,
		Offsets:  inspect.MapOffsets{Topic: hostile, Why: hostile, List: []inspect.MapOffset{{Topic: hostile, Offset: &n}}},
		Position: []inspect.MapOffset{{Topic: hostile, Offset: &n}}, Remarks: []inspect.Remark{{Level: inspect.Problem, What: hostile, Where: hostile, Cure: hostile}},
		Cluster: &inspect.MapLag{Topic: hostile, Why: hostile}}
	disk := &inspect.Map{Path: "/" + hostile, Apps: []inspect.MapApp{{ID: hostile, Dir: "/" + hostile, ProcessID: hostile, Lock: inspect.MapLock{Command: hostile, Why: hostile},
		Tasks: []inspect.MapTask{{Task: hostile, Dir: hostile, Unread: hostile, Others: []inspect.MapOffset{{Topic: hostile}}}}, Stores: []inspect.MapStore{store}}}}
	d := newDriver(t, Options{Contexts: []Context{{Name: hostile, Path: "/" + hostile, Cluster: hostile}}})
	d.send(snapshotMsg{d.m.gen, &snapshot{disk: disk, clusterID: hostile, at: pinned()}})
	look := func(keys ...string) {
		t.Helper()
		d.keys(keys...)
		for _, w := range []int{40, 80, 200} {
			d.size(w, 30)
			d.check(w, 30)
		}
		if s := d.text(); strings.ContainsAny(s, "\u202e\u200b\u009b") {
			t.Errorf("raw after %v", keys)
		}
		for _, l := range d.m.top().screen.body().plain() {
			if strings.ContainsAny(l, "\x1b\x07\x00\r\u202e") {
				t.Errorf("plain, after %v: %q", keys, l)
			}
		}
	}
	look()
	look("d")
	look("esc", "y")
	look("esc", "enter", "1", "2", "6", "7")
	look("6")
	look("esc", "esc", "enter", "d")
	look("esc", ":", "=remarks", "enter", "d")
	look("esc", "esc", ":", "=ctx", "enter")
	look("esc", ":", "=tasks", "enter", "d")
	d.m.fail(op.Errorf(op.Failed, "%s", hostile).WithTry("%s", hostile))
	look()
	d.keys("esc", ":", "=stores", "enter")
	d.m.o.Actions = scripted(false, "", nil)
	look("a")
	look("1")
}

// TestHostileRows: a row's own bytes.
func TestHostileRows(t *testing.T) {
	d := fixture(t, "4.0.2-papi-alos")
	d.keys("enter", "5")
	f := d.m.top()
	f.data = &rowsData{res: &inspect.RowsResult{}, rows: []rowView{{key: hostile, value: `{"a":"` + hostile + `"}`, foreign: hostile, time: "t", errs: []string{hostile}}}}
	f.screen.build(d.m, f)
	for _, keys := range [][]string{{}, {"d"}} {
		d.keys(keys...)
		for _, w := range []int{60, 200} {
			d.size(w, 24)
			d.check(w, 24)
		}
	}
}

// TestCommandLinesAreQuoted: what is copied does what it says, and nothing else.
func TestCommandLinesAreQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"plain-1_0/x.y": "plain-1_0/x.y", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "": "''", "~x": "'~x'", "a\x1b[2J\n'": `$'a\x1b[2J\x0a\x27'`, "größe": "'größe'",
	} {
		if got := human.ShellWord(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}

// FuzzScreen: any name at any size gives a whole screen.
func FuzzScreen(f *testing.F) {
	f.Add(hostile, 80, 24)
	f.Add("日本語の名前と とても長い 👩‍👩‍👧‍👦 e\u0301", 41, 11)
	f.Fuzz(func(t *testing.T, name string, w, h int) {
		w, h = leastWidth+abs(w)%200, leastHeight+abs(h)%60
		d := newDriver(t, Options{Contexts: []Context{{Name: name, Path: name}}})
		s := inspect.MapStore{App: name, Task: "0_0", Name: name, Dir: name, Remarks: []inspect.Remark{{Level: inspect.Note, What: name}}}
		d.send(snapshotMsg{d.m.gen, &snapshot{at: pinned(), disk: &inspect.Map{Path: name, Apps: []inspect.MapApp{{ID: name, Dir: name, Stores: []inspect.MapStore{s}}}}}})
		d.size(w, h)
		d.check(w, h)
		for _, k := range []string{"d", "esc", "y", "esc", "enter", "6", "?"} {
			d.keys(k)
			d.check(w, h)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

// TestWideNames: names of two columns a letter, of none, and from right to left
// leave every line as wide as the screen, and are not obeyed.
func TestWideNames(t *testing.T) {
	for _, name := range []string{
		"日本語の名前とても長い店", "👩‍👩‍👧‍👦 family 🇩🇪", "e\u0301e\u0301e\u0301 o\u0308", "\u2066\u202eabc\u2069", "שלום עולם", "tab\tand\u2028line", strings.Repeat("\u0301", 50), strings.Repeat("宽", 300),
	} {
		d := newDriver(t, Options{Contexts: []Context{{Name: name, Path: "/" + name}}})
		stores := []inspect.MapStore{{App: name, Task: "0_0", Name: name, Dir: "/" + name, Remarks: []inspect.Remark{{Level: inspect.Problem, What: name}}}, {App: name, Task: "0_0", Name: "plain", Dir: "/p"}}
		d.send(snapshotMsg{d.m.gen, &snapshot{at: pinned(), disk: &inspect.Map{Path: "/" + name, Apps: []inspect.MapApp{{ID: name, Dir: "/" + name, Stores: stores}}}}})
		for _, keys := range [][]string{{}, {"d"}, {"esc", "y"}, {"esc", "enter"}, {"6"}, {"esc", ":", "=remarks", "enter"}, {"/", "=a"}} {
			d.keys(keys...)
			for w := leastWidth; w < 210; w += 13 {
				d.size(w, 24)
				d.check(w, 24)
			}
			if s := d.text(); strings.ContainsAny(s, "\u202e\u2066\u2028") {
				t.Errorf("%q after %v: obeyed", name, keys)
			}
			if t.Failed() {
				t.Fatalf("%q after %v", name, keys)
			}
		}
	}
}
