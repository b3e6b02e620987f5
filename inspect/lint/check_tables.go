package lint

import "strings"

// checkTables is T3.
func (r *run) checkTables() {
	for _, v := range r.views {
		for _, s := range v.stores {
			if s.Global {
				for _, topic := range s.Topics {
					r.compacted(v, s, topic, "global store "+s.Name)
				}
				continue
			}
			topic := s.source
			if topic == "" {
				continue
			}
			switch v.config().optimized() {
			case "none":
			case "all":
				r.report(v, "T3", s.Line, kindStore, s.Name, "store %s has no changelog of its own: with the optimisation it is restored from topic %s", s.Name, topic)
				r.compacted(v, s, topic, "store "+s.Name)
			default:
				r.report(v, "T3", s.Line, kindStore, s.Name, "the changelog of store %s is topic %s with topology.optimization, %s without", s.Name, topic, s.changelog)
			}
		}
	}
}

// compacted warns of a topic that keeps no table.
func (r *run) compacted(v *view, s *store, topic, whose string) {
	if r.o.Facts == nil {
		return
	}
	policy := r.o.Facts.Topics[topic].Config["cleanup.policy"]
	if policy == "" || strings.Contains(policy, "compact") {
		return
	}
	f := r.report(v, "T3", s.Line, kindTopic, topic, "%s is restored from topic %s, whose cleanup.policy is %s: rows older than its retention are gone after a restore", whose, topic, policy)
	f.Severity = Warning
}
