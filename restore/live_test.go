package restore

import (
	"testing"

	"sstool/internal/op"
)

// TestLive: an event tells the units at work in the order they began, never
// more than all of them, and the time of every worker once.
func TestLive(t *testing.T) {
	unit := func(topic string, from, to int64) *Unit {
		return &Unit{Topic: topic, Parts: []PartRange{{Partition: 3, From: from, To: to}}}
	}
	a, b := unit("a", 100, 300), unit("b", 0, 50)
	one, two := op.StartWatch(op.Network), op.StartWatch(op.Write)
	var l live
	told := func() op.Event {
		var e op.Event
		l.tell(&e)
		return e
	}
	if e := told(); len(e.Parts) != 0 || len(e.Split) != 0 {
		t.Errorf("before anything: %+v", e)
	}
	l.add(a, one, 40)
	l.add(b, two, 10)
	l.add(a, one, 60)
	e := told()
	if len(e.Parts) != 2 || e.Parts[0] != (op.Part{Name: "a-3", Done: 100, Total: 200}) || e.Parts[1] != (op.Part{Name: "b-3", Done: 10, Total: 50}) {
		t.Errorf("parts %+v", e.Parts)
	}
	sum := one.Split()
	for _, d := range two.Split() {
		sum[op.Idle] += d
	}
	total, most := 0.0, 0.0
	for _, s := range e.Split {
		total += s
	}
	for _, d := range sum {
		most += d.Seconds()
	}
	if len(e.Split) != 2 || total <= 0 || total > most {
		t.Errorf("split %v sums up to %v of at most %v", e.Split, total, most)
	}
	l.add(a, one, 500) // read a second time
	l.end(b)
	if e := told(); len(e.Parts) != 1 || e.Parts[0].Done != e.Parts[0].Total {
		t.Errorf("at the end %+v", e.Parts)
	}
	l.end(b)
}
