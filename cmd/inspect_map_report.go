package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
)

// emitMap writes the map in the format asked for.
func (a *app) emitMap(out outputFlag, m *inspect.Map) error {
	switch {
	case out.value == formatJSONL && m.SumBy != "":
		return emitLines(a, "inspect.map.sum", m.Sums)
	case out.value == formatJSONL:
		return emitLines(a, "inspect.map.store", m.AllStores())
	}
	return emit(a, out, "inspect.map", m, renderMap)
}

func renderMap(w *tableWriter, m *inspect.Map) {
	w.line("%s: %s%s", printable(m.Path), m.PathIs, contents(m))
	switch {
	case m.SumBy == inspect.SumByApp || m.SumBy != "" && w.machine():
		w.line("")
		renderSums(w, m, m.Sums, true)
	case w.machine():
		renderStores(w, m, m.AllStores(), true)
	default:
		for i := range m.Apps {
			renderApp(w, m, &m.Apps[i])
		}
	}
	renderCluster(w, m)
	renderRemarks(w, m)
}

// contents says in short what was found.
func contents(m *inspect.Map) string {
	apps, tasks, stores, size := 0, 0, 0, int64(0)
	for _, a := range m.Apps {
		if a.ID != "" {
			apps++
		}
		for _, t := range a.Tasks {
			if t.Task != "" {
				tasks++
			}
		}
		stores += len(a.Stores)
		size += a.Size
	}
	return fmt.Sprintf(", %s, %s, %s, %s", counted(apps, "application"), counted(tasks, "task"), counted(stores, "store"), humanBytes(size))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return humanCount(int64(n)) + " " + what + "s"
}

// renderApp draws one application.
func renderApp(w *tableWriter, m *inspect.Map, a *inspect.MapApp) {
	w.line("")
	if a.ID != "" {
		w.line("%s: %s in %s%s", printable(a.ID), humanBytes(a.Size), counted(len(a.Tasks), "task"), holder(a.Lock))
		if len(a.Stores) > 0 {
			w.wrapped("", "opens with Kafka Streams "+opensWith(a.Oldest, a.OldestWhy))
		}
	}
	switch {
	case len(a.Stores) == 0:
	case m.SumBy != "":
		renderSums(w, m, m.SumsOf(a.ID), false)
	default:
		renderStores(w, m, a.Stores, false)
		if len(m.Apps) == 1 && len(a.Stores) == 1 {
			renderStore(w, m, &a.Stores[0])
		}
	}
}

func holder(l inspect.MapLock) string {
	switch {
	case l.Held == nil:
		return "; whether a process has it open is not known: " + printable(l.Why)
	case !*l.Held:
		return ", no process has it open"
	case l.PID == nil:
		return ", open: " + printable(l.Why)
	}
	return strings.TrimRight(fmt.Sprintf(", open: process %d %s", *l.PID, printable(l.Command)), " ")
}

func opensWith(oldest *string, why string) string {
	if oldest == nil {
		return "of no release known: " + why
	}
	return *oldest + " or later: " + why
}

// shortKinds are the kinds as the narrow table names them.
func shortKind(kind string) string {
	return strings.NewReplacer("timestamped-", "ts-", "time-ordered-", "to-", "fk-subscription", "fk-sub", "grace-buffer", "grace").Replace(kind)
}

func kindCell(w *tableWriter, k inspect.MapKind) string {
	if k.Kind == nil {
		if w.machine() {
			return ""
		}
		return "?"
	}
	if w.format != formatTable {
		return *k.Kind
	}
	name := shortKind(*k.Kind)
	if k.Certainty != inspect.Certain {
		name += "?"
	}
	return name
}

func keysCell(w *tableWriter, count *int64, exact bool) string {
	if count == nil {
		return w.unmeasured()
	}
	if exact || w.machine() {
		return w.count(*count)
	}
	return "~" + w.count(*count)
}

// optional is a number that may not be known.
func optionalCount(w *tableWriter, n *int64) string {
	if n == nil {
		return w.none()
	}
	return w.count(*n)
}

func age(at time.Time, t *time.Time) string {
	if t == nil {
		return "-"
	}
	if d := at.Sub(*t); d > 0 {
		return humanDuration(d.Round(time.Second)) + " ago"
	}
	return "just now"
}

// renderRemarks lists what is wrong or remarkable, the same thing at several
// places once.
func renderRemarks(w *tableWriter, m *inspect.Map) {
	if w.machine() {
		return
	}
	groups := groupRemarks(m)
	if len(groups) == 0 {
		return
	}
	w.line("")
	for _, level := range []string{inspect.Problem, inspect.Warning, inspect.Note} {
		for _, g := range groups {
			if g.level != level {
				continue
			}
			text := g.what
			if len(g.where) > 0 {
				text = someOf(g.where) + ": " + g.what
			}
			w.wrapped(level+": ", text)
			if g.cure != "" {
				w.wrapped("  try: ", g.cure)
			}
		}
	}
}

// remarkGroup is one remark with all the places it is about.
type remarkGroup struct {
	level, what, cure string
	where             []string
}

func groupRemarks(m *inspect.Map) []*remarkGroup {
	var groups []*remarkGroup
	add := func(place, dir string, list []inspect.Remark) {
		for _, r := range list {
			at := place
			if r.Where != "" && (place == "" || r.Where != dir) {
				if below, ok := strings.CutPrefix(r.Where, m.Path); ok {
					at = strings.TrimPrefix(below, "/")
				} else {
					at = r.Where
				}
			}
			i := slices.IndexFunc(groups, func(g *remarkGroup) bool { return g.level == r.Level && g.what == r.What })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &remarkGroup{level: r.Level, what: r.What, cure: r.Cure})
			}
			if at != "" && !slices.Contains(groups[i].where, at) {
				groups[i].where = append(groups[i].where, at)
			}
		}
	}
	add("", "", m.Unreadable)
	add("", "", m.Remarks)
	for _, a := range m.Apps {
		above := ""
		if len(m.Apps) > 1 {
			above = a.ID + "/"
		}
		add(a.ID, a.Dir, a.Remarks)
		for _, t := range a.Tasks {
			add(above+t.Task, t.Dir, t.Remarks)
		}
		for _, s := range a.Stores {
			add(strings.TrimLeft(above+s.Task+"/"+s.Name, "/"), s.Dir, s.Remarks)
		}
	}
	return groups
}

// someOf names a few of many places.
func someOf(places []string) string {
	if len(places) > 3 {
		return fmt.Sprintf("%s, … (%d)", strings.Join(places[:2], ", "), len(places))
	}
	return strings.Join(places, ", ")
}

// wrappedPairs are pairs whose values are wrapped to 80 columns; -o wide has
// each on one line.
func (w *tableWriter) wrappedPairs(rows [][2]string) {
	if w.format != formatTable {
		w.pairs(rows)
		return
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		w.wrapped(fmt.Sprintf("%-*s  ", width, r[0]), r[1])
	}
}

// wrapped writes text in lines of at most 80 columns, the first behind head.
func (w *tableWriter) wrapped(head, text string) {
	const width = 80
	line := head
	indent := strings.Repeat(" ", len(head))
	for word := range strings.FieldsSeq(printable(text)) {
		if len([]rune(line))+len([]rune(word)) > width && strings.TrimSpace(line) != "" && line != head {
			w.line("%s", strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	w.line("%s", strings.TrimRight(line, " "))
}
