package inspect

import (
	"context"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/streams"
)

// TestWindowSizeFromRows: the size of real tumbling windows is found, that of
// sliding and join windows and of windows without timestamps is not made up.
func TestWindowSizeFromRows(t *testing.T) {
	const minute = int64(60_000)
	for archive, stores := range map[string]map[string]int64{
		"4.0.2-win-alos":    {"win-cnt": minute, "win-emit": minute, "slide": 0, "slide-emit": 0},
		"4.0.2-papi-alos":   {"ts-win": minute, "plain-win": 0, "dup-win": 0},
		"4.4.0-papi-h-alos": {"h-win": minute},
		"4.0.2-ssjoin-alos": {"lj-this-join-store": 0},
	} {
		_, app := lsmtest.Unpack(t, archive)
		for store, want := range stores {
			r := openRows(t, RowsOptions{Path: app, Store: store})
			ends := 0
			res, err := r.Scan(context.Background(), RowsScan{Limit: 5}, func(row *Row) error {
				if row.End != nil && *row.End == *row.Start+want {
					ends++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got := int64(0)
			if res.WindowSize != nil {
				got = *res.WindowSize
			}
			if got != want || res.WindowGuess != (want > 0) || res.WindowWhy == "" || want > 0 && ends != 5 || want == 0 && ends > 0 {
				t.Errorf("%s %s: %d ms (%s), want %d; %d ends", archive, store, got, res.WindowWhy, want, ends)
			}
		}
	}
	_, app := lsmtest.Unpack(t, "4.0.2-win-alos")
	r := openRows(t, RowsOptions{Path: app, Store: "win-cnt", WindowSize: 2 * minute})
	res, err := r.Scan(context.Background(), RowsScan{Limit: 1}, func(*Row) error { return nil })
	if err != nil || *res.WindowSize != 2*minute || res.WindowGuess || res.WindowWhy != "as given" {
		t.Errorf("a stated size: %+v, %v", res, err)
	}
}

// TestWindowGuess: grids that windows of another kind make.
func TestWindowGuess(t *testing.T) {
	const s = int64(1000)
	rows := func(size, advance int64, each int) (g windowGuess) {
		for at := 100 * size; at < 130*size; at += size / int64(each) {
			for start := at / advance * advance; start > at-size; start -= advance {
				g.add(&start, &at)
			}
		}
		return g
	}
	for name, c := range map[string]struct {
		g    windowGuess
		want int64
	}{
		"tumbling":           {rows(60*s, 60*s, 7), 60 * s},
		"tumbling, one each": {rows(60*s, 60*s, 1), 0}, // records at the very start would fit any size
		"hopping":            {rows(60*s, 20*s, 7), 0},
		"sub-second":         {rows(500, 500, 7), 0},
		"few":                {rows(60*s, 60*s, 7), 0},
	} {
		if name == "few" {
			c.g.rows = windowRows - 1
		}
		if got, why := c.g.size(); got != c.want {
			t.Errorf("%s: %d (%s), want %d", name, got, why, c.want)
		}
	}
	// Every other window is empty: the records fit half the grid.
	var g windowGuess
	for i := range int64(40) {
		start := 120 * s * i
		for at := start; at < start+60*s; at += 7 * s {
			g.add(&start, &at)
		}
	}
	if got, why := g.size(); got != 0 {
		t.Errorf("holes: %d (%s)", got, why)
	}
	if !windows(streams.TimeOrderedWindow) {
		t.Error("time-ordered windows are windows")
	}
}
