package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sstool/internal/streams"
)

// Verdicts of a ConfigFact.
const (
	ConfigOK    = "ok"
	ConfigWrong = "wrong"
	ConfigNote  = "note" // with Needs: likely not what is wanted
)

// ChangelogUse is what is known of a changelog beside its configuration; zero
// is not known.
type ChangelogUse struct {
	Kind streams.Kind
	// Duplicates says that it may be a window store that keeps duplicates, as
	// both of a stream-stream join do: a topic that only deletes is right then.
	Duplicates       bool
	Retention        time.Duration // of windows and sessions
	HistoryRetention time.Duration // of a versioned store
	Replicas         int
	LargestRecord    int64 // bytes of key and value
	LargestBatch     int64 // bytes as sent
}

// CheckChangelog compares the effective configuration of a changelog with what
// its store needs. What Kafka Streams itself asks for is in
// WindowedChangelogTopicConfig, VersionedChangelogTopicConfig and
// UnwindowedUnversionedChangelogTopicConfig; it does not check topics that
// exist.
func CheckChangelog(config map[string]string, use ChangelogUse) []ConfigFact {
	c := &configChecker{config: config, use: use, facts: []ConfigFact{}}
	c.policy()
	c.retention()
	c.lag()
	if ms, ok := c.number("delete.retention.ms"); ok {
		c.say("delete.retention.ms", "", ConfigNote, "state that is older than %s must not be resumed: tombstones it has not seen may be gone", days(ms))
	}
	if v := config["message.timestamp.type"]; v == "LogAppendTime" {
		c.say("message.timestamp.type", "CreateTime", ConfigWrong, "the broker replaces the timestamps, which are part of the rows of a timestamped or versioned store")
	} else {
		c.say("message.timestamp.type", "CreateTime", ConfigOK, "timestamps are those of the application")
	}
	c.sizes()
	if isr, ok := c.number("min.insync.replicas"); ok && use.Replicas > 0 && isr > int64(use.Replicas) {
		c.say("min.insync.replicas", fmt.Sprintf("at most %d", use.Replicas), ConfigWrong, "there are only %d replicas: nothing can be written with acks=all", use.Replicas)
	}
	return c.facts
}

// configChecker compares one topic.
type configChecker struct {
	config map[string]string
	use    ChangelogUse
	facts  []ConfigFact
}

// number is a setting as a number; ok is false when the broker does not tell.
func (c *configChecker) number(name string) (int64, bool) { return configNumber(c.config, name) }

func configNumber(config map[string]string, name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(config[name]), 10, 64)
	return n, err == nil
}

func (c *configChecker) say(name, needs, verdict, format string, args ...any) {
	value, ok := c.config[name]
	if !ok {
		return
	}
	c.facts = append(c.facts, ConfigFact{Name: name, Value: value, Needs: needs, Verdict: verdict, Because: fmt.Sprintf(format, args...)})
}

// checkConfig compares a topic that was read.
func (r *changelogRun) checkConfig(t *ChangelogTopic, config map[string]string) []ConfigFact {
	return CheckChangelog(config, ChangelogUse{Kind: t.Kind.Kind, Retention: r.o.Retention, HistoryRetention: r.o.HistoryRetention,
		Replicas: t.ReplicationFactor, LargestRecord: t.Total.LargestRecord, LargestBatch: t.Total.LargestBatch})
}

// sizes checks max.message.bytes against what was seen.
func (c *configChecker) sizes() {
	limit, ok := c.number("max.message.bytes")
	switch {
	case !ok:
	case c.use.LargestBatch > limit:
		c.say("max.message.bytes", strconv.FormatInt(c.use.LargestBatch, 10), ConfigNote, "the largest batch there has %d bytes: one as large would be refused now", c.use.LargestBatch)
	case c.use.LargestRecord*10 > limit*8:
		c.say("max.message.bytes", "", ConfigNote, "the largest record has %d bytes, more than 80 %% of it", c.use.LargestRecord)
	default:
		c.say("max.message.bytes", "", ConfigOK, "the largest record has %d bytes", c.use.LargestRecord)
	}
}

// policy checks cleanup.policy.
func (c *configChecker) policy() {
	policy, ok := c.config["cleanup.policy"]
	if !ok {
		return
	}
	compact, remove := strings.Contains(policy, "compact"), strings.Contains(policy, "delete")
	kind := c.use.Kind
	switch {
	case kind == "":
		c.say("cleanup.policy", "", ConfigNote, "the kind of store is not known")
	case c.use.Duplicates && remove && !compact:
		c.say("cleanup.policy", "delete", ConfigOK, "a window store that keeps duplicates")
	case kind.Windowed() && compact && remove:
		c.say("cleanup.policy", "compact,delete", ConfigOK, "%s store", streams.WithArticle(string(kind)))
	case kind.Windowed() && remove:
		c.say("cleanup.policy", "compact,delete", ConfigNote, "right for the two stores of a stream-stream join; any other window store keeps superseded rows until retention.ms")
	case kind.Windowed():
		c.say("cleanup.policy", "compact,delete", ConfigWrong, "windows never expire in the topic: it grows for ever, and every restore reads it all")
	case remove:
		c.say("cleanup.policy", "compact", ConfigWrong, "%s store loses rows that were not written for retention.ms: they are missing after a restore", streams.WithArticle(string(kind)))
	default:
		c.say("cleanup.policy", "compact", ConfigOK, "%s store", streams.WithArticle(string(kind)))
	}
}

// retention checks retention.ms and retention.bytes.
func (c *configChecker) retention() {
	remove := strings.Contains(c.config["cleanup.policy"], "delete")
	ms, known := c.number("retention.ms")
	if remove && known {
		switch {
		case c.use.Kind.Windowed() && c.use.Retention > 0:
			need := (c.use.Retention + streams.DefaultAdditionalRetention).Milliseconds()
			verdict, because := ConfigOK, "retention of the store and a day"
			if ms >= 0 && ms < c.use.Retention.Milliseconds() {
				verdict, because = ConfigWrong, "windows that the store still keeps are deleted from the topic"
			} else if ms >= 0 && ms < need {
				verdict, because = ConfigNote, "less than the store's retention and windowstore.changelog.additional.retention.ms (1 day by default)"
			}
			c.say("retention.ms", strconv.FormatInt(need, 10), verdict, "%s", because)
		case c.use.Kind.Windowed():
			c.say("retention.ms", "", ConfigNote, "%s; it must be the store's retention and a day (windowstore.changelog.additional.retention.ms)", days(ms))
		default:
			c.say("retention.ms", "", ConfigNote, "records are deleted after %s", days(ms))
		}
	}
	if n, ok := c.number("retention.bytes"); ok && n >= 0 {
		if remove {
			c.say("retention.bytes", "-1", ConfigWrong, "records are deleted when a partition is larger than %d bytes, however young they are: rows are missing after a restore", n)
		} else {
			c.say("retention.bytes", "-1", ConfigNote, "it has no effect with cleanup.policy=compact: the log does not get smaller by it")
		}
	}
}

// lag checks min.compaction.lag.ms.
func (c *configChecker) lag() {
	ms, ok := c.number("min.compaction.lag.ms")
	if !ok || !strings.Contains(c.config["cleanup.policy"], "compact") {
		return
	}
	versioned := c.use.Kind == streams.Versioned
	switch {
	case versioned && c.use.HistoryRetention > 0:
		need := (c.use.HistoryRetention + streams.VersionedAdditionalLag).Milliseconds()
		if ms < need {
			c.say("min.compaction.lag.ms", strconv.FormatInt(need, 10), ConfigWrong, "versions that the store still keeps are compacted away")
		} else {
			c.say("min.compaction.lag.ms", strconv.FormatInt(need, 10), ConfigOK, "history retention and a day")
		}
	case versioned:
		c.say("min.compaction.lag.ms", "", ConfigNote, "%s; it must be the store's history retention and a day", days(ms))
	case ms > 0:
		c.say("min.compaction.lag.ms", "0", ConfigNote, "nothing younger than %s is compacted; only versioned stores need that", days(ms))
	}
}

// days is a number of milliseconds for people.
func days(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case ms < 0:
		return "never"
	case ms > int64(100*365*24*time.Hour/time.Millisecond):
		return "for ever"
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	}
	return d.String()
}
