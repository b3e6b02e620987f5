package restore

import (
	"slices"
	"sync"

	"sstool/internal/op"
)

// live is what is told of a run while it runs: which units are at work and how
// far, and where the workers' time went. Workers tell it with every block.
type live struct {
	mu      sync.Mutex
	units   []*liveUnit // in the order they began
	watches map[*op.Stopwatch]op.Split
}

type liveUnit struct {
	unit  *Unit
	done  int64
	total int64
}

func (l *live) add(u *Unit, w *op.Stopwatch, offsets int64) {
	split := w.Split()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches == nil {
		l.watches = map[*op.Stopwatch]op.Split{}
	}
	l.watches[w] = split
	i := slices.IndexFunc(l.units, func(x *liveUnit) bool { return x.unit == u })
	if i < 0 {
		i = len(l.units)
		x := &liveUnit{unit: u}
		for _, p := range u.Parts {
			x.total += p.Records()
		}
		l.units = append(l.units, x)
	}
	l.units[i].done = min(l.units[i].done+offsets, l.units[i].total) // a partition may be read twice
}

// end forgets a unit: its event says that it is done.
func (l *live) end(u *Unit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.units = slices.DeleteFunc(l.units, func(x *liveUnit) bool { return x.unit == u })
}

// tell adds what is known to an event.
func (l *live) tell(e *op.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.units {
		e.Parts = append(e.Parts, op.Part{Name: unitName(x.unit), Done: x.done, Total: x.total})
	}
	var sum op.Split
	for _, s := range l.watches {
		sum.Add(s)
	}
	e.Split = map[string]float64{}
	for a, d := range sum {
		if d > 0 {
			e.Split[op.Activity(a).String()] = d.Seconds()
		}
	}
}
