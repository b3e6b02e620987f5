package cmd

import (
	"fmt"
	"slices"
	"strings"

	"sstool/inspect/topodiff"
	"sstool/internal/op"
)

// nodesShown is how many added and removed nodes a narrow report lists.
const nodesShown = 12

// renderTopologyDiff tells the losses first, then what to look at, then the
// rest.
func renderTopologyDiff(w *tableWriter, c *topodiff.Comparison) {
	for i := range c.Topologies {
		if i > 0 {
			w.line("")
		}
		w.topologyDiff(&c.Topologies[i])
	}
}

func (w *tableWriter) topologyDiff(r *topodiff.Result) {
	w.line("%s -> %s%s", printable(diffSide(&r.Old)), printable(diffSide(&r.New)), printable(diffOf(r)))
	items := diffItems(r)
	for _, s := range []topodiff.Severity{topodiff.Loss, topodiff.Warning, topodiff.Note} {
		for _, x := range items {
			if x.Severity == s {
				w.line("")
				w.diffItem(r, x)
			}
		}
	}
	w.line("")
	w.diffKept(items)
	w.diffNodes(r)
	w.diffSubtopologies(r)
	for _, n := range r.Notes {
		w.wrapped("note: ", n)
	}
	w.line("%s", diffVerdict(r))
}

// diffItem is a store or an internal topic with what it is called in a report.
type diffItem struct {
	*topodiff.Item
	what string
}

func diffItems(r *topodiff.Result) []diffItem {
	var out []diffItem
	for i := range r.Stores {
		out = append(out, diffItem{&r.Stores[i], "store"})
	}
	for i := range r.Topics {
		out = append(out, diffItem{&r.Topics[i], "topic"})
	}
	return out
}

// diffSide names one of the two texts.
func diffSide(s *topodiff.Side) string {
	if s.File == "" {
		return "nothing"
	}
	return s.File
}

// diffOf says which application and topology a result is about.
func diffOf(r *topodiff.Result) string {
	text := ""
	if id := r.New.ApplicationID; id != nil {
		text = ", application " + *id
		if old := r.Old.ApplicationID; old != nil && *old != *id {
			text = fmt.Sprintf(", application %s -> %s", *old, *id)
		}
	}
	if r.New.Topology != "" {
		text += ", topology " + r.New.Topology
	}
	return text
}

// place is where a line of the report is in the texts: in the new one, unless
// it is gone there.
func (x *diffItem) place(r *topodiff.Result) (file string, line int) {
	if x.New != nil {
		return r.New.File, x.New.Line
	}
	return r.Old.File, x.Old.Line
}

func (w *tableWriter) diffItem(r *topodiff.Result, x diffItem) {
	word := string(x.Severity)
	if x.Severity == topodiff.Loss {
		word = "LOSS"
	}
	if x.Accepted {
		word = "accepted"
	}
	file, line := x.place(r)
	change := string(x.Change)
	if x.Moved {
		change += ", moved"
	}
	w.line("%-8s %s %s %s (%s:%d)", word, x.what, printable(x.Name()), change, printable(file), line)
	const head = "         "
	if x.Change == topodiff.Renamed {
		w.wrapped(head+"becomes ", x.New.Name)
	}
	for _, e := range x.Effects {
		w.wrapped(head, e.Text)
	}
	for _, dir := range w.some(x.Directories) {
		w.line("%snot opened by NEW: %s", head, printable(dir))
	}
	lead := "fix: "
	for _, f := range x.Fixes {
		if f.Call != "" {
			w.line("%s%s%s", head, lead, printable(f.Call))
			w.wrapped(head+"     ", f.Text)
		} else {
			w.wrapped(head+lead, f.Text)
		}
		lead = "or:  "
	}
}

// some are names, few of many unless the report is wide.
func (w *tableWriter) some(names []string) []string {
	const few = 4
	if w.format == formatWide || len(names) <= few {
		return names
	}
	return append(slices.Clone(names[:few]), fmt.Sprintf("and %d more", len(names)-few))
}

// diffKept sums up what stays as it is; wide names it.
func (w *tableWriter) diffKept(items []diffItem) {
	counts, names := map[string]int{}, map[string][]string{}
	for _, x := range items {
		if x.Change == topodiff.Kept && x.Severity == "" {
			counts[x.what]++
			names[x.what] = append(names[x.what], x.Name())
		}
	}
	for _, k := range [][2]string{{"store", "stores"}, {"topic", "internal topics"}} {
		n := counts[k[0]]
		switch {
		case n > 0 && (w.format == formatWide || n <= 3):
			w.wrapped(fmt.Sprintf("unchanged %s: ", k[1]), strings.Join(names[k[0]], ", "))
		case n > 0:
			w.line("unchanged %s: %d", k[1], n)
		}
	}
}

// diffNodes lists what was added and removed, which is the change itself.
func (w *tableWriter) diffNodes(r *topodiff.Result) {
	for i, n := range r.Nodes {
		if i == nodesShown && w.format == formatTable {
			w.line("… and %d more nodes (-o wide)", len(r.Nodes)-i)
			return
		}
		sign, file := "+", r.New.File
		if n.Change == topodiff.Removed {
			sign, file = "-", r.Old.File
		}
		w.line("%s %s %s (%s:%d)", sign, n.Kind, printable(n.Name), printable(file), n.Line)
	}
}

// diffSubtopologies says how the numbers of sub-topologies change, if they do.
func (w *tableWriter) diffSubtopologies(r *topodiff.Result) {
	var parts []string
	for _, s := range r.Subtopologies {
		switch {
		case s.Old == nil:
			parts = append(parts, fmt.Sprintf("%d is new", *s.New))
		case s.New == nil:
			parts = append(parts, fmt.Sprintf("%d is gone", *s.Old))
		case *s.Old != *s.New:
			parts = append(parts, fmt.Sprintf("%d becomes %d", *s.Old, *s.New))
		}
	}
	if len(parts) > 0 {
		w.wrapped("sub-topologies: ", strings.Join(parts, ", "))
	}
}

func diffVerdict(r *topodiff.Result) string {
	if r.Losses+r.Warnings+r.Accepted == 0 {
		return "nothing is lost"
	}
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{{r.Losses, "loss", "losses"}, {r.Accepted, "accepted loss", "accepted losses"}, {r.Warnings, "warning", "warnings"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.one)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.many))
		}
	}
	switch {
	case r.Losses == 0 && r.Accepted == 0:
		parts = append([]string{"nothing is lost"}, parts...)
	case r.Losses == 0:
		parts = append([]string{"nothing else is lost"}, parts...)
	}
	return strings.Join(parts, ", ")
}

// emitTopologyGitHub writes losses and warnings as workflow commands of GitHub
// Actions, at the lines of the new text.
func (a *app) emitTopologyGitHub(c *topodiff.Comparison) error {
	var b strings.Builder
	for i := range c.Topologies {
		r := &c.Topologies[i]
		for _, x := range diffItems(r) {
			level := map[topodiff.Severity]string{topodiff.Loss: "error", topodiff.Warning: "warning"}[x.Severity]
			if level == "" {
				continue
			}
			if x.Accepted {
				level = "notice"
			}
			file, line := x.place(r)
			title := fmt.Sprintf("%s %s %s", x.what, x.Name(), x.Change)
			b.WriteString(githubCommand(level, file, line, title, diffMessage(x)))
		}
	}
	if _, err := a.io.Out.Write([]byte(b.String())); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

// diffMessage is an item in a few lines.
func diffMessage(x diffItem) string {
	var lines []string
	if x.Change == topodiff.Renamed {
		lines = append(lines, fmt.Sprintf("%s becomes %s", x.Name(), x.New.Name))
	}
	for _, e := range x.Effects {
		lines = append(lines, e.Text)
	}
	for _, f := range x.Fixes {
		lines = append(lines, "fix: "+strings.TrimSpace(f.Call+"  "+f.Text))
	}
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
