package monitor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

// fixtures are pages that real applications showed.
func fixtures(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "metrics", "*.prom"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	return files
}

func history(t *testing.T, files ...string) *History {
	t.Helper()
	sources, err := Open(files, Access{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(sources)
	if err := m.Scrape(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &m.History
}

// TestRealPages holds against each other what real applications showed: the
// same stores in every spelling, all metrics of them, and no threshold missed.
func TestRealPages(t *testing.T) {
	wanted := "dup-win nolog-kv plain-kv plain-win session ts-kv ts-win versioned"
	for _, file := range fixtures(t) {
		h := history(t, file)
		seen := map[string]bool{}
		for _, s := range h.stores() {
			if s.onDisk() {
				seen[s.Store] = true
			}
			if s.Task != "0_0" && s.Task != "0_1" || s.Application == "" || s.Scope == "" || isUUID(s.Application[max(0, len(s.Application)-36):]) {
				t.Errorf("%s: %+v", file, s)
			}
		}
		if !strings.Contains(file, "busy") {
			for _, name := range strings.Fields(wanted) {
				if !seen[name] {
					t.Errorf("%s: store %s is not seen", file, name)
				}
			}
		}
		for _, m := range metrics() {
			if m.group != stateGroup || m.name == NumKeys {
				continue
			}
			for _, s := range h.stores() {
				if _, ok := h.now(s, m.name); !ok && s.onDisk() {
					t.Errorf("%s: %s lacks %s", file, s, m.name)
				}
			}
		}
		for _, g := range Evaluate(h, Options{Thresholds: Defaults()}) {
			if g.Status.Found() {
				t.Errorf("%s: %s of %s: %s", file, g.Check, g.Subject, g.Text())
			}
			if g.Status == op.Unmeasured && g.Reason == "" || g.Status == "" {
				t.Errorf("%s: %+v has no reason", file, g)
			}
		}
	}
}

// TestRealStalls: two pages of a real application, 62 seconds apart, with a store
// whose writes stand still and one whose compactions wait.
func TestRealStalls(t *testing.T) {
	var h History
	first := time.UnixMilli(1_700_000_000_000)
	for i, name := range []string{"kafka-4.4.0-jmx-short.prom", "stalls/kafka-4.4.0-jmx-short.prom"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "metrics", name))
		if err != nil {
			t.Fatal(err)
		}
		s, err := read(strings.NewReader(string(b)), "i", first.Add(time.Duration(i)*62*time.Second), newCatalog())
		if err != nil {
			t.Fatal(err)
		}
		h.Add(s)
	}
	th := Defaults()
	pending := th.Checks[PendingCompaction]
	pending.Max = value(100_000) // not 10 GB
	th.Checks[PendingCompaction] = pending
	missed := map[string]bool{}
	for _, g := range Evaluate(&h, Options{Thresholds: th}) {
		if g.Status.Found() {
			missed[string(g.Check)+" "+g.Subject.Store] = true
		}
	}
	for _, want := range []string{"write-stalls ts-kv", "pending-compaction plain-kv"} {
		if !missed[want] {
			t.Errorf("%s is not missed: %v", want, missed)
		}
	}
	for name := range missed {
		if strings.HasSuffix(name, "ts-win") || name == "pending-compaction nolog-kv" {
			t.Errorf("%s is missed", name)
		}
	}
}

// page is an exposition of a store's metric at minutes.
func page(metric Metric, scope string, values ...float64) string {
	var b strings.Builder
	name := JMX.prefixes(stateGroup)[0] + underscored(string(metric))
	for i, v := range values {
		fmt.Fprintf(&b, "%s{%s_state_id=\"s\",task_id=\"0_0\",thread_id=\"app-StreamThread-1\"} %v %d\n", name, scope, v, 1_700_000_000_000+int64(i)*60_000)
	}
	return b.String()
}

// judged is what a check says of pages.
func judged(t *testing.T, id CheckID, o Options, text string) Gauge {
	t.Helper()
	s, err := read(strings.NewReader(text), "i", time.UnixMilli(1_700_000_000_000), newCatalog())
	if err != nil {
		t.Fatal(err)
	}
	var h History
	h.Add(s)
	if o.Thresholds.Checks == nil {
		o.Thresholds = Defaults()
	}
	for _, g := range Evaluate(&h, o) {
		if g.Check == id {
			return g
		}
	}
	return Gauge{}
}

// line is f(0) … f(n-1).
func line(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func TestJudgements(t *testing.T) {
	grows := func(i int) float64 { return 20_000 + 500*float64(i) }
	hits := func(extra string) string {
		return page(BlockCacheDataHitRatio, "rocksdb", 0) + extra
	}
	for _, c := range []struct {
		name, text string
		check      CheckID
		status     op.Status
		says       string
	}{
		{"keys grow", page(EstimateNumKeys, "rocksdb", line(16, grows)...), EstimatedKeys, op.Attention, "from 20,000 15m before, and it does not level off"},
		{"keys in memory grow", page(NumKeys, "in_memory", line(16, grows)...), EstimatedKeys, op.Attention, "27,500"},
		{"keys level off", page(EstimateNumKeys, "rocksdb", line(16, func(i int) float64 { return grows(min(i, 8)) })...), EstimatedKeys, op.OK, "from 20,000"},
		{"keys of windows", page(EstimateNumKeys, "rocksdb_window", line(16, grows)...), EstimatedKeys, "", ""},
		{"few keys", page(EstimateNumKeys, "rocksdb", 10, 5000), EstimatedKeys, op.OK, "too little"},
		{"keys, seen once", page(EstimateNumKeys, "rocksdb", 20_000), EstimatedKeys, op.Unmeasured, "needs two scrapes 15m apart, there is one"},
		{"keys, seen too briefly", page(EstimateNumKeys, "rocksdb", 20_000, 30_000), EstimatedKeys, op.Unmeasured, "these are 1m apart"},
		{"keys shrink", page(EstimateNumKeys, "rocksdb", line(16, func(i int) float64 { return 90_000 - grows(i) })...), EstimatedKeys, op.OK, "from 70,000"},
		{"keys are no number", page(EstimateNumKeys, "rocksdb", 1, nan()), EstimatedKeys, op.Unmeasured, "is NaN"},
		{"hits", page(BlockCacheDataHitRatio, "rocksdb", 0.93), BlockCacheHits, op.OK, "93 %"},
		{"misses", page(BlockCacheDataHitRatio, "rocksdb", 0.3), BlockCacheHits, op.Attention, "30 %; the threshold is at least 80 %"},
		{"no hit, and no word of reads", hits(""), BlockCacheHits, op.Unmeasured, "are not shown"},
		{"no hit, and no read", hits(page(BytesReadRate, "rocksdb", 0) + page(MemtableHitRatio, "rocksdb", 0)), BlockCacheHits, op.Unmeasured, "nothing was read"},
		{"no hit, by memtables", hits(page(BytesReadRate, "rocksdb", 9) + page(MemtableHitRatio, "rocksdb", 0.5)), BlockCacheHits, op.Unmeasured, "memtables served 50 %"},
		{"no hit, and no file", hits(page(TotalSSTFilesSize, "rocksdb", 0)), BlockCacheHits, op.Unmeasured, "no files yet"},
		{"no hit at all", hits(page(BytesReadRate, "rocksdb", 9) + page(MemtableHitRatio, "rocksdb", 0)), BlockCacheHits, op.Attention, "0 %"},
		{"hits at level INFO", page(EstimateNumKeys, "rocksdb", 1), BlockCacheHits, op.Unmeasured, "needs metrics.recording.level=DEBUG"},
		{"hits filtered out", page(MemtableHitRatio, "rocksdb", 1), BlockCacheHits, op.Unmeasured, "leaves it out"},
		{"never a stall", page(WriteStallDuration, "rocksdb", 0), WriteStalls, op.OK, "none since"},
		{"an old stall", page(WriteStallDuration, "rocksdb", 5e6, 5e6, 5e6), WriteStalls, op.OK, "0 % of the last 2m"},
		{"a stall, seen once", page(WriteStallDuration, "rocksdb", 5e6), WriteStalls, op.Unmeasured, "stood still for 5s"},
		{"stalls", page(WriteStallDuration, "rocksdb", 5e6, 8e6, 11e6), WriteStalls, op.Wrong, "5 % of the last 2m; the threshold is at most 1 %"},
		{"opened again", page(WriteStallDuration, "rocksdb", 5e6, 8e6, 1e6), WriteStalls, op.Unmeasured, "opened again"},
		{"slow flushes", page(MemtableFlushTimeAvg, "rocksdb", 2.5e6), MemtableFlush, op.Attention, "2.5s"},
		{"errors", page(BackgroundErrors, "rocksdb_session", 1), Errors, op.Wrong, "1"},
		{"an instance", page(TotalSSTFilesSize, "rocksdb", 60e9) + page(TotalSSTFilesSize, "rocksdb_window", 60e9), InstanceSize, op.Attention, "111.8 GiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := judged(t, c.check, Options{}, c.text)
			if g.Status != c.status || !strings.Contains(g.Text(), c.says) && g.Check != "" {
				t.Errorf("%q: %s, want %q: …%s…", g.Status, g.Text(), c.status, c.says)
			}
		})
	}
}

func nan() float64 { var z float64; return z / z }

// consumers is a page of an application that restores.
func consumers(lag, restoring, remaining, rate string) string {
	return `kafka_consumer_consumer_fetch_manager_metrics_records_lag_max{client_id="app-StreamThread-1-restore-consumer"} ` + lag + `
kafka_streams_stream_state_updater_metrics_active_restoring_tasks{thread_id="app-StateUpdater-1"} ` + restoring + `
kafka_streams_stream_state_updater_metrics_restore_records_rate{thread_id="app-StateUpdater-1"} ` + rate + `
kafka_streams_stream_task_metrics_restore_remaining_records{task_id="0_0",thread_id="app-StreamThread-1"} ` + remaining + "\n"
}

func TestRestoring(t *testing.T) {
	report := &RestoreReport{Kind: "restore.measure", Application: "app", Median: 120, StoreBytes: 1e9}
	report.Partitions = append(report.Partitions, struct {
		Store string `json:"store"`
		Task  string `json:"task"`
	}{"s", "0_0"})
	sla := Options{SLA: 3 * time.Minute, Restore: report}
	for _, c := range []struct {
		name, text string
		o          Options
		check      CheckID
		status     op.Status
		says       string
	}{
		{"far behind", consumers("250000", "1", "0", "0"), Options{}, RestoreLag, op.Wrong, "250,000; the threshold is at most 100,000"},
		{"close", consumers("25", "1", "0", "0"), Options{}, RestoreLag, op.OK, "25"},
		{"nothing to do", consumers("NaN", "0", "0", "0"), Options{}, RestoreLag, op.OK, "no task is being restored"},
		{"stuck", consumers("NaN", "2", "0", "0"), Options{}, RestoreLag, op.Unmeasured, "2 tasks are being restored"},
		{"no SLA", consumers("25", "1", "1000000", "1000"), Options{}, RestoreTime, "", ""},
		{"too long for the SLA", consumers("25", "1", "1000000", "1000"), Options{SLA: time.Minute}, RestoreTime, op.Wrong, "16m40s"},
		{"within the SLA", consumers("25", "1", "1000000", "1000"), Options{SLA: time.Hour}, RestoreTime, op.OK, "16m40s"},
		{"the rate is not known", consumers("25", "1", "1000000", "NaN"), Options{SLA: time.Hour}, RestoreTime, op.Unmeasured, "restore-records-rate"},
		{"no report", page(TotalSSTFilesSize, "rocksdb", 1e9), Options{SLA: time.Hour}, RestoreTime, op.Unmeasured, "no --restore-report"},
		{"as measured", page(TotalSSTFilesSize, "rocksdb", 1e9), sla, RestoreTime, op.OK, "2m (measured"},
		{"grown since", page(TotalSSTFilesSize, "rocksdb", 2e9), sla, RestoreTime, op.Wrong, "2.00 times as large"},
		{"of other stores", page(EstimateNumKeys, "rocksdb", 1), sla, RestoreTime, op.OK, "not scaled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := judged(t, c.check, c.o, c.text)
			if g.Status != c.status || !strings.Contains(g.Text(), c.says) && g.Check != "" {
				t.Errorf("%q: %s, want %q: …%s…", g.Status, g.Text(), c.status, c.says)
			}
		})
	}
}

// TestSavedHistory writes what was seen and reads it again: the same series.
func TestSavedHistory(t *testing.T) {
	for _, file := range fixtures(t) {
		h := history(t, file)
		var text strings.Builder
		if _, err := h.Saved().WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		saved := filepath.Join(t.TempDir(), "saved.prom")
		if err := os.WriteFile(saved, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		again := history(t, saved)
		if len(again.series) != len(h.series) {
			t.Errorf("%s: %d series, saved %d", file, len(h.series), len(again.series))
		}
		for k, points := range h.series {
			got := again.series[k]
			if len(got) != len(points) || fmt.Sprint(got[0].Value) != fmt.Sprint(points[0].Value) || !got[0].Time.Equal(points[0].Time.Truncate(time.Millisecond)) {
				t.Errorf("%s: %v: %v, saved %v", file, k, points, got)
			}
		}
		if fmt.Sprint(again.processes) != fmt.Sprint(h.processes) {
			t.Errorf("%s: processes %v, saved %v", file, h.processes, again.processes)
		}
	}
}

func TestTrimmedHistory(t *testing.T) {
	s, err := read(strings.NewReader(page(EstimateNumKeys, "rocksdb", line(120, func(i int) float64 { return float64(i) })...)), "i", time.Now(), newCatalog())
	if err != nil {
		t.Fatal(err)
	}
	var h History
	h.Add(s)
	h.Trim(30 * time.Minute)
	for _, points := range h.series {
		if len(points) != 31 || points[0].Value != 89 {
			t.Errorf("%d points, the first %v", len(points), points[0])
		}
	}
}

// TestLargestValues: a number that no integer holds is large, not negative.
func TestLargestValues(t *testing.T) {
	for _, u := range []Unit{Bytes, Seconds, Number} {
		if text := u.Format(1e300); strings.Contains(text, "-") {
			t.Errorf("%s: %s", u, text)
		}
	}
}
