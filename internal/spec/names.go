package spec

import (
	"regexp"
	"strings"

	"sstool/internal/streams"
)

// nameRule tells a store's kind from the name Kafka Streams generates, or from
// the ending it gives to a name of the user's. The rule does not say whether
// the store is kept on disk.
type nameRule struct {
	pattern   *regexp.Regexp
	kind      streams.Kind
	generated bool // no user would write such a name
}

// nameRules (KI/KStreamImplJoin, OuterStreamJoinStoreFactory, KTableImpl,
// KGroupedTableImpl, InternalStreamsBuilder). Aggregations of streams are not
// among them: theirs may be windowed.
func nameRules() []nameRule {
	return []nameRule{
		{joinList, streams.List, true},
		{joinWindow, streams.Window, true},
		{fkStore, streams.FKSubscription, true},
		{suppressStore, streams.Suppress, true},
		{tableStore, streams.TimestampedKV, true},
		{sharedEnding, streams.List, false},
		{joinEnding, streams.Window, false},
		{fkEnding, streams.FKSubscription, false},
		{bufferEnding, streams.GraceBuffer, false},
	}
}

var (
	joinList      = regexp.MustCompile(`^KSTREAM-OUTERSHARED-\d{10}-store$`)
	joinWindow    = regexp.MustCompile(`^KSTREAM-(JOINTHIS|JOINOTHER|OUTERTHIS|OUTEROTHER)-\d{10}-store$`)
	fkStore       = regexp.MustCompile(`^KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-\d{10}$`)
	suppressStore = regexp.MustCompile(`^KTABLE-SUPPRESS-STATE-STORE-\d{10}$`)
	tableStore    = regexp.MustCompile(`^(KTABLE-AGGREGATE|KTABLE-MERGE|KTABLE-FK-JOIN-OUTPUT|KSTREAM-TOTABLE)-STATE-STORE-\d{10}$`)
	sharedEnding  = regexp.MustCompile(`-(left|outer)-shared-join-store$`)
	joinEnding    = regexp.MustCompile(`-(this|other|outer-this|outer-other)-join-store$`)
	fkEnding      = regexp.MustCompile(`-subscription-store$`)
	bufferEnding  = regexp.MustCompile(`-Buffer$`)

	// A store of table(topic) or globalTable(topic): "<topic>-STATE-STORE-<n>".
	sourceStore   = regexp.MustCompile(`^(.+)-STATE-STORE-\d{10}$`)
	operatorStore = regexp.MustCompile(`^(KSTREAM|KTABLE|COGROUPKSTREAM)-(AGGREGATE|REDUCE|SUPPRESS|MERGE|TOTABLE|FK-JOIN-OUTPUT|FK-JOIN-SUBSCRIPTION)-STATE-STORE-\d{10}$`)
)

// byName is the rule that knows a store's name.
func byName(store string) (nameRule, bool) {
	for _, r := range nameRules() {
		if r.pattern.MatchString(store) {
			return r, true
		}
	}
	return nameRule{}, false
}

// topicOfStore is the topic inside a generated name of table(topic).
func topicOfStore(store string) (string, bool) {
	m := sourceStore.FindStringSubmatch(store)
	if m == nil || operatorStore.MatchString(store) {
		return "", false
	}
	return m[1], true
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
