package restore

import (
	"fmt"
	"strings"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// fill completes what the caller did not say about a store, from the topic's
// configuration and Kafka Streams' default formulas. What writes must know,
// what only measures may assume: every assumption is recorded.
func (p *Plan) fill(req *StoreRequest, topic string, config map[string]string) error {
	o := &p.Options
	policy := config["cleanup.policy"]
	if req.Kind == "" {
		fits := kindsThatFit(policy)
		if o.Into != "" {
			return op.Errorf(op.Usage, "store %q: its kind is not in the topic (cleanup.policy=%s fits %s)", req.Name, orUnknown(policy), strings.Join(fits, ", ")).
				WithTry("--kind KIND, or --spec FILE; `sstool spec` reads it from a state directory of the application")
		}
		req.Kind = streams.Kind(fits[0])
		p.assume("store %q: kind %s assumed from cleanup.policy=%s (the DSL's default for it)", req.Name, req.Kind, orUnknown(policy))
	}
	if req.Global && o.Into != "" && !req.GlobalCopy {
		return op.Errorf(op.Usage, "global store %q: Kafka Streams 3.8 and later restores a store added with addGlobalStore through the application's own processor, and the topic cannot tell", req.Name).
			WithTry("`global: copy` in the spec (or --global-copy) when its rows are the topic's records: a GlobalKTable, or a processor that only copies")
	}
	if o.Into == "" && !req.Kind.OnDisk() {
		return nil
	}
	if req.Kind.Segmented() && req.Kind != streams.GraceBuffer {
		if req.Retention == 0 {
			d, from, ok := streams.DeriveRetention(config)
			if !ok && o.Into != "" {
				return op.Errorf(op.Usage, "store %q: its retention is unknown: the topic has retention.ms=%s", req.Name, orUnknown(config["retention.ms"])).
					WithTry("--retention DURATION, or retention in the spec")
			}
			if !ok {
				// Nothing expires: every record is written, which measures the most work.
				d, from = streams.Forever, "unknown, nothing expires"
			}
			if err := p.derived(req.Name, "retention", streams.FormatDuration(d), from, "--retention"); err != nil {
				return err
			}
			req.Retention = d
		}
		if req.SegmentInterval == 0 {
			req.SegmentInterval = streams.DefaultSegmentInterval(req.Kind, req.Retention)
			if err := p.derived(req.Name, "segment interval", streams.FormatDuration(req.SegmentInterval), "Kafka Streams' default for this retention", "--segment-interval"); err != nil {
				return err
			}
		}
	}
	if req.Kind == streams.Versioned {
		if req.HistoryRetention == 0 {
			d, from, ok := streams.DeriveHistoryRetention(config)
			if !ok {
				return op.Errorf(op.Usage, "store %q: its history retention is unknown: the topic has min.compaction.lag.ms=%s", req.Name, orUnknown(config["min.compaction.lag.ms"])).
					WithTry("--history-retention DURATION, or history-retention in the spec")
			}
			if err := p.derived(req.Name, "history retention", streams.FormatDuration(d), from, "--history-retention"); err != nil {
				return err
			}
			req.HistoryRetention = d
		}
		if req.SegmentInterval == 0 {
			req.SegmentInterval = streams.DefaultSegmentInterval(req.Kind, req.HistoryRetention)
			if err := p.derived(req.Name, "segment interval", streams.FormatDuration(req.SegmentInterval), "Kafka Streams' default for this history retention", "--segment-interval"); err != nil {
				return err
			}
		}
	}
	_ = topic
	return nil
}

// derived records a derived value, or refuses to write it unasked.
func (p *Plan) derived(store, field, value, from, flag string) error {
	o := &p.Options
	if o.Into != "" && !o.AcceptDerived {
		return op.Errorf(op.Usage, "store %q: %s is not stated; derived: %s (%s)", store, field, value, from).
			WithTry("%s %s to state it, or --accept-derived to write derived values", flag, value)
	}
	p.assume("store %q: %s %s derived (%s)", store, field, value, from)
	return nil
}

func (p *Plan) assume(format string, args ...any) {
	p.Assumptions = append(p.Assumptions, fmt.Sprintf(format, args...))
}

// kindsThatFit lists the kinds whose changelogs carry this cleanup policy, the
// DSL's default first (UnwindowedUnversionedChangelogTopicConfig,
// WindowedChangelogTopicConfig, VersionedChangelogTopicConfig).
func kindsThatFit(policy string) []string {
	hasDelete := strings.Contains(policy, "delete")
	hasCompact := strings.Contains(policy, "compact")
	switch {
	case hasDelete && hasCompact:
		return []string{"timestamped-window", "window", "session", "time-ordered-window", "time-ordered-session"}
	case hasDelete:
		return []string{"window"} // both sides of a stream-stream join
	}
	return []string{"timestamped-kv", "kv", "versioned", "list", "fk-subscription", "grace-buffer", "suppress", "in-memory"}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
