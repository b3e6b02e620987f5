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
	if len(r.Tasks) > 0 && r.Tasks[0].Verdict == "" {
		w.verifyDigests(r)
		return
	}
	w.verifyTasks(r)
	if w.machine() {
		return
	}
	for i := range r.Tasks {
		w.verifyDifferences(&r.Tasks[i])
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

// verifyDigests is for comparing by hand, or by a program.
func (w *tableWriter) verifyDigests(r *verify.Result) {
	var rows [][]string
	for i := range r.Tasks {
		t := &r.Tasks[i]
		rows = append(rows, []string{t.Task, verifyOffset(w, t.Partitions), w.count(t.Rows), t.Local.String()})
	}
	w.table([]column{{name: "TASK"}, {name: "OFFSET", right: true}, {name: "ROWS", right: true}, {name: "DIGEST"}}, rows)
	w.line("")
	w.wrapped("", fmt.Sprintf("Store %s (%s): the same digest at the same offset is the same rows.", r.Store, r.StoreKind))
	for _, text := range r.Warnings {
		w.wrapped("", "warning: "+text)
	}
}

// verifyOffset is the offset that a task has come to.
func verifyOffset(w *tableWriter, list []verify.Partition) string {
	if len(list) != 1 || list[0].Offset == nil {
		return w.none()
	}
	return w.count(*list[0].Offset)
}

func (w *tableWriter) verifyTasks(r *verify.Result) {
	var rows [][]string
	for i := range r.Tasks {
		t := &r.Tasks[i]
		offset, records := verifyOffset(w, t.Partitions), int64(0)
		for _, p := range t.Partitions {
			records += p.Records
		}
		local, other := w.none(), w.none()
		if t.Against != nil {
			records, other = t.Against.Rows, t.Against.Digest.String()
		}
		if t.Local != nil {
			local = t.Local.String()
		}
		if t.Changelog != nil {
			other = t.Changelog.String()
		}
		rows = append(rows, []string{t.Task, t.Verdict, offset, w.count(t.Rows), w.count(records), w.count(t.Same), w.count(t.Ahead), w.count(t.Missing),
			w.count(t.Extra), w.count(t.Different), w.count(t.Unverifiable), w.count(t.Unflushed), w.count(t.Expired), w.count(t.Deleted), w.count(t.LaterKeys), local, other})
	}
	records := "RECORDS"
	if len(r.Tasks) > 0 && r.Tasks[0].Against != nil {
		records = "OTHER ROWS"
	}
	w.table([]column{{name: "TASK"}, {name: "VERDICT"}, {name: "OFFSET", right: true}, {name: "ROWS", right: true}, {name: records, right: true},
		{name: "SAME", right: true}, {name: "AHEAD", right: true}, {name: "MISSING", right: true}, {name: "EXTRA", right: true}, {name: "DIFFERENT", right: true},
		{name: "UNVERIFIABLE", right: true}, {name: "UNFLUSHED", right: true, wide: true}, {name: "EXPIRED", right: true, wide: true}, {name: "DELETED", right: true, wide: true}, {name: "LATER", right: true, wide: true},
		{name: "DIGEST", wide: true}, {name: "OTHER DIGEST", wide: true}}, rows)
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
func (w *tableWriter) verifyDifferences(t *verify.Task) {
	if len(t.Differences) == 0 {
		return
	}
	w.line("\ntask %s", printable(t.Task))
	for i := range t.Differences {
		d := &t.Differences[i]
		key, local, other := d.Text()
		what := d.What
		if d.Part != "" && d.Part != "value" {
			what += " " + d.Part
		}
		w.line("  %s %s: %s", what, cut(key, verifyCut), printable(d.Why))
		if local != "" {
			w.line("    row        %s", cut(local, verifyCut))
		}
		if other != "" && t.Against != nil {
			w.line("    other      %s", cut(other, verifyCut))
		} else if other != "" {
			w.line("    changelog  %s", cut(other, verifyCut))
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
	with := r.Topic
	if len(r.Tasks) > 0 && r.Tasks[0].Against != nil {
		with = "another copy"
	}
	text := fmt.Sprintf("Store %s (%s) against %s: ", r.Store, r.StoreKind, with)
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
	if s := r.Sample; s != nil {
		text += fmt.Sprintf(" A sample: %s keys of rows and %s of records; %s.", humanCount(int64(s.RowKeys)), humanCount(int64(s.RecordKeys)), s.Blind)
	}
	if n := c.Unflushed; n > 0 {
		text += fmt.Sprintf(" %s rows are in the application's memory: their segments are not flushed as far as the store's offset.", humanCount(n))
	}
	return text
}
