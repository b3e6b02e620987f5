package tui

import (
	"fmt"

	"sstool/inspect"
	"sstool/internal/human"
)

// tasksScreen lists the tasks of an application, or of all.
type tasksScreen struct {
	app string // "": all
	t   *table
}

func newTasksScreen(app string) *tasksScreen {
	cols := []col{
		{name: "TASK"}, {name: "STORES", right: true}, {name: "SIZE", right: true}, {name: "KEYS", right: true, prio: 2}, {name: "TOMBSTONES", right: true, prio: 3},
		{name: "LAG", right: true}, {name: "REPLAY", right: true, prio: 2}, {name: "REMARKS", right: true, prio: 1}, {name: "NEWEST FILE", right: true, prio: 4},
	}
	if app == "" {
		cols = append([]col{{name: "APPLICATION", flex: 10}}, cols...)
	}
	return &tasksScreen{app, newTable(cols, "No tasks.")}
}

// taskData is what a row stands for.
type taskData struct {
	app  *inspect.MapApp
	task *inspect.MapTask
}

func (s *tasksScreen) crumb() string {
	if s.app == "" {
		return "tasks"
	}
	return s.app
}
func (s *tasksScreen) body() component { return s.t }

func (s *tasksScreen) summary(m *Model, _ *frame) line {
	size := int64(0)
	for i := range s.t.rows {
		size += s.t.rows[i].data.(taskData).task.Size
	}
	return toned(dim, fmt.Sprintf("%s, %s", plural(len(s.t.rows), "task"), human.Bytes(size)))
}

func (s *tasksScreen) build(m *Model, _ *frame) {
	s.t.empty, s.t.wrong = m.nothingYet()
	s.t.hide(m.context().Connect == nil, "LAG", "REPLAY", "TREND")
	var rows []row
	for _, a := range m.apps(s.app) {
		for i := range a.Tasks {
			t := &a.Tasks[i]
			r := taskRow(m, a, t)
			if s.app == "" {
				r.cells = append([]cell{str(a.ID)}, r.cells...)
			}
			rows = append(rows, r)
		}
	}
	s.t.set(rows)
}

// apps are the applications of the snapshot, or the one of that name.
func (m *Model) apps(name string) []*inspect.MapApp {
	var out []*inspect.MapApp
	if m.snap.disk != nil {
		for i := range m.snap.disk.Apps {
			if a := &m.snap.disk.Apps[i]; name == "" || a.ID == name {
				out = append(out, a)
			}
		}
	}
	return out
}

func taskRow(m *Model, a *inspect.MapApp, t *inspect.MapTask) row {
	var sum taskSum
	remarks := append([]inspect.Remark{}, t.Remarks...)
	for i := range a.Stores {
		if st := &a.Stores[i]; st.Task == t.Task {
			sum.add(st)
			remarks = append(remarks, st.Remarks...)
		}
	}
	name := t.Task
	if name == "" {
		name = "(none)"
	}
	return row{id: a.Dir + "/" + t.Task, data: taskData{a, t}, cells: []cell{
		str(name), count(int64(t.Stores)), bytesCell(t.Size), keysCell(!sum.keysUnknown, sum.keys, !sum.keysGuessed), shareCell(sum.deletes, sum.entries),
		lagCell(sum.lagKnown, sum.lag), numberCell(sum.lagKnown, sum.replay), remarksCell(remarks), agoCell(m, sum.newest()),
	}}
}

func numberCell(known bool, n int64) cell {
	if !known {
		return missing()
	}
	return count(n)
}

// shareCell is a part of a whole in per cent, hotter when it is large.
func shareCell(part, whole int64) cell {
	if whole == 0 {
		return missing()
	}
	share := float64(part) / float64(whole)
	c := num(share, human.Share(float64(part), float64(whole)))
	switch {
	case part == 0:
		return num(0, "0").in(dim)
	case share >= 0.5:
		return c.in(bad)
	case share >= 0.2:
		return c.in(warn)
	}
	return c
}

func (s *tasksScreen) open(m *Model) *level {
	if r := s.t.current(); r != nil {
		d := r.data.(taskData)
		return single(newStoresScreen(d.app.ID, d.task.Task))
	}
	return nil
}

func (s *tasksScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	d := r.data.(taskData)
	out := []line{field("application", d.app.ID), field("task", d.task.Task), field("directory", d.task.Dir), field("size", human.Bytes(d.task.Size)), field("stores", fmt.Sprint(d.task.Stores))}
	if d.task.Unread != "" {
		out = append(out, fieldIn(".checkpoint", bad, d.task.Unread))
	}
	for _, o := range d.task.Others {
		out = append(out, field("no store for", fmt.Sprintf("%s-%d at %s", o.Topic, o.Partition, offsetText(o.Offset))))
	}
	remarks := append([]inspect.Remark{}, d.task.Remarks...)
	out = append(out, nil, title("Stores"))
	for i := range d.app.Stores {
		if st := &d.app.Stores[i]; st.Task == d.task.Task {
			out = append(out, text("  "+safe(st.Name)+"  "+human.Bytes(st.Size)))
			remarks = append(remarks, storeRemarks(st)...)
		}
	}
	return "task " + safe(d.task.Task), append(out, remarkLines(remarks)...)
}

func offsetText(n *int64) string {
	if n == nil {
		return "none"
	}
	return human.Count(*n)
}

func (s *tasksScreen) command(m *Model) []string { return m.inspectCommand("--sum-by", "task") }

func (s *tasksScreen) document(m *Model) any {
	if r := s.t.current(); r != nil {
		return r.data.(taskData).task
	}
	return nil
}
