package cmd

import (
	"sstool/inspect/doctor"
	"sstool/internal/op"
)

// renderDoctor is the result for people: what was found with its remedy, what
// could not be measured, and the sum. What is ok is shown with -o wide.
func renderDoctor(w *tableWriter, res *doctor.Result) {
	wide := w.format == formatWide
	for _, x := range res.Findings {
		if x.Status == op.OK && !wide {
			continue
		}
		renderFinding(w, x)
	}
	w.line("%d problems, %d warnings, %d ok, %d not measured", res.Count.Problems, res.Count.Warnings, res.Count.OK, res.Count.Unmeasured)
}

// renderFinding is one finding as a paragraph.
func renderFinding(w *tableWriter, x op.Finding) {
	subject := ""
	if x.Subject != "" {
		subject = printable(x.Subject) + ": "
	}
	if x.Status == op.Unmeasured {
		w.line("%-10s %s  %s%s: unmeasured: %s", x.Status, x.ID, subject, printable(x.Title), printable(x.Reason))
		return
	}
	w.line("%-10s %s  %s%s", x.Status, x.ID, subject, printable(x.Title))
	for _, e := range x.Evidence {
		w.line("             %s", printable(e))
	}
	if x.Consequence != "" {
		w.line("             then: %s", printable(x.Consequence))
	}
	for _, d := range x.Remedy {
		w.line("             do:   %s", printable(d))
	}
}
