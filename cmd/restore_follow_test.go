package cmd

import (
	"bytes"
	"strings"
	"testing"

	"sstool/internal/exposition"
	"sstool/restore"
)

func TestFollowMetrics(t *testing.T) {
	written := int64(41)
	s := restore.FollowStatus{Restored: 7, Flushes: 3, Partitions: []restore.FollowPartition{
		{Task: "0_1", Store: `a"b`, Topic: "t", Partition: 1, Position: 42, End: 50, Lag: 8, Records: 5, Checkpoint: &written, FlushAge: 1.5},
		{Task: "0_0", Store: "c", Topic: "u", Position: 1, End: 1},
	}}
	var page bytes.Buffer
	if err := exposition.Write(&page, followFamilies("app", s, true)...); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	err := exposition.Read(strings.NewReader(page.String()), func(x *exposition.Sample) error {
		if x.Label("application_id") != "app" {
			t.Errorf("%+v", x)
		}
		got[x.Name+" "+x.Label("task")+" "+x.Label("store")+" "+x.Label("topic")+" "+x.Label("partition")] = x.Value
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for series, want := range map[string]float64{
		"sstool_follow_following    ":                      1,
		"sstool_follow_flushes_total    ":                  3,
		`sstool_follow_lag_records 0_1 a"b t 1`:            8,
		`sstool_follow_position 0_1 a"b t 1`:               42,
		`sstool_follow_checkpoint_offset 0_1 a"b t 1`:      41,
		`sstool_follow_records_applied_total 0_1 a"b t 1`:  5,
		`sstool_follow_last_flush_age_seconds 0_1 a"b t 1`: 1.5,
		"sstool_follow_lag_records 0_0 c u 0":              0,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", series, v, ok, want)
		}
	}
	if _, ok := got["sstool_follow_checkpoint_offset 0_0 c u 0"]; ok {
		t.Error("an offset that is not known was shown")
	}
}
