package cmd

import (
	"reflect"
	"testing"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

// TestDefaultThresholdsReadAgain holds the file that is written against what is
// so without one.
func TestDefaultThresholdsReadAgain(t *testing.T) {
	got, err := parseThresholds("defaults", []byte(defaultThresholds()))
	if err != nil || !reflect.DeepEqual(got, monitor.Defaults()) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, monitor.Defaults())
	}
}

func FuzzThresholds(f *testing.F) {
	for _, s := range []string{defaultThresholds(), "checks: {}", "stores: [{store: a, ttl: yes}]", "checks: {restore-time: {max: 10m}}", "checks: {restore-lag: {max: .nan}}", "- a", ":", "checks: &a {store-growth: *a}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		th, err := parseThresholds("f", b)
		if err != nil {
			if op.KindOf(err) != op.Usage {
				t.Errorf("%v", err)
			}
			return
		}
		for _, c := range monitor.Checks() {
			got := th.Checks[c.ID]
			for _, v := range []*float64{got.Min, got.Max, got.Growth, got.Floor} {
				if v != nil && !(*v >= 0 && *v < 1e19) {
					t.Errorf("%s: %v", c.ID, *v)
				}
			}
		}
		if _, err := alertRules(monitor.AlertRules(monitor.RuleOptions{Scheme: monitor.JMX, Thresholds: th})); err != nil {
			t.Error(err)
		}
	})
}
