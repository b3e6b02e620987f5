package lint_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/inspect/lint"
	"sstool/internal/worldtest"
)

// TestRealCluster breaks what runs, in every way that lint knows of, and holds
// what it says against what Kafka Streams then does.
func TestRealCluster(t *testing.T) {
	worldtest.Require(t)
	ctx := context.Background()
	b := worldtest.StartBroker(t, worldtest.Options{})
	h := worldtest.Streams(t, worldtest.Newest)
	app := worldtest.App{ID: "live", Profile: "op-aggregations", Bootstrap: b.Bootstrap, StateDir: t.TempDir()}
	text, err := h.Describe(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx, app); err != nil {
		t.Fatal(err)
	}
	if err := h.Feed(ctx, app, worldtest.Input{Records: 300, Base: worldtest.InputBase(time.Now())}); err != nil {
		t.Fatal(err)
	}
	look := func(text string, rules ...string) []string {
		t.Helper()
		return found(runLint(t, text, app.ID, "--bootstrap-server", b.Bootstrap, "--state-dir", app.StateDir, "--sample-keys", "100"), rules...)
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: found\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	expect("as it runs", look(text, "P", "S", "C12"))

	// A new version of the application, before its deploy.
	const count = "KSTREAM-AGGREGATE-STATE-STORE-0000000003"
	expect("a number shifted", look(strings.ReplaceAll(text, count, "KSTREAM-AGGREGATE-STATE-STORE-0000000099"), "S1"),
		"error S1 "+count, "error S1 "+count) // its changelog, and its directories
	expect("a store is gone", look(strings.ReplaceAll(text, count, "totals"), "S1"), "warning S1 "+count, "warning S1 "+count)
	swapped := strings.NewReplacer("Sub-topology: 0\n", "Sub-topology: 1\n", "Sub-topology: 1\n", "Sub-topology: 0\n").Replace(text)
	if got := look(swapped, "S2"); !slices.Contains(got, "error S2 "+count) {
		t.Errorf("sub-topologies swapped: %s", got)
	}
	if err := h.End(ctx, app); err != nil {
		t.Fatal(err)
	}

	// Somebody changes topics.
	const table = "KTABLE-AGGREGATE-STATE-STORE-0000000050"
	if !strings.Contains(text, table) {
		t.Fatalf("no %s in\n%s", table, text)
	}
	changelog := app.ID + "-" + table + "-changelog"
	if err := worldtest.SetTopicConfig(ctx, b.Bootstrap, changelog, map[string]string{"cleanup.policy": "compact,delete"}); err != nil {
		t.Fatal(err)
	}
	expect("a changelog of another kind", look(text, "C12"), "error C12 "+table)
	if err := worldtest.AddPartitions(ctx, b.Bootstrap, app.ID+"-in", 3); err != nil {
		t.Fatal(err)
	}
	grown := look(text, "P2", "P5")
	if !slices.Contains(grown, "error P2 "+count) || !slices.Contains(grown, "warning P5 live-in") {
		t.Errorf("a source with one partition more, its changelogs and keys as they were: %s", grown)
	}
	if err := h.Start(ctx, app); err == nil {
		t.Error("Kafka Streams starts, with changelogs of 2 partitions and 3 tasks")
	}

	// Two tables to be joined, one of them grown.
	join := worldtest.App{ID: "joins", Profile: "op-table-joins", Bootstrap: b.Bootstrap, StateDir: t.TempDir()}
	if text, err = h.Describe(ctx, join); err != nil {
		t.Fatal(err)
	}
	for topic, n := range map[string]int32{"x": 3, "y": 2, "v": 2, "s": 2, "g": 1, "pg": 1} {
		if err := worldtest.CreateTopic(ctx, b.Bootstrap, join.ID+"-"+topic, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	res := runLint(t, text, join.ID, "--bootstrap-server", b.Bootstrap)
	if got := found(res, "P1"); len(got) == 0 {
		t.Errorf("topics of 3 and 2 partitions are joined: %s", got)
	}
	if err := h.Start(ctx, join); err == nil {
		t.Error("Kafka Streams starts, with tables of 3 and 2 partitions joined")
	}
	for _, topic := range []string{"y", "v", "s"} {
		if err := worldtest.AddPartitions(ctx, b.Bootstrap, join.ID+"-"+topic, 3); err != nil {
			t.Fatal(err)
		}
	}
	if got := found(runLint(t, text, join.ID, "--bootstrap-server", b.Bootstrap), "P1", "P2"); len(got) > 0 {
		t.Errorf("equal counts: %s", got)
	}
	if err := h.Start(ctx, join); err != nil {
		t.Errorf("with equal counts: %v", err)
	}
}

// found are the findings of some rules, or of a letter of rules, but for
// outputs that nobody has written to yet.
func found(res lint.Result, rules ...string) []string {
	var out []string
	for _, f := range res.Findings {
		if f.Severity != lint.Info && !strings.Contains(f.Message, "output topic") && slices.ContainsFunc(rules, func(r string) bool { return f.Rule == r || len(r) == 1 && f.Rule[:1] == r }) {
			out = append(out, string(f.Severity)+" "+f.Rule+" "+f.Subject)
		}
	}
	slices.Sort(out)
	return out
}
