package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"sstool/inspect/doctor"
	"sstool/internal/human"
	"sstool/internal/op"
)

// doctorScreen lists what sstool doctor finds in one application.
type doctorScreen struct {
	app string // "": whatever the context has
	t   *table
}

func newDoctorScreen(app string) *doctorScreen {
	return &doctorScreen{app, newTable([]col{{name: "STATUS"}, {name: "CHECK", prio: 1}, {name: "SUBJECT", flex: 16}, {name: "FINDING", flex: 36, prose: true}, {name: "WHAT TO DO", flex: 24, prose: true, prio: 3}}, "")}
}

// startsScreen says what the next start does with each task.
type startsScreen struct {
	app string
	t   *table
}

func newStartsScreen(app string) *startsScreen {
	return &startsScreen{app, newTable([]col{{name: "APPLICATION", flex: 10, prio: 1}, {name: "TASK"}, {name: "NEXT START"}, {name: "REPLAYS", right: true}, {name: "TAKES", right: true, prio: 2}, {name: "ELSE", flex: 18}, {name: "STORES", right: true, prio: 3}, {name: "WHY", flex: 24, prose: true}}, "")}
}

// diagnose opens the findings of an application: the one that was typed, that
// under the cursor, or the only one.
func (m *Model) diagnose(app string) tea.Cmd {
	if s, ok := m.subject(); app == "" && ok {
		app = s.App
	}
	l := tabbed(newDoctorScreen(app), newStartsScreen(app))
	l.name = "doctor"
	return m.push(l)
}

// doctorOptions are what the context has for the doctor.
func (m *Model) doctorOptions(app string) doctor.Options {
	c := m.context()
	o := doctor.Options{AppID: cmp.Or(app, c.ApplicationID), Path: m.real(c.Path), Config: c.AppConfig, Now: m.now}
	if apps := m.apps(o.AppID); o.AppID != "" && len(apps) == 1 && apps[0].Dir != "" {
		o.Path = m.real(apps[0].Dir)
	}
	for i := range c.Topologies {
		if x := &c.Topologies[i]; len(x.Topologies) == 1 && (m.topologyApp(x) == o.AppID || o.AppID == "") {
			o.Topology = &x.Topologies[0]
		}
	}
	return o
}

// doctorFetch examines the application; areas none is all.
func (m *Model) doctorFetch(app string, areas ...string) func(context.Context) (any, error) {
	o := m.doctorOptions(app)
	o.Areas = areas
	conn, cluster, wrong := m.connection(), m.context().Connect != nil, m.context().AppConfigErr
	return func(ctx context.Context) (any, error) {
		if wrong != nil {
			return nil, wrong
		}
		if cluster {
			o.Client, o.ClientErr = conn.get(ctx)
		}
		return doctor.Run(ctx, o, nil)
	}
}

// doctorMark changes when there is something else to examine: it is no light
// work, so files that come and go do not count; Ctrl-R examines again.
func (m *Model) doctorMark() string {
	if m.snap.disk == nil {
		return fmt.Sprint(m.snap.asked)
	}
	return fmt.Sprint(len(m.snap.disk.Apps), m.snap.asked)
}

// doctorEmpty is what a table says that has no rows.
func doctorEmpty(m *Model, f *frame, t *table) {
	t.empty = "Examining …"
	if t.wrong = f.err != nil; t.wrong {
		t.empty = m.errorText(f.err)
	}
}

func (m *Model) doctorCommand(app string) []string {
	c := m.context()
	out := []string{"sstool", "doctor"}
	if app = cmp.Or(app, c.ApplicationID); app != "" {
		out = append(out, "--application-id", app)
	}
	if c.Path != "" {
		dir := c.Path
		if apps := m.apps(app); app != "" && len(apps) == 1 && apps[0].Dir != "" {
			dir = apps[0].Dir
		}
		out = append(out, "--state-dir", dir)
	}
	if len(c.TopologyArgs) == 1 {
		_, file, named := strings.Cut(c.TopologyArgs[0], "=")
		if !named {
			file = c.TopologyArgs[0]
		}
		out = append(out, "--topology", file)
	}
	if c.AppConfig != nil {
		out = append(out, "--app-config", c.AppConfig.File)
	}
	return append(out, c.Flags...)
}

func (s *doctorScreen) crumb() string   { return "findings" }
func (s *doctorScreen) body() component { return s.t }
func (s *doctorScreen) summary(_ *Model, f *frame) line {
	r, ok := f.data.(*doctor.Result)
	if !ok {
		return nil
	}
	n := r.Count
	return line{}.add(bad, failedSince(f)).add(dim, textIf(safe(r.AppID), "no application")+": ").add(bad, plural(n.Problems, "problem")).add(dim, ", ").add(warn, plural(n.Warnings, "warning")).
		add(dim, fmt.Sprintf(", %s ok, %s not measured, at %s", human.Count(int64(n.OK)), human.Count(int64(n.Unmeasured)), f.at.Format("15:04:05")))
}

// failedSince is why there is nothing newer than what is shown.
func failedSince(f *frame) string {
	if f.err == nil {
		return ""
	}
	return "now: " + safe(f.err.Error()) + "; before: "
}
func (s *doctorScreen) mark(m *Model) string { return m.doctorMark() }
func (s *doctorScreen) fetch(m *Model) func(context.Context) (any, error) {
	return m.doctorFetch(s.app)
}

func (s *doctorScreen) build(m *Model, f *frame) {
	doctorEmpty(m, f, s.t)
	r, ok := f.data.(*doctor.Result)
	if !ok {
		return
	}
	s.t.empty = "Nothing was looked at."
	s.t.set(findingRows(r.Findings))
}

// findingWeight puts checks that were not made at all, as something was not
// given, behind all that was looked at.
func findingWeight(x *op.Finding) int {
	if x.Status == op.Unmeasured && x.Subject == "" && len(x.Evidence) == 0 {
		return op.OK.Weight() + 1
	}
	return x.Status.Weight()
}

// findingRows are findings, the heaviest first.
func findingRows(list []op.Finding) []row {
	var rows []row
	for i := range list {
		x := &list[i]
		what := x.Title
		if x.Reason != "" {
			what += ": " + x.Reason
		}
		rows = append(rows, row{id: x.ID + "\x00" + x.Subject + "\x00" + x.Title, data: x,
			cells: []cell{tonedCell(statusTone(x.Status), string(x.Status)), str(x.ID), str(textIf(x.Subject, "-")), str(what), str(textIf(strings.Join(x.Remedy, "; "), "-"))}})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return findingWeight(a.data.(*op.Finding)) - findingWeight(b.data.(*op.Finding))
	})
	return rows
}

func statusTone(s op.Status) tone {
	switch s {
	case op.Wrong:
		return bad
	case op.Attention:
		return warn
	case op.OK:
		return good
	}
	return dim
}

// findingLines are everything about a finding.
func findingLines(x *op.Finding) []line {
	out := []line{field("check", x.ID), fieldIn("status", statusTone(x.Status), string(x.Status))}
	if x.Subject != "" {
		out = append(out, field("subject", x.Subject))
	}
	out = append(out, nil, text(safe(x.Title)))
	if x.Reason != "" {
		out = append(out, nil, title("Why it could not be measured"), text(safe(x.Reason)))
	}
	if len(x.Evidence) > 0 {
		out = append(out, nil, title("Evidence"))
		for _, e := range x.Evidence {
			out = append(out, text(safe(e)))
		}
	}
	return append(out, consequenceLines(x)...)
}

// consequenceLines are what a finding leads to, and what helps.
func consequenceLines(x *op.Finding) (out []line) {
	if x.Consequence != "" {
		out = append(out, nil, title("What will happen"), text(safe(x.Consequence)))
	}
	if len(x.Remedy) > 0 {
		out = append(out, nil, title("What to do"))
		for _, d := range x.Remedy {
			out = append(out, text(safe(d)))
		}
	}
	return out
}

func (s *doctorScreen) describe(*Model) (string, []line) {
	if r := s.t.current(); r != nil {
		x := r.data.(*op.Finding)
		return safe(x.ID), findingLines(x)
	}
	return "", nil
}
func (s *doctorScreen) command(m *Model) []string { return m.doctorCommand(s.app) }
func (s *doctorScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}

func (s *startsScreen) crumb() string   { return "next start" }
func (s *startsScreen) body() component { return s.t }
func (s *startsScreen) summary(_ *Model, f *frame) line {
	r, ok := f.data.(*doctor.Result)
	if !ok {
		return nil
	}
	will := map[string]int{}
	var order []string
	records, known := int64(0), true
	for _, t := range r.Tasks {
		w := textIf(t.Will, untold)
		if will[w]++; !slices.Contains(order, w) {
			order = append(order, w)
		}
		if t.Records == nil {
			known = false
		} else {
			records += *t.Records
		}
	}
	out := line{}.add(bad, failedSince(f)).add(dim, plural(len(r.Tasks), "task")+" here: ")
	for i, w := range order {
		if i > 0 {
			out = out.add(dim, ", ")
		}
		out = out.add(willTone(w), fmt.Sprintf("%s %s", human.Count(int64(will[w])), safe(w)))
	}
	if known && len(r.Tasks) > 0 {
		out = out.add(dim, ", "+human.Count(records)+" records to replay")
	}
	return out.add(dim, "; Kafka Streams "+textIf(safe(r.Kafka), "not known")+", "+textIf(safe(r.Guarantee), "guarantee not known"))
}
func (s *startsScreen) mark(m *Model) string { return m.doctorMark() }
func (s *startsScreen) fetch(m *Model) func(context.Context) (any, error) {
	return m.doctorFetch(s.app, doctor.AreaRestart)
}

// willTone is how good what will happen is.
func willTone(will string) tone {
	switch {
	case will == doctor.WillNothing, will == doctor.WillResume:
		return good
	case will == doctor.WillRestore:
		return warn
	case will == doctor.WillWipe, will == doctor.WillFail:
		return bad
	}
	return dim
}

// untold stands for what cannot be told.
const untold = "cannot be told"

// elses are the starts that are others than the one to expect.
func elses(t *doctor.TaskStart) (out []startIf) {
	if t.ExactlyOnce != nil {
		out = append(out, startIf{"exactly-once", *t.ExactlyOnce})
	}
	if t.Killed != nil {
		out = append(out, startIf{"killed now", *t.Killed})
	}
	return out
}

// startIf is a start and when it is that.
type startIf struct {
	when string
	doctor.Start
}

func (s *startsScreen) build(m *Model, f *frame) {
	doctorEmpty(m, f, s.t)
	r, ok := f.data.(*doctor.Result)
	if !ok {
		return
	}
	s.t.empty = "No task lies here: what the next start does with one on another host is seen there."
	if m.context().Path == "" {
		s.t.empty = "There is no state directory in this context.\ntry: start with --state-dir DIR"
	}
	var rows []row
	several, alternatives := false, false
	for i := range r.Tasks {
		t := &r.Tasks[i]
		several = several || t.App != r.Tasks[0].App
		other := missing()
		for _, e := range elses(t) {
			alternatives = true
			if other.tone == dim {
				other = tonedCell(willTone(e.Will), e.when+": "+textIf(e.Will, untold))
			} else {
				other.text += ", " + e.when + ": " + textIf(e.Will, untold)
			}
		}
		rows = append(rows, row{id: t.App + "\x00" + t.Task, data: t, cells: []cell{str(t.App), str(t.Task), tonedCell(willTone(t.Will), textIf(t.Will, untold)), recordsCell(t.Records), secondsCell(t.Seconds), other, num(float64(len(t.Stores)), fmt.Sprint(len(t.Stores))), str(t.Why)}})
	}
	s.t.hide(!several, "APPLICATION")
	s.t.hide(!alternatives, "ELSE")
	s.t.set(rows)
}

func recordsCell(n *int64) cell {
	if n == nil {
		return missing()
	}
	return num(float64(*n), human.Count(*n))
}

func secondsCell(s *float64) cell {
	if s == nil {
		return missing()
	}
	return num(*s, human.Duration(time.Duration(*s*float64(time.Second))))
}

func (s *startsScreen) describe(*Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	t := r.data.(*doctor.TaskStart)
	out := []line{field("application", t.App), field("task", t.Task)}
	say := func(when string, x doctor.Start) {
		out = append(out, nil, fieldIn(when, willTone(x.Will), textIf(x.Will, untold)), field("replays", recordsCell(x.Records).text), field("takes", secondsCell(x.Seconds).text), field("why", x.Why))
	}
	say("next start", t.Start)
	for _, e := range elses(t) {
		say(e.when, e.Start)
	}
	rows := [][]line{{toned(header, "STORE"), toned(header, "WILL"), toned(header, "REPLAYS"), toned(header, "WHY")}}
	for _, st := range t.Stores {
		rows = append(rows, []line{text(safe(st.Store)), toned(willTone(st.Will), textIf(st.Will, untold)), text(recordsCell(st.Records).text), text(safe(st.Why))})
	}
	if len(t.Stores) > 0 {
		out = append(append(out, nil), columns(rows)...)
	}
	return "task " + safe(t.Task), out
}
func (s *startsScreen) command(m *Model) []string {
	return append(m.doctorCommand(s.app), "--area", doctor.AreaRestart)
}
func (s *startsScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}
