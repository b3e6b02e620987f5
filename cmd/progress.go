package cmd

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sstool/internal/op"
)

// progressFlag is a command's --progress.
type progressFlag struct{ value string }

var progressModes = []string{"auto", "text", "json", "none"}

func (f *progressFlag) register(cmd *cobra.Command) {
	f.value = "auto"
	cmd.Flags().Var(f, "progress", "progress on stderr: `MODE` auto (text on a terminal, else none), text, json (an event a line) or none")
	complete(cmd, "progress", progressModes)
}

func (f *progressFlag) String() string  { return f.value }
func (f *progressFlag) Type() string    { return "mode" }
func (f *progressFlag) expects() string { return strings.Join(progressModes, "|") }

// Set implements pflag.Value.
func (f *progressFlag) Set(s string) error {
	for _, m := range progressModes {
		if s == m {
			f.value = s
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(progressModes, "|"))
}

// progress shows an engine's events on stderr. The engine's side, sink, only
// notes the event; a goroutine of its own writes, so that a slow terminal never
// slows an engine. Progress may be overwritten by newer progress before it is
// shown; warnings, items and summaries are always written.
type progress struct {
	out    io.Writer
	json   bool
	draw   bool // one line, drawn over itself
	plain  bool // a line now and then
	colour bool
	width  int

	mu     sync.Mutex
	queue  []op.Event // to be written, in order
	latest *op.Event  // newest progress, not yet shown
	wake   chan struct{}
	pause  chan chan struct{}
	closed chan struct{}
	done   chan struct{}

	// Owned by the writing goroutine.
	phase string
	began time.Time
	drawn bool
	next  time.Time // when plain may speak again
}

// startProgress begins to show events; close ends it.
func (a *app) startProgress(f progressFlag) *progress {
	p := &progress{
		out: a.io.Err, width: a.io.Width, colour: a.io.colour(), began: time.Now(),
		wake: make(chan struct{}, 1), pause: make(chan chan struct{}), closed: make(chan struct{}), done: make(chan struct{}),
	}
	switch f.value {
	case "json":
		p.json = true
	case "text":
		p.draw, p.plain = a.io.fancy(), !a.io.fancy()
	case "auto":
		p.draw = a.io.fancy()
	}
	if p.width <= 0 {
		p.width = 100
	}
	go p.loop()
	return p
}

// sink is the op.Sink to hand to an engine.
func (p *progress) sink(e op.Event) {
	p.mu.Lock()
	if e.Type == op.Progress {
		p.latest = &e
	} else {
		p.queue = append(p.queue, e)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// warn shows a warning.
func (p *progress) warn(text string) { p.sink(op.Event{Type: op.Warning, Message: text}) }

// flush writes what is queued and removes the progress line, so that something
// else can be written. The next event shows again.
func (p *progress) flush() {
	written := make(chan struct{})
	p.pause <- written
	<-written
}

// close writes what is queued, removes the progress line and ends.
func (p *progress) close() {
	close(p.closed)
	<-p.done
}

func (p *progress) loop() {
	defer close(p.done)
	for {
		select {
		case <-p.wake:
			p.write()
		case written := <-p.pause:
			p.write()
			p.clear()
			close(written)
		case <-p.closed:
			p.write()
			p.clear()
			return
		}
	}
}

func (p *progress) write() {
	p.mu.Lock()
	queue, latest := p.queue, p.latest
	p.queue, p.latest = nil, nil
	p.mu.Unlock()
	for _, e := range queue {
		p.event(e)
	}
	if latest != nil {
		p.event(*latest)
	}
}

func (p *progress) event(e op.Event) {
	if p.json {
		if b, err := safeJSON(e); err == nil {
			fmt.Fprintf(p.out, "%s\n", b)
		}
		return
	}
	switch e.Type {
	case op.Phase:
		p.phase, p.began = e.Name, time.Now()
		if e.Message != "" {
			p.phase = e.Message
		}
		if p.draw {
			p.redraw(p.phase + " …")
		} else if p.plain {
			p.say(p.phase)
		}
	case op.Progress:
		now := time.Now()
		if p.draw {
			p.redraw(p.line(e, now, p.width-1))
		} else if p.plain && now.After(p.next) {
			p.next = now.Add(2 * time.Second)
			p.say(p.line(e, now, 0))
		}
	case op.Item:
		if e.Err != "" {
			p.say(p.paint(31, "failed: ") + label(e.Name, e.Err))
		} else if p.plain {
			p.say("done: " + label(e.Name, e.Message))
		}
	case op.Warning:
		p.say(p.paint(33, "warning: ") + label(e.Name, e.Message))
	}
}

func label(name, message string) string {
	switch {
	case name == "":
		return printable(message)
	case message == "":
		return printable(name)
	}
	return printable(name) + ": " + printable(message)
}

// line is progress as text: bar, share, counts, rates, time left. The counts are
// the whole operation's, so the item that moved last is not named. In a width
// that is too small for all of it the time left stays longest; width 0 is no
// bound.
func (p *progress) line(e op.Event, now time.Time, width int) string {
	barWidth := min(24, p.width/6)
	share, counts, rate, bytes, eta, message := "", "", "", "", "", printable(e.Message)
	if e.Total > 0 {
		share = fmt.Sprintf("%3.0f %%", 100*min(1, float64(e.Done)/float64(e.Total)))
		counts = fmt.Sprintf("%s/%s %s", humanCount(e.Done), humanCount(e.Total), e.Unit)
	} else if e.Done > 0 {
		counts = humanCount(e.Done) + " " + e.Unit
	}
	if e.Rate > 0 {
		rate = strings.ReplaceAll(humanRate(e.Rate, ""), " /s", "/s")
	}
	if s := now.Sub(p.began).Seconds(); e.Bytes > 0 && s > 0.2 {
		bytes = fmt.Sprintf("%.1f MB/s", float64(e.Bytes)/1e6/s) // decimal, as in the report
	}
	if e.ETA > 0 {
		eta = "ETA " + humanDuration(e.ETA.Round(time.Second))
	}
	phase := printable(p.phase)
	compose := func() string {
		var parts []string
		for _, s := range []string{share, counts, rate, bytes, eta, message} {
			if s != "" {
				parts = append(parts, s)
			}
		}
		if share != "" && barWidth > 0 {
			parts[0] = bar(min(1, float64(e.Done)/float64(e.Total)), barWidth) + " " + share
		}
		return strings.TrimSpace(phase + "  " + strings.Join(parts, "  "))
	}
	// Given up one after the other, the least telling first.
	for _, giveUp := range []func(){
		func() { message = "" }, func() { barWidth = min(barWidth, 10) }, func() { bytes = "" }, func() { barWidth = 0 },
		func() { phase, _, _ = strings.Cut(phase, " ") }, func() { counts = "" }, func() { rate = "" }, func() { phase = "" },
	} {
		if width <= 0 || utf8.RuneCountInString(compose()) <= width {
			break
		}
		giveUp()
	}
	return compose()
}

func bar(share float64, width int) string {
	n := int(share * float64(width))
	return "[" + strings.Repeat("=", n) + strings.Repeat(" ", width-n) + "]"
}

// redraw replaces the progress line, cut to the terminal's width.
func (p *progress) redraw(s string) {
	if utf8.RuneCountInString(s) >= p.width {
		s = string([]rune(s)[:p.width-1])
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", s)
	p.drawn = true
}

// clear removes the progress line.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// say writes a line of its own.
func (p *progress) say(s string) {
	p.clear()
	fmt.Fprintln(p.out, s)
}

func (p *progress) paint(code int, s string) string {
	if !p.colour {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

// complete offers fixed values for a flag in the shell.
func complete(cmd *cobra.Command, flag string, values []string) {
	// The only error is a flag that does not exist, which the caller just added.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
