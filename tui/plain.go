package tui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/human"
	"sstool/internal/op"
)

// RunPlain is the dashboard without a drawn screen: screens are written as
// lines, a screen reader reads them in order, and commands are read from In.
func RunPlain(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Theme, o.ASCII = "none", true
	m, err := newModel(ctx, &o)
	if err != nil {
		return err
	}
	m.w, m.h = 100000, 50
	p := &plainLoop{m: m, out: o.Out, msgs: make(chan tea.Msg, 64), ctx: ctx}
	m.send = func(msg tea.Msg) {
		select {
		case p.msgs <- msg:
		case <-ctx.Done():
		}
	}
	m.startFeed()
	err = p.loop(o.In)
	cancel()
	m.jobs.wait()
	m.feed.stop()
	return err
}

type plainLoop struct {
	m    *Model
	out  io.Writer
	msgs chan tea.Msg
	ctx  context.Context
	busy int // commands that run
}

const plainHelp = `Type a number to open that line, or one of:
  back, describe N, filter TEXT, sort, reverse, tab N, refresh, copy N (JSON), command (the command line), show, help, quit
  and the dashboard's commands: `

// loop reads lines and carries them out, each when the one before is done.
func (p *plainLoop) loop(in io.Reader) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-p.ctx.Done():
				return
			}
		}
	}()
	if err := p.settle(); err != nil {
		return err
	}
	p.show()
	for {
		if p.m.o.Prompt {
			fmt.Fprint(p.out, "> ")
		}
		line, ok := "", true
		for waiting := true; waiting; {
			select {
			case <-p.ctx.Done():
				return op.Errorf(op.Declined, "interrupted")
			case msg := <-p.msgs:
				p.take(msg)
			case line, ok = <-lines:
				waiting = false
			}
		}
		if !ok {
			return nil
		}
		p.m.now = p.m.o.now()
		p.m.message = note{}
		shown := p.line(strings.TrimSpace(line))
		if p.m.quit {
			return nil
		}
		if err := p.settle(); err != nil {
			return err
		}
		p.say()
		if shown {
			p.show()
		}
	}
}

// line carries out what was typed, and says whether the screen is written.
func (p *plainLoop) line(line string) bool {
	m := p.m
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	if m.dialog != nil {
		if d, ok := m.dialog.(*planDialog); ok && d.input != nil && line != "esc" {
			d.input.SetValue(line)
			line = "enter"
		}
		p.run(m.dialog.key(m, keyPress(line)))
		return m.dialog == nil
	}
	if m.prompt != nil {
		pr := m.prompt
		m.prompt = nil
		p.run(pr.done(m, line))
		return true
	}
	if n, err := strconv.Atoi(word); err == nil && arg == "" {
		if p.at(n) {
			p.run(m.do(doEnter))
			return true
		}
		return false
	}
	if n, err := strconv.Atoi(arg); err == nil && (word == "describe" || word == "d" || word == "copy" || word == "y") {
		if !p.at(n) {
			return false
		}
	}
	switch word {
	case "", "show":
	case "back", "b":
		p.run(m.do(doBack))
	case "describe", "d":
		p.run(m.describe())
	case "filter", "f":
		f, err := newFilter(arg)
		if err != nil {
			fmt.Fprintln(p.out, "not a regular expression: "+err.Error())
			return false
		}
		m.setFilter(f)
	case "sort":
		p.run(m.do(doSort))
	case "reverse":
		p.run(m.do(doReverse))
	case "refresh":
		p.run(m.do(doRefresh))
	case "tab", "t":
		n, _ := strconv.Atoi(arg)
		p.run(m.tab(n - 1))
	case "copy", "y":
		if d, ok := m.top().screen.(documenter); ok {
			p.printJSON(d.document(m))
		}
		return false
	case "command", "c":
		if k, ok := m.top().screen.(commander); ok {
			fmt.Fprintln(p.out, human.CommandLine(k.command(m)...))
		}
		return false
	case "key":
		p.run(m.do(arg))
	case "help", "h", "?":
		fmt.Fprint(p.out, plainHelp)
		for i, c := range commands() {
			if i > 0 {
				fmt.Fprint(p.out, ", ")
			}
			fmt.Fprint(p.out, c.name)
		}
		fmt.Fprintln(p.out)
		return false
	default:
		p.run(m.run(strings.TrimPrefix(line, ":")))
	}
	return true
}

// at puts the cursor on the n-th line that is shown.
func (p *plainLoop) at(n int) bool {
	t, ok := p.m.top().screen.body().(*table)
	if !ok || n < 1 || n > len(t.order) {
		fmt.Fprintln(p.out, "there is no line "+strconv.Itoa(n))
		return false
	}
	t.cursor = n - 1
	return true
}

// run carries out a command of the model, aside.
func (p *plainLoop) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	p.busy++
	go func() {
		msg := cmd()
		select {
		case p.msgs <- plainDone{msg}:
		case <-p.ctx.Done():
		}
	}()
}

type plainDone struct{ msg tea.Msg }

func (p *plainLoop) take(msg tea.Msg) {
	if d, ok := msg.(plainDone); ok {
		p.busy--
		msg = d.msg
	}
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
	default:
		p.run(p.m.update(msg))
	}
}

// settle waits until what was asked for is there.
func (p *plainLoop) settle() error {
	for p.busy > 0 || p.m.snap.at.IsZero() || p.m.context().Connect != nil && !p.m.snap.asked {
		select {
		case <-p.ctx.Done():
			return op.Errorf(op.Declined, "interrupted")
		case msg := <-p.msgs:
			p.take(msg)
		case <-time.After(time.Minute):
			return nil
		}
	}
	return nil
}

func (p *plainLoop) say() {
	if s := p.m.message.text; s != "" {
		fmt.Fprintln(p.out, s)
	}
}

// show writes the screen: where it is, what it sums up to, and its lines.
func (p *plainLoop) show() {
	m := p.m
	if m.dialog != nil {
		for _, l := range m.dialog.plain(m) {
			fmt.Fprintln(p.out, l)
		}
		return
	}
	if m.prompt != nil {
		fmt.Fprintln(p.out, m.prompt.label+" "+m.prompt.help)
		return
	}
	var crumbs []string
	for _, c := range m.crumbs() {
		crumbs = append(crumbs, safe(c))
	}
	fmt.Fprintln(p.out, strings.Join(crumbs, ", then "))
	if len(m.level().tabs) > 1 {
		var tabs []string
		for i, f := range m.level().tabs {
			tabs = append(tabs, fmt.Sprintf("%d %s", i+1, f.screen.crumb()))
		}
		fmt.Fprintln(p.out, "tabs: "+strings.Join(tabs, ", "))
	}
	f := m.top()
	if s := f.screen.summary(m, f).bare(); s != "" {
		fmt.Fprintln(p.out, s)
	}
	for _, l := range f.screen.body().plain() {
		fmt.Fprintln(p.out, l)
	}
}

func (p *plainLoop) printJSON(v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		fmt.Fprintln(p.out, err)
		return
	}
	fmt.Fprintf(p.out, "%s\n", b)
}

// keyPress is the key that a typed word names: y, esc, enter.
func keyPress(s string) tea.KeyPressMsg {
	switch s {
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "enter", "":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	}
	r := []rune(s)
	return tea.KeyPressMsg{Code: r[0], Text: s}
}
