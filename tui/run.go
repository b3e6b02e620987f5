package tui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/op"
)

// Run shows the dashboard until the user quits or ctx ends. The terminal is as
// it was afterwards, also after a panic, which becomes an error.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := newModel(ctx, &o)
	if err != nil {
		return err
	}
	opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithFPS(20)}
	if o.Env != nil {
		opts = append(opts, tea.WithEnvironment(o.Env))
	}
	g := &guarded{m: m, log: func(v any, stack []byte) {
		o.log().Error("panic", "value", fmt.Sprint(v), "stack", string(stack))
	}}
	p := tea.NewProgram(g, opts...)
	m.send = p.Send
	m.startFeed()
	stop := make(chan struct{})
	clockDone := make(chan struct{})
	go func() {
		defer close(clockDone)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.Send(clockMsg(o.now()))
			case <-stop:
				return
			}
		}
	}()
	if o.onStart != nil {
		go o.onStart(m)
	}
	_, err = p.Run()
	close(stop)
	<-clockDone
	m.jobs.wait()
	m.feed.stop()
	switch {
	case g.panicked != nil:
		return op.Errorf(op.Failed, "the dashboard failed: %v", g.panicked).WithTry("the log file has the details; please report it")
	case errors.Is(err, tea.ErrProgramPanic):
		return op.Errorf(op.Failed, "the dashboard failed: %w", err)
	case ctx.Err() != nil && !m.quit:
		return op.Errorf(op.Declined, "interrupted")
	case err != nil && !errors.Is(err, tea.ErrProgramKilled):
		return op.Errorf(op.Failed, "dashboard: %w", err)
	}
	return nil
}

// startFeed begins to look at the current context.
func (m *Model) startFeed() {
	m.gen++
	m.snap, m.history, m.reading = &snapshot{}, newHistory(), ""
	if m.send != nil {
		m.feed = startFeed(m.ctx, *m.context(), m.gen, m.o, m.send)
	}
}

// guarded is the model as the program runs it: a panic ends the program as if
// the user had quit, so that the terminal is restored, and is kept.
type guarded struct {
	m        *Model
	panicked any
	log      func(v any, stack []byte)
}

func (g *guarded) Init() tea.Cmd { return g.m.Init() }

func (g *guarded) Update(msg tea.Msg) (self tea.Model, cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			g.caught(v)
			self, cmd = g, tea.Quit
		}
	}()
	cmd = g.m.update(msg)
	if cmd == nil {
		return g, nil
	}
	return g, g.guard(cmd)
}

// guard does the same for a command, which runs on a goroutine of its own.
func (g *guarded) guard(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				msg = panicMsg{v, debug.Stack()}
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, c := range batch {
				if c != nil {
					batch[i] = g.guard(c)
				}
			}
		}
		return msg
	}
}

type panicMsg struct {
	value any
	stack []byte
}

func (g *guarded) View() (v tea.View) {
	defer func() {
		if x := recover(); x != nil {
			g.caught(x)
			v = tea.NewView("")
			if g.m.send != nil {
				go g.m.send(tea.QuitMsg{})
			}
		}
	}()
	return g.m.View()
}

func (g *guarded) caught(v any) {
	if g.panicked == nil {
		g.panicked = v
		g.log(v, debug.Stack())
	}
}
