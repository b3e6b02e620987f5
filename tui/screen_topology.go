package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/inspect/lint"
	"sstool/inspect/topodraw"
	"sstool/internal/human"
	"sstool/internal/topology"
)

// topologyScreen draws the topologies of the context, with the stores' sizes
// and lags beside them.
type topologyScreen struct{ text *textBody }

func newTopologyScreen() *topologyScreen { return &topologyScreen{newText(nil)} }

func (s *topologyScreen) crumb() string   { return "topology" }
func (s *topologyScreen) body() component { return s.text }
func (s *topologyScreen) summary(m *Model, _ *frame) line {
	n, subs, stores := 0, 0, 0
	for _, x := range m.context().Topologies {
		for i := range x.Topologies {
			n++
			subs += len(x.Topologies[i].Subtopologies)
			stores += len(x.Topologies[i].Stores())
		}
	}
	if n == 0 {
		return nil
	}
	return toned(dim, fmt.Sprintf("%s, %s, %s; sizes and lags are of the tasks seen here", plural(n, "topology"), plural(subs, "sub-topology"), plural(stores, "store")))
}

// withoutTopology says where one comes from.
func withoutTopology() []line {
	return []line{nil, toned(dim, "  No topology was given."), {{text: "  try: ", tone: dim}, {text: "start with --topology FILE, the text of topology.describe()"}}}
}

// topologyApp is the application a text is of.
func (m *Model) topologyApp(x *topology.Model) string {
	for i := range x.Topologies {
		if id := x.Topologies[i].ApplicationID; id != "" {
			return id
		}
	}
	if id := m.context().ApplicationID; id != "" {
		return id
	}
	if apps := m.apps(""); len(apps) == 1 {
		return apps[0].ID
	}
	return ""
}

func (s *topologyScreen) build(m *Model, _ *frame) {
	if len(m.context().Topologies) == 0 {
		s.text.set(withoutTopology())
		return
	}
	var out []line
	for i := range m.context().Topologies {
		x := &m.context().Topologies[i]
		app := m.topologyApp(x)
		tree := topodraw.Tree(x.Topologies, topodraw.Options{App: app, ASCII: m.theme.ascii, Printable: safe})
		sums := m.storeSums(app)
		lines := strings.Split(strings.TrimRight(tree, "\n"), "\n")
		own := map[string]bool{} // stores with a line of their own
		for _, l := range lines {
			if strings.HasPrefix(l, "[") {
				for _, name := range storesIn(l) {
					own[name] = true
				}
			}
		}
		for _, l := range lines {
			out = append(out, topologyLine(l, sums, func(store string) bool { return strings.HasPrefix(l, "[") || !own[store] }))
		}
		out = append(out, nil)
	}
	s.text.set(out)
}

// storeSums adds up the stores of an application by name.
func (m *Model) storeSums(app string) map[string]*taskSum {
	out := map[string]*taskSum{}
	for _, a := range m.apps(app) {
		for i := range a.Stores {
			st := &a.Stores[i]
			sum := out[safe(st.Name)]
			if sum == nil {
				sum = &taskSum{}
				out[safe(st.Name)] = sum
			}
			sum.add(st)
			sum.size += st.Size
			sum.tasks++
		}
	}
	return out
}

// storesIn are the stores named in brackets on a line of the tree.
func storesIn(l string) []string {
	_, rest, ok := strings.Cut(l, "[")
	if !ok {
		return nil
	}
	inside, _, _ := strings.Cut(rest, "]")
	return strings.Split(inside, ", ")
}

// topologyLine colours a line of the tree: headings, and what stands in
// brackets, which are stores. Figures are added where figures says so.
func topologyLine(l string, sums map[string]*taskSum, figures func(store string) bool) line {
	if strings.Contains(l, "Sub-topology ") {
		return toned(header, " "+l)
	}
	before, rest, ok := strings.Cut(l, "[")
	if !ok {
		return text(" " + l)
	}
	inside, after, _ := strings.Cut(rest, "]")
	out := line{{text: " " + before + "["}, {text: inside, tone: accent}, {text: "]"}}
	for _, name := range storesIn(l) {
		sum := sums[name]
		if sum == nil || !figures(name) {
			continue
		}
		out = out.add(good, fmt.Sprintf("  %s in %s", human.Bytes(sum.size), plural(sum.tasks, "task")))
		if sum.lagKnown {
			c := lagCell(true, sum.lag)
			out = out.add(dim, ", lag ").add(c.tone, c.text)
		}
		out = out.add(dim, " ")
	}
	return out.add(dim, after)
}

func (s *topologyScreen) command(m *Model) []string {
	return append([]string{"sstool", "topology", "draw"}, m.context().TopologyArgs...)
}

// lintScreen lists what the rules find in the topologies of the context.
type lintScreen struct{ t *table }

func newLintScreen() *lintScreen {
	return &lintScreen{newTable([]col{{name: "SEVERITY"}, {name: "RULE"}, {name: "SUBJECT", flex: 20}, {name: "FINDING", flex: 24, prose: true}, {name: "LINE", right: true, prio: 3}}, "")}
}

func (s *lintScreen) crumb() string   { return "lint" }
func (s *lintScreen) body() component { return s.t }
func (s *lintScreen) summary(_ *Model, f *frame) line {
	d, ok := f.data.(*linted)
	if !ok {
		return nil
	}
	n := d.res.Counts
	out := line{}.add(bad, plural(n.Errors, "error")).add(dim, ", ").add(warn, plural(n.Warnings, "warning")).add(dim, ", "+plural(n.Infos, "note"))
	if n.Suppressed > 0 {
		out = out.add(dim, ", "+human.Count(int64(n.Suppressed))+" accepted")
	}
	if len(d.res.Unchecked) > 0 {
		out = out.add(dim, ", "+plural(len(d.res.Unchecked), "rule")+" not checked: no facts")
	}
	if len(d.warned) > 0 {
		out = out.add(warn, "; "+safe(strings.Join(d.warned, "; ")))
	}
	return out
}

func (s *lintScreen) mark(m *Model) string {
	if m.snap.disk == nil {
		return ""
	}
	return fmt.Sprint(len(m.snap.disk.Apps), m.snap.asked)
}

func (s *lintScreen) fetch(m *Model) func(context.Context) (any, error) {
	if len(m.context().Topologies) == 0 {
		return nil
	}
	o := lint.Options{Now: time.Now()}
	for i := range m.context().Topologies {
		x := &m.context().Topologies[i]
		o.Inputs = append(o.Inputs, lint.Input{AppID: m.topologyApp(x), File: x.File, Topologies: x.Topologies, Problems: x.Problems})
	}
	if m.snap.disk != nil {
		o.Dirs = []lint.Dir{}
		for _, a := range m.apps("") {
			for i := range a.Stores {
				o.Dirs = append(o.Dirs, lintDir(&a.Stores[i]))
			}
		}
	}
	c, conn := m.context(), m.connection()
	return func(ctx context.Context) (any, error) {
		var d linted
		if c.LintFacts != nil {
			client, err := conn.get(ctx)
			if c.Connect != nil && err != nil {
				d.warned = append(d.warned, "not compared with the cluster: "+err.Error())
			}
			more, err := c.LintFacts(ctx, client, &o)
			if err != nil {
				return nil, err
			}
			d.warned = append(d.warned, more...)
		}
		var err error
		if d.res, err = lint.Lint(ctx, o); err != nil {
			return nil, err
		}
		return &d, nil
	}
}

// linted is what the rules find, and what could not be compared.
type linted struct {
	res    *lint.Result
	warned []string
}

func lintDir(s *inspect.MapStore) lint.Dir {
	d := lint.Dir{AppID: s.App, Task: s.Task, Subtopology: -1, Global: s.Task == "global", Name: s.Name, Segmented: s.Segmented, Path: s.Dir}
	named := s.Task
	if topology, rest, ok := strings.Cut(s.Task, "__"); ok {
		d.Topology, named = topology, rest
	}
	if sub, _, ok := strings.Cut(named, "_"); ok {
		if _, err := fmt.Sscan(sub, &d.Subtopology); err != nil {
			d.Subtopology = -1
		}
	}
	return d
}

func (s *lintScreen) build(m *Model, f *frame) {
	s.t.empty = "Judging …"
	if s.t.wrong = f.err != nil; s.t.wrong {
		s.t.empty = m.errorText(f.err)
	}
	if len(m.context().Topologies) == 0 {
		s.t.empty = "No topology was given.\ntry: start with --topology FILE, the text of topology.describe()"
	}
	d, ok := f.data.(*linted)
	if !ok {
		return
	}
	res := d.res
	s.t.empty = "Nothing to mend."
	var rows []row
	for _, level := range []lint.Severity{lint.Error, lint.Warning, lint.Info} {
		for i := range res.Findings {
			x := &res.Findings[i]
			if x.Severity != level {
				continue
			}
			k := map[lint.Severity]tone{lint.Error: bad, lint.Warning: warn, lint.Info: dim}[level]
			rows = append(rows, row{id: x.Fingerprint, data: x, cells: []cell{tonedCell(k, string(x.Severity)), str(x.Rule), str(x.Subject), str(x.Message), num(float64(x.Line), fmt.Sprint(x.Line))}})
		}
	}
	s.t.set(rows)
}

func (s *lintScreen) describe(*Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	x := r.data.(*lint.Finding)
	out := []line{field("rule", x.Rule+" "+x.Name), fieldIn("severity", r.cells[0].tone, string(x.Severity)), field("subject", x.Subject+", "+x.Kind), field("place", fmt.Sprintf("%s:%d", x.File, x.Line)), nil, text(safe(x.Message))}
	if rule, ok := lint.FindRule(x.Rule); ok {
		out = append(out, nil, title("Why"), text(safe(rule.Why)))
		fix := x.Fix
		if fix == "" {
			fix = rule.Fix
		}
		out = append(out, nil, title("What to do"), text(safe(fix)))
	}
	return safe(x.Rule), out
}

func (s *lintScreen) command(m *Model) []string {
	c := m.context()
	out := append([]string{"sstool", "lint"}, c.TopologyArgs...)
	if c.ApplicationID != "" && len(c.TopologyArgs) == 1 && !strings.Contains(c.TopologyArgs[0], "=") {
		out = append(out, "--application-id", c.ApplicationID)
	}
	if m.snap.disk != nil {
		out = append(out, "--state-dir", c.Path)
	}
	return append(out, c.Flags...)
}
func (s *lintScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}
