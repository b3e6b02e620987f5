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
	var out []InternalTopic
	sources := t.sourceTables()
	for _, s := range t.Stores() {
		if s.Global {
			continue
		}
		out = append(out, InternalTopic{
			Name: streams.NamedChangelogTopic(appID, t.Name, s.Name), Kind: Changelog, Bare: s.Name, Subtopology: s.Subtopology, Line: s.Line,
			Generated: ParseStoreName(s.Name, s.Processors).Generated, Source: sources[s.Name],
		})
	}
	written := map[string]int{}
	for _, n := range t.All() {
		if n.Kind == Sink && len(n.Topics) > 0 {
			written[n.Topics[0]] = n.Line
		}
	}
	prefix := appID + "-"
	if t.Name != "" {
		prefix += t.Name + "-"
	}
	made := map[string]bool{}
	for s, n := range t.All() {
		if n.Kind != Source || s.Global {
			continue
		}
		for _, topic := range n.Topics {
			line, ok := written[topic]
			kind := internalKind(topic)
			if !ok || kind == "" || made[topic] {
				continue
			}
			made[topic] = true
			_, generated := ParseGenerated(topic)
			out = append(out, InternalTopic{Name: prefix + topic, Kind: kind, Bare: topic, Generated: generated, Subtopology: s.ID, Line: min(line, n.Line)})
		}
	}
	slices.SortFunc(out, func(a, b InternalTopic) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return out
}

// sourceTables are the stores of table(topic), with the topic: a table source
// below a source of one topic of the application's own. Consumed.as("x") calls
// the two x-source and x, once x and x-table-source
// (KI/InternalStreamsBuilder.table).
func (t *Topology) sourceTables() map[string]string {
	out := map[string]string{}
	index := t.Index()
	for s, n := range t.All() {
		if s.Global || len(n.Stores) != 1 || len(n.Prev) != 1 {
			continue
		}
		op, _ := OperatorOf(n.Name)
		src := index[n.Prev[0]]
		if src == nil || op.Name != "KTABLE-SOURCE" && src.Name != n.Name+"-source" && n.Name != src.Name+"-table-source" {
			continue
		}
		if src.Kind == Source && len(src.Topics) == 1 && internalKind(src.Topics[0]) == "" {
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
	switch g, _ := ParseGenerated(topic); {
	case g.Suffix != "-topic":
	case g.Operator() == "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION":
		return FKRegistration
	case g.Operator() == "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE":
		return FKResponse
	}
	return ""
}

// topicUse is which topics sinks write, and which are read.
func (t *Topology) topicUse() (written, read map[string]bool) {
	written, read = map[string]bool{}, map[string]bool{}
	for _, n := range t.All() {
		for _, topic := range n.Topics {
			if n.Kind == Sink {
				written[topic] = true
			} else {
				read[topic] = true
			}
		}
	}
	return written, read
}

// takeOffPrefix takes the application id off internal topics. describe() prints
// them without, what brokers hold of a running application has them with it,
// all of them: then the topology reads and writes each.
func (t *Topology) takeOffPrefix() {
	prefix := t.ApplicationID + "-"
	if t.ApplicationID == "" {
		return
	}
	written, read := t.topicUse()
	bare := map[string]string{}
	for topic := range read {
		if !written[topic] || internalKind(topic) == "" && internalKind(strings.TrimPrefix(topic, prefix)) == "" {
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
