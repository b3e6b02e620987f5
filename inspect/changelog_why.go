package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/internal/streams"
)

// activeSegment says what can be known of segments that are never compacted.
// The protocol does not show segments; their greatest size is a setting.
func activeSegment(t *ChangelogTopic, config map[string]string) ActiveSegment {
	limit, ok := configNumber(config, "segment.bytes")
	if !ok {
		return ActiveSegment{How: "unmeasured: Kafka's protocol does not show segments, and segment.bytes is not known"}
	}
	a := ActiveSegment{How: fmt.Sprintf("inferred: Kafka's protocol does not show segments; each partition's active one is at most the last segment.bytes=%d of its log", limit)}
	roll, rolls := configNumber(config, "segment.ms")
	most, whole := int64(0), t.Total.Records > 0
	for i := range t.Partitions {
		p := &t.Partitions[i]
		most += min(limit, p.LogBytes)
		spans := p.Times.Oldest != nil && rolls && *p.Times.Newest-*p.Times.Oldest >= roll
		cleaned := p.Tail != nil && !p.Tail.NeverCleaned || p.OffsetGaps > 0
		if p.LogBytes >= limit || spans || cleaned || p.Estimate || p.LogStart > 0 {
			whole = false
		}
	}
	a.AtMostBytes, a.Whole = &most, whole
	return a
}

// reasons says why the changelog is as big as it is: where the bytes are, the
// largest part first, and then what keeps them there.
func (r *changelogRun) reasons(ctx context.Context, t *ChangelogTopic, config map[string]string) []Reason {
	w := &why{t: t, config: config, now: r.o.Now().UnixMilli()}
	w.parts()
	w.kept()
	if t.Total.Undecided > 0 {
		w.openTransaction(ctx, r)
	}
	return append([]Reason{}, w.reasons...)
}

type why struct {
	t       *ChangelogTopic
	config  map[string]string
	now     int64
	reasons []Reason
}

func (w *why) add(code string, bytes int64, try, format string, args ...any) {
	x := Reason{Code: code, Message: fmt.Sprintf(format, args...), Try: try}
	if bytes >= 0 {
		x.Bytes = &bytes
	}
	w.reasons = append(w.reasons, x)
}

func (w *why) compacts() bool { return strings.Contains(w.config["cleanup.policy"], "compact") }

// parts splits the bytes of keys and values.
func (w *why) parts() {
	c := &w.t.Total
	if c.Keys != nil {
		if c.Keys.Live > 0 {
			w.add("unique_keys", c.Keys.LiveBytes, "", "%d live keys: compaction cannot shrink them; only deleting keys does", c.Keys.Live)
		}
		if c.Tail != nil && c.Tail.Superseded > 0 {
			w.add("superseded_in_tail", c.Tail.SupersededBytes, "", "%d superseded records in the part that was not compacted yet%s", c.Tail.Superseded, w.versions())
		}
		before, bytes := c.Keys.Superseded, c.Keys.SupersededBytes
		if c.Tail != nil {
			before, bytes = before-c.Tail.Superseded, bytes-c.Tail.SupersededBytes
		}
		switch {
		case before <= 0:
		case c.Tail == nil:
			w.add("superseded", bytes, "", "%d superseded records%s", before, w.versions())
		default:
			w.add("superseded_before_tail", bytes, "", "%d superseded records in the part that was compacted, whose newer ones came after%s", before, w.versions())
		}
	}
	if c.Tombstones > 0 {
		w.add("tombstones", c.TombstoneBytes, "", "%d tombstones: %d not cleaned yet, %d inside delete.retention.ms%s, %d that the next cleaning drops",
			c.Tombstones, c.TombstonesFresh, c.TombstonesKept, w.inBrackets("delete.retention.ms"), c.TombstonesDue)
	}
	if c.HeaderBytes > 0 && c.HeaderBytes*20 > c.Bytes {
		w.add("headers", c.HeaderBytes, "", "headers of %d records", c.WithHeaders)
	}
	slices.SortStableFunc(w.reasons, func(a, b Reason) int { return cmp.Compare(*b.Bytes, *a.Bytes) })
}

// versions says that superseded records of a versioned store are no waste.
func (w *why) versions() string {
	if w.t.Kind.Kind == streams.Versioned {
		return "; a versioned store needs them for its history retention"
	}
	return ""
}

func (w *why) inBrackets(name string) string {
	if ms, ok := configNumber(w.config, name); ok {
		return " (" + days(ms) + ")"
	}
	return ""
}

// kept says why the cleaner has not done more.
func (w *why) kept() {
	c, t := &w.t.Total, w.t
	lag, hasLag := configNumber(w.config, "min.compaction.lag.ms")
	young := hasLag && lag > 0 && c.Times.Oldest != nil && w.now-*c.Times.Oldest < lag
	switch {
	case c.Records == 0:
	case !w.compacts():
		if w.config["cleanup.policy"] != "" {
			w.add("not_compacted", -1, "", "cleanup.policy=%s does not compact: every record stays until retention.ms%s", w.config["cleanup.policy"], w.inBrackets("retention.ms"))
		}
	case t.ActiveSegment.Whole:
		w.add("active_segment", -1, w.rollTry(), "all of it is in the active segment, which is never compacted: %s and %s are not reached", w.setting("segment.bytes"), w.setting("segment.ms"))
	case young:
		w.add("compaction_lag", -1, "", "all of it is younger than min.compaction.lag.ms (%s)", days(lag))
	case c.Tail != nil && c.Tail.NeverCleaned:
		w.add("never_cleaned", -1, "look for a cleaner thread that died: the broker's log-cleaner.log and the metrics kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count",
			"no offset is missing although %d records are superseded: it was never compacted, and it is more than one segment", c.Keys.Superseded)
	case c.Tail != nil && c.Keys != nil && c.Tail.Superseded > 0:
		if dirty, ok := w.dirty(); ok {
			w.add("dirty_ratio", -1, "a smaller min.cleanable.dirty.ratio, or max.compaction.lag.ms, compacts earlier",
				"about %.0f %% is not compacted; the cleaner begins at min.cleanable.dirty.ratio=%s, the active segment left out", 100*dirty, w.config["min.cleanable.dirty.ratio"])
		}
	}
	if n, ok := configNumber(w.config, "retention.bytes"); ok && n >= 0 && w.compacts() && !strings.Contains(w.config["cleanup.policy"], "delete") {
		w.add("retention_bytes", -1, "", "retention.bytes=%d has no effect with cleanup.policy=compact", n)
	}
	if at := c.Times.Newest; at != nil && *at > w.now+time.Hour.Milliseconds() {
		w.add("future_timestamps", -1, "", "the newest timestamp is %s ahead of this clock: what goes by record time (retention.ms, segment.ms, min.compaction.lag.ms) waits for it",
			days((*at-w.now)/1000*1000))
	}
}

// dirty is the share of the log that the cleaner would take for dirty, as far
// as the tail tells.
func (w *why) dirty() (float64, bool) {
	c := &w.t.Total
	if _, err := strconv.ParseFloat(w.config["min.cleanable.dirty.ratio"], 64); err != nil || c.Bytes == 0 {
		return 0, false
	}
	return float64(c.Tail.Bytes) / float64(c.Bytes), true
}

// rollTry is how the active segment is closed sooner.
func (w *why) rollTry() string {
	if w.t.Total.Keys == nil || w.t.Total.Keys.Superseded == 0 {
		return ""
	}
	return "smaller segment.bytes or segment.ms for this topic (topic.segment.bytes in the application's configuration reaches new topics only)"
}

func (w *why) setting(name string) string { return name + "=" + orNotTold(w.config[name]) }

// openTransaction says what holds the last stable offset back: the cleaner does
// not go beyond it either.
func (w *why) openTransaction(ctx context.Context, r *changelogRun) {
	for i := range w.t.Partitions {
		p := &w.t.Partitions[i]
		if p.Undecided == 0 {
			continue
		}
		who := ""
		if txns, err := r.client.OpenTransactions(ctx, w.t.Topic, p.Partition); err == nil && len(txns) > 0 {
			who = ": " + txns[0].String()
		}
		w.add("open_transaction", -1, fmt.Sprintf("kafka-transactions.sh find-hanging --broker-id ID --topic %s --partition %d", w.t.Topic, p.Partition),
			"partition %d: %d offsets beyond the last stable one %d were not read, and are not compacted, while a transaction is open%s",
			p.Partition, p.Undecided, p.LastStable, who)
	}
}
