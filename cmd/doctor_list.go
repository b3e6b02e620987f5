package cmd

import (
	"sstool/inspect/doctor"
)

func checkIDs() []string {
	var out []string
	for _, c := range doctor.Checks() {
		out = append(out, c.ID)
	}
	return out
}

// listChecks is --list: the table of checks.
func (a *app) listChecks(out outputFlag) error {
	type list struct {
		Checks []doctor.Check `json:"checks"`
	}
	return emit(a, out, "inspect.doctor.checks", list{doctor.Checks()}, func(w *tableWriter, doc list) {
		var rows [][]string
		for _, c := range doc.Checks {
			rows = append(rows, []string{c.Area, c.ID, c.Needs(), c.Title})
		}
		w.table([]column{{name: "AREA"}, {name: "CHECK"}, {name: "NEEDS"}, {name: "THAT"}}, rows)
	})
}
