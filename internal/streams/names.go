package streams

import (
	"strings"

	"sstool/internal/op"
)

const (
	changelogSuffix   = "-changelog"
	repartitionSuffix = "-repartition"
	maxTopicLength    = 249
)

// ChangelogTopic is the changelog of a store
// (PI/ProcessorStateManager.storeChangelogTopic).
func ChangelogTopic(appID, store string) string { return appID + "-" + store + changelogSuffix }

// NamedChangelogTopic is the changelog of a store in a named topology.
func NamedChangelogTopic(appID, topology, store string) string {
	if topology == "" {
		return ChangelogTopic(appID, store)
	}
	return appID + "-" + topology + "-" + store + changelogSuffix
}

// RepartitionTopic is the topic behind a repartition of the given name
// (KStreamImpl.REPARTITION_TOPIC_SUFFIX).
func RepartitionTopic(appID, name string) string { return appID + "-" + name + repartitionSuffix }

// FKTopics are the two topics of a named foreign-key join
// (KTableImpl.doJoinOnForeignKey).
func FKTopics(appID, join string) (registration, response string) {
	return appID + "-" + join + "-subscription-registration-topic", appID + "-" + join + "-subscription-response-topic"
}

// StoreOfChangelog is the store name inside a changelog topic's name. With a
// named topology the result starts with "<topology>-": the name alone does not
// tell.
func StoreOfChangelog(appID, topic string) (store string, ok bool) {
	rest, a := strings.CutPrefix(topic, appID+"-")
	store, b := strings.CutSuffix(rest, changelogSuffix)
	return store, a && b && store != ""
}

// IsInternalTopic reports whether Kafka Streams made the topic for appID:
// a changelog, a repartition or a foreign-key topic.
func IsInternalTopic(appID, topic string) bool {
	rest, ok := strings.CutPrefix(topic, appID+"-")
	if !ok {
		return false
	}
	for _, s := range []string{changelogSuffix, repartitionSuffix, "-subscription-registration-topic", "-subscription-response-topic"} {
		if strings.HasSuffix(rest, s) {
			return true
		}
	}
	return strings.HasPrefix(rest, "KTABLE-FK-JOIN-SUBSCRIPTION-") && strings.HasSuffix(rest, "-topic")
}

// ValidateTopic checks a topic name by the broker's rule
// (org.apache.kafka.common.internals.Topic.validate).
func ValidateTopic(name string) error { return validateName("topic", name, maxTopicLength) }

// ValidateStoreName checks that a store's name gives a legal changelog topic
// and a directory of its own.
func ValidateStoreName(appID, store string) error {
	if store == CheckpointFile { // PI/ProcessorStateManager.registerStore
		return op.Errorf(op.Usage, "a store may not be called %q", store)
	}
	return validateName("store", store, maxTopicLength-len(appID)-1-len(changelogSuffix))
}

// ValidateApplicationID checks an application id: it is a directory and the
// start of topic names.
func ValidateApplicationID(id string) error {
	return validateName("application id", id, maxTopicLength)
}

func validateName(what, name string, limit int) error {
	switch {
	case name == "":
		return op.Errorf(op.Usage, "%s name is empty", what)
	case name == "." || name == "..":
		return op.Errorf(op.Usage, "%s name cannot be %q", what, name)
	case len(name) > limit:
		return op.Errorf(op.Usage, "%s name is %d characters long, the limit is %d: %q", what, len(name), limit, name)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return op.Errorf(op.Usage, "%s name %q has the character %q", what, name, r).
				WithTry("use letters, digits, '.', '_' and '-'")
		}
	}
	return nil
}
