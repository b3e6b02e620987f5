package lint

import (
	"fmt"
	"strings"

	"sstool/internal/topology"
)

// checkShape is T1, T2, T4 and T5.
func (r *run) checkShape() {
	for _, v := range r.views {
		for i := range v.t.Subtopologies {
			s := &v.t.Subtopologies[i]
			if s.Global {
				r.globalStore(v, s)
			} else {
				r.keyChanges(v, s)
			}
			for n := range s.Of(topology.Source) {
				if n.Pattern != "" {
					r.report(v, "T4", n.Line, kindProcessor, n.Name, "source %s reads the topics that match %s: which, and with how many partitions, is known only at run time", n.Name, quote(n.Pattern))
				}
			}
		}
		r.oldJoins(v)
	}
}

// changesKey says whether the operator gives records another key. What
// process() and transform() do is not known.
func changesKey(n *topology.Node) bool {
	op, ok := topology.OperatorOf(n.Name)
	return ok && op.Rekeys && op.Name != "KSTREAM-PROCESSOR" && op.Name != "KSTREAM-TRANSFORM"
}

// keyChanges is T1. A repartition ends a sub-topology, so what a key change
// reaches within one, it reaches without.
func (r *run) keyChanges(v *view, s *topology.Subtopology) {
	from := map[string]*topology.Node{}
	var queue []*topology.Node
	for n := range s.Of(topology.Processor) {
		if changesKey(n) {
			from[n.Name] = n
			queue = append(queue, n)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, name := range at.Next {
			n := v.index[name]
			if n == nil || from[name] != nil {
				continue
			}
			from[name] = from[at.Name]
			queue = append(queue, n)
			if len(n.Stores) > 0 {
				r.report(v, "T1", n.Line, kindProcessor, n.Name, "%s with store %s is fed by %s (line %d), which changes keys, without a repartition", n.Name, strings.Join(n.Stores, ", "), from[name].Name, from[name].Line).
					with(v, from[name].Line, from[name].Name)
			}
		}
	}
}

// globalStore is T2.
func (r *run) globalStore(v *view, s *topology.Subtopology) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch {
		case n.Kind == topology.Sink:
			r.report(v, "T2", n.Line, kindProcessor, n.Name, "sink %s is behind a global store: the global thread writes no topics", n.Name)
		case n.Kind == topology.Processor && len(n.Next) > 0:
			r.report(v, "T2", n.Line, kindProcessor, n.Name, "%s of a global store has %s behind it: the global thread ends with the store's processor", n.Name, strings.Join(n.Next, ", "))
		case n.Kind == topology.Source:
			for _, name := range n.Topics {
				r.globalTopic(v, n, name)
			}
		}
	}
}

func (r *run) globalTopic(v *view, n *topology.Node, name string) {
	f := v.flows[name]
	if len(f.sinks) > 0 && strings.HasSuffix(name, repartitionSuffix) {
		r.report(v, "T2", n.Line, kindTopic, name, "a global store reads repartition topic %s: its records are deleted once the tasks have read them", name)
		return
	}
	for _, o := range f.sources {
		if o != n {
			r.report(v, "T2", n.Line, kindTopic, name, "topic %s is read by a global store and by %s (line %d): Kafka Streams refuses the second source", name, o.Name, o.Line).with(v, o.Line, o.Name)
			return
		}
	}
}

// oldJoins is T5: left and outer joins without the shared store.
func (r *run) oldJoins(v *view) {
	shared := map[string]bool{}
	for _, s := range v.stores {
		if s.name.Role == topology.JoinShared {
			shared[joinOf(s.Name)] = true
		}
	}
	for _, s := range v.stores {
		join := joinOf(s.Name)
		if s.name.Role != topology.JoinOther || shared[join] {
			continue
		}
		name := join + "-left-shared-join-store (or -outer-)"
		if s.generated {
			name = fmt.Sprintf("KSTREAM-OUTERSHARED-%010d-store", s.gen.Number-1)
		}
		if s.gen.word() == "OUTEROTHER" || !s.generated && strings.HasSuffix(s.Name, "-outer-other-join-store") {
			r.report(v, "T5", s.Line, kindStore, s.Name, "the left or outer join of store %s has no shared store: with Kafka 3.1 or newer it also has %s", s.Name, name)
		}
	}
}
