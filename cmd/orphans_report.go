package cmd

import (
	"fmt"
	"slices"
	"time"

	"sstool/inspect/orphans"
	"sstool/migrate"
)

// renderOrphans draws what was found by verdict; for programs it is one table.
func renderOrphans(w *tableWriter, r orphans.Result) {
	if w.machine() {
		renderOrphanRows(w, &r, r.Orphans)
		return
	}
	for _, v := range []struct{ verdict, head string }{
		{orphans.Unused, "Orphans: nothing uses them any more."},
		{orphans.Likely, "Likely orphans: nothing known uses them, and nothing proves that. A topology (--topology), --gone ID or --unused NAME decides."},
		{orphans.Unclear, "Unclear: they cannot be told apart from what is used."},
	} {
		var list []orphans.Orphan
		for _, x := range r.Orphans {
			if x.Verdict == v.verdict {
				list = append(list, x)
			}
		}
		if len(list) == 0 {
			continue
		}
		w.wrapped("", v.head)
		w.line("")
		renderOrphanRows(w, &r, list)
		w.line("")
		renderOrphanWhys(w, list)
		if v.verdict != orphans.Unclear {
			renderOrphanCommands(w, list)
		}
	}
	if r.Delete != "" {
		w.line("All orphans, planned, shown and asked for before:")
		w.line("  %s", printable(r.Delete))
		w.line("")
	}
	if len(r.Orphans) == 0 {
		w.line("Nothing found that is not in use.")
	} else {
		w.line("%s, %s likely, %s unclear; %s.", counted(r.Count(orphans.Unused), "orphan"), humanCount(int64(r.Count(orphans.Likely))), humanCount(int64(r.Count(orphans.Unclear))), humanBytes(r.Bytes))
	}
	for _, a := range r.Applications {
		if a.Undecided > 0 {
			w.wrapped("", fmt.Sprintf("%s: %s undecided: %s", a.ID, counted(a.Undecided, "name"), a.Why))
		}
	}
	for _, u := range r.Unmeasured {
		w.wrapped("", "unmeasured: "+u.What+": "+u.Why)
	}
}

// renderOrphanRows draws one line for each.
func renderOrphanRows(w *tableWriter, r *orphans.Result, list []orphans.Orphan) {
	var rows [][]string
	for i := range list {
		x := &list[i]
		size, written := w.none(), w.none()
		switch {
		case x.Bytes != nil:
			size = w.bytes(*x.Bytes)
		case x.Kind == orphans.KindTopic:
			size = w.unmeasured()
		}
		switch {
		case x.LastWrite != nil && w.machine():
			written = x.LastWrite.Format(time.RFC3339)
		case x.LastWrite != nil:
			written = age(r.At, x.LastWrite)
		case x.Kind == orphans.KindTopic && x.LastWriteWhy != "no records":
			written = w.unmeasured()
		}
		name := x.Name
		if x.Temporary && !w.machine() {
			name += " (temporary)"
		}
		rows = append(rows, []string{x.Verdict, x.ApplicationID, x.Kind, name, size, optionalCount(w, x.Records), written, x.Why, x.Remove})
	}
	columns := []column{{name: "VERDICT", wide: true}, {name: "APPLICATION", wide: true}, {name: "WHAT"}, {name: "NAME"}, {name: "SIZE", right: true}, {name: "OFFSETS HELD", right: true, wide: true},
		{name: "LAST WRITE"}, {name: "WHY", wide: true}, {name: "REMOVE", wide: true}}
	if w.format == formatWide { // said once below
		columns, rows = without(columns, rows, func(c column, _ int) bool { return c.name == "WHY" || c.name == "REMOVE" || c.name == "VERDICT" })
	}
	w.table(columns, rows)
}

// renderOrphanWhys says each reason once.
func renderOrphanWhys(w *tableWriter, list []orphans.Orphan) {
	var whys []string
	count := map[string]int{}
	for _, x := range list {
		if count[x.Why]++; !slices.Contains(whys, x.Why) {
			whys = append(whys, x.Why)
		}
	}
	for _, why := range whys {
		text := why
		if len(whys) > 1 || count[why] > 1 {
			text = fmt.Sprintf("%d: %s", count[why], why)
		}
		w.wrapped("  ", text)
	}
	w.line("")
}

// renderOrphanCommands lists the commands of people who do it themselves.
func renderOrphanCommands(w *tableWriter, list []orphans.Orphan) {
	w.line("By hand, with every instance stopped:")
	var said []string
	for _, x := range list {
		switch {
		case x.Remove == "":
			w.line("  # %s: nothing removes it alone; it goes with what it is in, or expires", printable(x.Name))
		case !slices.Contains(said, x.Remove):
			said = append(said, x.Remove)
			w.line("  %s", printable(x.Remove))
		}
	}
	w.line("")
}

// renderOrphansPlan draws what would be deleted.
func renderOrphansPlan(w *tableWriter, p migrate.OrphansPlan) {
	w.line("Plan: delete %s, %s. Nothing is changed.", counted(len(p.Items), "orphan"), humanBytes(p.Bytes))
	w.line("")
	renderOrphanItems(w, &p)
	if w.machine() {
		return
	}
	w.line("")
	for _, s := range p.Steps() {
		w.line("  %s", printable(s))
	}
	for _, s := range p.Warnings {
		w.wrapped("", "warning: "+s)
	}
}

// renderOrphansDone draws what was deleted.
func renderOrphansDone(w *tableWriter, p migrate.OrphansPlan) {
	renderOrphanItems(w, &p)
	switch n := len(p.Items); {
	case n == 0:
		w.line("There is nothing to delete.")
	case p.Done:
		w.line("")
		w.line("Deleted %s, %s.", counted(n, "orphan"), humanBytes(p.Bytes))
	}
}

func renderOrphanItems(w *tableWriter, p *migrate.OrphansPlan) {
	var rows [][]string
	for i := range p.Items {
		x := &p.Items[i]
		size := w.none()
		if x.Bytes != nil {
			size = w.bytes(*x.Bytes)
		}
		state := "to do"
		if x.Done {
			state = "done"
		}
		rows = append(rows, []string{x.Do, x.Name, size, state, x.ApplicationID, x.Why})
	}
	if len(rows) > 0 || w.machine() {
		w.table([]column{{name: "WHAT"}, {name: "NAME"}, {name: "SIZE", right: true}, {name: "STATE"}, {name: "APPLICATION", wide: true}, {name: "WHY", wide: true}}, rows)
	}
}
