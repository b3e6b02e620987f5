package cmd

import (
	"cmp"
	"strings"

	"sstool/inspect/doctor"
	"sstool/internal/op"
)

// renderDoctor is the result for people: what the next start does, task by
// task; then what was found with its remedy and what could not be measured,
// area by area; and the sum. What is ok is shown with -o wide.
func renderDoctor(w *tableWriter, res *doctor.Result) {
	wide := w.format == formatWide
	if len(res.Tasks) > 0 {
		renderStarts(w, res)
	}
	area := ""
	for _, x := range res.Findings {
		if !wide && (x.Status == op.OK || lacking(x)) {
			continue
		}
		if x.Area != area {
			area = x.Area
			w.line("%s", area)
		}
		renderFinding(w, x)
	}
	if !wide {
		renderLacking(w, res.Findings)
	}
	w.line("%s, %s, %d ok, %d not measured", counted(res.Count.Problems, "problem"), counted(res.Count.Warnings, "warning"), res.Count.OK, res.Count.Unmeasured)
}

// lacking says whether a whole check could not be made.
func lacking(x op.Finding) bool {
	return x.Status == op.Unmeasured && x.Subject == "" && len(x.Evidence) == 0
}

// renderLacking names the checks that lacked something, by what they lacked.
func renderLacking(w *tableWriter, all []op.Finding) {
	var reasons []string
	checks := map[string][]string{}
	for _, x := range all {
		if lacking(x) {
			if checks[x.Reason] == nil {
				reasons = append(reasons, x.Reason)
			}
			checks[x.Reason] = append(checks[x.Reason], x.ID)
		}
	}
	if len(reasons) > 0 {
		w.line("not measured")
	}
	for _, r := range reasons {
		w.line("  %s", wrap(printable(r)+": "+strings.Join(checks[r], ", "), 110, "    "))
	}
}

// renderStarts is the table of the tasks.
func renderStarts(w *tableWriter, res *doctor.Result) {
	guarantee := cmp.Or(res.Guarantee, "processing guarantee not known")
	w.line("next start: Kafka Streams %s, %s", res.Kafka, guarantee)
	if res.GuaranteeWhy != "" {
		w.line("  %s: %s", res.Guarantee, res.GuaranteeWhy)
	}
	several, apps := false, res.Tasks[0].App
	var rows [][]string
	for _, t := range res.Tasks {
		several = several || t.App != apps
		add := func(store string, s doctor.Start, prefix string) {
			records, took := w.none(), w.none()
			if s.Records != nil {
				records = w.count(*s.Records)
			}
			if s.Seconds != nil {
				took = w.seconds(*s.Seconds)
			}
			rows = append(rows, []string{t.App, t.Task, store, prefix + cmp.Or(s.Will, "unknown"), records, took, s.Why})
		}
		add("", t.Start, "")
		if t.ExactlyOnce != nil {
			add("", *t.ExactlyOnce, "exactly-once: ")
		}
		if t.Killed != nil {
			add("", *t.Killed, "killed now: ")
		}
		if w.format == formatWide {
			for _, s := range t.Stores {
				add(s.Store, s.Start, "")
			}
		}
	}
	columns := []column{{name: "APPLICATION", wide: true}, {name: "TASK"}, {name: "STORE", wide: true}, {name: "NEXT START"}, {name: "REPLAYS", right: true}, {name: "TIME", right: true}, {name: "WHY"}}
	columns[0].wide = !several
	w.table(columns, rows)
	w.line("")
}

// renderFinding is one finding as a paragraph.
func renderFinding(w *tableWriter, x op.Finding) {
	title := x.Title
	if x.Status == op.Unmeasured {
		title += ": " + x.Reason // the status says that it is unmeasured
	}
	if x.Subject != "" {
		title = x.Subject + ": " + title
	}
	w.line("  %-10s %s", x.Status, printable(title))
	w.line("  %10s %s", "", x.ID)
	put := func(label, text string) {
		if text != "" {
			w.line("  %10s %s%s", "", label, wrap(printable(text), 100, strings.Repeat(" ", 13+len(label))))
		}
	}
	for _, e := range x.Evidence {
		put("", e)
	}
	put("then: ", x.Consequence)
	for _, d := range x.Remedy {
		if strings.Contains(d, "kafka-") || strings.Contains(d, "sstool ") { // commands are for copying: never broken
			w.line("  %10s do:   %s", "", printable(d))
			continue
		}
		put("do:   ", d)
	}
}
