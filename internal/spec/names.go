package spec

import (
	"strings"

	"sstool/internal/streams"
	"sstool/internal/topology"
)

// nameRule is what a store's name tells: its kind, not whether it is kept on
// disk.
type nameRule struct {
	kind      streams.Kind
	generated bool // no user would write such a name
}

// byName tells a store's kind from the name that Kafka Streams generates, or
// from the ending it gives to a name of the user's. Aggregations of streams are
// not known by name: theirs may be windowed.
func byName(store string) (nameRule, bool) {
	n := topology.ParseStoreName(store, nil)
	rule := nameRule{generated: n.Generated}
	switch n.Role {
	case topology.JoinThis, topology.JoinOther:
		rule.kind = streams.Window
	case topology.JoinShared:
		rule.kind = streams.List
	case topology.FKSubscription:
		rule.kind = streams.FKSubscription
	case topology.Suppression:
		rule.kind = streams.Suppress
	case topology.GraceBuffer:
		rule.kind = streams.GraceBuffer
	case topology.TableAggregate, topology.TableJoin, topology.FKJoin, topology.ToTable:
		rule.kind = streams.TimestampedKV
	default:
		return nameRule{}, false
	}
	return rule, true
}

// topicOfStore is the topic inside a generated name of table(topic).
func topicOfStore(store string) (string, bool) {
	n := topology.ParseStoreName(store, nil)
	return n.Base, n.Role == topology.SourceTable
}

// kindsOf are the kinds a store with this cleanup policy may have; all when
// the policy is not known.
func kindsOf(policy string) []streams.Kind {
	compact, del := strings.Contains(policy, "compact"), strings.Contains(policy, "delete")
	switch {
	case compact && del:
		return []streams.Kind{streams.Window, streams.TimestampedWindow, streams.Session, streams.TimeOrderedWindow, streams.TimeOrderedSession, streams.InMemory}
	case del:
		return []streams.Kind{streams.Window, streams.InMemory}
	case compact:
		return []streams.Kind{streams.KV, streams.TimestampedKV, streams.Versioned, streams.List, streams.FKSubscription, streams.GraceBuffer, streams.Suppress, streams.InMemory}
	}
	return nil
}
