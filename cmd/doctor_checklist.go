package cmd

import (
	"strings"

	"sstool/inspect/doctor"
	"sstool/internal/op"
)

// checklist is the document inspect.doctor.checklist.
type checklist struct {
	AppID string        `json:"application_id"`
	At    string        `json:"at"`
	Lines []doctor.Line `json:"lines"`
}

func checklistOf(res *doctor.Result) checklist {
	return checklist{res.AppID, res.At.Format("2006-01-02 15:04 MST"), res.Checklist()}
}

func checklistIDs() []string {
	var out []string
	for _, c := range doctor.Checks() {
		if c.Checklist {
			out = append(out, c.ID)
		}
	}
	return out
}

// renderChecklist is the checklist as Markdown: [x] yes, [ ] no, [?] for review
// or not measured.
func renderChecklist(w *tableWriter, doc checklist) {
	title := doc.AppID
	if title == "" {
		title = "an application"
	}
	w.line("# Checklist of %s, %s", markdown(title), doc.At)
	w.line("")
	for _, l := range doc.Lines {
		w.line("- [%s] **%s** (`%s`)", l.Mark, markdown(l.Title), l.Check)
		if len(l.Findings) == 0 {
			w.line("  - not looked at")
		}
		for _, x := range l.Findings {
			text := x.Title
			if x.Status == op.Unmeasured {
				text = x.Reason
				if !strings.HasPrefix(text, "for review") {
					text = "unmeasured: " + text
				}
			}
			if x.Subject != "" {
				text = x.Subject + ": " + text
			}
			w.line("  - %s", markdown(text))
			for _, e := range x.Evidence {
				w.line("    - %s", markdown(e))
			}
			if x.Consequence != "" {
				w.line("    - then: %s", markdown(x.Consequence))
			}
			for _, d := range x.Remedy {
				w.line("    - do: %s", markdown(d))
			}
		}
	}
}

// markdown is text that a terminal and Markdown show as it is.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "]", `\]`, "|", `\|`).Replace(printable(s))
}
