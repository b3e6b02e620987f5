package topodraw

import (
	"fmt"
	"slices"

	"sstool/internal/topology"
)

// Options say how to draw.
type Options struct {
	App       string              // application id: internal topics are named in full, and changelogs drawn
	Optimized bool                // topology.optimization: a source topic is its table's changelog
	ASCII     bool                // no characters beyond ASCII in a tree's lines; names stay what they are
	Printable func(string) string // escapes what must not reach a terminal; nil: names have nothing like it
}

// picture is what all formats draw.
type picture struct {
	t      *topology.Topology
	app    string
	topics []topic // in the order of the text
	index  map[string]int
	logs   map[string]string // changelogs by store, only with an application id
}

// topic is a topic with its ends.
type topic struct {
	name     string // in full where that is known
	internal bool
	writers  []*topology.Node
	readers  []*topology.Node
}

func newPicture(t *topology.Topology, o Options) *picture {
	app := o.App
	if app == "" {
		app = t.ApplicationID
	}
	p := &picture{t: t, app: app, index: map[string]int{}, logs: map[string]string{}}
	full := map[string]string{}
	for _, in := range t.InternalTopics(app) {
		switch {
		case !in.Kind.KeepsState():
			full[in.Bare] = in.Bare
			if app != "" {
				full[in.Bare] = in.Name
			}
		case o.Optimized && in.Source != "":
			p.logs[in.Bare] = in.Source
		case app != "":
			p.logs[in.Bare] = in.Name
		}
	}
	for _, n := range t.All() {
		for _, name := range topicsOf(n) {
			i, ok := p.index[name]
			if !ok {
				i = len(p.topics)
				p.index[name] = i
				one := topic{name: name}
				if f, internal := full[name]; internal {
					one.name, one.internal = f, true
				}
				p.topics = append(p.topics, one)
			}
			if n.Kind == topology.Sink {
				p.topics[i].writers = append(p.topics[i].writers, n)
			} else {
				p.topics[i].readers = append(p.topics[i].readers, n)
			}
		}
	}
	return p
}

// topicsOf are the topics of a source or sink, or what finds them.
func topicsOf(n *topology.Node) []string {
	switch {
	case n.Kind == topology.Processor:
		return nil
	case n.Pattern != "":
		return []string{"topics like " + n.Pattern}
	case n.Dynamic():
		return []string{"topics chosen by " + topology.Stable(n.Extractor)}
	}
	return n.Topics
}

// of are the topics of a node.
func (p *picture) of(n *topology.Node) []*topic {
	var out []*topic
	for _, name := range topicsOf(n) {
		out = append(out, &p.topics[p.index[name]])
	}
	return out
}

// storesOf are the stores of a sub-topology, each once, sorted.
func storesOf(s *topology.Subtopology) []string {
	var out []string
	for n := range s.Of(topology.Processor) {
		out = append(out, n.Stores...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// title names a sub-topology.
func (p *picture) title(s *topology.Subtopology) string {
	text := fmt.Sprintf("Sub-topology %d", s.ID)
	for _, of := range []string{p.t.Name, p.app} {
		if of != "" {
			text = of + ": " + text
		}
	}
	if s.Global {
		text += " for a global store: no tasks"
	}
	return text
}

// clean makes a name safe to print.
func (o *Options) clean(s string) string {
	if o.Printable == nil {
		return s
	}
	return o.Printable(s)
}
