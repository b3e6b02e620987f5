package restore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// fill completes what the caller did not say about a store, from the topic's
// configuration and Kafka Streams' default formulas. What writes must know,
// what only measures may assume: every assumption is recorded.
func (p *Plan) fill(req *StoreRequest, topic string, config map[string]string) error {
	o := &p.Options
	policy := config["cleanup.policy"]
	fits := kindsThatFit(policy)
	if req.Kind != "" && policy != "" && !slices.Contains(fits, string(req.Kind)) && !req.SourceTopic && !req.Global {
		p.warnOnce("store %q: kind %s does not fit cleanup.policy=%s of %s (%s do)", req.Name, req.Kind, policy, topic, strings.Join(fits, ", "))
	}
	if req.Kind == "" && fits[0] == string(streams.TimestampedKV) && (o.Into == "" || o.AcceptDerived) {
		// Only versioned stores ask for a compaction lag (VersionedChangelogTopicConfig).
		if d, err := streams.DeriveHistoryRetention(topic, config); err == nil {
			req.Kind = streams.Versioned
			p.assume("store %q: kind versioned derived (%s)", req.Name, d.From)
		}
	}
	if req.Kind == "" {
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
			d, err := streams.DeriveRetention(topic, config, 0)
			if err != nil && o.Into != "" {
				return op.Errorf(op.Usage, "store %q: its retention is unknown: %w", req.Name, err).
					WithTry("--retention DURATION, or retention in the spec")
			}
			if err != nil {
				// Nothing expires: every record is written, which measures the most work.
				d = streams.Derived{Value: unlimited, From: "the topic does not tell: nothing expires"}
			}
			if err := p.derived(req.Name, "retention", d, "--retention"); err != nil {
				return err
			}
			req.Retention = d.Value
		}
		if req.SegmentInterval == 0 {
			d, _ := streams.DeriveSegmentInterval(req.Kind, req.Retention)
			if err := p.derived(req.Name, "segment interval", d, "--segment-interval"); err != nil {
				return err
			}
			req.SegmentInterval = d.Value
		}
	}
	if req.Kind == streams.Versioned {
		if req.HistoryRetention == 0 {
			d, err := streams.DeriveHistoryRetention(topic, config)
			if err != nil {
				return op.Errorf(op.Usage, "store %q: its history retention is unknown: %w", req.Name, err).
					WithTry("--history-retention DURATION, or history-retention in the spec")
			}
			if err := p.derived(req.Name, "history retention", d, "--history-retention"); err != nil {
				return err
			}
			req.HistoryRetention = d.Value
		}
		if req.SegmentInterval == 0 {
			d, _ := streams.DeriveSegmentInterval(req.Kind, req.HistoryRetention)
			if err := p.derived(req.Name, "segment interval", d, "--segment-interval"); err != nil {
				return err
			}
			req.SegmentInterval = d.Value
		}
	}
	return p.possible(req)
}

// possible refuses a form of store that does not exist, or not in the version
// that is to open it: it would say so only after the work.
func (p *Plan) possible(req *StoreRequest) error {
	if !req.Kind.OnDisk() {
		return nil
	}
	if err := req.Store.Validate(); err != nil {
		return err
	}
	v := p.Options.Target
	if v.IsZero() || p.Options.Into == "" {
		return nil
	}
	if since := req.Kind.Since(); v.Less(since) {
		return op.Errorf(op.Usage, "store %q: %s stores exist since Kafka %s, not in %s", req.Name, req.Kind, since, v).WithTry("check --kind and --target-kafka")
	}
	if req.Headers && !streams.OffsetsInStore(v) {
		return op.Errorf(op.Usage, "store %q: stores with headers exist since Kafka 4.3, not in %s", req.Name, v).WithTry("check headers and --target-kafka")
	}
	return nil
}

// derived records a derived value, or refuses to write it unasked.
func (p *Plan) derived(store, field string, d streams.Derived, flag string) error {
	o := &p.Options
	if o.Into != "" && !o.AcceptDerived {
		return op.Errorf(op.Usage, "store %q: %s is not stated; derived: %s (%s)", store, field, d.Value, d.From).
			WithTry("%s %s to state it, or --accept-derived to write derived values", flag, d.Value)
	}
	p.assume("store %q: %s %s derived (%s)", store, field, d.Value, d.From)
	return nil
}

// unlimited is a retention that nothing outlives.
const unlimited = 100 * 365 * 24 * time.Hour

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
