package cmd

import (
	"fmt"
	"strings"
	"time"

	"sstool/inspect"
)

// renderStore tells everything of one store: the view of a map that has just
// that one.
func renderStore(w *tableWriter, m *inspect.Map, s *inspect.MapStore) {
	w.line("")
	w.wrappedPairs(storeFacts(w, m, s))
	if len(s.Segments) > 0 {
		w.line("")
		renderSegments(w, s)
	}
}

func storeFacts(w *tableWriter, m *inspect.Map, s *inspect.MapStore) [][2]string {
	kind := "unknown: " + s.Kind.Why
	if s.Kind.Kind != nil {
		kind = fmt.Sprintf("%s, %s: %s", *s.Kind.Kind, s.Kind.Certainty, s.Kind.Why)
	} else if len(s.Kind.Candidates) > 0 {
		kind = fmt.Sprintf("unknown, one of %s: %s", strings.Join(s.Kind.Candidates, ", "), s.Kind.Why)
	}
	keys := w.unmeasured() + ": " + s.Keys.Why
	if s.Keys.Count != nil {
		keys = fmt.Sprintf("%s, %s", keysCell(w, s.Keys.Count, s.Keys.Exact), s.Keys.Why)
		if s.Keys.AtMost != nil {
			keys = fmt.Sprintf("~%s, at most %s, %s", w.count(*s.Keys.Count), w.count(*s.Keys.AtMost), s.Keys.Why)
		}
	}
	rows := [][2]string{{"store", s.Name}}
	if s.Task != "" {
		rows = append(rows, [2]string{"task", s.Task})
	}
	rows = append(rows, [][2]string{
		{"kind", kind},
		{"live keys", keys},
		{"tombstones", fmt.Sprintf("%s of %s entries (%s), %s", w.count(s.Deletes), w.count(s.Entries), humanShare(float64(s.Deletes), float64(s.Entries)), counted(int(s.RangeDels), "range delete"))},
		{"on disk", fmt.Sprintf("%s, of it %s in %s", humanBytes(s.Size), humanBytes(s.DataSize), counted(s.Files, "SST file"))},
	}...)
	for _, f := range s.Families {
		rows = append(rows, [2]string{"family", fmt.Sprintf("%s: %s, %s, %s", f.Name, w.count(f.Entries)+" entries", counted(f.Files, "file"), humanBytes(f.Size))})
	}
	rows = append(rows, [][2]string{
		{"files", fmt.Sprintf("levels %s; format version %s; checksum %s; last opened by RocksDB %s",
			orDash(s.LevelFiles()), orDash(intsCell(s.Formats)), orDash(strings.Join(s.Checksums, ", ")), orDash(strings.Join(s.WrittenBy, ", ")))},
		{"newest file", newestCell(w, m.At, s.Newest)},
		{"opens with", "Kafka Streams " + opensWith(s.Oldest, s.OldestWhy)},
		{"offset", keptOffset(s)},
		{"status", orDash(textOr(s.Status, "")) + ": " + s.StatusWhy},
	}...)
	for _, p := range s.Position {
		rows = append(rows, [2]string{"position", fmt.Sprintf("%d of %s-%d", *p.Offset, p.Topic, p.Partition)})
	}
	if s.Segmented {
		rows = append(rows, [2]string{"segments", segmentsText(s)})
	}
	if e := s.Expiry; e != nil {
		rows = append(rows, [2]string{"expired", expiryText(s, e)})
	}
	rows = append(rows, [2]string{"RocksDB log", logText(s.Log)})
	if l := s.Cluster; l != nil {
		rows = append(rows, [2]string{"changelog", lagText(w, l)})
	}
	return rows
}

// expiryText says which segments are older than the retention.
func expiryText(s *inspect.MapStore, e *inspect.MapExpiry) string {
	return fmt.Sprintf("%d of %s by stream time (at least %s), %d by wall clock; retention %s, %s; only stream time drops them",
		e.ByStreamTime, counted(len(s.Segments), "segment"), time.UnixMilli(e.StreamTime).UTC().Format(time.RFC3339), e.ByWallClock,
		humanDuration(time.Duration(e.Retention)*time.Millisecond), e.RetentionWhy)
}

// logText is what RocksDB's own LOG says.
func logText(l *inspect.MapLog) string {
	switch {
	case l == nil:
		return "there is none"
	case l.Size == 0:
		return "no errors, no stalls: empty, as Kafka Streams lets RocksDB write errors only"
	case l.Unread == l.Files:
		return "not read"
	}
	text := fmt.Sprintf("%s, %s", counted(l.Errors, "error"), counted(l.Delays+l.Stops, "stall"))
	if len(l.Versions) > 0 {
		text += "; written by RocksDB " + strings.Join(l.Versions, ", ")
	}
	if l.Unread > 0 {
		text += fmt.Sprintf("; %d of %d files not read", l.Unread, l.Files)
	}
	return text
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func keptOffset(s *inspect.MapStore) string {
	if len(s.Offsets.List) == 0 {
		return "none: " + s.Offsets.Why
	}
	what := "last applied"
	if s.Offsets.Next {
		what = "next"
	}
	var parts []string
	for _, o := range s.Offsets.List {
		parts = append(parts, fmt.Sprintf("%d of %s-%d", *o.Offset, o.Topic, o.Partition))
	}
	return fmt.Sprintf("%s (%s, kept in %s)", strings.Join(parts, ", "), what, s.Offsets.KeptIn)
}

func segmentsText(s *inspect.MapStore) string {
	interval := "interval not known: " + s.IntervalW
	if s.Interval != nil {
		interval = fmt.Sprintf("interval %s: %s", humanDuration(time.Duration(*s.Interval)*time.Millisecond), s.IntervalW)
	}
	return fmt.Sprintf("%d, %s", len(s.Segments), interval)
}

func lagText(w *tableWriter, l *inspect.MapLag) string {
	if l.Partitions == nil {
		return orDash(strings.TrimPrefix(strings.Join([]string{l.Topic, l.Why}, ": "), ": "))
	}
	text := fmt.Sprintf("%s, %s", l.Topic, counted(*l.Partitions, "partition"))
	for _, e := range l.Ends {
		text += fmt.Sprintf("; %d: %d to %d", e.Partition, e.Start, e.End)
	}
	if l.Lag != nil {
		text += fmt.Sprintf("; lag %s", w.count(*l.Lag))
	}
	if l.Replay != nil {
		text += fmt.Sprintf("; a start now replays %s", w.count(*l.Replay))
	}
	if l.Why != "" {
		text += "; " + l.Why
	}
	return text
}

// renderSegments draws a store's segments, oldest first.
func renderSegments(w *tableWriter, s *inspect.MapStore) {
	columns := []column{{name: "SEGMENT", right: true}, {name: "FROM"}, {name: "TO"}, {name: "KEYS", right: true}, {name: "FILES", right: true}, {name: "SIZE", right: true}}
	var rows [][]string
	for _, g := range s.Segments {
		to := w.none()
		if g.EndMs != nil {
			to = time.UnixMilli(*g.EndMs).UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{fmt.Sprint(g.StartMs), g.Start.Format(time.RFC3339), to, keysCell(w, g.Keys.Count, g.Keys.Exact), w.count(int64(g.Files)), w.bytes(g.Size)})
	}
	w.table(columns, rows)
}
