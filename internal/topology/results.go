package topology

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"

	"sstool/internal/op"
)

// maxProblems is how many problems are told one by one.
const maxProblems = 1000

// result is what one describe() printed.
type result struct {
	topologies []Topology
	problems   []Problem
	err        *fault
}

// results are those of a text, in the order they were printed.
type results struct {
	last   result // a later one may still replace it
	fatal  *fault // with Options.All: of one before
	prints int
	seen   map[uint64]int // canonical texts, with where in Model.Topologies they are (All)
	seed   maphash.Seed
	more   int // problems not kept
}

// settle deals with the last print when a later one comes: with All it is
// kept, else it was a version that is gone.
func (p *parser) settle() {
	r := p.last
	p.last = result{}
	switch {
	case len(r.topologies) == 0:
		return
	case r.err != nil && p.o.All:
		if p.fatal == nil {
			p.fatal = r.err
		}
		return
	case r.err != nil:
		p.tell([]Problem{{Kind: Incomplete, Line: r.err.line, Message: "an earlier topology is left out: " + r.err.err.Error()}})
		p.prints++
		return
	case p.o.All || !p.o.Log:
		p.tell(r.problems)
	}
	p.prints++
	for _, t := range r.topologies {
		t.Print = p.prints
		key := p.hash(&t)
		if p.o.All {
			if at, again := p.seen[key]; again && p.m.Topologies[at].Print != t.Print {
				p.m.Topologies[at] = Topology{} // an application that started twice
			}
			p.m.Topologies = append(p.m.Topologies, t)
		}
		p.seen[key] = len(p.m.Topologies) - 1
	}
}

// hash is the same for one topology of two runs.
func (p *parser) hash(t *Topology) uint64 {
	if p.seen == nil {
		p.seen, p.seed = map[uint64]int{}, maphash.MakeSeed()
	}
	return maphash.String(p.seed, t.ApplicationID+"\n"+t.stable())
}

// tell adds problems to the model.
func (p *parser) tell(problems []Problem) {
	room := min(maxProblems-len(p.m.Problems), len(problems))
	p.m.Problems = append(p.m.Problems, problems[:room]...)
	p.more += len(problems) - room
}

// finish is the model, or why there is none.
func (p *parser) finish() (*Model, error) {
	p.noHeader()
	p.endPrint()
	m, last := p.m, p.last
	switch {
	case last.err != nil:
		return nil, p.unusable(last.err)
	case len(last.topologies) == 0 && p.fatal == nil:
		return nil, p.noTopology()
	}
	if p.o.All {
		p.settle()
		m.Topologies = slices.DeleteFunc(m.Topologies, func(t Topology) bool { return t.Print == 0 })
	} else {
		p.tell(last.problems)
		m.Topologies = last.topologies
		for i := range m.Topologies {
			m.Topologies[i].Print = p.prints + 1
			if p.seen != nil {
				delete(p.seen, p.hash(&m.Topologies[i]))
			}
		}
		m.Earlier = len(p.seen)
	}
	if p.fatal != nil {
		return nil, p.unusable(p.fatal)
	}
	slices.SortStableFunc(m.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	if p.more > 0 {
		m.Problems = append(m.Problems, Problem{Kind: UnparsedLine, Message: fmt.Sprintf("%d more lines like these", p.more)})
	}
	return m, nil
}

func (p *parser) unusable(f *fault) error {
	what := fmt.Sprintf("topology, line %d", f.line)
	if p.o.File != "" {
		what = fmt.Sprintf("%s:%d", p.o.File, f.line)
	}
	return &op.Error{Kind: op.Usage, What: what, Err: f.err, Try: howToGet}
}
