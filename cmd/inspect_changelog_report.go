package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/streams"
)

var changelogColumns = []column{
	{name: "TOPIC", wide: true}, {name: "PARTITION", short: "PART", right: true}, {name: "LOG START", right: true, wide: true}, {name: "LAST STABLE", right: true, wide: true},
	{name: "LOG END", right: true, wide: true}, {name: "RECORDS", right: true}, {name: "KEYS", right: true}, {name: "LIVE KEYS", right: true, wide: true},
	{name: "SUPERSEDED", right: true}, {name: "TOMBSTONES", right: true}, {name: "EMPTY VALUES", short: "EMPTY", right: true}, {name: "NULL KEYS", right: true, wide: true},
	{name: "CONTROL", right: true, wide: true}, {name: "ABORTED", right: true, wide: true}, {name: "UNDECIDED", right: true, wide: true}, {name: "GAPS", right: true, wide: true},
	{name: "TAIL RECORDS", short: "TAIL", right: true}, {name: "TAIL BYTES", right: true, wide: true}, {name: "TAIL KEYS", right: true, wide: true},
	{name: "BYTES", right: true, wide: true}, {name: "LIVE BYTES", right: true, wide: true}, {name: "LOG BYTES", short: "LOG SIZE", right: true},
	{name: "WITH HEADERS", right: true, wide: true}, {name: "OUT OF ORDER", right: true, wide: true}, {name: "OLDEST", wide: true}, {name: "NEWEST", wide: true}, {name: "ESTIMATE", wide: true},
}

// renderChangelogs is the report: a summary of several topics, then each.
func renderChangelogs(w *tableWriter, d inspect.ChangelogResult) {
	if w.machine() {
		var rows [][]string
		for i := range d.Topics {
			for j := range d.Topics[i].Partitions {
				rows = append(rows, changelogRow(w, &d.Topics[i], &d.Topics[i].Partitions[j]))
			}
		}
		w.table(changelogColumns, rows)
		return
	}
	if len(d.Topics) > 1 {
		changelogSummary(w, d.Topics)
	}
	for i := range d.Topics {
		if i > 0 || len(d.Topics) > 1 {
			w.line("")
		}
		renderChangelog(w, &d.Topics[i])
	}
	for _, f := range d.Failed {
		w.line("failed: %s: %s", printable(f.Topic), printable(f.Error))
	}
}

// changelogSummary has a row per topic.
func changelogSummary(w *tableWriter, topics []inspect.ChangelogTopic) {
	var rows [][]string
	for i := range topics {
		t := &topics[i]
		rows = append(rows, []string{t.Topic, w.count(t.Total.Records), keyCell(w, &t.Total), supersededCell(w, &t.Total), w.count(t.Total.Tombstones), w.bytes(t.Total.LogBytes), verdictOf(t)})
	}
	w.table([]column{{name: "TOPIC"}, {name: "RECORDS", right: true}, {name: "KEYS", right: true}, {name: "SUPERSEDED", right: true},
		{name: "TOMBSTONES", right: true}, {name: "LOG SIZE", right: true}, {name: "CONFIGURATION"}}, rows)
}

// verdictOf names the settings that are wrong.
func verdictOf(t *inspect.ChangelogTopic) string {
	var wrong []string
	for _, c := range t.Config {
		if c.Verdict == "wrong" {
			wrong = append(wrong, c.Name)
		}
	}
	switch {
	case len(wrong) > 0:
		return "wrong: " + strings.Join(wrong, ", ")
	case len(t.Config) == 0:
		return "unmeasured"
	}
	return "ok"
}

func renderChangelog(w *tableWriter, t *inspect.ChangelogTopic) {
	w.line("%s", printable(t.Topic))
	if t.Estimate {
		w.line("An ESTIMATE from samples: counts are scaled up, nothing here is exact.")
	}
	w.line("")
	var rows [][]string
	for i := range t.Partitions {
		rows = append(rows, changelogRow(w, t, &t.Partitions[i]))
	}
	if len(rows) > 1 {
		total := inspect.ChangelogPartition{Partition: -1, ChangelogCounts: t.Total, Estimate: t.Estimate}
		rows = append(rows, changelogRow(w, t, &total))
	}
	w.table(changelogColumns, rows)
	w.line("")
	w.pairs(changelogFacts(w, t))
	if len(t.Config) > 0 {
		w.line("\nConfiguration, against what %s store needs", streams.WithArticle(kindOrUnknown(t)))
		var rows [][]string
		for _, c := range t.Config {
			rows = append(rows, []string{c.Name, c.Value, c.Needs, c.Verdict, c.Because})
		}
		if w.format == formatTable {
			for _, r := range rows {
				w.line("  %-6s %s=%s: %s", r[3], printable(r[0]), printable(r[1]), printable(r[4]))
			}
		} else {
			w.table([]column{{name: "SETTING"}, {name: "VALUE"}, {name: "NEEDS"}, {name: "VERDICT"}, {name: "BECAUSE"}}, rows)
		}
	}
	if len(t.Why) > 0 {
		w.line("\nWhy it is as big as it is")
		for _, r := range t.Why {
			size := ""
			if r.Bytes != nil {
				size = w.bytes(*r.Bytes)
			}
			w.line("  %10s  %s", size, printable(r.Message))
			if r.Try != "" {
				w.line("  %10s  try: %s", "", printable(r.Try))
			}
		}
	}
}

func kindOrUnknown(t *inspect.ChangelogTopic) string {
	if t.Kind.Kind == "" {
		return "(kind unknown)"
	}
	return string(t.Kind.Kind)
}

// changelogFacts are the lines below the table.
func changelogFacts(w *tableWriter, t *inspect.ChangelogTopic) [][2]string {
	c := &t.Total
	kind := unmeasured(t.Kind.Reason)
	if t.Kind.Kind != "" {
		kind = fmt.Sprintf("%s (%s: %s)", t.Kind.Kind, t.Kind.Certainty, t.Kind.Reason)
	}
	rows := [][2]string{{"Store kind", kind}}
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if c.Keys != nil {
		add("Keys", "%s, %s live, %s deleted; %s of %s records superseded (%s)", w.count(c.Keys.Distinct), w.count(c.Keys.Live), w.count(c.Keys.Deleted),
			w.count(c.Keys.Superseded), w.count(c.Records), humanShare(c.Keys.SupersededShare, 1))
	} else {
		add("Keys", "%s", unmeasured(c.KeysUnmeasured))
	}
	add("Bytes", "%s of keys and values in %s of log%s", w.bytes(c.Bytes), w.bytes(c.LogBytes), codecText(w, t))
	switch {
	case c.Tail == nil:
		add("Not compacted", "%s", unmeasured(c.TailUnmeasured))
	case c.Tail.NeverCleaned:
		add("Not compacted", "all of it: no offset is missing")
	default:
		add("Not compacted", "%s records, %s, %s keys (after the last missing offset)", w.count(c.Tail.Records), w.bytes(c.Tail.Bytes), w.count(c.Tail.Keys))
	}
	switch {
	case t.ActiveSegment.AtMostBytes == nil:
		add("Active segment", "%s", t.ActiveSegment.How)
	case t.ActiveSegment.Whole:
		add("Active segment", "all of it (inferred from segment.bytes and segment.ms)")
	default:
		add("Active segment", "at most %s (inferred from segment.bytes)", w.bytes(*t.ActiveSegment.AtMostBytes))
	}
	if t.Skew != nil {
		add("Skew", "partition %d has %s of the records, %.1f times the mean; %d are empty", t.Skew.LargestPartition, humanShare(t.Skew.LargestShare, 1), t.Skew.TimesMean, t.Skew.Empty)
	}
	if c.Times.Oldest != nil {
		order := "in order"
		if c.OutOfOrder > 0 {
			order = fmt.Sprintf("%s out of order, at most %s late", w.count(c.OutOfOrder), humanDuration(time.Duration(c.Times.MaxLateness)*time.Millisecond))
		}
		add("Timestamps", "%s to %s, %s", timeText(c.Times.Oldest), timeText(c.Times.Newest), order)
	}
	if c.WithoutTimestamp > 0 {
		add("No timestamp", "%s records", w.count(c.WithoutTimestamp))
	}
	if c.WithHeaders > 0 {
		add("Headers", "%s records, %s: %s", w.count(c.WithHeaders), w.bytes(c.HeaderBytes), strings.Join(t.HeaderKeys, ", "))
	} else {
		add("Headers", "none")
	}
	if c.Transactional+c.Control+c.Aborted+c.Undecided > 0 {
		add("Transactions", "%s batches, %s control records, %s aborted records, %s offsets undecided", w.count(c.Transactional), w.count(c.Control), w.count(c.Aborted), w.count(c.Undecided))
	} else {
		add("Transactions", "none")
	}
	if c.NullKeys > 0 {
		add("Null keys", "%s records, which no store has", w.count(c.NullKeys))
	}
	if t.RecordsPerSecond > 0 {
		add("Read", "%s in %s, %s", w.count(c.Records), humanSeconds(t.Seconds), humanRate(t.RecordsPerSecond, "records"))
	}
	return rows
}

func codecText(w *tableWriter, t *inspect.ChangelogTopic) string {
	var parts []string
	for _, c := range t.Codecs {
		parts = append(parts, fmt.Sprintf("%s %s", c.Codec, w.bytes(c.Bytes)))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", compression: " + strings.Join(parts, ", ")
}

func timeText(ms *int64) string {
	if ms == nil {
		return ""
	}
	return time.UnixMilli(*ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func keyCell(w *tableWriter, c *inspect.ChangelogCounts) string {
	if c.Keys == nil {
		return w.unmeasured()
	}
	return w.count(c.Keys.Distinct)
}

func supersededCell(w *tableWriter, c *inspect.ChangelogCounts) string {
	if c.Keys == nil {
		return w.unmeasured()
	}
	return w.share(c.Keys.Superseded, c.Records)
}

// changelogRow is one partition, or all when its number is -1.
func changelogRow(w *tableWriter, t *inspect.ChangelogTopic, p *inspect.ChangelogPartition) []string {
	name, start, stable, end := strconv.Itoa(int(p.Partition)), w.count(p.LogStart), w.count(p.LastStable), w.count(p.LogEnd)
	if p.Partition < 0 {
		name, start, stable, end = "all", "", "", ""
	}
	live, liveBytes := w.unmeasured(), w.unmeasured()
	if p.Keys != nil {
		live, liveBytes = w.count(p.Keys.Live), w.bytes(p.Keys.LiveBytes)
	}
	tail, tailBytes, tailKeys := w.unmeasured(), w.unmeasured(), w.unmeasured()
	if p.Tail != nil {
		tail, tailBytes, tailKeys = w.count(p.Tail.Records), w.bytes(p.Tail.Bytes), w.count(p.Tail.Keys)
	}
	return []string{
		t.Topic, name, start, stable, end, w.count(p.Records), keyCell(w, &p.ChangelogCounts), live, supersededCell(w, &p.ChangelogCounts),
		w.count(p.Tombstones), w.count(p.EmptyValues), w.count(p.NullKeys), w.count(p.Control), w.count(p.Aborted), w.count(p.Undecided), w.count(p.OffsetGaps),
		tail, tailBytes, tailKeys, w.bytes(p.Bytes), liveBytes, w.bytes(p.LogBytes), w.count(p.WithHeaders), w.count(p.OutOfOrder),
		timeText(p.Times.Oldest), timeText(p.Times.Newest), strconv.FormatBool(p.Estimate),
	}
}
