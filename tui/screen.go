package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// screen is one view: where it is in the breadcrumbs, what it says above its
// body, and the body, made again by build whenever the snapshot or what was
// fetched changed. What a screen can do besides is in the interfaces below.
type screen interface {
	crumb() string
	summary(m *Model, f *frame) line
	build(m *Model, f *frame)
	body() component
}

// opener has something below each row.
type opener interface{ open(m *Model) *level }

// fetcher shows more than the snapshot has. What fetch returns runs outside of
// the model; the frame gets its result.
type fetcher interface {
	fetch(m *Model) func(ctx context.Context) (any, error)
}

// follower is a fetcher whose data depends on something that changes: it is
// fetched again when the mark differs.
type follower interface{ mark(m *Model) string }

// live is a fetcher whose data is fetched again and again while it is shown.
type live interface {
	fetcher
	every(m *Model) time.Duration
}

// describer says everything about the row under the cursor.
type describer interface {
	describe(m *Model) (title string, text []line)
}

// commander is the command line that shows the same.
type commander interface{ command(m *Model) []string }

// documenter is the row under the cursor as JSON.
type documenter interface{ document(m *Model) any }

// keyer does something with keys of its own; hints name them.
type keyer interface {
	key(m *Model, f *frame, action string) (tea.Cmd, bool)
	hints() []string // actions, as in keys.go
}

// frame is a screen on the stack and what was fetched for it.
type frame struct {
	screen screen
	id     int
	ctx    context.Context
	cancel context.CancelFunc
	filter *filter

	data   any
	err    error
	busy   bool
	began  time.Time
	at     time.Time // when data came
	fetchN int
	marked string
}

// level is what one step of the breadcrumbs shows: one screen, or several as
// tabs.
type level struct {
	name string // in the breadcrumbs; "": the screen's
	tabs []*frame
	at   int
}

func single(s screen) *level { return &level{tabs: []*frame{{screen: s}}} }

func tabbed(screens ...screen) *level {
	l := &level{}
	for _, s := range screens {
		l.tabs = append(l.tabs, &frame{screen: s})
	}
	return l
}

func (l *level) frame() *frame { return l.tabs[l.at] }

// fetchedMsg is the result of a fetch.
type fetchedMsg struct {
	frame, n int
	data     any
	err      error
	at       time.Time
}

// push shows a level on top of the others.
func (m *Model) push(l *level) tea.Cmd {
	if l == nil {
		return nil
	}
	m.stack = append(m.stack, l)
	return m.enterFrame()
}

// enterFrame prepares the frame that is shown now.
func (m *Model) enterFrame() tea.Cmd {
	f := m.top()
	if f.id == 0 {
		m.lastID++
		f.id = m.lastID
		f.ctx, f.cancel = context.WithCancel(m.ctx)
	}
	m.message = note{}
	cmd := m.fetch(f, false)
	f.screen.build(m, f)
	return cmd
}

// fetch starts to fetch what the frame's screen wants: when it has nothing yet,
// when what it has is outdated, or when forced.
func (m *Model) fetch(f *frame, force bool) tea.Cmd {
	s, ok := f.screen.(fetcher)
	if !ok {
		return nil
	}
	mark := ""
	if x, ok := f.screen.(follower); ok {
		mark = x.mark(m)
	}
	if !force && (f.busy || (f.data != nil || f.err != nil) && mark == f.marked) {
		return nil
	}
	work := s.fetch(m)
	if work == nil {
		return nil
	}
	if f.cancel != nil && f.busy { // forced: what runs is of no use any more
		f.cancel()
		f.ctx, f.cancel = context.WithCancel(m.ctx)
	}
	f.busy, f.began, f.marked = true, m.now, mark
	f.fetchN++
	ctx, id, n, now := f.ctx, f.id, f.fetchN, m.o.now
	return func() tea.Msg {
		data, err := work(ctx)
		return fetchedMsg{id, n, data, err, now()}
	}
}

// follow fetches again what a live screen shows, when it is time.
func (m *Model) follow() tea.Cmd {
	f := m.top()
	s, ok := f.screen.(live)
	if !ok || f.busy || f.at.IsZero() || m.now.Sub(f.at) < s.every(m) {
		return nil
	}
	return m.fetch(f, true)
}

// got gives a frame what was fetched for it.
func (m *Model) got(msg fetchedMsg) {
	for _, l := range m.stack {
		for _, f := range l.tabs {
			if f.id != msg.frame || f.fetchN != msg.n {
				continue
			}
			f.busy, f.at, f.err = false, msg.at, msg.err
			if msg.err == nil || msg.data != nil {
				f.data = msg.data
			}
			f.screen.build(m, f)
			return
		}
	}
}

// pop goes one level back.
func (m *Model) pop() bool {
	if len(m.stack) <= 1 {
		return false
	}
	m.drop(m.stack[len(m.stack)-1])
	m.stack = m.stack[:len(m.stack)-1]
	return true
}

func (m *Model) drop(l *level) {
	for _, f := range l.tabs {
		if f.cancel != nil {
			f.cancel()
		}
	}
}

// root replaces the stack.
func (m *Model) root(levels ...*level) tea.Cmd {
	for _, l := range m.stack {
		m.drop(l)
	}
	m.stack = nil
	var cmds []tea.Cmd
	for _, l := range levels {
		cmds = append(cmds, m.push(l))
	}
	return tea.Batch(cmds...)
}

func (m *Model) top() *frame { return m.stack[len(m.stack)-1].frame() }

func (m *Model) level() *level { return m.stack[len(m.stack)-1] }

// crumbs are the names of the levels.
func (m *Model) crumbs() []string {
	var out []string
	for _, l := range m.stack {
		if l.name != "" {
			out = append(out, l.name)
			continue
		}
		out = append(out, l.frame().screen.crumb())
	}
	return out
}

// loading is what a body says before its data came, or why it did not.
func loading(f *frame, what string) []line {
	if f.err != nil {
		return errorLines(f.err)
	}
	return []line{nil, toned(dim, "  "+what+" …")}
}

// errorLines are an error and its next steps.
func errorLines(err error) []line {
	out := []line{nil}
	for i, s := range strings.Split(err.Error(), "\n") {
		k := bad
		if i > 0 {
			k = plainTone
		}
		out = append(out, toned(k, "  "+safe(s)))
	}
	for _, t := range tries(err) {
		out = append(out, line{{text: "  try: ", tone: dim}, {text: safe(t)}})
	}
	return out
}
