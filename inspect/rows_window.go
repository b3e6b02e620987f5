package inspect

import (
	"fmt"
	"time"
)

// windowGuess infers the size of tumbling windows. No store keeps it, but they
// begin at its multiples, and the newest record of each lies within it.
type windowGuess struct {
	rows     int // with a record's timestamp
	untimed  int
	starts   map[int64]bool
	divisor  int64 // the greatest common one of the starts, ms
	latest   int64 // greatest distance of a record from its window's start
	negative bool  // a record before its window: not windows as the DSL makes them
}

// What has to be seen before a size is likely.
const (
	windowRows   = 8
	windowStarts = 3
	windowGrid   = 1000 // ms: starts of smaller multiples are on no grid
)

func (g *windowGuess) add(start, at *int64) {
	if start == nil {
		return
	}
	if g.starts == nil {
		g.starts = map[int64]bool{}
	}
	if !g.starts[*start] {
		g.starts[*start] = true
		for a, b := max(*start, -*start), g.divisor; ; a, b = b, a%b {
			if b == 0 {
				g.divisor = a
				break
			}
		}
	}
	if at == nil {
		g.untimed++
		return
	}
	g.rows++
	g.negative = g.negative || *at < *start
	g.latest = max(g.latest, *at-*start)
}

// size is the likely size in ms, 0 when it is not known, and why.
func (g *windowGuess) size() (ms int64, why string) {
	grid := time.Duration(g.divisor) * time.Millisecond
	switch {
	case g.rows < windowRows && g.untimed > 0:
		return 0, "no store keeps it, and its rows have no timestamps that tell"
	case g.rows < windowRows || len(g.starts) < windowStarts:
		return 0, "no store keeps it, and there are too few rows to tell"
	case g.negative || g.divisor < windowGrid:
		return 0, "no store keeps it, and the windows begin at no common multiple"
	case g.latest >= g.divisor:
		return 0, fmt.Sprintf("no store keeps it; the windows overlap: they begin at multiples of %s and are longer than %s", grid, time.Duration(g.latest)*time.Millisecond)
	case g.latest < g.divisor/2:
		return 0, fmt.Sprintf("no store keeps it; the windows begin at multiples of %s, and the records in them would fit shorter ones", grid)
	}
	return g.divisor, fmt.Sprintf("likely: of %d rows all windows begin at multiples of it, and no shorter ones hold their records", g.rows)
}

// guessWindow takes the size that the rows make likely, unless it was given.
func (r *Rows) guessWindow(g *windowGuess) {
	if r.windowWhy != "" || !windows(r.kind) {
		return
	}
	if r.o.WindowSize > 0 {
		r.windowWhy = "as given"
		return
	}
	r.o.WindowSize, r.windowWhy = g.size()
	r.windowGuessed = r.o.WindowSize > 0
}

// sayWindow tells the size in a result.
func (r *Rows) sayWindow(res *RowsResult) {
	if r.o.WindowSize > 0 {
		res.WindowSize = pointer(r.o.WindowSize)
	}
	res.WindowGuess, res.WindowWhy = r.windowGuessed, r.windowWhy
}
