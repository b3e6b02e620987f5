package spec

import (
	"fmt"
	"slices"
	"strings"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// FromTopology takes what a described topology tells: all store names, their
// sub-topologies, global stores and their topics. Kinds come only from names
// that Kafka Streams makes; whether a store is on disk, and its retention, the
// text never tells. appID may be empty when the text's wrapping named it.
func FromTopology(m *topology.Model, appID string) (*Spec, error) {
	var t *topology.Topology
	for i := range m.Topologies {
		if x := &m.Topologies[i]; len(m.Topologies) == 1 || appID != "" && x.ApplicationID == appID {
			t = x
		}
	}
	switch {
	case t == nil:
		return nil, op.Errorf(op.Usage, "the text has %d topologies (%s), expected one", len(m.Topologies), titles(m)).
			WithTry("give the text of one application")
	case t.Name != "":
		return nil, op.Errorf(op.Usage, "topology %q is a named topology: a specification has none", t.Name)
	}
	if appID == "" {
		appID = t.ApplicationID
	}
	if appID == "" {
		return nil, op.Errorf(op.Usage, "the topology does not tell the application id").WithTry("--application-id ID")
	}
	s := &Spec{ApplicationID: appID, Complete: true}
	s.set(FieldApplicationID, certain("as given"))
	s.set(FieldGuarantee, derived("not in a topology"))
	s.set(FieldKafkaVersion, derived("not in a topology"))
	for _, st := range t.Stores() {
		s.Stores = append(s.Stores, fromText(st))
	}
	if lines := m.Unparsed(); len(lines) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d lines of the topology text were not understood, the first is line %d: %q", len(lines), lines[0].Line, lines[0].Text))
	}
	s.settle()
	return s, nil
}

func titles(m *topology.Model) string {
	var out []string
	for i, t := range m.Topologies {
		switch {
		case t.Name != "":
			out = append(out, t.Name)
		case t.ApplicationID != "":
			out = append(out, t.ApplicationID)
		default:
			out = append(out, fmt.Sprintf("number %d", i+1))
		}
	}
	return strings.Join(out, ", ")
}

// fromText is one store of the text.
func fromText(o topology.Store) Store {
	s := Store{Store: streams.Store{Name: o.Name, Global: o.Global}}
	where := certain("topology, sub-topology %d", o.Subtopology)
	s.set(FieldName, where)
	isTable := slices.ContainsFunc(o.Processors, func(p string) bool {
		op, _ := topology.OperatorOf(p)
		return op.Name == "KTABLE-SOURCE"
	})
	if o.Global {
		s.set(FieldGlobal, where)
		if len(o.Topics) == 1 {
			s.Topic = o.Topics[0]
			s.set(FieldTopic, certain("topology, source of the global store"))
		}
		if !isTable {
			s.Notes = append(s.Notes, "filled by a processor of the application's own: global: copy states that its rows are the topic's records")
		}
	} else {
		s.Subtopology = &o.Subtopology
		s.set(FieldSubtopology, where)
	}
	s.nameKind(o.Processors)
	if t, ok := topicOfStore(o.Name); ok && isTable && !o.Global {
		s.Notes = append(s.Notes, fmt.Sprintf("with topology.optimization its changelog is the topic %s itself (topic: %s, source-topic: true)", t, t))
	}
	return s
}

// nameKind tells the kind from the store's name, and for a grace buffer from
// the processor it is named after.
func (s *Store) nameKind(processors []string) {
	rule, ok := byName(s.Name)
	if ok && rule.kind == streams.GraceBuffer {
		ok = slices.Contains(processors, strings.TrimSuffix(s.Name, "-Buffer"))
	}
	if _, isSource := topicOfStore(s.Name); isSource && !ok {
		rule, ok = nameRule{kind: streams.TimestampedKV, generated: true}, true
	}
	switch {
	case ok && rule.kind == streams.Suppress:
		s.Kind = rule.kind
		s.set(FieldKind, certain("the name Kafka Streams gives a suppression buffer, which is never on disk"))
	case ok && rule.generated:
		s.Kind = rule.kind
		s.set(FieldKind, derived("the name Kafka Streams gives such a store; a topology does not tell whether it is on disk"))
	case ok:
		s.Kind = rule.kind
		s.set(FieldKind, derived("the name ends as Kafka Streams names such a store; a topology does not tell whether it is on disk"))
	default:
		s.set(FieldKind, derived("a topology does not tell"))
	}
}
