package monitor

import (
	"strings"
	"testing"
	"time"
)

func TestAlertRulesOfOverrides(t *testing.T) {
	th := Defaults()
	large := Threshold{Severity: "warning", Max: value(50e9)}
	th.Stores = []Override{
		{Store: "sessions-*", TTL: true, Checks: map[CheckID]Threshold{PendingCompaction: large}},
		{Store: "sessions-eu", Checks: map[CheckID]Threshold{PendingCompaction: {Severity: Off}}},
	}
	rules := map[string]AlertRule{}
	for _, r := range AlertRules(RuleOptions{Scheme: Micrometer, Thresholds: th, Selector: `job="shop"`}) {
		rules[r.Alert] = r
	}
	// The rule of all leaves out what the overrides take, and each of these what
	// a later one does.
	all := rules["KafkaStreamsPendingCompaction"].Expr
	if want := `rocksdb_window_state_id!~"sessions-.*|sessions-eu"`; !strings.Contains(all, want) || !strings.Contains(all, "> 10000000000") {
		t.Errorf("%s\nlacks %s", all, want)
	}
	own := rules["KafkaStreamsPendingCompaction1"].Expr
	if want := `rocksdb_state_id=~"sessions-.*",rocksdb_state_id!~"sessions-eu",job="shop"`; !strings.Contains(own, want) || !strings.Contains(own, "> 50000000000") {
		t.Errorf("%s\nlacks %s", own, want)
	}
	if r, ok := rules["KafkaStreamsPendingCompaction2"]; ok {
		t.Errorf("a rule of what is off: %s", r.Expr)
	}
	if keys := rules["KafkaStreamsEstimatedKeys"].Expr; !strings.Contains(keys, `rocksdb_state_id!~"sessions-.*"`) {
		t.Errorf("a store with ttl is judged: %s", keys)
	}
	if r, ok := rules["KafkaStreamsEstimatedKeys1"]; ok {
		t.Errorf("a rule of a store with ttl: %s", r.Expr)
	}
	if _, ok := rules["KafkaStreamsRestoreTime"]; ok {
		t.Error("a rule about an SLA that nobody gave")
	}
	sla := AlertRules(RuleOptions{Scheme: JMX, Thresholds: th, SLA: 10 * time.Minute})
	found := false
	for _, r := range sla {
		found = found || r.Alert == "KafkaStreamsRestoreTime" && strings.Contains(r.Expr, "> 600")
	}
	if !found || th.Checks[RestoreTime].Max != nil {
		t.Error("the SLA makes no rule, or changes the thresholds that were given")
	}
}
