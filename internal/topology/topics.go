package topology

import (
	"cmp"
	"slices"
	"strings"

	"sstool/internal/streams"
)

// TopicKind says why Kafka Streams makes a topic.
type TopicKind string

const (
	Changelog      TopicKind = "changelog"
	Repartition    TopicKind = "repartition"
	FKRegistration TopicKind = "fk-registration" // left keys on their way to the right table of a foreign-key join
	FKResponse     TopicKind = "fk-response"     // and the answers
)

// KeepsState says whether the topic is the durable form of state. Records in
// any other internal topic are on their way.
func (k TopicKind) KeepsState() bool { return k == Changelog }

// InternalTopic is a topic that Kafka Streams makes for an application.
type InternalTopic struct {
	Name        string // in Kafka
	Kind        TopicKind
	Bare        string // as the text has it: of a changelog the store, else the topic without the application id
	Generated   bool   // Bare is, and shifts
	Subtopology int    // whose partitions it has: that with the store, or the reader
	Line        int    // where Bare is named first
	Source      string // of a changelog: with topology.optimization this topic is used, and none made
}

// InternalTopics are the topics of a running application, by name. A store
// without logging has no changelog, which the text does not tell; nor whether
// topology.optimization is on. Global stores have none.
func (t *Topology) InternalTopics(appID string) []InternalTopic {
	out := t.Between(appID)
	sources := t.SourceTables()
	for _, s := range t.Stores() {
		if s.Global {
			continue
		}
		out = append(out, InternalTopic{
			Name: streams.NamedChangelogTopic(appID, t.Name, s.Name), Kind: Changelog, Bare: s.Name, Subtopology: s.Subtopology, Line: s.Line,
			Generated: ParseStoreName(s.Name, s.Processors).Generated, Source: sources[s.Name],
		})
	}
	slices.SortFunc(out, func(a, b InternalTopic) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return out
}

// Between are the internal topics between sub-topologies: all but changelogs.
func (t *Topology) Between(appID string) []InternalTopic {
	var out []InternalTopic
	written := make(map[string]int, t.Nodes()/8)
	for _, n := range t.All() {
		if n.Kind == Sink && len(n.Topics) > 0 && internalKind(n.Topics[0]) != "" {
			written[n.Topics[0]] = n.Line
		}
	}
	prefix := appID + "-"
	if t.Name != "" {
		prefix += t.Name + "-"
	}
	for s, n := range t.All() {
		if n.Kind != Source || s.Global {
			continue
		}
		for _, topic := range n.Topics {
			kind := internalKind(topic)
			if kind == "" {
				continue
			}
			line, ok := written[topic]
			if !ok {
				continue
			}
			delete(written, topic)
			_, generated := ParseGenerated(topic)
			out = append(out, InternalTopic{Name: prefix + topic, Kind: kind, Bare: topic, Generated: generated, Subtopology: s.ID, Line: min(line, n.Line)})
		}
	}
	return out
}

// SourceTables are the stores of table(topic), with the topic: a table source
// below a source of one topic of the application's own. Consumed.as("x") calls
// the two x-source and x, once x and x-table-source
// (KI/InternalStreamsBuilder.table).
func (t *Topology) SourceTables() map[string]string {
	out := map[string]string{}
	var index map[string]*Node
	for s, n := range t.All() {
		if s.Global || len(n.Stores) != 1 || len(n.Prev) != 1 {
			continue
		}
		if op, _ := OperatorOf(n.Name); op.Name != "KTABLE-SOURCE" && n.Prev[0] != n.Name+"-source" && n.Name != n.Prev[0]+"-table-source" {
			continue
		}
		if index == nil {
			index = t.Index()
		}
		if src := index[n.Prev[0]]; src != nil && src.Kind == Source && len(src.Topics) == 1 && internalKind(src.Topics[0]) == "" {
			out[n.Stores[0]] = src.Topics[0]
		}
	}
	return out
}

// internalKind is the kind of topic that Kafka Streams gives such a name,
// without the application id; "" for others. The application may have topics
// called so too: that one is written and read here makes it likely.
func internalKind(topic string) TopicKind {
	switch {
	case strings.HasSuffix(topic, "-repartition"):
		return Repartition
	case strings.HasSuffix(topic, "-subscription-registration-topic"):
		return FKRegistration
	case strings.HasSuffix(topic, "-subscription-response-topic"):
		return FKResponse
	}
	if !strings.HasSuffix(topic, "-topic") {
		return ""
	}
	switch g, _ := ParseGenerated(topic); {
	case g.Suffix != "-topic":
	case g.Operator() == "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION":
		return FKRegistration
	case g.Operator() == "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE":
		return FKResponse
	}
	return ""
}

// topicUse says which topics of a kind sinks write, and which sources read.
func (t *Topology) topicUse(kind func(topic string) bool) map[string]use {
	out := make(map[string]use, t.Nodes()/4)
	for _, n := range t.All() {
		for _, topic := range n.Topics {
			if !kind(topic) {
				continue
			}
			u := out[topic]
			out[topic] = use{u.written || n.Kind == Sink, u.read || n.Kind == Source}
		}
	}
	return out
}

type use struct{ written, read bool }

// reads says whether a source reads a topic of that kind.
func (t *Topology) reads(kind func(topic string) bool) bool {
	for _, n := range t.All() {
		if n.Kind == Source && slices.ContainsFunc(n.Topics, kind) {
			return true
		}
	}
	return false
}

// takeOffPrefix takes the application id off internal topics. describe() prints
// them without, what brokers hold of a running application has them with it,
// all of them: then the topology reads and writes each.
func (t *Topology) takeOffPrefix() {
	prefix := t.ApplicationID + "-"
	if t.ApplicationID == "" || !t.reads(func(topic string) bool { return strings.HasPrefix(topic, prefix) }) {
		return
	}
	bare := map[string]string{}
	either := func(topic string) bool {
		return internalKind(topic) != "" || internalKind(strings.TrimPrefix(topic, prefix)) != ""
	}
	for topic, u := range t.topicUse(either) {
		if !u.written || !u.read {
			continue
		}
		rest, ok := strings.CutPrefix(topic, prefix)
		if !ok || internalKind(rest) == "" {
			return
		}
		bare[topic] = rest
	}
	for _, n := range t.All() {
		for i, topic := range n.Topics {
			if rest, ok := bare[topic]; ok {
				n.Topics[i] = rest
			}
		}
	}
}
