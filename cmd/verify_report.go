package cmd

import (
	"fmt"
	"strconv"

	"sstool/inspect/verify"
)

// atValue is --at: an offset, or end.
type atValue struct{ verify.At }

func (v *atValue) String() string {
	switch {
	case v.End:
		return "end"
	case v.Offset != nil:
		return strconv.FormatInt(*v.Offset, 10)
	}
	return ""
}
func (v *atValue) Type() string    { return "offset" }
func (v *atValue) expects() string { return "an offset, or end" }
func (v *atValue) Set(s string) error {
	v.At = verify.At{End: s == "end"}
	if v.End {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is neither an offset nor end", s)
	}
	v.Offset = &n
	return nil
}

// renderVerify writes the tasks, then what differs.
func renderVerify(w *tableWriter, r *verify.Result) {
	w.verifyTasks(r)
	if w.machine() {
		return
	}
	for i := range r.Tasks {
		w.verifyDifferences(&r.Tasks[i], r.StoreKind)
	}
	w.line("")
	w.wrapped("", verifySummary(r))
	if len(r.Repair) > 0 {
		w.line("\nWhat would repair it (nothing is run)")
	}
	for _, s := range r.Repair {
		w.wrapped("  ", s.What+": "+s.Why)
		if s.Command != "" {
			w.line("    %s", printable(s.Command))
		}
	}
	for _, text := range r.Warnings {
		w.wrapped("", "warning: "+text)
	}
}

func (w *tableWriter) verifyTasks(r *verify.Result) {
	var rows [][]string
	for i := range r.Tasks {
		t := &r.Tasks[i]
		offset, records := w.none(), int64(0)
		if len(t.Partitions) == 1 && t.Partitions[0].Offset != nil {
			offset = w.count(*t.Partitions[0].Offset)
		}
		for _, p := range t.Partitions {
			records += p.Records
		}
		local, changelog := w.none(), w.none()
		if t.Local != nil {
			local = t.Local.String()
		}
		if t.Changelog != nil {
			changelog = t.Changelog.String()
		}
		rows = append(rows, []string{t.Task, t.Verdict, offset, w.count(t.Rows), w.count(records), w.count(t.Same), w.count(t.Ahead), w.count(t.Missing),
			w.count(t.Extra), w.count(t.Different), w.count(t.Unverifiable), w.count(t.Expired), w.count(t.Deleted), w.count(t.LaterKeys), local, changelog})
	}
	w.table([]column{{name: "TASK"}, {name: "VERDICT"}, {name: "OFFSET", right: true}, {name: "ROWS", right: true}, {name: "RECORDS", right: true},
		{name: "SAME", right: true}, {name: "AHEAD", right: true}, {name: "MISSING", right: true}, {name: "EXTRA", right: true}, {name: "DIFFERENT", right: true},
		{name: "UNVERIFIABLE", right: true}, {name: "EXPIRED", right: true, wide: true}, {name: "DELETED", right: true, wide: true}, {name: "LATER", right: true, wide: true},
		{name: "DIGEST", wide: true}, {name: "DIGEST OF CHANGELOG", wide: true}}, rows)
	if w.machine() {
		return
	}
	for i := range r.Tasks {
		if t := &r.Tasks[i]; t.Why != "" {
			w.wrapped("", "task "+t.Task+": "+t.Why)
		}
	}
}

// verifyDifferences shows the first differences of a task, as a row and what it
// should be.
func (w *tableWriter) verifyDifferences(t *verify.Task, kind string) {
	if len(t.Differences) == 0 {
		return
	}
	w.line("\ntask %s", printable(t.Task))
	for i := range t.Differences {
		d := &t.Differences[i]
		key, local, changelog := d.Text()
		what := d.What
		if d.Part != "" && d.Part != "value" {
			what += " " + d.Part
		}
		w.line("  %s %s: %s", what, cut(key, verifyCut), printable(d.Why))
		if local != "" {
			w.line("    row        %s", cut(local, verifyCut))
		}
		if changelog != "" {
			w.line("    changelog  %s", cut(changelog, verifyCut))
		}
		if d.Later != nil {
			w.line("    a later record, at offset %d, replaces it when the store goes on from its offset", *d.Later)
		}
	}
	if t.More > 0 {
		w.line("  and %s more (--limit)", humanCount(t.More))
	}
}

// verifyCut is how much of a row is shown; -o json has all of it.
const verifyCut = 200

func verifySummary(r *verify.Result) string {
	text := fmt.Sprintf("Store %s (%s) against %s: ", r.Store, r.StoreKind, r.Topic)
	c := &r.Total
	compared := 0
	for i := range r.Tasks {
		if v := r.Tasks[i].Verdict; v == verify.Same || v == verify.Differs {
			compared++
		}
	}
	if compared == 0 {
		return text + "nothing could be compared."
	}
	if n := len(r.Tasks) - compared; n > 0 {
		text += fmt.Sprintf("%d of %d tasks could not be compared; ", n, len(r.Tasks))
	}
	switch n := c.Findings(); {
	case n == 0 && c.Unverifiable == 0:
		text += fmt.Sprintf("nothing differs in %s rows", humanCount(c.Rows))
	case n == 0:
		text += fmt.Sprintf("nothing differs; %s of %s rows cannot be proven", humanCount(c.Unverifiable), humanCount(c.Rows))
	default:
		text += fmt.Sprintf("%s missing, %s extra, %s different", humanCount(c.Missing), humanCount(c.Extra), humanCount(c.Different))
	}
	text += fmt.Sprintf(" (%.1f s).", r.Seconds)
	return text
}
