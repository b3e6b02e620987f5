package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/op"
)

// offsetsScreen shows how far a store has come in its changelog, and how that
// changed.
type offsetsScreen struct {
	place
	text *textBody
}

func newOffsetsScreen(p place) *offsetsScreen {
	t := newText(nil)
	t.wrap = true
	return &offsetsScreen{p, t}
}

func (s *offsetsScreen) crumb() string                   { return "offsets" }
func (s *offsetsScreen) body() component                 { return s.text }
func (s *offsetsScreen) summary(m *Model, _ *frame) line { return s.storeLine(m) }

func (s *offsetsScreen) build(m *Model, _ *frame) {
	st := s.store(m)
	if st == nil {
		s.text.set(gone())
		return
	}
	topic := st.Offsets.Topic
	if topic == "" {
		topic = "none" + why(st.Offsets.Why)
	}
	out := []line{nil, field("changelog", topic), field("kept in", st.Offsets.KeptIn+why(st.Offsets.Why)), field("status", textOr(st.Status, "not kept")+why(st.StatusWhy))}
	c := st.Cluster
	switch {
	case c == nil:
		out = append(out, field("lag", "unmeasured: no cluster was asked"))
	case c.Lag == nil:
		out = append(out, fieldIn("lag", warn, "unmeasured"+why(c.Why)))
	default:
		k := lagCell(true, *c.Lag)
		out = append(out, fieldIn("lag", k.tone, human.Count(*c.Lag)+" records behind the end, as the disk has it"))
		if c.Replay != nil && c.Full != nil {
			out = append(out, field("next start", fmt.Sprintf("reads %s of %s offsets, compaction aside", human.Count(*c.Replay), human.Count(*c.Full))))
		}
	}
	if lags := m.history.lags(s.id); len(lags) > 1 {
		first, last := lags[0], lags[len(lags)-1]
		trend := "steady"
		switch {
		case last > first:
			trend = "growing"
		case last < first:
			trend = "shrinking"
		}
		out = append(out, line{{text: padRight("lag over time:", 18, "") + "  ", tone: dim}, {text: m.theme.sparkline(lags, max(10, min(120, m.w-48))), tone: accent}, {text: "  " + trend, tone: dim}})
	}
	table := [][]line{{text("PARTITION"), text("CHECKPOINT"), text("FAMILY"), text("LOG START"), text("LOG END"), text("BEHIND"), text("VERDICT")}}
	for _, o := range inspect.StoreOffsets(st) {
		part := "-"
		if o.Partition != nil {
			part = fmt.Sprint(*o.Partition)
		}
		k := plainTone
		switch o.Verdict {
		case inspect.OffsetResumes:
			k = good
		case inspect.OffsetOutOfRange, inspect.OffsetUnreadable, inspect.OffsetDamaged:
			k = bad
		case inspect.OffsetFromStart:
			k = warn
		}
		table = append(table, []line{text(part), text(numberOr(o.Checkpoint)), text(numberOr(o.Family)), text(numberOr(o.LogStart)), text(numberOr(o.End)), text(numberOr(o.Lag)),
			toned(k, o.Verdict).add(dim, why(safe(o.Why)))})
	}
	out = append(append(out, nil), columns(table)...)
	if len(st.Position) > 0 {
		out = append(out, nil, title("Position of interactive queries, in the source topics"))
		for _, p := range st.Position {
			out = append(out, field(fmt.Sprintf("%s-%d", p.Topic, p.Partition), offsetText(p.Offset)))
		}
	}
	s.text.set(out)
}

func numberOr(n *int64) string {
	if n == nil {
		return "-"
	}
	return human.Count(*n)
}

func (s *offsetsScreen) command(m *Model) []string {
	return append([]string{"sstool", "inspect", "offsets", s.dir}, m.context().Flags...)
}
func (s *offsetsScreen) document(m *Model) any {
	if st := s.store(m); st != nil {
		return inspect.StoreOffsets(st)
	}
	return nil
}

// changelogScreen is the changelog topic as the table it is.
type changelogScreen struct {
	place
	topic string // "": the store's
	text  *textBody
	exact bool
}

func newChangelogScreen(p place) *changelogScreen {
	t := newText(nil)
	t.wrap = true
	return &changelogScreen{place: p, text: t}
}

// newTopicScreen is the same for a topic without a store here.
func newTopicScreen(app, topic string) *changelogScreen {
	s := newChangelogScreen(place{app: app})
	s.topic = topic
	return s
}

func (s *changelogScreen) crumb() string {
	if s.topic != "" {
		return s.topic
	}
	return "changelog"
}
func (s *changelogScreen) body() component { return s.text }
func (s *changelogScreen) hints() []string { return []string{doExact} }
func (s *changelogScreen) summary(m *Model, _ *frame) line {
	if s.topic != "" {
		return toned(dim, "changelog of "+safe(s.app))
	}
	return s.storeLine(m)
}

func (s *changelogScreen) topicOf(m *Model) string {
	if s.topic != "" {
		return s.topic
	}
	if st := s.store(m); st != nil {
		return st.Offsets.Topic
	}
	return ""
}

func (s *changelogScreen) key(m *Model, f *frame, action string) (teaCmd, bool) {
	if action != doExact {
		return nil, false
	}
	s.exact = true
	return m.fetch(f, true), true
}

func (s *changelogScreen) fetch(m *Model) func(context.Context) (any, error) {
	topic, app, exact := s.topicOf(m), s.app, s.exact
	if m.feed == nil {
		return nil
	}
	conn := m.connection()
	return func(ctx context.Context) (any, error) {
		if topic == "" {
			return nil, op.Errorf(op.NotFound, "the store's changelog is not known")
		}
		client, err := conn.get(ctx)
		if err != nil {
			return nil, err
		}
		return orNil(inspect.Changelog(ctx, client, inspect.ChangelogOptions{Topics: []string{topic}, ApplicationID: app, Sample: !exact}, nil))
	}
}

func (s *changelogScreen) build(m *Model, f *frame) {
	res, ok := f.data.(*inspect.ChangelogResult)
	if !ok || len(res.Topics) == 0 {
		s.text.set(loading(f, "reading the changelog"))
		return
	}
	t := &res.Topics[0]
	c := t.Total
	about := ""
	if t.Estimate {
		about = "about "
	}
	out := []line{nil, field("topic", t.Topic), field("cluster", res.ClusterID), field("partitions", fmt.Sprintf("%d, replication factor %d", t.PartitionCount, t.ReplicationFactor)),
		field("kind", textIf(string(t.Kind.Kind), "unknown")+", "+t.Kind.Certainty+why(t.Kind.Reason))}
	if k := c.Keys; k != nil {
		out = append(out, field("keys", about+human.Count(k.Distinct)+" distinct, "+human.Count(k.Live)+" live, "+human.Count(k.Deleted)+" deleted"),
			field("superseded", about+human.Count(k.Superseded)+" records, "+human.Share(k.SupersededShare, 1)))
	} else if c.KeysUnmeasured != "" {
		out = append(out, field("keys", "unmeasured: "+c.KeysUnmeasured))
	}
	out = append(out, countsLines(c.LogCounts)...)
	if t.Estimate {
		out = append(out, toned(warn, fmt.Sprintf("estimated from samples; %s reads the whole topic", m.keys.first(doExact))))
	}
	if len(t.Why) > 0 {
		out = append(out, nil, title("Why it is as large as it is"))
		for _, w := range t.Why {
			out = append(out, reasonLines(w)...)
		}
	}
	if len(t.Config) > 0 {
		out = append(out, nil, title("Configuration"))
		for _, x := range t.Config {
			k := plainTone
			switch x.Verdict {
			case "wrong":
				k = bad
			case "ok":
				k = good
			}
			out = append(out, line{{text: "  " + padRight(safe(x.Name), 26, m.theme.glyphs.ellipsis) + "  ", tone: dim}, {text: safe(x.Value), tone: k}, {text: why(safe(x.Because)), tone: dim}})
		}
	}
	table := [][]line{{text("PARTITION"), text("LOG START"), text("LAST STABLE"), text("LOG END"), text("ON BROKER"), nil}}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		size := "-"
		if p.DiskBytes != nil {
			size = human.Bytes(*p.DiskBytes)
		}
		table = append(table, []line{text(fmt.Sprint(p.Partition)), text(human.Count(p.LogStart)), text(human.Count(p.LastStable)), text(human.Count(p.LogEnd)), text(size), nil})
	}
	out = append(append(out, nil), columns(table)...)
	out = append(out, nil, toned(dim, fmt.Sprintf("read in %s, %s", human.Duration(time.Duration(t.Seconds*1e9)), human.Rate(t.RecordsPerSecond, "records"))))
	s.text.set(out)
}

func textIf(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (s *changelogScreen) command(m *Model) []string {
	out := append([]string{"sstool", "inspect", "changelog", s.topicOf(m), "--application-id", s.app}, m.context().Flags...)
	if !s.exact {
		out = append(out, "--sample")
	}
	return out
}
func (s *changelogScreen) document(m *Model) any { return m.top().data }

// pretty is a row's value as text: JSON over several lines.
func pretty(v *rowView) []string {
	var b bytes.Buffer
	s := strings.TrimSpace(v.value)
	if (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) && json.Indent(&b, []byte(s), "", "  ") == nil {
		s = b.String()
	}
	if len(s) > 64<<10 {
		s = strings.ToValidUTF8(s[:64<<10], "") + "…"
	}
	return strings.Split(s, "\n")
}

// countsLines are the counts of a changelog that say something.
func countsLines(c inspect.LogCounts) []line {
	out := []line{field("records", fmt.Sprintf("%s, %s of keys and values, %s in the log", human.Count(c.Records), human.Bytes(c.Bytes), human.Bytes(c.LogBytes)))}
	for _, x := range []struct {
		name string
		n    int64
		more string
	}{
		{"tombstones", c.Tombstones, fmt.Sprintf(" (null values), %s due at the next cleaning", human.Count(c.TombstonesDue))}, {"empty values", c.EmptyValues, ""}, {"null keys", c.NullKeys, ", which no table has"},
		{"aborted", c.Aborted, " records"}, {"undecided", c.Undecided, " offsets of open transactions"}, {"compacted away", c.OffsetGaps, " offsets"}, {"out of order", c.OutOfOrder, " records"}, {"with headers", c.WithHeaders, " records"},
	} {
		if x.n > 0 {
			out = append(out, field(x.name, human.Count(x.n)+x.more))
		}
	}
	return out
}

func reasonLines(r inspect.Reason) []line {
	l := line{{text: "  "}}
	if r.Bytes != nil {
		l = l.add(warn, padLeft(human.Bytes(*r.Bytes), 10, "")+"  ")
	}
	out := []line{l.add(plainTone, safe(r.Message))}
	if r.Try != "" {
		out = append(out, line{{text: "  try: ", tone: dim}, {text: safe(r.Try)}})
	}
	return out
}
