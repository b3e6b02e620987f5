package rocks

import (
	"testing"
	"time"
)

const dbstats = `
** DB Stats **
Uptime(secs): 0.0 total, 0.0 interval
Cumulative writes: 0 writes, 0 keys, 0 commit groups, 0.0 writes per commit group, ingest: 0.00 GB, 0.00 MB/s
Cumulative stall: 01:02:3.456 H:M:S, 0.0 percent
Interval stall: 00:00:0.000 H:M:S, 0.0 percent
`

func TestParseStall(t *testing.T) {
	got, err := parseStall(dbstats)
	if want := time.Hour + 2*time.Minute + 3456*time.Millisecond; err != nil || got.Round(time.Millisecond) != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "Cumulative stall: ", "Cumulative stall: 1:2 H:M:S", "Cumulative stall: a:b:c H:M:S", "Cumulative stall: 0:0:-1 H:M:S", "Cumulative stall: 0:0:NaN H:M:S"} {
		if got, err := parseStall(bad); err == nil {
			t.Errorf("%q: %v, want an error", bad, got)
		}
	}
}

func FuzzParseStall(f *testing.F) {
	f.Add(dbstats)
	f.Add("Cumulative stall: 00:00:0.000 H:M:S, 0.0 percent")
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := parseStall(s); err == nil && d < 0 {
			t.Errorf("%q: negative stall %v", s, d)
		}
	})
}
