package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"sstool/inspect"
)

// oneApp goes straight to the stores when there is only one application.
func (m *Model) oneApp() *level {
	if len(m.snap.disk.Apps) == 1 {
		return single(newStoresScreen(m.snap.disk.Apps[0].ID, ""))
	}
	return nil
}

// subject is what is under the cursor: a store or an application.
func (m *Model) subject() (Subject, bool) {
	switch s := m.top().screen.(type) {
	case *appsScreen:
		if r := s.t.current(); r != nil {
			switch a := r.data.(type) {
			case *inspect.MapApp:
				return Subject{App: a.ID, AppDir: a.Dir}, true
			case string:
				return Subject{App: a}, true
			}
		}
	case *tasksScreen:
		if r := s.t.current(); r != nil {
			a := r.data.(taskData).app
			return Subject{App: a.ID, AppDir: a.Dir}, true
		}
	case *storesScreen:
		if r := s.t.current(); r != nil {
			return m.storeSubject(r.data.(*inspect.MapStore)), true
		}
	case interface {
		store(*Model) *inspect.MapStore
	}:
		if st := s.store(m); st != nil {
			return m.storeSubject(st), true
		}
	}
	return Subject{}, false
}

func (m *Model) storeSubject(s *inspect.MapStore) Subject {
	out := Subject{App: s.App, Task: s.Task, Store: s.Name, Dir: s.Dir, Topic: s.Offsets.Topic}
	for _, a := range m.apps(s.App) {
		if a.Dir != "" && strings.HasPrefix(s.Dir, a.Dir) {
			out.AppDir = a.Dir
		}
	}
	return out
}

// contextsScreen lists the contexts.
type contextsScreen struct{ t *table }

func newContextsScreen() *contextsScreen {
	return &contextsScreen{newTable([]col{{name: ""}, {name: "CONTEXT", flex: 10}, {name: "CLUSTER", flex: 16}, {name: "APPLICATION", flex: 10, prio: 1}, {name: "PATH", flex: 16}}, "No contexts.")}
}

func (s *contextsScreen) crumb() string   { return "contexts" }
func (s *contextsScreen) body() component { return s.t }
func (s *contextsScreen) summary(*Model, *frame) line {
	return toned(dim, plural(len(s.t.rows), "context"))
}
func (s *contextsScreen) build(m *Model, _ *frame) {
	var rows []row
	for i, c := range m.o.Contexts {
		mark := ""
		if i == m.current {
			mark = m.theme.glyphs.dot
		}
		rows = append(rows, row{id: c.Name, data: i, cells: []cell{tonedCell(good, mark), str(textIf(c.Name, "(flags)")), str(textIf(c.Cluster, "-")), str(textIf(c.ApplicationID, "-")), str(textIf(c.Path, "-"))}})
	}
	s.t.set(rows)
}

// key goes to the context under the cursor: Enter replaces all screens.
func (s *contextsScreen) key(m *Model, _ *frame, action string) (tea.Cmd, bool) {
	if r := s.t.current(); action == doEnter && r != nil {
		return m.switchTo(r.data.(int)), true
	}
	return nil, false
}
func (s *contextsScreen) hints() []string { return []string{doEnter} }

// toContext goes to a context by name, or lists them.
func (m *Model) toContext(name string) tea.Cmd {
	if name == "" {
		return m.push(single(newContextsScreen()))
	}
	for i := range m.o.Contexts {
		if m.o.Contexts[i].Name == name {
			return m.switchTo(i)
		}
	}
	m.say(bad, "no context "+name+"; there are: "+strings.Join(contextNames(m), ", "))
	return nil
}

// switchTo looks at another context. Actions of the one before go on.
func (m *Model) switchTo(i int) tea.Cmd {
	old := m.feed
	m.current, m.feed = i, nil
	m.startFeed()
	cmd := m.root(m.home()...)
	if old == nil {
		return cmd
	}
	return tea.Batch(cmd, func() tea.Msg {
		old.stop() // it may be in the middle of reading
		return nil
	})
}
