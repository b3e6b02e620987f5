package verify

import (
	"testing"
	"time"

	"sstool/internal/streams"
)

// TestVersionTooOld: a version of a late record, which a live store has passed
// over and a restore has kept, is no difference; as the latest version it is one.
func TestVersionTooOld(t *testing.T) {
	const t0, hour = int64(1_700_000_000_000), int64(3_600_000)
	value := hashOf([]byte("late"))
	for _, c := range []struct {
		end  int64
		want Counts
	}{{t0 + hour + hour/2, Counts{Expired: 1}}, {always, Counts{Extra: 1}}} {
		u := &unit{o: &Options{Limit: 1}, streamTime: t0 + 2*hour, store: streams.Store{Kind: streams.Versioned, HistoryRetention: time.Hour, SegmentInterval: 5 * time.Minute}}
		j := &judge{u: u, key: []byte("k"), open: true, list: []entry{
			{local: true, timed: true, time: t0, offset: c.end, value: value},
			{timed: true, time: t0, aux: uint64(t0 + 2*hour), offset: 83, value: value},
			{timed: true, null: true, time: t0 + 1, aux: uint64(t0 + 2*hour), offset: 84},
		}}
		must(t, j.end())
		if j.Counts != c.want {
			t.Errorf("until %d: %+v, want %+v", c.end, j.Counts, c.want)
		}
	}
}
