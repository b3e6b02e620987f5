package migrate

import (
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// refusal says why rows of a kind are not ttl's to delete, and what to do
// instead; "" when they are.
func refusal(k streams.Kind) (why, try string) {
	switch k {
	case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow:
		return "a window store: its rows leave with its retention", retentionTry
	case streams.Session, streams.TimeOrderedSession:
		return "a session store: its rows leave with its retention", retentionTry
	case streams.Versioned:
		return "a versioned store: a tombstone there is one more version, and old versions leave with the history retention",
			"shorten the history retention in the application; a single key is deleted by its own delete(key, timestamp)"
	case streams.FKSubscription:
		return "the subscriptions of a foreign-key join: without them changes of the right table no longer reach the rows that refer to it",
			"delete from the left table, the join then takes its subscription back itself"
	case streams.List:
		return "the shared store of a stream-stream join: its rows wait for their match, and the join deletes each when its window closes",
			"wait until window and grace period have passed; shorten JoinWindows in the application"
	case streams.GraceBuffer:
		return "the buffer of a join with a grace period: its rows are records that were not processed yet", "shorten the grace period in the application"
	case streams.Suppress:
		return "a suppression buffer: its rows are results that were not sent yet", "wait until they are sent; bound the buffer with Suppressed.BufferConfig"
	}
	return "", ""
}

const retentionTry = "shorten the retention in the application (Materialized.withRetention, Stores.persistentWindowStore); expired segments are deleted as a whole when stream time moves on"

// check refuses a store that must not be cleaned key by key, or whose kind is
// not known.
func (s *TTLStore) check() error {
	no := func(try, format string, args ...any) error {
		args = append([]any{s.Name}, args...)
		return op.Errorf(op.Precondition, "store %s "+format, args...).WithTry("%s", try)
	}
	if why, try := refusal(s.Kind); why != "" {
		return no(try, "is %s (%s)", why, s.KindWhy)
	}
	switch {
	case s.Global:
		return no("send the tombstones with the producer that owns the topic", "is a global store: its rows are the records of a topic that is the user's")
	case s.SourceTopic:
		return no("send the tombstones with the producer that owns the topic", "has no changelog of its own: with topology.optimization it is restored from %s, which is the user's", s.Topic)
	case s.Kind == streams.InMemory:
		return no("--kind kv, or timestamped-kv, if that is what it is", "is in memory (%s): whether it is a key-value store is not known", s.KindWhy)
	case s.Kind == "":
		why := ""
		if s.KindWhy != "" {
			why = " (" + s.KindWhy + ")"
		}
		if len(s.Candidates) > 0 {
			why += ", it may be " + joinKinds(s.Candidates)
		}
		return no("--kind kv or --kind timestamped-kv if you know it; --state-dir, --spec or --topology tell it", "is of a kind that is not known%s: a topic alone does not tell a key-value store from one that must not be touched", why)
	case s.Kind != streams.KV && s.Kind != streams.TimestampedKV:
		return no("only kv and timestamped-kv stores are cleaned", "is of the kind %s", s.Kind)
	}
	return nil
}

// checkConfig holds a kind that only the user states against the changelog's
// configuration, which tells other kinds by what Kafka Streams sets for them.
func (s *TTLStore) checkConfig(topic string, config map[string]string) error {
	if s.Certain {
		return nil
	}
	const try = "--state-dir, --spec or --topology, which tell the kind, if it is a key-value store nevertheless"
	if p := config["cleanup.policy"]; strings.Contains(p, "compact") && strings.Contains(p, "delete") {
		return op.Errorf(op.Precondition, "changelog %s has cleanup.policy=%s, as Kafka Streams sets it for window and session stores, and --kind says %s", topic, p, s.Kind).WithTry("%s", try)
	}
	if ms, err := time.ParseDuration(config["min.compaction.lag.ms"] + "ms"); err == nil && ms >= 24*time.Hour {
		return op.Errorf(op.Precondition, "changelog %s has min.compaction.lag.ms=%s, as Kafka Streams sets it for versioned stores, and --kind says %s", topic, config["min.compaction.lag.ms"], s.Kind).WithTry("%s", try)
	}
	return nil
}

// looksForeign says what kind of internal store a changelog record seems to
// be of, which no key-value store writes; "" for none.
func looksForeign(key, value, headers []byte) string {
	if value == nil {
		return ""
	}
	if hs, err := streams.ParseHeaders(headers); err == nil {
		for _, h := range hs {
			if h.Key == "v" && len(h.Value) == 1 && h.Value[0] <= 3 {
				return "a suppression buffer"
			}
		}
	}
	if k, err := streams.SplitRecordKey(streams.List, key); err == nil && k.Time > 0 {
		if _, err := streams.ParseListValue(value); err == nil {
			return "the shared store of a stream-stream join"
		}
	}
	if k, err := streams.SplitRecordKey(streams.FKSubscription, key); err == nil && len(k.ForeignKey) > 0 {
		if s, err := streams.ParseSubscription(value); err == nil && s.Instruction >= 2 { // those that are kept propagate
			return "a foreign-key join's subscriptions"
		}
	}
	return ""
}

func joinKinds(kinds []streams.Kind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, " or ")
}
