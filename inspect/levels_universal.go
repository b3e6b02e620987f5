package inspect

import (
	"math"
	"strconv"
	"strings"
)

// universalOptions are what RocksDB's universal compaction goes by.
type universalOptions struct {
	trigger     int     // level0_file_num_compaction_trigger: sorted runs before anything is done
	sizeRatio   float64 // per cent
	minMerge    int
	maxMerge    int
	maxSizeAmp  float64 // max_size_amplification_percent
	maxReadAmp  int     // max_read_amp; -1: the trigger
	similarSize bool    // stop_style
	periodic    int64   // periodic_compaction_seconds, 0: never
}

// universalDefaults are RocksDB's own, which Kafka Streams leaves alone
// (options.h:ColumnFamilyOptions, universal_compaction.h).
func universalDefaults() universalOptions {
	return universalOptions{trigger: 4, sizeRatio: 1, minMerge: 2, maxMerge: math.MaxInt32, maxSizeAmp: 200, maxReadAmp: -1}
}

// parseUniversal reads the options of a family in an OPTIONS file; what the
// file does not say stays as RocksDB has it.
func parseUniversal(cf map[string]string) universalOptions {
	o := universalDefaults()
	nested := map[string]string{}
	for part := range strings.SplitSeq(strings.Trim(cf["compaction_options_universal"], "{}"), ";") {
		if k, v, ok := strings.Cut(part, "="); ok {
			nested[k] = v
		}
	}
	integer := func(from map[string]string, name string, to *int) {
		if n, err := strconv.ParseInt(from[name], 10, 64); err == nil {
			*to = int(max(math.MinInt32, min(n, math.MaxInt32)))
		}
	}
	percent := func(name string, to *float64) {
		if n, err := strconv.ParseFloat(nested[name], 64); err == nil && n >= 0 {
			*to = n
		}
	}
	integer(cf, "level0_file_num_compaction_trigger", &o.trigger)
	integer(nested, "min_merge_width", &o.minMerge)
	integer(nested, "max_merge_width", &o.maxMerge)
	integer(nested, "max_read_amp", &o.maxReadAmp)
	percent("size_ratio", &o.sizeRatio)
	percent("max_size_amplification_percent", &o.maxSizeAmp)
	o.similarSize = nested["stop_style"] == "kCompactionStopStyleSimilarSize"
	if n, err := strconv.ParseUint(cf["periodic_compaction_seconds"], 10, 64); err == nil && n <= math.MaxInt64 {
		o.periodic = int64(n)
	}
	return o
}

// runSize is a sorted run as the picker sees it: files of level 0 are runs of
// their own, newest first, then each level.
type runSize struct {
	bytes       int64
	compensated int64 // larger where more than half of the entries are deletes
}

// pickUniversal is the compaction that RocksDB would start next:
// runs[from:to], or ok false when there is nothing to do
// (db/compaction/compaction_picker_universal.cc). due says that a file is older
// than periodic_compaction_seconds. Not followed: that a size amplification
// compaction may leave out the newest files of level 0, and what is being
// compacted at this moment, which no file tells.
func pickUniversal(runs []runSize, o universalOptions, due bool) (from, to int, reason string, ok bool) {
	if due && len(runs) > 0 {
		return 0, len(runs), "periodic_compaction_seconds", true
	}
	if len(runs) < max(1, o.trigger) {
		return 0, 0, "", false
	}
	if sizeAmp(runs) >= o.maxSizeAmp && len(runs) > 1 {
		return 0, len(runs), "max_size_amplification_percent", true
	}
	if from, to, ok = reduceRuns(runs, o, o.sizeRatio, o.maxMerge); ok {
		return from, to, "size_ratio", true
	}
	limit := o.maxReadAmp
	if limit <= 0 {
		limit = o.trigger
	}
	if len(runs) > limit {
		if from, to, ok = reduceRuns(runs, o, math.Inf(1), min(o.maxMerge, len(runs)-limit+1)); ok {
			return from, to, "level0_file_num_compaction_trigger", true
		}
	}
	return 0, 0, "", false
}

// sizeAmp is size amplification as the picker measures it: how many per cent
// the newer runs are of the last one. 0 when there is one run.
func sizeAmp(runs []runSize) float64 {
	if len(runs) < 2 {
		return 0
	}
	var newer int64
	for _, r := range runs[:len(runs)-1] {
		newer += r.compensated
	}
	return 100 * float64(newer) / float64(max(1, runs[len(runs)-1].bytes))
}

// reduceRuns finds the newest row of runs in which each is no larger than those
// before it together, a ratio of per cent on top
// (PickCompactionToReduceSortedRuns).
func reduceRuns(runs []runSize, o universalOptions, ratio float64, most int) (from, to int, ok bool) {
	for from = range runs {
		size := runs[from].compensated
		to = from + 1
		for ; to < len(runs) && to-from < most; to++ {
			next := float64(runs[to].bytes)
			if float64(size)*(100+ratio)/100 < next {
				break
			}
			if o.similarSize {
				if next*(100+ratio)/100 < float64(size) {
					break
				}
				size = runs[to].compensated
			} else {
				size += runs[to].compensated
			}
		}
		if to-from >= max(2, o.minMerge) {
			return from, to, true
		}
	}
	return 0, 0, false
}

// pendingUniversal plays the picker until it is content: the bytes that all
// compactions together would read. Nothing is assumed to shrink, so it is an
// upper bound.
func pendingUniversal(runs []runSize, o universalOptions, due bool) (bytes int64) {
	runs = append([]runSize(nil), runs...)
	for range len(runs) + 1 {
		from, to, _, ok := pickUniversal(runs, o, due)
		if !ok {
			break
		}
		due = false
		var merged int64
		for _, r := range runs[from:to] {
			merged += r.bytes
		}
		bytes += merged
		runs = append(append(runs[:from:from], runSize{merged, merged}), runs[to:]...)
	}
	return bytes
}
