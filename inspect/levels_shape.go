package inspect

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// overlap tells how many runs have one key in their ranges, at most, and the
// bytes of the files whose range another run shares. The ranges of a run lie
// one after the other.
func overlap(runs []SortedRun) (most int, shared int64) {
	type bound struct {
		key   []byte
		opens bool
	}
	var bounds []bound
	for i := range runs {
		for _, k := range runs[i].ranges {
			bounds = append(bounds, bound{k.low, true}, bound{k.high, false})
			if slices.ContainsFunc(runs, func(o SortedRun) bool { return &o.ranges[0] != &runs[i].ranges[0] && o.touches(k) }) {
				shared += k.bytes
			}
		}
	}
	slices.SortFunc(bounds, func(a, b bound) int {
		if n := bytes.Compare(a.key, b.key); n != 0 || a.opens == b.opens {
			return n
		}
		if a.opens { // both ends belong to a range
			return -1
		}
		return 1
	})
	open := 0
	for _, b := range bounds {
		if !b.opens {
			open--
			continue
		}
		open++
		most = max(most, open)
	}
	return min(most, len(runs)), shared
}

// touches says whether a file of the run has keys in the range.
func (r *SortedRun) touches(k fileRange) bool {
	i, _ := slices.BinarySearchFunc(r.ranges, k.low, func(x fileRange, low []byte) int { return bytes.Compare(x.high, low) })
	return i < len(r.ranges) && bytes.Compare(r.ranges[i].low, k.high) <= 0
}

// bytesTouching sums the files of the run with keys in one of the ranges.
func (r *SortedRun) bytesTouching(ranges []fileRange) (sum int64) {
	for _, k := range r.ranges {
		if slices.ContainsFunc(ranges, func(o fileRange) bool {
			return bytes.Compare(k.low, o.high) <= 0 && bytes.Compare(o.low, k.high) <= 0
		}) {
			sum += k.bytes
		}
	}
	return sum
}

// leveled estimates for leveled compaction, which Kafka Streams >= 4.3 uses for
// the offsets family: level 0 by its number of files, the others by the size
// they may have (version_set.cc:EstimateCompactionBytesNeeded, with the sizes
// that level_compaction_dynamic_level_bytes=false gives).
func (s *FamilyShape) leveled(cf map[string]string) {
	number := func(name string, none float64) float64 {
		if n, err := strconv.ParseFloat(cf[name], 64); err == nil && n > 0 {
			return n
		}
		return none
	}
	trigger := number("level0_file_num_compaction_trigger", 4)
	target := func(level int) float64 {
		return number("max_bytes_for_level_base", 256<<20) * math.Pow(number("max_bytes_for_level_multiplier", 10), float64(level-1))
	}
	var pending, level0 int64
	var ranges []fileRange
	files := 0
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Level == 0 {
			files++
			level0 += r.Size
			ranges = append(ranges, r.ranges...)
		}
	}
	next := func(from, runs int, n int64, option string) {
		pending += n
		if s.Next == nil {
			s.Next = &Compaction{From: from, Runs: runs, Bytes: n, Option: option}
		}
	}
	if float64(files) >= trigger {
		n, runs := level0, files
		if files < len(s.Runs) {
			n += s.Runs[files].bytesTouching(ranges)
			runs++
		}
		next(0, runs, n, "level0_file_num_compaction_trigger")
	}
	for i := files; i < len(s.Runs); i++ {
		if over := float64(s.Runs[i].Size) - target(s.Runs[i].Level); over > 0 {
			n := int64(over)
			if i+1 < len(s.Runs) {
				n += int64(over / float64(s.Runs[i].Size) * float64(s.Runs[i+1].Size))
			}
			next(i, min(2, len(s.Runs)-i), n, "max_bytes_for_level_base")
		}
	}
	s.Pending = &pending
}
