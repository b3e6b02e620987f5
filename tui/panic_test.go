package tui

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/kafka"
)

// TestPanicRestoresTheTerminal: wherever it panics, the program ends with an
// error, leaves the alternate screen, and the log has the stack.
func TestPanicRestoresTheTerminal(t *testing.T) {
	for where, cause := range map[string]func(m *Model){
		"update": func(m *Model) { m.send(jobMsg{action: &Action{}, planned: nil}) },
		"feed":   nil, // below
	} {
		t.Run(where, func(t *testing.T) {
			in, feedIn := io.Pipe()
			defer feedIn.Close()
			var out, logged bytes.Buffer
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			o := Options{Contexts: []Context{{Path: dir}}, In: in, Out: &out, Env: []string{"TERM=xterm-256color"}, Log: slog.New(slog.NewTextHandler(&logged, nil)), Theme: "dark", onStart: cause}
			if where == "feed" {
				o.Contexts[0].Connect = func(context.Context) (*kafka.Client, error) { panic("no cluster like that") }
			}
			err := Run(ctx, o)
			if err == nil || ctx.Err() != nil {
				t.Fatalf("ends with %v", err)
			}
			if s := out.String(); strings.LastIndex(s, "\x1b[?1049l") < strings.LastIndex(s, "\x1b[?1049h") {
				t.Errorf("the alternate screen is not left: %q", s)
			}
			if !strings.Contains(logged.String(), "panic") || !strings.Contains(logged.String(), "tui.") {
				t.Errorf("the log has %q", logged.String())
			}
		})
	}
}

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
	case <-time.After(5 * time.Second):
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
