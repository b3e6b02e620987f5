package cmd

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"sstool/restore"
)

// aResult has every part of a report; the figures are made up.
func aResult() *restore.Result {
	peak := int64(190 << 20)
	counts := restore.Counts{
		Records: 1000, Bytes: 64 << 10, LiveKeys: 100, Superseded: 800, Tombstones: 90, EmptyValues: 10, Expired: 1,
		NullKeys: 2, Control: 3, Aborted: 4, OffsetGaps: 5, Restarted: 1,
	}
	return &restore.Result{
		ApplicationID: "orders", Profile: restore.Bulk, Isolation: "read_committed", IsolationBy: "processing.guarantee=exactly_once_v2",
		Into: "/var/lib/kafka-streams", ScratchCopy: true, Threads: 2,
		Assumptions: []string{"store \"totals\": retention 2h derived"}, Warnings: []string{"an open transaction"},
		Partitions: []restore.PartitionResult{
			{Store: "totals", Kind: "timestamped-kv", Task: "0_0", Partition: 0, LogStart: 5, LogEnd: 1020, LastStable: 1010, From: 5, To: 1020,
				State: "restored", Counts: counts, Elapsed: 1.25, RecordsPer: 800, MBPer: 1.5, FirstFetch: 0.0042, StoreBytes: 32 << 10},
			{Store: "totals", Kind: "timestamped-kv", Task: "0_1", Partition: 1, LogEnd: 7, LastStable: 7, To: 7, State: "done before"},
		},
		Skipped: []restore.SkippedStore{{Store: "cache", Reason: "kind in-memory keeps nothing on disk"}},
		Total:   restore.Totals{Counts: counts}, Elapsed: 1.25, Runs: []float64{1.1, 1.25, 1.5}, Min: 1.1, Median: 1.25, Max: 1.5, RecordsPerSec: 800, MBPerSec: 1.5,
		Where:      []restore.SplitShare{{Activity: "network", Seconds: 0.5, Share: 0.4}, {Activity: "write", Seconds: 0.75, Share: 0.6}},
		Bottleneck: "writing to RocksDB takes 60 % of the workers' time", Advice: []string{"more threads"},
		Projections: []restore.Projection{{Threads: 1, Seconds: 2.5, Basis: "measured"}, {Threads: 2, Seconds: 1.25, Basis: "measured"},
			{Threads: 2, Bytes: 10 << 30, Seconds: 3700, Basis: "measured; time grows with size"}},
		Estimate: &restore.Estimate{Seconds: 1.25, Basis: "measured × 1.25"}, SLA: &restore.SLAResult{Limit: 1, Took: 1.25}, StoreBytes: 32 << 10, PeakMemory: restore.Measured{Value: &peak},
	}
}

func TestRestoreReport(t *testing.T) {
	for _, f := range []format{formatTable, formatWide, formatCSV, formatTSV} {
		var out bytes.Buffer
		w := newTableWriter(&out, f)
		renderRestore(w, aResult())
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		golden(t, "restore."+string(f), out.Bytes())
	}
}

func TestPlanReport(t *testing.T) {
	size := int64(3 << 20)
	doc := planDoc{
		ApplicationID: "orders", Into: "/state", Profile: restore.Bulk, Isolation: "read_uncommitted", IsolationFrom: "as given",
		Steps: []planStep{
			{Task: "0_0", Store: "totals", Kind: "kv", Topic: "orders-totals-changelog", To: 1000, Bytes: &size, Action: "replace"},
			{Task: "0_1", Store: "totals", Kind: "kv", Topic: "orders-totals-changelog", Partition: 1, From: 5, To: 10, Action: "resume", Because: "checkpoint"},
		},
		Warnings: []string{"configuration unmeasured"},
	}
	for _, f := range []format{formatTable, formatWide, formatCSV} {
		var out bytes.Buffer
		w := newTableWriter(&out, f)
		renderPlan(w, doc)
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		golden(t, "plan."+string(f), out.Bytes())
	}
}

// TestReportFitsAScreen: with usual names and numbers of millions the default
// table has no more than 100 columns, and no cell is blank.
func TestReportFitsAScreen(t *testing.T) {
	r := aResult()
	for i := range r.Partitions {
		p := &r.Partitions[i]
		p.Store, p.Records, p.LiveKeys, p.Superseded, p.Tombstones, p.Elapsed, p.RecordsPer, p.State = "account-payment-total", 12_345_678, 1_234_567, 9_000_000, 1_234_567, 754, 123_456, "restored"
	}
	r.Partitions[0].Task, r.Total.Counts = "?_0", r.Partitions[0].Counts
	var out bytes.Buffer
	w := newTableWriter(&out, formatTable)
	renderRestore(w, r)
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for l := range strings.Lines(out.String()) {
		if !strings.HasPrefix(l, "account-payment-total") && !strings.HasPrefix(l, "STORE") && !strings.HasPrefix(l, "TOTAL") {
			continue
		}
		rows++
		if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, l)
		}
		if strings.HasPrefix(l, "TOTAL") && len(strings.Fields(strings.ReplaceAll(l, " %", "%"))) != 8 {
			t.Errorf("a blank cell: %s", l)
		}
	}
	if rows != 4 || !strings.Contains(out.String(), "Task ?_0 is partition 0") {
		t.Error(out.String())
	}
}

func TestUnmeasuredIsNotAZero(t *testing.T) {
	for f, want := range map[format]string{formatTable: "unmeasured  unmeasured", formatTSV: "\t65536\t\t\t90\t"} {
		r := aResult()
		r.Partitions[0].Unmeasured = "the store keeps nothing on disk"
		var out bytes.Buffer
		w := newTableWriter(&out, f)
		renderRestore(w, r)
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no %q in\n%s", f, want, out.String())
		}
	}
}
