package tui

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestPanicInView: a screen that cannot be drawn ends the program too.
func TestPanicInView(t *testing.T) {
	d := newDriver(t, Options{Contexts: []Context{{Path: "state"}}})
	quit := make(chan tea.Msg, 1)
	d.m.theme, d.m.send = nil, func(msg tea.Msg) { quit <- msg }
	logged := 0
	g := &guarded{m: d.m, log: func(any, []byte) { logged++ }}
	if v := g.View(); v.Content != "" || g.panicked == nil || logged != 1 {
		t.Errorf("content %q, panicked %v, logged %d", v.Content, g.panicked, logged)
	}
	select {
	case msg := <-quit:
		if _, ok := msg.(tea.QuitMsg); !ok {
			t.Errorf("sent %T", msg)
		}
	case <-time.After(time.Minute):
		t.Error("nothing ends the program")
	}
}

// TestAPlanWithoutSteps is drawn like any other.
func TestAPlanWithoutSteps(t *testing.T) {
	d := newDriver(t, Options{Contexts: []Context{{Path: "state"}}})
	d.send(jobMsg{action: &Action{Name: "x"}, planned: &Planned{}})
	d.check(80, 24)
	d.has("go ahead")
}

// TestRunQuits: a program from key to end.
func TestRunQuits(t *testing.T) {
	in, feedIn := io.Pipe()
	defer feedIn.Close()
	var out bytes.Buffer
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/x", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := Run(context.Background(), Options{Contexts: []Context{{Path: dir}}, In: in, Out: &out, Env: []string{"TERM=xterm-256color"}, Theme: "dark",
		onStart: func(m *Model) { m.send(tea.KeyPressMsg{Code: 'q', Text: "q"}) }})
	if err != nil {
		t.Error(err)
	}
}
