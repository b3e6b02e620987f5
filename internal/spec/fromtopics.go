package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// TopicFacts is what a cluster tells about one topic.
type TopicFacts struct {
	Name       string
	Partitions int
	Configs    map[string]string
}

// FromTopics takes what the changelogs of an application tell: names, and from
// their configuration (PI/*ChangelogTopicConfig) what fits. Everything but the
// existence of the topics is derived: somebody may have changed them, and
// another application's id may begin with this one's.
func FromTopics(appID string, topics []TopicFacts) (*Spec, error) {
	if err := streams.ValidateApplicationID(appID); err != nil {
		return nil, err
	}
	s := &Spec{ApplicationID: appID}
	s.set(FieldApplicationID, certain("as given"))
	s.set(FieldGuarantee, derived("not in the topics"))
	s.set(FieldKafkaVersion, derived("not in the topics"))
	for _, t := range topics {
		if name, ok := streams.StoreOfChangelog(appID, t.Name); ok {
			s.Stores = append(s.Stores, fromTopic(name, t))
		}
	}
	if len(s.Stores) == 0 {
		return nil, op.Errorf(op.NotFound, "no changelog of application %q among %d topics: none is named %s", appID, len(topics), streams.ChangelogTopic(appID, "<store>")).
			WithTry("an application without changelogs may use its source topics instead: --topology or a state directory tells")
	}
	s.settle()
	return s, nil
}

func fromTopic(name string, t TopicFacts) Store {
	s := Store{Store: streams.Store{Name: name}}
	s.set(FieldName, derived("topic %s, %s", t.Name, count(t.Partitions, "partition")))
	s.set(FieldSubtopology, derived("not in a topic"))
	policy := t.Configs["cleanup.policy"]
	why := "cleanup.policy=" + policy
	if policy == "" {
		why = "the topic's cleanup.policy is not known"
	}
	s.Candidates = kindsOf(policy)
	s.set(FieldKind, derived("%s", why))
	rule, named := byName(name)
	if named && fits(rule.kind, s.Candidates) {
		s.Kind = rule.kind
		s.set(FieldKind, derived("%s and the name", why))
	}
	switch {
	case strings.Contains(policy, "delete"):
		if d, err := streams.DeriveRetention(t.Name, t.Configs, 0); err != nil {
			s.set(FieldRetention, derived("%v", err))
		} else {
			s.Retention = d.Value
			s.set(FieldRetention, derived("%s", d.From))
			s.deriveInterval(streams.Window, d.Value)
		}
	case policy == "compact":
		lag, err := strconv.ParseInt(strings.TrimSpace(t.Configs["min.compaction.lag.ms"]), 10, 64)
		if err != nil || lag <= 0 {
			break
		}
		if d, err := streams.DeriveHistoryRetention(t.Name, t.Configs); err == nil {
			s.Kind, s.HistoryRetention = streams.Versioned, d.Value
			s.set(FieldKind, derived("min.compaction.lag.ms=%d", lag))
			s.set(FieldHistoryRetention, derived("%s", d.From))
			s.deriveInterval(streams.Versioned, d.Value)
		}
	}
	return s
}

// deriveInterval is Kafka Streams' default for a retention; all windowed kinds
// share a formula.
func (s *Store) deriveInterval(kind streams.Kind, retention time.Duration) {
	if d, ok := streams.DeriveSegmentInterval(kind, retention); ok {
		s.SegmentInterval = d.Value
		s.set(FieldSegmentInterval, derived("%s", d.From))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fits says whether a kind is among the candidates; no candidates are all.
func fits(k streams.Kind, candidates []streams.Kind) bool {
	if len(candidates) == 0 {
		return true
	}
	for _, c := range candidates {
		if c == k {
			return true
		}
	}
	return false
}
