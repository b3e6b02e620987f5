package cmd

import (
	"strconv"

	"sstool/migrate"
)

func renderLocalPlan(w *tableWriter, p migrate.LocalPlan) {
	w.line("Plan: clone the directories of %s below %s. Nothing is changed.", printable(p.OldApp), printable(p.Clone.StateDir))
	w.line("")
	renderClone(w, p.Clone)
}

func renderLocal(w *tableWriter, p migrate.LocalPlan) {
	renderClone(w, p.Clone)
	w.line("Start the application on the new names once this is done on every host; the old directories are as they were.")
}

// renderClone shows what becomes of the directories of one host.
func renderClone(w *tableWriter, p *migrate.ClonePlan) {
	var rows, left [][]string
	for _, t := range p.Tasks {
		for _, s := range t.Stores {
			task := t.From
			if t.To != t.From {
				task += " → " + t.To
			}
			old, now := w.none(), w.none()
			if len(s.Offsets) > 0 {
				old = strconv.FormatInt(s.Offsets[0].Offset, 10)
				if n := s.Offsets[0].NewOffset; n != nil {
					now = strconv.FormatInt(*n, 10)
				}
			}
			rows = append(rows, []string{task, s.Old, s.New, string(s.State), w.count(int64(s.Links)), w.bytes(s.LinkBytes), w.count(int64(s.Copies)), w.bytes(s.CopyBytes), old, now, s.Reason})
			if s.Reason != "" {
				left = append(left, []string{t.From, s.Old, s.Reason})
			}
		}
	}
	w.table([]column{{name: "TASK"}, {name: "STORE"}, {name: "NEW NAME"}, {name: "DIRECTORY"}, {name: "LINKED", right: true}, {name: "LINKED BYTES", short: "BYTES", right: true},
		{name: "COPIED", right: true, wide: true}, {name: "COPIED BYTES", right: true, wide: true}, {name: "OFFSET", right: true}, {name: "NEW OFFSET", short: "NEW", right: true}, {name: "REASON", wide: true}}, rows)
	if w.machine() {
		return
	}
	w.line("")
	for _, l := range left {
		w.line("task %s, store %s: %s.", printable(l[0]), printable(l[1]), printable(l[2]))
	}
	w.line("%s files linked, %s; %s copied, %s.", w.count(int64(p.Links)), w.bytes(p.LinkBytes), w.count(int64(p.Copies)), w.bytes(p.CopyBytes))
	for _, s := range p.Warnings {
		w.line("warning: %s", printable(s))
	}
}
