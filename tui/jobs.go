package tui

import (
	"context"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/human"
	"sstool/internal/op"
)

// Subject is what an action is about: a store, or with Store empty a whole
// application.
type Subject struct {
	App, AppDir string
	Task, Store string
	Dir         string
	Topic       string
}

// Action is something that changes state, or works for long. It shows its plan
// before it is done. The engines do the work: an Action only leads to them.
type Action struct {
	Name    string // "compact", "measure a restore", …
	Subject Subject
	// Writes says that it changes what is there: it needs AllowWrites.
	Writes bool
	// Type is what must be typed before it is done; "": y is enough.
	Type string
	// Plan looks and changes nothing. The steps are the engine's own.
	Plan func(ctx context.Context, answer string) (*Planned, error)
	// Ask is what has to be known before, "new name: "; "": nothing. Help says
	// more of it.
	Ask, Help string
	// Command is the command line that does the same.
	Command []string
}

// Planned is an action that can be done.
type Planned struct {
	Steps    []string
	Warnings []string
	// Apply does it. The result is the command's JSON document, the report the
	// text that the command would print.
	Apply func(ctx context.Context, sink op.Sink) (result any, report string, err error)
	// Close frees what the plan holds, applied or not; nil: nothing.
	Close func()
}

// jobs are the actions that run or ran.
type jobs struct {
	list   []*job // newest last
	ticks  bool   // a tick is on its way
	noTick bool   // tests move the time themselves
	wg     sync.WaitGroup
}

// job is one action that was begun.
type job struct {
	id      int
	action  Action
	planned *Planned
	began   time.Time
	ended   time.Time
	running bool
	result  any
	report  string
	err     error
	cancel  context.CancelFunc
	state   jobState // what was drawn last
	live    *jobLive
}

// jobState is what an action told of itself.
type jobState struct {
	phase  string
	last   op.Event // newest progress
	rates  []float64
	done   []op.Event // items that ended
	warned []op.Event
}

// jobLive receives events from the engine; the model copies it when it draws.
type jobLive struct {
	mu   sync.Mutex
	s    jobState
	prev op.Event
	at   time.Time
}

const (
	ratesKept = 400
	itemsKept = 1000
)

// sink notes an event and returns: a slow terminal slows nobody.
func (l *jobLive) sink(e op.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Type {
	case op.Phase:
		l.s.phase = e.Name
		if e.Message != "" {
			l.s.phase = e.Message
		}
		l.prev, l.at = op.Event{}, time.Time{}
	case op.Progress:
		now := time.Now()
		if d := now.Sub(l.at); !l.at.IsZero() && d >= 200*time.Millisecond {
			l.s.rates = append(l.s.rates, max(0, float64(e.Done-l.prev.Done)/d.Seconds()))
			if len(l.s.rates) > ratesKept {
				l.s.rates = append(l.s.rates[:0:0], l.s.rates[len(l.s.rates)-ratesKept:]...)
			}
			l.prev, l.at = e, now
		} else if l.at.IsZero() {
			l.prev, l.at = e, now
		}
		l.s.last = e
	case op.Item:
		l.s.done = append(l.s.done, e)
		if len(l.s.done) > itemsKept {
			l.s.done = append(l.s.done[:0:0], l.s.done[len(l.s.done)-itemsKept:]...)
		}
	case op.Warning:
		if len(l.s.warned) < itemsKept {
			l.s.warned = append(l.s.warned, e)
		}
	}
}

func (l *jobLive) copy() jobState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.s
}

// jobMsg is news of an action: planned, a tick, or ended.
type jobMsg struct {
	tick    bool
	action  *Action
	planned *Planned
	id      int
	result  any
	report  string
	err     error
}

func newJobs() *jobs { return &jobs{} }

func (j *jobs) running() int {
	n := 0
	for _, x := range j.list {
		if x.running {
			n++
		}
	}
	return n
}

// actions are what can be done to what is under the cursor.
func (m *Model) actions() []Action {
	if m.o.Actions == nil {
		return nil
	}
	s, ok := m.subject()
	if !ok {
		return nil
	}
	return m.o.Actions(m.context(), s)
}

// chooseAction asks which.
func (m *Model) chooseAction() tea.Cmd {
	list := m.actions()
	if len(list) == 0 {
		m.say(dim, "nothing can be done here; put the cursor on a store or an application")
		return nil
	}
	c := &choice{title: "Actions"}
	s := list[0].Subject
	what := "application " + safe(s.App)
	if s.Store != "" {
		what = "store " + safe(s.Store) + ", task " + safe(s.Task)
	}
	c.text = []line{toned(dim, what)}
	for i, a := range list {
		key := fmt.Sprint(i + 1)
		label := a.Name
		if a.Writes && !m.o.AllowWrites {
			label += "  (needs --allow-writes)"
		}
		c.options = append(c.options, option{key, label, func(m *Model) tea.Cmd { return m.plan(a) }})
	}
	m.dialog = c
	return nil
}

// restore plans the measurement of what is under the cursor, or else of the
// only application.
func (m *Model) restore() tea.Cmd {
	for _, a := range m.actions() {
		if !a.Writes && a.Ask == "" {
			return m.plan(a)
		}
	}
	m.say(dim, "nothing to restore here: put the cursor on a store or an application, in a context with a cluster")
	return nil
}

// plan asks the engine what would be done.
func (m *Model) plan(a Action) tea.Cmd {
	if a.Writes && !m.o.AllowWrites {
		m.say(warn, "this dashboard is read only; start it with --allow-writes to "+a.Name)
		return nil
	}
	if a.Ask == "" {
		return m.planWith(a, "")
	}
	m.prompt = newPrompt(m, a.Ask, "", a.Help, func(m *Model, value string) tea.Cmd {
		if value == "" {
			m.say(dim, a.Name+": nothing was done")
			return nil
		}
		return m.planWith(a, value)
	})
	return nil
}

func (m *Model) planWith(a Action, answer string) tea.Cmd {
	m.say(dim, "planning: "+a.Name+" …")
	ctx := m.ctx
	return func() tea.Msg {
		p, err := a.Plan(ctx, answer)
		return jobMsg{action: &a, planned: p, err: err}
	}
}

// got handles news of actions.
func (j *jobs) got(m *Model, msg jobMsg) tea.Cmd {
	switch {
	case msg.tick:
		j.ticks = false
		j.tick(m)
		return j.again()
	case msg.action != nil:
		m.message = note{}
		if msg.err != nil {
			return m.push(single(newTextScreen(msg.action.Name, append([]line{nil, toned(strong, "  It cannot be done:")}, errorLines(msg.err)...))))
		}
		m.dialog = newPlanDialog(m, *msg.action, msg.planned)
		return nil
	}
	for _, x := range j.list {
		if x.id == msg.id {
			x.running, x.ended, x.result, x.report, x.err = false, m.o.now(), msg.result, msg.report, msg.err
			x.state = x.live.copy()
			x.cancel()
			if x.planned.Close != nil {
				x.planned.Close()
			}
			switch {
			case m.quit && j.running() == 0:
				return tea.Quit
			case x.err != nil && op.KindOf(x.err) == op.Declined:
				m.say(warn, x.action.Name+": cancelled; :log has what was done")
			case x.err != nil:
				m.fail(fmt.Errorf("%s: %w", x.action.Name, x.err))
			default:
				m.say(good, x.action.Name+": done; :log has the result")
			}
			if m.feed != nil {
				m.feed.again()
			}
			m.rebuild()
		}
	}
	return nil
}

// start begins a planned action and shows it.
func (m *Model) start(a Action, p *Planned) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	x := &job{id: len(m.jobs.list) + 1, action: a, planned: p, began: m.o.now(), running: true, cancel: cancel, live: &jobLive{}}
	m.jobs.list = append(m.jobs.list, x)
	m.jobs.wg.Add(1)
	id, live := x.id, x.live
	work := func() tea.Msg {
		defer m.jobs.wg.Done()
		result, report, err := p.Apply(ctx, live.sink)
		return jobMsg{id: id, result: result, report: report, err: err}
	}
	return tea.Batch(m.push(single(newJobScreen(x))), work, m.jobs.again())
}

// again asks for the next tick while something runs.
func (j *jobs) again() tea.Cmd {
	if j.ticks || j.noTick || j.running() == 0 {
		return nil
	}
	j.ticks = true
	return tea.Tick(250*time.Millisecond, func(time.Time) tea.Msg { return jobMsg{tick: true} })
}

// tick takes over what running actions told.
func (j *jobs) tick(m *Model) {
	for _, x := range j.list {
		if x.running {
			x.state = x.live.copy()
		}
	}
	if f := m.top(); f.id != 0 {
		if _, ok := f.screen.(*jobScreen); ok {
			f.screen.build(m, f)
		}
		if _, ok := f.screen.(*logScreen); ok {
			f.screen.build(m, f)
		}
	}
}

// cancelOne asks the action that is shown, or the newest that runs, to stop
// where it is safe.
func (j *jobs) cancelOne(m *Model) tea.Cmd {
	var x *job
	if s, ok := m.top().screen.(*jobScreen); ok && s.j.running {
		x = s.j
	}
	for _, other := range j.list {
		if x == nil && other.running {
			x = other
		}
	}
	if x == nil {
		m.say(dim, "nothing runs")
		return nil
	}
	m.dialog = newConfirm("Cancel "+x.action.Name+"?", []line{text("It stops where it is safe; what was done stays,"), text("and a second run continues.")}, func(m *Model) tea.Cmd {
		x.cancel()
		m.say(warn, "stopping cleanly …")
		return nil
	})
	return nil
}

func (j *jobs) cancelAll() {
	for _, x := range j.list {
		if x.running {
			x.cancel()
		}
	}
}

// wait returns when nothing runs any more: the program does not end in the
// middle of a step.
func (j *jobs) wait() {
	j.cancelAll()
	j.wg.Wait()
}

// short is what the corner says while something runs.
func (j *jobs) short(m *Model) line {
	for i := len(j.list) - 1; i >= 0; i-- {
		x := j.list[i]
		if !x.running {
			continue
		}
		s := x.action.Name
		if e := x.state.last; e.Total > 0 {
			s += " " + human.Share(float64(e.Done), float64(e.Total))
		}
		if n := j.running(); n > 1 {
			s += fmt.Sprintf(" and %d more", n-1)
		}
		return toned(warn, s+" ")
	}
	return nil
}
