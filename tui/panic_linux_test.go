package tui

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// TestPanicRestoresTheTerminal: wherever it panics, the program ends with an
// error, leaves the alternate screen and the raw mode, and the log has the stack.
func TestPanicRestoresTheTerminal(t *testing.T) {
	for where, cause := range map[string]func(m *Model){
		"update": func(m *Model) { m.send(jobMsg{action: &Action{}, planned: nil}) },
		"action": func(m *Model) {
			m.send(jobMsg{action: &Action{Name: "x"}, planned: &Planned{Apply: func(context.Context, op.Sink) (any, string, error) { panic("in an engine") }}})
			m.send(keyPress("y"))
		},
		"feed": nil, // below
	} {
		t.Run(where, func(t *testing.T) {
			var out, logged locked
			terminal, _ := pty(t, 80, 24, &out)
			before, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			drawn := func() bool { return strings.Contains(out.String(), "\x1b[?1049h") }
			wait := func() {
				for ctx.Err() == nil && !drawn() {
					time.Sleep(10 * time.Millisecond)
				}
			}
			o := Options{Contexts: []Context{{Path: t.TempDir()}}, In: terminal, Out: terminal, Env: []string{"TERM=xterm-256color"}, Log: slog.New(slog.NewTextHandler(&logged, nil)), Theme: "dark"}
			if cause != nil {
				o.onStart = func(m *Model) { wait(); cause(m) }
			}
			if where == "feed" {
				o.Contexts[0].Connect = func(context.Context) (*kafka.Client, error) { wait(); panic("no cluster like that") }
			}
			err = Run(ctx, o)
			if err == nil || ctx.Err() != nil {
				t.Fatalf("ends with %v", err)
			}
			for ctx.Err() == nil && !strings.Contains(out.String(), "\x1b[?1049l") {
				time.Sleep(10 * time.Millisecond)
			}
			if s := out.String(); strings.LastIndex(s, "\x1b[?1049l") < strings.LastIndex(s, "\x1b[?1049h") || !drawn() {
				t.Errorf("the alternate screen is not left: %q", s)
			}
			if after, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS); err != nil || *after != *before {
				t.Errorf("the terminal is %+v, was %+v, %v", after, before, err)
			}
			if s := logged.String(); !strings.Contains(s, "panic") || !strings.Contains(s, "tui.") {
				t.Errorf("the log has %q", s)
			}
		})
	}
}

// locked is a buffer that is read while it is written.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
