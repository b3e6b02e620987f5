package cmd

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/restore"
)

func humanSeconds(s float64) string { return humanDuration(time.Duration(s * float64(time.Second))) }

// restoreDoc is the result document: what the engine says, and what was in its
// way.
type restoreDoc struct {
	*restore.Result
	MovedAside []movedStore `json:"moved_aside"`
}

// renderResult is the report of these flags' restore.
func (f *restoreFlags) renderResult(w *tableWriter, d restoreDoc) {
	if d.Into != "" && f.measure {
		w.line("The state directory %s was written, and its restore measured.", printable(d.Into))
	}
	renderRestore(w, d.Result)
	for _, m := range d.MovedAside {
		w.line("moved aside: store %s of task %s is now %s", printable(m.Store), m.Task, printable(m.To))
	}
}

// renderRestore is the report: a row per partition, the total, where the time
// went, and what would help.
func renderRestore(w *tableWriter, r *restore.Result) {
	where := "measured in a scratch directory"
	if r.Into != "" {
		where = "restored into " + printable(r.Into)
	}
	w.line("%s: %s (profile %s, %s: %s)", printable(r.ApplicationID), where, r.Profile, r.Isolation, printable(r.IsolationBy))
	if r.ScratchCopy {
		w.line("The range ends before the changelog's end: a scratch copy, not a state to start from. On a compacted topic it is not the past either.")
	}
	w.line("")
	rows := partitionRows(w, r)
	if len(rows) > 1 && !w.machine() {
		rows = append(rows, totalRow(w, r))
	}
	w.table(columnsFor(r), rows)
	if w.machine() {
		return
	}
	w.explainTasks(func(yield func(string) bool) {
		for _, p := range r.Partitions {
			if !yield(p.Task) {
				return
			}
		}
	})
	w.line("")
	w.pairs(summary(r))
	renderOrigins(w, r)
	renderWhere(w, r)
	renderProjections(w, r)
	if r.SLA != nil {
		verdict := "met"
		if !r.SLA.Met {
			verdict = "MISSED"
		}
		w.line("\nSLA %s: %s (%s)", humanSeconds(r.SLA.Limit), verdict, humanSeconds(r.SLA.Took))
	}
	w.notes(r.Assumptions, r.Warnings, r.Skipped)
}

var partitionColumns = []column{
	{name: "STORE"}, {name: "TASK"}, {name: "KIND", wide: true}, {name: "PARTITION", right: true, wide: true},
	{name: "LOG START", right: true, wide: true}, {name: "LOG END", right: true, wide: true}, {name: "LAST STABLE", right: true, wide: true},
	{name: "FROM", right: true, wide: true}, {name: "TO", right: true, wide: true}, {name: "RECORDS", right: true}, {name: "BYTES", right: true, wide: true},
	{name: "LIVE", right: true}, {name: "SUPERSEDED", right: true}, {name: "TOMBSTONES", right: true},
	{name: "EMPTY VALUES", right: true, wide: true}, {name: "EXPIRED", right: true, wide: true}, {name: "NULL KEYS", right: true, wide: true},
	{name: "CONTROL", right: true, wide: true}, {name: "ABORTED", right: true, wide: true}, {name: "GAPS", right: true, wide: true},
	{name: "FIRST FETCH", right: true, wide: true}, {name: "ELAPSED", right: true}, {name: "RECORDS/S", short: "REC/S", right: true}, {name: "MB/S", right: true, wide: true},
	{name: "ON DISK", right: true, wide: true}, {name: "STATE"},
}

// columnsFor leaves the state out of a narrow table when it is everywhere the
// expected one.
func columnsFor(r *restore.Result) []column {
	columns := slices.Clone(partitionColumns)
	columns[len(columns)-1].wide = !slices.ContainsFunc(r.Partitions, func(p restore.PartitionResult) bool { return p.State != "restored" })
	return columns
}

// countsFrom is the first column that says what this run did.
const countsFrom = 9

// liveColumn is LIVE; SUPERSEDED follows.
const liveColumn = 11

func partitionRows(w *tableWriter, r *restore.Result) [][]string {
	var rows [][]string
	for _, p := range r.Partitions {
		row := []string{
			p.Store, taskOf(w, p), string(p.Kind), strconv.Itoa(int(p.Partition)),
			w.count(p.LogStart), w.count(p.LogEnd), w.count(p.LastStable), w.count(p.From), w.count(p.To),
			w.count(p.Records), w.bytes(p.Bytes), w.count(p.LiveKeys), w.share(p.Superseded, p.Records), w.count(p.Tombstones),
			w.count(p.EmptyValues), w.count(p.Expired), w.count(p.NullKeys), w.count(p.Control), w.count(p.Aborted), w.count(p.OffsetGaps),
			w.seconds(p.FirstFetch), w.seconds(p.Elapsed), w.count(int64(math.Round(p.RecordsPer))), strconv.FormatFloat(p.MBPer, 'f', 1, 64),
			w.bytes(p.StoreBytes), p.State,
		}
		if p.State != "restored" && p.State != "resumed" {
			// Not touched in this run: nothing of it was measured.
			for i := countsFrom; i < len(row)-1; i++ {
				row[i] = w.none()
			}
		} else if p.Unmeasured != "" {
			row[liveColumn], row[liveColumn+1] = w.unmeasured(), w.unmeasured()
		}
		rows = append(rows, row)
	}
	return rows
}

// taskOf is the row's task. Without the column PARTITION the partitions of a
// global store's topic are told apart here.
func taskOf(w *tableWriter, p restore.PartitionResult) string {
	if w.format == formatTable && p.Task == "global" {
		return fmt.Sprintf("global %d", p.Partition)
	}
	return p.Task
}

// explainTasks says what the task ?_0 is, when there is one.
func (w *tableWriter) explainTasks(tasks iter.Seq[string]) {
	for t := range tasks {
		if n, ok := strings.CutPrefix(t, "?_"); ok {
			w.line("Task %s is partition %s of a sub-topology that is not known (--subtopology N or --spec FILE states it).", t, n)
			return
		}
	}
}

// totalRow sums the partitions; offsets and tasks have no sum.
func totalRow(w *tableWriter, r *restore.Result) []string {
	t := r.Total
	live, superseded := w.count(t.LiveKeys), w.share(t.Superseded, t.Records)
	if t.Unmeasured != "" {
		live, superseded = w.unmeasured(), w.unmeasured()
	}
	return []string{
		"TOTAL", "", "", strconv.Itoa(len(r.Partitions)), "", "", "", "", "", w.count(t.Records), w.bytes(t.Bytes),
		live, superseded, w.count(t.Tombstones), w.count(t.EmptyValues), w.count(t.Expired),
		w.count(t.NullKeys), w.count(t.Control), w.count(t.Aborted), w.count(t.OffsetGaps), "", w.seconds(r.Elapsed),
		w.count(int64(math.Round(r.RecordsPerSec))), strconv.FormatFloat(r.MBPerSec, 'f', 1, 64), w.bytes(r.StoreBytes), "",
	}
}

// summary are the totals, the rare ones only when they are not 0.
func summary(r *restore.Result) [][2]string {
	t := r.Total
	took := humanSeconds(r.Elapsed)
	if len(r.Runs) > 1 {
		took = fmt.Sprintf("%s median of %d (min %s, max %s)", humanSeconds(r.Median), len(r.Runs), humanSeconds(r.Min), humanSeconds(r.Max))
	}
	rows := [][2]string{
		{"elapsed", took + ", " + humanRate(r.RecordsPerSec, "records") + fmt.Sprintf(", %.1f MB/s", r.MBPerSec)},
	}
	if r.Estimate != nil {
		rows = append(rows, [2]string{"application", fmt.Sprintf("about %s to restore by itself (%s)", humanSeconds(r.Estimate.Seconds), r.Estimate.Basis)})
	}
	if t.Unmeasured != "" {
		rows = append(rows, [2]string{"records", fmt.Sprintf("%s (%s), %s tombstones", humanCount(t.Records), humanBytes(t.Bytes), humanCount(t.Tombstones))})
	} else {
		rows = append(rows, [][2]string{
			{"records", fmt.Sprintf("%s (%s), %s live keys, %s superseded (%s), %s tombstones", humanCount(t.Records), humanBytes(t.Bytes),
				humanCount(t.LiveKeys), humanCount(t.Superseded), humanShare(float64(t.Superseded), float64(t.Records)), humanCount(t.Tombstones))},
		}...)
	}
	var rare []string
	for _, x := range []struct {
		n    int64
		what string
	}{
		{t.EmptyValues, "empty values (not tombstones)"}, {t.Expired, "dropped as expired"}, {t.NullKeys, "null keys skipped"},
		{t.Control, "control records"}, {t.Aborted, "aborted records skipped"}, {t.OffsetGaps, "offsets compacted away"},
		{int64(t.Restarted), "restarts because the log start moved"},
	} {
		if x.n > 0 {
			rare = append(rare, humanCount(x.n)+" "+x.what)
		}
	}
	if len(rare) > 0 {
		rows = append(rows, [2]string{"also", strings.Join(rare, ", ")})
	}
	peak := unmeasured(r.PeakMemory.Reason)
	if r.PeakMemory.Value != nil {
		peak = humanBytes(*r.PeakMemory.Value)
	}
	return append(rows, [2]string{"on disk", humanBytes(r.StoreBytes)},
		[2]string{"process", fmt.Sprintf("peak memory %s, %d thread%s", peak, r.Threads, strings.TrimSpace(plural(r.Threads)))})
}

func renderWhere(w *tableWriter, r *restore.Result) {
	if len(r.Where) == 0 {
		w.line("\nBottleneck: %s", printable(r.Bottleneck))
		return
	}
	w.line("\nWhere the time went")
	for _, s := range r.Where {
		text := fmt.Sprintf("  %-8s %9s  %5.1f %%  %s", s.Activity, humanSeconds(s.Seconds), 100*s.Share, strings.Repeat("#", int(s.Share*40+0.5)))
		w.line("%s", strings.TrimRight(text, " "))
	}
	w.line("Bottleneck: %s", printable(r.Bottleneck))
	for _, a := range r.Advice {
		w.line("  would help: %s", printable(a))
	}
}

func renderProjections(w *tableWriter, r *restore.Result) {
	if len(r.Projections) == 0 {
		return
	}
	w.line("\nProjected restore time")
	basis := ""
	for _, p := range r.Projections {
		size := ""
		if p.Bytes > 0 {
			size = " for " + humanBytes(p.Bytes)
		}
		note := ""
		if p.Basis != basis {
			note = "  (" + printable(p.Basis) + ")"
		}
		basis = p.Basis
		w.line("  %3d thread%s%s: %s%s", p.Threads, plural(p.Threads), size, humanSeconds(p.Seconds), note)
	}
}

func plural(n int) string {
	if n == 1 {
		return " "
	}
	return "s"
}

// notes writes what was assumed, warned of and left out.
func (w *tableWriter) notes(assumptions, warnings []string, skipped []restore.SkippedStore) {
	if len(assumptions)+len(warnings)+len(skipped) > 0 {
		w.line("")
	}
	for _, s := range assumptions {
		w.line("assumed: %s", printable(s))
	}
	for _, s := range warnings {
		w.line("warning: %s", printable(s))
	}
	for _, s := range skipped {
		w.line("not written: store %s: %s", printable(s.Store), printable(s.Reason))
	}
}
