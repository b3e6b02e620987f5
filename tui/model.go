package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/op"
)

// Model is the dashboard. It is changed only by Update.
type Model struct {
	o     *Options
	ctx   context.Context
	send  func(tea.Msg) // to the running program; nil in tests without one
	theme *theme
	keys  *keymap

	w, h int
	now  time.Time

	gen     int // of the feed
	feed    *feed
	snap    *snapshot
	history *history
	reading string
	current int // context

	stack   []*level
	lastID  int
	prompt  *prompt
	dialog  dialog
	jobs    *jobs
	meters  map[int]*metering // by context
	message note
	dark    bool
	quit    bool
	started time.Time

	real func(path string) string // where a path that is shown lies; tests show pinned ones
}

// note is what the line at the bottom says.
type note struct {
	text string
	tone tone
}

// newModel makes the dashboard; start begins to look.
func newModel(ctx context.Context, o *Options) (*Model, error) {
	if len(o.Contexts) == 0 {
		return nil, op.Errorf(op.Usage, "nothing to look at").WithTry("a state directory as PATH, --bootstrap-server HOST:PORT, or both")
	}
	keys, err := newKeymap(o.Keys)
	if err != nil {
		return nil, err
	}
	m := &Model{o: o, ctx: ctx, keys: keys, w: 80, h: 24, now: o.now(), dark: true, current: o.Current, snap: &snapshot{}, history: newHistory(), jobs: newJobs(), meters: map[int]*metering{}, real: func(path string) string { return path }}
	m.started = m.now
	m.setTheme(o.Theme)
	m.root(m.home()...)
	return m, nil
}

func (m *Model) setTheme(name string) {
	if name == "" || name == "auto" {
		name = "light"
		if m.dark {
			name = "dark"
		}
	}
	m.theme = newTheme(name, m.o.ASCII)
}

// home is where a context begins.
func (m *Model) home() []*level { return []*level{single(newAppsScreen())} }

func (m *Model) context() *Context { return &m.o.Contexts[m.current] }

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd {
	if m.o.Theme == "" || m.o.Theme == "auto" {
		return tea.RequestBackgroundColor
	}
	return nil
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	return m, m.update(msg)
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if m.w, m.h = msg.Width, msg.Height; m.w >= leastWidth {
			m.rebuild()
		}
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.setTheme(m.o.Theme)
		m.rebuild()
	case clockMsg:
		m.now = time.Time(msg)
		m.jobs.tick(m)
		return m.follow()
	case snapshotMsg:
		if msg.gen == m.gen {
			return m.gotSnapshot(msg.snap)
		}
	case readingMsg:
		if msg.gen == m.gen {
			m.reading = msg.what
		}
	case fetchedMsg:
		m.got(msg)
	case panicMsg:
		panic(fmt.Sprintf("%v\n%s", msg.value, msg.stack))
	case jobMsg:
		return m.jobs.got(m, msg)
	case tea.KeyPressMsg:
		return m.onKey(msg)
	case tea.PasteMsg:
		if m.prompt != nil {
			return m.prompt.paste(m, msg.Content)
		}
	case tea.MouseClickMsg, tea.MouseWheelMsg:
		return m.onMouse(msg)
	}
	if m.prompt != nil {
		return m.prompt.update(msg)
	}
	return nil
}

// gotSnapshot shows what the feed found.
func (m *Model) gotSnapshot(s *snapshot) tea.Cmd {
	first := m.snap.at.IsZero()
	m.snap = s
	m.history.add(s)
	if first && s.disk != nil && len(m.stack) == 1 {
		if l := m.oneApp(); l != nil {
			cmd := m.push(l)
			m.rebuild()
			return cmd
		}
	}
	m.rebuild()
	return m.fetch(m.top(), false)
}

// rebuild makes all bodies again, those below too: Esc shows them at once.
func (m *Model) rebuild() {
	for _, l := range m.stack {
		for _, f := range l.tabs {
			if f.id != 0 {
				f.screen.build(m, f)
			}
		}
	}
}

// onKey is a key: of the dialog, of the line that is typed on, of the screen.
func (m *Model) onKey(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "ctrl+c" && (m.dialog != nil || m.prompt != nil) {
		m.dialog, m.prompt = nil, nil
		return nil
	}
	if m.dialog != nil {
		return m.dialog.key(m, msg)
	}
	if m.prompt != nil {
		return m.prompt.key(m, msg)
	}
	m.message = note{}
	action := m.keys.action(msg)
	if s := msg.String(); action == "" && len(s) == 1 && s[0] >= '1' && s[0] <= '9' {
		return m.tab(int(s[0] - '1'))
	}
	return m.do(action)
}

// do carries out what a key is bound to.
func (m *Model) do(action string) tea.Cmd {
	f := m.top()
	if k, ok := f.screen.(keyer); ok {
		if cmd, done := k.key(m, f, action); done {
			return cmd
		}
	}
	switch action {
	case "":
		return nil
	case doQuit:
		return m.leave()
	case doBack:
		switch {
		case f.filter != nil:
			m.setFilter(nil)
		case !m.pop():
			m.say(dim, "this is the first screen; "+m.keys.first(doQuit)+" quits")
		}
		return m.fetch(m.top(), false)
	case doCommand:
		m.prompt = newCommandPrompt(m)
	case doFilter:
		m.prompt = newFilterPrompt(m)
	case doHelp:
		m.dialog = newHelp(m)
	case doDescribe:
		return m.describe()
	case doCopy:
		m.dialog = newCopy(m)
	case doRefresh:
		if m.feed != nil {
			m.feed.again()
		}
		return m.fetch(f, true)
	case doNextTab:
		return m.tab((m.level().at + 1) % len(m.level().tabs))
	case doPrevTab:
		return m.tab((m.level().at + len(m.level().tabs) - 1) % len(m.level().tabs))
	case doEnter:
		return m.open()
	case doActions:
		return m.chooseAction()
	case doCancel:
		return m.jobs.cancelOne(m)
	default:
		f.screen.body().do(action, m.bodyHeight())
	}
	return nil
}

// open goes below the row under the cursor.
func (m *Model) open() tea.Cmd {
	if o, ok := m.top().screen.(opener); ok {
		if l := o.open(m); l != nil {
			return m.push(l)
		}
		return nil
	}
	return m.describe()
}

// tab shows another tab of the level.
func (m *Model) tab(i int) tea.Cmd {
	l := m.level()
	if i < 0 || i >= len(l.tabs) || i == l.at {
		return nil
	}
	l.at = i
	return m.enterFrame()
}

func (m *Model) describe() tea.Cmd {
	d, ok := m.top().screen.(describer)
	if !ok {
		return nil
	}
	title, text := d.describe(m)
	if text == nil {
		return nil
	}
	return m.push(single(newTextScreen(title, text)))
}

func (m *Model) setFilter(f *filter) {
	m.top().filter = f
	m.top().screen.body().filter(f)
}

func (m *Model) say(k tone, text string) { m.message = note{safe(text), k} }

// fail says an error in one line.
func (m *Model) fail(err error) {
	s := err.Error()
	if t := tries(err); len(t) > 0 {
		s += "; try: " + t[0]
	}
	m.say(bad, strings.ReplaceAll(s, "\n", "; "))
}

// leave quits, but asks while something runs.
func (m *Model) leave() tea.Cmd {
	if n := m.jobs.running(); n > 0 {
		m.dialog = newConfirm("Quit?", []line{text(fmt.Sprintf("%s still running; quitting stops cleanly.", plural(n, "action"))), text("What was done stays; a second run continues.")}, func(m *Model) tea.Cmd {
			m.quit = true
			m.jobs.cancelAll()
			if m.jobs.running() == 0 {
				return tea.Quit
			}
			m.say(warn, "stopping cleanly …")
			return nil
		})
		return nil
	}
	m.quit = true
	return tea.Quit
}

// onMouse: the wheel scrolls, a click moves the cursor, one on the cursor opens.
func (m *Model) onMouse(msg tea.Msg) tea.Cmd {
	if m.dialog != nil || m.prompt != nil {
		return nil
	}
	body := m.top().screen.body()
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			body.do(doUp, m.bodyHeight())
		case tea.MouseWheelDown:
			body.do(doDown, m.bodyHeight())
		}
	case tea.MouseClickMsg:
		if msg.Button != tea.MouseLeft {
			return nil
		}
		if l := m.level(); len(l.tabs) > 1 && msg.Y == 2 {
			return m.tab(m.tabAt(msg.X))
		}
		if y := msg.Y - m.bodyTop(); y >= 0 && y < m.bodyHeight() && body.click(y) {
			return m.open()
		}
	}
	return nil
}
