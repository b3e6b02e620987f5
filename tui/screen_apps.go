package tui

import (
	"fmt"

	"sstool/inspect"
	"sstool/internal/human"
)

// appsScreen lists the applications of the context.
type appsScreen struct{ t *table }

func newAppsScreen() *appsScreen {
	return &appsScreen{newTable([]col{
		{name: "APPLICATION", flex: 16}, {name: "TASKS", right: true}, {name: "STORES", right: true}, {name: "SIZE", right: true},
		{name: "KEYS", right: true, prio: 2}, {name: "LAG", right: true, prio: 1}, {name: "REMARKS", right: true, prio: 1}, {name: "RUNS", prio: 3}, {name: "OPENS FROM", prio: 4},
	}, "")}
}

func (s *appsScreen) crumb() string   { return "applications" }
func (s *appsScreen) body() component { return s.t }

func (s *appsScreen) summary(m *Model, _ *frame) line {
	if m.snap.topics != nil {
		return toned(dim, fmt.Sprintf("changelogs of %s; no state directory", plural(len(s.t.rows), "application")))
	}
	if m.snap.disk == nil {
		return nil
	}
	size, stores := int64(0), 0
	for i := range m.snap.disk.Apps {
		size += m.snap.disk.Apps[i].Size
		stores += len(m.snap.disk.Apps[i].Stores)
	}
	return toned(dim, fmt.Sprintf("%s, %s, %s", plural(len(m.snap.disk.Apps), "application"), plural(stores, "store"), human.Bytes(size)))
}

func (s *appsScreen) build(m *Model, f *frame) {
	s.t.empty, s.t.wrong = m.nothingYet()
	s.t.hide(m.context().Connect == nil, "LAG", "REPLAY", "TREND")
	var rows []row
	switch {
	case m.snap.disk != nil:
		for i := range m.snap.disk.Apps {
			rows = append(rows, appRow(&m.snap.disk.Apps[i]))
		}
	case m.snap.topics != nil:
		rows = topicApps(m.snap.topics)
	}
	s.t.set(rows)
}

// nothingYet is what an empty screen says: reading, an error, or nothing there.
func (m *Model) nothingYet() (say string, wrong bool) {
	s := m.snap
	switch {
	case s.diskErr != nil:
		return m.errorText(s.diskErr), true
	case m.context().Path == "" && s.kafkaErr != nil:
		return m.errorText(s.kafkaErr), true
	case s.at.IsZero():
		return "Reading …", false
	case m.context().Path == "" && s.topics != nil:
		return "No changelog topics of an application.\ntry: --application-id ID, when the application has no group here", false
	case m.context().Path == "":
		return "Asking " + safe(m.context().Cluster) + " …", false
	}
	return "No store here.", false
}

func (m *Model) errorText(err error) string {
	out := safe(err.Error())
	for _, t := range tries(err) {
		out += "\ntry: " + safe(t)
	}
	return out
}

func appRow(a *inspect.MapApp) row {
	keys, exact, lag, lagKnown := int64(0), true, int64(0), false
	known := true
	for i := range a.Stores {
		st := &a.Stores[i]
		if st.Keys.Count == nil {
			known = false
		} else {
			keys += *st.Keys.Count
			exact = exact && st.Keys.Exact
		}
		if st.Cluster != nil && st.Cluster.Lag != nil {
			lag += *st.Cluster.Lag
			lagKnown = true
		}
	}
	name := a.ID
	if name == "" {
		name = "(none)"
	}
	return row{id: a.Dir + a.ID, data: a, cells: []cell{
		str(name), count(int64(len(a.Tasks))), count(int64(len(a.Stores))), bytesCell(a.Size),
		keysCell(known, keys, exact), lagCell(lagKnown, lag), remarksCell(appRemarks(a)), str(lockText(&a.Lock)), str(textOr(a.Oldest, "?")),
	}}
}

func textOr(s *string, other string) string {
	if s == nil {
		return other
	}
	return *s
}

// lockText says whether a process has the application open.
func lockText(l *inspect.MapLock) string {
	switch {
	case l.Held == nil:
		return "?"
	case !*l.Held:
		return "no"
	case l.PID != nil:
		return fmt.Sprintf("pid %d", *l.PID)
	}
	return "yes"
}

// appRemarks are the remarks of an application and all in it. Each says where
// it is of.
func appRemarks(a *inspect.MapApp) (out []inspect.Remark) {
	out = append(out, a.Remarks...)
	for i := range a.Tasks {
		out = append(out, placed("task "+a.Tasks[i].Task, a.Tasks[i].Remarks)...)
	}
	for i := range a.Stores {
		out = append(out, storeRemarks(&a.Stores[i])...)
	}
	return out
}

func storeRemarks(s *inspect.MapStore) []inspect.Remark {
	return placed("store "+s.Name+", task "+s.Task, s.Remarks)
}

func placed(where string, list []inspect.Remark) []inspect.Remark {
	out := append([]inspect.Remark{}, list...)
	for i := range out {
		if out[i].Where == "" {
			out[i].Where = where
		}
	}
	return out
}

// remarksCell counts problems and warnings; the worst gives the colour.
func remarksCell(list []inspect.Remark) cell {
	problems, warnings := 0, 0
	for _, r := range list {
		switch r.Level {
		case inspect.Problem:
			problems++
		case inspect.Warning:
			warnings++
		}
	}
	switch {
	case problems > 0:
		return num(float64(problems)*1000+float64(warnings), plural(problems, "problem")).in(bad)
	case warnings > 0:
		return num(float64(warnings), plural(warnings, "warning")).in(warn)
	}
	return num(0, "-").in(dim)
}

func count(n int64) cell { return num(float64(n), human.Count(n)) }

func bytesCell(n int64) cell { return num(float64(n), human.Bytes(n)) }

func keysCell(known bool, n int64, exact bool) cell {
	if !known {
		return missing()
	}
	mark := ""
	if !exact {
		mark = "~"
	}
	return num(float64(n), mark+human.Count(n))
}

func lagCell(known bool, n int64) cell {
	switch {
	case !known:
		return missing()
	case n == 0:
		return num(0, "0").in(good)
	case n >= 100_000:
		return num(float64(n), human.Count(n)).in(bad)
	}
	return num(float64(n), human.Count(n)).in(warn)
}

// topicApps sums the changelogs of a cluster by application.
func topicApps(l *inspect.ChangelogList) []row {
	var rows []row
	for i := 0; i < len(l.Topics); {
		j := i
		parts, bytes, held := 0, int64(0), int64(0)
		known := true
		for ; j < len(l.Topics) && l.Topics[j].App == l.Topics[i].App; j++ {
			t := &l.Topics[j]
			parts = max(parts, t.Partitions)
			known = known && t.Bytes != nil
			if t.Bytes != nil {
				bytes += *t.Bytes
			}
			if t.Offsets != nil {
				held += *t.Offsets
			}
		}
		size := missing()
		if known {
			size = bytesCell(bytes)
		}
		rows = append(rows, row{id: l.Topics[i].App, data: l.Topics[i].App, cells: []cell{
			str(l.Topics[i].App), missing(), count(int64(j - i)), size, missing(), missing(), missing(), str("?"), str("?"),
		}})
		i = j
	}
	return rows
}

func (s *appsScreen) open(m *Model) *level {
	r := s.t.current()
	if r == nil {
		return nil
	}
	if a, ok := r.data.(*inspect.MapApp); ok {
		return single(newTasksScreen(a.ID))
	}
	return single(newChangelogsScreen())
}

func (s *appsScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	a, ok := r.data.(*inspect.MapApp)
	if !ok {
		return safe(r.cells[0].text), []line{field("changelogs", r.cells[2].text), field("on disk", r.cells[3].text)}
	}
	out := []line{
		field("application", a.ID), field("directory", a.Dir), field("process id", a.ProcessID),
		field("size", human.Bytes(a.Size)), field("tasks", human.Count(int64(len(a.Tasks)))), field("stores", human.Count(int64(len(a.Stores)))),
		field("running", lockLong(&a.Lock)), field("opens from", "Kafka Streams "+textOr(a.Oldest, "?")+why(a.OldestWhy)),
	}
	if m.snap.disk != nil && m.snap.disk.Cluster != nil {
		for _, or := range m.snap.disk.Cluster.Orphans {
			if or.App == a.ID {
				out = append(out, field("no store here", or.Topic))
			}
		}
	}
	return "application " + safe(a.ID), append(out, remarkLines(appRemarks(a))...)
}

func why(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

func lockLong(l *inspect.MapLock) string {
	s := lockText(l)
	if l.Command != "" {
		s += ", " + l.Command
	}
	return s + why(l.Why)
}

// remarkLines are remarks with their cures, the worst first, the same one said
// once.
func remarkLines(list []inspect.Remark) []line {
	if len(list) == 0 {
		return []line{nil, toned(good, "nothing remarkable")}
	}
	var out []line
	for _, level := range []string{inspect.Problem, inspect.Warning, inspect.Note} {
		said := map[string]bool{}
		for _, r := range list {
			if r.Level != level || said[r.What] {
				continue
			}
			said[r.What] = true
			var where []string
			for _, other := range list {
				if other.Level == level && other.What == r.What {
					where = append(where, other.Where)
				}
			}
			head := r.Level + ": "
			if len(where) > 1 {
				head = fmt.Sprintf("%s, %d times: ", r.Level, len(where))
			}
			out = append(out, nil, line{{text: head, tone: levelTone(r.Level)}, {text: safe(r.What)}})
			for i, w := range where {
				if w != "" && i < 5 {
					out = append(out, toned(dim, "  "+safe(w)))
				}
			}
			if len(where) > 5 {
				out = append(out, toned(dim, fmt.Sprintf("  and %d more", len(where)-5)))
			}
			if r.Cure != "" {
				out = append(out, line{{text: "  try: ", tone: dim}, {text: safe(r.Cure)}})
			}
		}
	}
	return out
}

func levelTone(level string) tone {
	switch level {
	case inspect.Problem:
		return bad
	case inspect.Warning:
		return warn
	}
	return dim
}

func (s *appsScreen) command(m *Model) []string { return m.inspectCommand() }

func (s *appsScreen) document(m *Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}

// inspectCommand is the command line of the map, with the cluster if there is
// one.
func (m *Model) inspectCommand(more ...string) []string {
	c := m.context()
	out := []string{"sstool", "inspect"}
	if c.Path != "" {
		out = append(out, c.Path)
	}
	return append(append(out, c.Flags...), more...)
}
