package rocks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseStall reads the time writers were delayed or stopped since the store
// was opened from the property "rocksdb.dbstats" (RocksDB's
// db/internal_stats.cc, DumpDBStats):
//
//	Cumulative stall: 00:00:1.234 H:M:S, 4.2 percent
func parseStall(stats string) (time.Duration, error) {
	_, rest, ok := strings.Cut(stats, "Cumulative stall: ")
	if !ok {
		return 0, errors.New("no cumulative stall in rocksdb.dbstats")
	}
	clock, _, ok := strings.Cut(rest, " H:M:S")
	part := strings.Split(clock, ":")
	if !ok || len(part) != 3 {
		return 0, fmt.Errorf("cumulative stall in rocksdb.dbstats is not H:M:S: %.40q", rest)
	}
	h, err1 := strconv.ParseUint(part[0], 10, 20)
	m, err2 := strconv.ParseUint(part[1], 10, 20)
	s, err3 := strconv.ParseFloat(part[2], 64)
	if err := errors.Join(err1, err2, err3); err != nil || !(s >= 0 && s < 1e6) {
		return 0, fmt.Errorf("cumulative stall in rocksdb.dbstats is not H:M:S: %.40q", clock)
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s*float64(time.Second)), nil
}
