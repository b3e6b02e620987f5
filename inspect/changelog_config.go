package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/streams"
)

// Verdicts of a ConfigFact.
const (
	configOK    = "ok"
	configWrong = "wrong"
	configNote  = "note"
)

// configChecker compares the effective configuration of a topic with what its
// kind of store needs. What Kafka Streams itself asks for is in
// WindowedChangelogTopicConfig, VersionedChangelogTopicConfig and
// UnwindowedUnversionedChangelogTopicConfig; it does not check topics that exist.
type configChecker struct {
	config map[string]string
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

func (r *changelogRun) checkConfig(t *ChangelogTopic, config map[string]string, info *kafka.TopicInfo) []ConfigFact {
	c := &configChecker{config: config, facts: []ConfigFact{}}
	c.policy(t)
	c.retention(t, &r.o)
	c.lag(t, &r.o)
	if ms, ok := c.number("delete.retention.ms"); ok {
		c.say("delete.retention.ms", "", configNote, "state that is older than %s must not be resumed: tombstones it has not seen may be gone", days(ms))
	}
	if v := config["message.timestamp.type"]; v == "LogAppendTime" {
		c.say("message.timestamp.type", "CreateTime", configWrong, "the broker replaces the timestamps, which are part of the rows of a timestamped or versioned store")
	} else {
		c.say("message.timestamp.type", "CreateTime", configOK, "timestamps are those of the application")
	}
	if limit, ok := c.number("max.message.bytes"); ok {
		switch {
		case t.Total.LargestBatch > limit:
			c.say("max.message.bytes", strconv.FormatInt(t.Total.LargestBatch, 10), configNote, "the largest batch there has %d bytes: one as large would be refused now", t.Total.LargestBatch)
		case t.Total.LargestRecord*10 > limit*8:
			c.say("max.message.bytes", "", configNote, "the largest record has %d bytes, more than 80 %% of it", t.Total.LargestRecord)
		default:
			c.say("max.message.bytes", "", configOK, "the largest record has %d bytes", t.Total.LargestRecord)
		}
	}
	replicas := 0
	for _, p := range info.Partitions {
		replicas = max(replicas, p.Replicas)
	}
	if isr, ok := c.number("min.insync.replicas"); ok && replicas > 0 && isr > int64(replicas) {
		c.say("min.insync.replicas", fmt.Sprintf("at most %d", replicas), configWrong, "there are only %d replicas: nothing can be written with acks=all", replicas)
	}
	return c.facts
}

// policy checks cleanup.policy.
func (c *configChecker) policy(t *ChangelogTopic) {
	policy, ok := c.config["cleanup.policy"]
	if !ok {
		return
	}
	compact, remove := strings.Contains(policy, "compact"), strings.Contains(policy, "delete")
	kind := t.Kind.Kind
	switch {
	case kind == "":
		c.say("cleanup.policy", "", configNote, "the kind of store is not known")
	case kind.Windowed() && compact && remove:
		c.say("cleanup.policy", "compact,delete", configOK, "%s store", streams.WithArticle(string(kind)))
	case kind.Windowed() && remove:
		c.say("cleanup.policy", "compact,delete", configNote, "right for the two stores of a stream-stream join; any other window store keeps superseded rows until retention.ms")
	case kind.Windowed():
		c.say("cleanup.policy", "compact,delete", configWrong, "windows never expire in the topic: it grows for ever, and every restore reads it all")
	case remove:
		c.say("cleanup.policy", "compact", configWrong, "%s store loses rows that were not written for retention.ms: they are missing after a restore", streams.WithArticle(string(kind)))
	default:
		c.say("cleanup.policy", "compact", configOK, "%s store", streams.WithArticle(string(kind)))
	}
}

// retention checks retention.ms and retention.bytes.
func (c *configChecker) retention(t *ChangelogTopic, o *ChangelogOptions) {
	remove := strings.Contains(c.config["cleanup.policy"], "delete")
	ms, known := c.number("retention.ms")
	if remove && known {
		switch {
		case t.Kind.Kind.Windowed() && o.Retention > 0:
			need := (o.Retention + streams.DefaultAdditionalRetention).Milliseconds()
			verdict, because := configOK, "retention of the store and a day"
			if ms >= 0 && ms < o.Retention.Milliseconds() {
				verdict, because = configWrong, "windows that the store still keeps are deleted from the topic"
			} else if ms >= 0 && ms < need {
				verdict, because = configNote, "less than the store's retention and windowstore.changelog.additional.retention.ms (1 day by default)"
			}
			c.say("retention.ms", strconv.FormatInt(need, 10), verdict, "%s", because)
		case t.Kind.Kind.Windowed():
			c.say("retention.ms", "", configNote, "%s; it must be the store's retention and a day (windowstore.changelog.additional.retention.ms)", days(ms))
		default:
			c.say("retention.ms", "", configNote, "records are deleted after %s", days(ms))
		}
	}
	if n, ok := c.number("retention.bytes"); ok && n >= 0 {
		if remove {
			c.say("retention.bytes", "-1", configWrong, "records are deleted when a partition is larger than %d bytes, however young they are: rows are missing after a restore", n)
		} else {
			c.say("retention.bytes", "-1", configNote, "it has no effect with cleanup.policy=compact: the log does not get smaller by it")
		}
	}
}

// lag checks min.compaction.lag.ms.
func (c *configChecker) lag(t *ChangelogTopic, o *ChangelogOptions) {
	ms, ok := c.number("min.compaction.lag.ms")
	if !ok || !strings.Contains(c.config["cleanup.policy"], "compact") {
		return
	}
	versioned := t.Kind.Kind == streams.Versioned
	switch {
	case versioned && o.HistoryRetention > 0:
		need := (o.HistoryRetention + streams.VersionedAdditionalLag).Milliseconds()
		if ms < need {
			c.say("min.compaction.lag.ms", strconv.FormatInt(need, 10), configWrong, "versions that the store still keeps are compacted away")
		} else {
			c.say("min.compaction.lag.ms", strconv.FormatInt(need, 10), configOK, "history retention and a day")
		}
	case versioned:
		c.say("min.compaction.lag.ms", "", configNote, "%s; it must be the store's history retention and a day", days(ms))
	case ms > 0:
		c.say("min.compaction.lag.ms", "0", configNote, "nothing younger than %s is compacted; only versioned stores need that", days(ms))
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
