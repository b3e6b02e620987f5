package tui

import (
	"context"
	"fmt"

	"sstool/inspect"
	"sstool/internal/human"
)

// remarksScreen lists what is wrong or remarkable anywhere.
type remarksScreen struct{ t *table }

func newRemarksScreen() *remarksScreen {
	return &remarksScreen{newTable([]col{{name: "LEVEL"}, {name: "WHERE", flex: 20}, {name: "WHAT", flex: 30, prose: true}}, "Nothing is wrong or remarkable.")}
}

func (s *remarksScreen) crumb() string   { return "remarks" }
func (s *remarksScreen) body() component { return s.t }

func (s *remarksScreen) summary(*Model, *frame) line {
	n := map[string]int{}
	for i := range s.t.rows {
		n[s.t.rows[i].data.(inspect.Remark).Level]++
	}
	return line{}.add(bad, plural(n[inspect.Problem], "problem")).add(dim, ", ").add(warn, plural(n[inspect.Warning], "warning")).add(dim, ", "+plural(n[inspect.Note], "note"))
}

func (s *remarksScreen) build(m *Model, _ *frame) {
	var rows []row
	add := func(where string, list []inspect.Remark) {
		for _, r := range list {
			rows = append(rows, row{id: where + r.What, data: r, cells: []cell{tonedCell(levelTone(r.Level), r.Level), str(where), str(r.What)}})
		}
	}
	if d := m.snap.disk; d != nil {
		add("", d.Remarks)
		add("", d.Unreadable)
		for i := range d.Apps {
			a := &d.Apps[i]
			add(a.ID, a.Remarks)
			for j := range a.Tasks {
				add(a.ID+" "+a.Tasks[j].Task, a.Tasks[j].Remarks)
			}
			for j := range a.Stores {
				add(a.ID+" "+a.Stores[j].Task+" "+a.Stores[j].Name, a.Stores[j].Remarks)
			}
		}
	}
	var sorted []row
	for _, level := range []string{inspect.Problem, inspect.Warning, inspect.Note} {
		for _, r := range rows {
			if r.data.(inspect.Remark).Level == level {
				sorted = append(sorted, r)
			}
		}
	}
	s.t.set(sorted)
}

func (s *remarksScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	return r.cells[0].text, append([]line{field("where", r.cells[1].text)}, remarkLines([]inspect.Remark{r.data.(inspect.Remark)})...)
}

func (s *remarksScreen) command(m *Model) []string { return m.inspectCommand() }
func (s *remarksScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}

// changelogsScreen lists the changelog topics of the cluster.
type changelogsScreen struct{ t *table }

func newChangelogsScreen() *changelogsScreen {
	return &changelogsScreen{newTable([]col{
		{name: "TOPIC", flex: 24}, {name: "STORE", flex: 12, prio: 3}, {name: "PARTITIONS", right: true, prio: 1}, {name: "OFFSETS", right: true}, {name: "ON BROKERS", right: true}, {name: "LOCAL STORES", right: true, prio: 2},
	}, "")}
}

func (s *changelogsScreen) crumb() string   { return "changelogs" }
func (s *changelogsScreen) body() component { return s.t }

func (s *changelogsScreen) fetch(m *Model) func(context.Context) (any, error) {
	if m.feed == nil {
		return nil
	}
	var apps []string
	if id := m.context().ApplicationID; id != "" {
		apps = append(apps, id)
	}
	for _, a := range m.apps("") {
		if a.ID != "" && !slicesHas(apps, a.ID) {
			apps = append(apps, a.ID)
		}
	}
	conn := m.connection()
	return func(ctx context.Context) (any, error) {
		client, err := conn.get(ctx)
		if err != nil {
			return nil, err
		}
		return inspect.ListChangelogs(ctx, client, apps)
	}
}

// mark asks again with every poll.
func (s *changelogsScreen) mark(m *Model) string { return m.snap.at.String() }

func (s *changelogsScreen) summary(m *Model, f *frame) line {
	l, ok := f.data.(*inspect.ChangelogList)
	if !ok {
		return nil
	}
	return toned(dim, fmt.Sprintf("%s of cluster %s", plural(len(l.Topics), "changelog"), safe(l.ClusterID)))
}

func (s *changelogsScreen) build(m *Model, f *frame) {
	s.t.empty = "Asking the cluster …"
	if s.t.wrong = f.err != nil; s.t.wrong {
		s.t.empty = m.errorText(f.err)
	}
	l, ok := f.data.(*inspect.ChangelogList)
	if !ok {
		return
	}
	s.t.empty = "No changelog topics."
	local := map[string]int{}
	for _, a := range m.apps("") {
		for i := range a.Stores {
			local[a.Stores[i].Offsets.Topic]++
		}
	}
	var rows []row
	for i := range l.Topics {
		t := &l.Topics[i]
		held, size := missing(), missing()
		if t.Offsets != nil {
			held = count(*t.Offsets)
		}
		if t.Bytes != nil {
			size = bytesCell(*t.Bytes)
		}
		rows = append(rows, row{id: t.Topic, data: t, cells: []cell{str(t.Topic), str(t.Store), count(int64(t.Partitions)), held, size, count(int64(local[t.Topic]))}})
	}
	s.t.set(rows)
}

func (s *changelogsScreen) open(*Model) *level {
	if r := s.t.current(); r != nil {
		t := r.data.(*inspect.ChangelogEntry)
		return single(newTopicScreen(t.App, t.Topic))
	}
	return nil
}

func (s *changelogsScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	t := r.data.(*inspect.ChangelogEntry)
	out := []line{field("topic", t.Topic), field("application", t.App), field("store", t.Store), field("partitions", human.Count(int64(t.Partitions))), field("offsets held", offsetText(t.Offsets))}
	if t.Bytes != nil {
		out = append(out, field("on brokers", human.Bytes(*t.Bytes)))
	}
	if t.Why != "" {
		out = append(out, fieldIn("not measured", warn, t.Why))
	}
	return safe(t.Topic), out
}

func (s *changelogsScreen) command(m *Model) []string {
	if r := s.t.current(); r != nil {
		return append([]string{"sstool", "inspect", "changelog", r.data.(*inspect.ChangelogEntry).Topic}, m.context().Flags...)
	}
	return nil
}

func (s *changelogsScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}
