package topodiff

import (
	"cmp"
	"context"
	"slices"

	"sstool/internal/op"
	"sstool/internal/topology"
)

// Comparison is all topologies of two texts, and the JSON document of sstool
// topology diff.
type Comparison struct {
	Losses     int      `json:"losses"` // stores and topics with a loss that is not accepted
	Warnings   int      `json:"warnings"`
	Accepted   int      `json:"accepted"`
	Topologies []Result `json:"topologies"`
}

// Compare compares the topologies of two texts. One in each are two versions
// of one; of several, those of one application id and name are. A topology
// that is in one text only has come or gone with all its state.
func Compare(ctx context.Context, old, new []topology.Topology, o Options) (*Comparison, error) {
	old, err := distinctOnes(old, o.OldApp)
	if err != nil {
		return nil, err
	}
	if new, err = distinctOnes(new, cmp.Or(o.NewApp, o.OldApp)); err != nil {
		return nil, err
	}
	c := &Comparison{}
	add := func(a, b *topology.Topology) error {
		r, err := Diff(ctx, a, b, o)
		if err != nil {
			return err
		}
		c.Losses, c.Warnings, c.Accepted = c.Losses+r.Losses, c.Warnings+r.Warnings, c.Accepted+r.Accepted
		c.Topologies = append(c.Topologies, *r)
		return nil
	}
	if len(old) == 1 && len(new) == 1 {
		return c, add(&old[0], &new[0])
	}
	for i := range old {
		a := &old[i]
		b := &topology.Topology{Name: a.Name, ApplicationID: a.ApplicationID}
		if k := slices.IndexFunc(new, func(t topology.Topology) bool { return sameOne(&t, a) }); k >= 0 {
			b = &new[k]
		}
		if err := add(a, b); err != nil {
			return nil, err
		}
	}
	for i := range new {
		b := &new[i]
		if slices.ContainsFunc(old, func(t topology.Topology) bool { return sameOne(&t, b) }) {
			continue
		}
		if err := add(&topology.Topology{Name: b.Name, ApplicationID: b.ApplicationID}, b); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Unknown are the names that no store and no internal topic of the old text
// has.
func (c *Comparison) Unknown(names []string) []string {
	known := map[string]bool{}
	for _, r := range c.Topologies {
		for _, items := range [][]Item{r.Stores, r.Topics} {
			for i := range items {
				known[items[i].Name()] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return known[n] })
}

func sameOne(a, b *topology.Topology) bool {
	return a.Name == b.Name && a.ApplicationID == b.ApplicationID
}

// distinctOnes are the topologies of the application that is asked for, if the
// text tells whose they are.
func distinctOnes(of []topology.Topology, app string) ([]topology.Topology, error) {
	theirs := slices.DeleteFunc(slices.Clone(of), func(t topology.Topology) bool { return t.ApplicationID != app })
	if app != "" && len(theirs) > 0 {
		of = theirs
	}
	for i := range of {
		if slices.ContainsFunc(of[:i], func(t topology.Topology) bool { return sameOne(&t, &of[i]) }) {
			return nil, op.Errorf(op.Usage, "%s has several topologies (lines %d and %d) and does not tell them apart", cmp.Or(of[i].File, "the text"), of[0].Line, of[i].Line).
				WithTry("give the text of one application")
		}
	}
	return of, nil
}
