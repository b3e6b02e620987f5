package inspect

import (
	"fmt"
	"math"
	"testing"
)

// sizes makes runs, newest first, none of which is compensated.
func sizes(bytes ...int64) (runs []runSize) {
	for _, n := range bytes {
		runs = append(runs, runSize{n, n})
	}
	return runs
}

func TestPickUniversal(t *testing.T) {
	similar := universalDefaults()
	similar.similarSize = true
	lazy := universalDefaults()
	lazy.maxReadAmp = 10
	for _, c := range []struct {
		name    string
		runs    []runSize
		o       universalOptions
		due     bool
		want    string // from-to reason
		pending int64
	}{
		{"no file", nil, universalDefaults(), true, "", 0},
		{"fewer runs than the trigger", sizes(1000, 1000, 1), universalDefaults(), false, "", 0},
		{"one old file", sizes(10), universalDefaults(), true, "0-1 periodic_compaction_seconds", 10},
		{"newer runs twice the last", sizes(50, 50, 100, 100), universalDefaults(), false, "0-4 max_size_amplification_percent", 300},
		{"just below twice", sizes(49, 50, 100, 100), universalDefaults(), false, "2-4 size_ratio", 200}, // 49 and 1 % do not reach 50
		{"each as large as those before", sizes(10, 10, 20, 1000), universalDefaults(), false, "0-3 size_ratio", 40},
		{"one per cent is allowed", sizes(100, 101, 1000, 10000), universalDefaults(), false, "0-2 size_ratio", 201},
		{"more is not: the runs become too many", sizes(100, 102, 1000, 10000, 100000), universalDefaults(), false, "0-2 level0_file_num_compaction_trigger", 202},
		{"as many as the trigger, and none fits", sizes(1, 10, 100, 1000), universalDefaults(), false, "", 0},
		{"begins behind a small one", sizes(1, 50, 50, 1000), universalDefaults(), false, "1-3 size_ratio", 100},
		{"similar sizes stop at a smaller one", sizes(100, 1, 1, 10000), similar, false, "1-3 size_ratio", 2},
		{"many runs are allowed", sizes(1, 10, 100, 1000, 10000), lazy, false, "", 0},
		{"deletes weigh", []runSize{{10, 200}, {10, 10}, {10, 10}, {100, 100}}, universalDefaults(), false, "0-4 max_size_amplification_percent", 130},
	} {
		from, to, reason, ok := pickUniversal(c.runs, c.o, c.due)
		got := ""
		if ok {
			got = fmt.Sprintf("%d-%d %s", from, to, reason)
		}
		if got != c.want {
			t.Errorf("%s: picked %q, want %q", c.name, got, c.want)
		}
		if n := pendingUniversal(c.runs, c.o, c.due); n != c.pending {
			t.Errorf("%s: pending %d, want %d", c.name, n, c.pending)
		}
	}
}

func TestParseUniversal(t *testing.T) {
	// As Kafka Streams 4.4.0 leaves it in an OPTIONS file.
	got := parseUniversal(map[string]string{
		"compaction_options_universal":       "{allow_trivial_move=false;incremental=false;stop_style=kCompactionStopStyleTotalSize;compression_size_percent=-1;max_read_amp=-1;max_size_amplification_percent=200;max_merge_width=4294967295;min_merge_width=2;size_ratio=1;}",
		"level0_file_num_compaction_trigger": "4", "periodic_compaction_seconds": "2592000",
	})
	want := universalDefaults()
	want.periodic = 2592000
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = parseUniversal(map[string]string{"compaction_options_universal": "{stop_style=kCompactionStopStyleSimilarSize;max_read_amp=7;size_ratio=10;max_size_amplification_percent=25;}", "periodic_compaction_seconds": "18446744073709551614"})
	want = universalDefaults()
	want.similarSize, want.maxReadAmp, want.sizeRatio, want.maxSizeAmp = true, 7, 10, 25
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// FuzzUniversal holds that any options and sizes come to an end and pick runs
// that exist.
func FuzzUniversal(f *testing.F) {
	f.Add("{size_ratio=1;min_merge_width=2;}", "4", int64(10), int64(20), int64(5), int64(1000), true)
	f.Add("{max_merge_width=0;min_merge_width=-5;max_size_amplification_percent=0;}", "0", int64(0), int64(0), int64(0), int64(0), false)
	f.Fuzz(func(t *testing.T, nested, trigger string, a, b, c, d int64, due bool) {
		o := parseUniversal(map[string]string{"compaction_options_universal": nested, "level0_file_num_compaction_trigger": trigger})
		var runs []runSize
		for _, n := range []int64{a, b, c, d, b, a} {
			n &= math.MaxInt64 >> 8
			runs = append(runs, runSize{n, n})
		}
		if from, to, _, ok := pickUniversal(runs, o, due); ok && (from < 0 || to <= from || to > len(runs)) {
			t.Errorf("picked %d to %d of %d runs", from, to, len(runs))
		}
		if n := pendingUniversal(runs, o, due); n < 0 {
			t.Errorf("pending %d", n)
		}
	})
}
