package monitor

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// promtool runs Prometheus' own tool, which judges rules.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: alert rules are not checked (Debian: apt-get install prometheus)")
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ") // which is YAML as well
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ruleFile(rules []AlertRule) any {
	return map[string]any{"groups": []any{map[string]any{"name": "sstool", "rules": rules}}}
}

// TestPromtoolChecksRules holds the rules of every scheme, with overrides and an
// SLA, against Prometheus' parser.
func TestPromtoolChecksRules(t *testing.T) {
	th := Defaults()
	th.Stores = []Override{{Store: `odd"name[1]*`, TTL: true, Checks: map[CheckID]Threshold{
		PendingCompaction: {Severity: "warning", Max: value(5e10)},
		BlockCacheHits:    {Severity: "problem", Min: value(0.5)},
		StoreGrowth:       {Severity: "problem", Window: 90 * time.Second, Growth: value(0.5), Floor: value(0)},
	}}, {Store: "*", Checks: map[CheckID]Threshold{Errors: {Severity: "warning", Max: value(3)}}}}
	for _, s := range Schemes() {
		path := filepath.Join(t.TempDir(), string(s)+".yml")
		writeJSON(t, path, ruleFile(AlertRules(RuleOptions{Scheme: s, Thresholds: th, SLA: 10 * time.Minute, Selector: `job=~"a|b"`})))
		promtool(t, "check", "rules", path)
	}
}

// series is a series of a unit test for rules: a metric, further labels and the
// values, a minute apart.
type series struct {
	metric Metric
	labels string
	values string
}

// firing are samples that must make an alert fire within 75 minutes, quiet are
// samples that must not.
var firing = map[CheckID][]series{
	BlockCacheHits:     {{BlockCacheDataHitRatio, store, "0.4x90"}},
	EstimatedKeys:      {{EstimateNumKeys, store, "20000+100x90"}},
	PendingCompaction:  {{PendingCompactionBytes, store, "12000000000x90"}},
	PendingGrowth:      {{PendingCompactionBytes, store, "1500000000+20000000x90"}},
	RestoreLag:         {{RecordsLagMax, consumer, "150000x90"}},
	RestoreLagGrowth:   {{RecordsLagMax, consumer, "2000+100x90"}},
	RestoreTime:        {{RestoreRemainingRecords, `task_id="0_1"`, "1000000x90"}, {RestoreRecordsRate, `thread_id="a"`, "100x90"}},
	StoreGrowth:        {{TotalSSTFilesSize, window, "2000000000+20000000x90"}},
	InstanceSize:       {{TotalSSTFilesSize, store, "60000000000x90"}, {TotalSSTFilesSize, window, "60000000000x90"}},
	WriteStalls:        {{WriteStallDuration, store, "0+6000000x90"}},
	MemtableFlush:      {{MemtableFlushTimeAvg, window, "2000000x90"}},
	UnflushedMemtables: {{NumImmutableMemTable, store, "2x90"}},
	Errors:             {{BackgroundErrors, store, "1x90"}},
}

const (
	store    = `rocksdb_state_id="counts",task_id="0_1"`
	window   = `rocksdb_window_state_id="hours",task_id="0_1"`
	consumer = `client_id="shop-StreamThread-1-restore-consumer"`
)

var quiet = []series{
	{BlockCacheDataHitRatio, store, "0x90"}, // nothing was looked up
	{BytesReadRate, store, "0x90"},
	{MemtableHitRatio, store, "0x90"},
	{BlockCacheDataHitRatio, window, "0.95x90"},
	{EstimateNumKeys, store, "20000+1000x55 75000x50"}, // levelled off
	{EstimateNumKeys, window, "20000+100x90"},          // leaves with its segments
	{PendingCompactionBytes, store, "1000000+1000000x90"},
	{RecordsLagMax, consumer, "0+5x90"},
	{RecordsLagMax, `client_id="shop-StreamThread-1-consumer"`, "150000x90"}, // not of a changelog
	{RestoreRemainingRecords, `task_id="0_1"`, "0x90"},
	{RestoreRecordsRate, `thread_id="a"`, "0x90"},
	{TotalSSTFilesSize, store, "60000000000x90"},
	{WriteStallDuration, store, "5000000x90"}, // long ago
	{MemtableFlushTimeAvg, store, "20000x90"},
	{NumImmutableMemTable, store, "1x90"},
	{BackgroundErrors, store, "0x90"},
}

// TestPromtoolAlerts shows each alert firing, in the schemes that exporters
// write by themselves, and a healthy
// application without one.
func TestPromtoolAlerts(t *testing.T) {
	info := map[Metric]metricInfo{}
	for _, m := range metrics() {
		info[m.name] = m
	}
	for _, s := range []Scheme{JMX, Micrometer} {
		t.Run(string(s), func(t *testing.T) {
			dir := t.TempDir()
			rules := AlertRules(RuleOptions{Scheme: s, Thresholds: Defaults(), SLA: 10 * time.Minute})
			for i := range rules {
				rules[i].Annotations = nil // which promtool would compare
				rules[i].Labels = map[string]string{}
			}
			writeJSON(t, filepath.Join(dir, "rules.yml"), ruleFile(rules))
			input := func(all []series) (out []any) {
				for _, x := range all {
					for _, name := range s.spellings(info[x.metric])[:1] {
						out = append(out, map[string]string{"series": fmt.Sprintf(`%s{job="shop",instance="i",%s}`, name, x.labels), "values": x.values})
					}
				}
				return out
			}
			test := func(all []series, alerts []any) any {
				return map[string]any{"interval": "1m", "input_series": input(all), "alert_rule_test": alerts}
			}
			expect := func(rule string, alerts ...any) any {
				return map[string]any{"eval_time": "75m", "alertname": rule, "exp_alerts": append([]any{}, alerts...)}
			}
			var tests, none []any
			for _, c := range Checks() {
				samples := firing[c.ID]
				if samples == nil {
					t.Fatalf("no samples make %s fire", c.ID)
				}
				labels := map[string]string{"job": "shop", "instance": "i"}
				if c.level != eachApplication || c.Metric == RecordsLagMax {
					for kv := range strings.SplitSeq(samples[0].labels, ",") {
						k, v, _ := strings.Cut(kv, "=")
						labels[k] = strings.Trim(v, `"`)
					}
				}
				tests = append(tests, test(samples, []any{expect(alertName(c.ID), map[string]any{"exp_labels": labels})}))
				none = append(none, expect(alertName(c.ID)))
			}
			tests = append(tests, test(quiet, none))
			writeJSON(t, filepath.Join(dir, "test.yml"), map[string]any{"rule_files": []string{"rules.yml"}, "evaluation_interval": "5m", "tests": tests})
			promtool(t, "test", "rules", filepath.Join(dir, "test.yml"))
		})
	}
}
