package topodiff

import (
	"cmp"
	"context"
	"slices"

	"sstool/internal/topology"
)

// Diff compares two versions of an application's topology. It fails only when
// ctx ends.
func Diff(ctx context.Context, old, new *topology.Topology, o Options) (*Result, error) {
	o.OldApp = cmp.Or(o.OldApp, old.ApplicationID)
	o.NewApp = cmp.Or(o.NewApp, new.ApplicationID, o.OldApp)
	m, err := match(ctx, newGraph(old), newGraph(new))
	if err != nil {
		return nil, err
	}
	d := &differ{matcher: m, o: o, r: &Result{Old: side(old, o.OldApp), New: side(new, o.NewApp)}}
	d.oldNames = prefix{o.OldApp, old.Name}
	d.newNames = prefix{o.NewApp, new.Name}
	d.oldParts, d.newParts = d.partitions()
	d.stores()
	d.directories()
	d.topics()
	d.subtopologies()
	d.nodes()
	d.notes()
	d.count()
	return d.r, nil
}

// differ turns a match into a result.
type differ struct {
	*matcher
	o                  Options
	r                  *Result
	oldNames, newNames prefix
	oldParts, newParts *partitions
}

// count sums up, and marks what is accepted.
func (d *differ) count() {
	for _, items := range [][]Item{d.r.Stores, d.r.Topics} {
		for i := range items {
			it := &items[i]
			switch {
			case it.Severity == Loss && slices.Contains(d.o.Accept, it.Name()):
				it.Accepted = true
				d.r.Accepted++
			case it.Severity == Loss:
				d.r.Losses++
			case it.Severity == Warning:
				d.r.Warnings++
			}
		}
	}
}
