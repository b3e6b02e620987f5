package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/streams"
)

// renderStores draws stores, one a line. For programs the application is a
// column; for people it stands above.
func renderStores(w *tableWriter, m *inspect.Map, stores []inspect.MapStore, withApp bool) {
	cluster := m.Cluster != nil
	columns := []column{{name: "APP", wide: true}, {name: "TASK"}, {name: "STORE"}, {name: "KIND"}, {name: "CERTAINTY", wide: true}}
	if !withApp {
		columns = columns[1:]
	}
	columns = append(columns, []column{
		{name: "LIVE KEYS", short: "KEYS", right: true}, {name: "EXACT", wide: true}, {name: "TOMBSTONES", short: "TOMBS", right: true}, {name: "RANGE DELETES", right: true, wide: true},
		{name: "SIZE", right: true}, {name: "FILES", right: true, wide: true}, {name: "LEVELS", wide: true}, {name: "FORMAT", wide: true},
		{name: "SEGMENTS", right: true, wide: true}, {name: "FROM", wide: true}, {name: "TO", wide: true}, {name: "FAMILIES", wide: true},
		{name: "OFFSET", right: true}, {name: "KEPT IN", wide: true}, {name: "STATUS", wide: cluster || !slices.ContainsFunc(stores, func(s inspect.MapStore) bool { return s.Status != nil })}, {name: "NEWEST FILE", wide: true}, {name: "OLDEST KAFKA", wide: true},
	}...)
	if cluster {
		columns = append(columns, column{name: "CHANGELOG", wide: true}, column{name: "PARTITIONS", right: true, wide: true}, column{name: "END", right: true, wide: true},
			column{name: "LAG", right: true}, column{name: "REPLAY", right: true, wide: true})
	}
	rows := make([][]string, 0, len(stores))
	for i := range stores {
		s := &stores[i]
		row := []string{s.App, s.Task, s.Name, kindCell(w, s.Kind), s.Kind.Certainty}
		if !withApp {
			row = row[1:]
		}
		from, to := segmentSpan(w, s)
		row = append(row, keysCell(w, s.Keys.Count, s.Keys.Exact), fmt.Sprint(s.Keys.Exact), tombCell(w, s), w.count(s.RangeDels),
			w.bytes(s.Size), w.count(int64(s.Files)), s.LevelFiles(), intsCell(s.Formats),
			segmentCount(w, s), from, to, familiesCell(s),
			offsetCell(w, s), s.Offsets.KeptIn, statusCell(w, s), newestCell(w, m.At, s.Newest), textOr(s.Oldest, w.none()))
		if cluster {
			row = append(row, clusterCells(w, s.Cluster)...)
		}
		rows = append(rows, row)
	}
	fit(w, columns, rows, "STORE")
	w.table(columns, rows)
}

// fit shortens the cells of one column until a narrow table has 80 columns.
func fit(w *tableWriter, columns []column, rows [][]string, name string) {
	if w.format != formatTable {
		return
	}
	total, at, longest := 0, -1, 0
	for i, c := range columns {
		if c.wide {
			continue
		}
		width := len([]rune(cmp.Or(c.short, c.name)))
		for _, r := range rows {
			width = max(width, len([]rune(printable(r[i]))))
		}
		if c.name == name {
			at, longest = i, width
		}
		total += width + 2
	}
	room := max(12, longest-max(0, total-2-80))
	for _, r := range rows {
		r[at] = shorten(printable(r[at]), room)
	}
}

func tombCell(w *tableWriter, s *inspect.MapStore) string {
	return w.share(s.Deletes+s.RangeDels*boolInt(!w.machine()), s.Entries)
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func intsCell(list []int) string {
	var parts []string
	for _, n := range list {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, " ")
}

func familiesCell(s *inspect.MapStore) string {
	var parts []string
	for _, f := range s.Families {
		parts = append(parts, f.Name)
	}
	return strings.Join(parts, " ")
}

func segmentCount(w *tableWriter, s *inspect.MapStore) string {
	if !s.Segmented {
		return w.none()
	}
	return w.count(int64(len(s.Segments)))
}

// segmentSpan is the time that the segments reach over.
func segmentSpan(w *tableWriter, s *inspect.MapStore) (from, to string) {
	if len(s.Segments) == 0 {
		return w.none(), w.none()
	}
	from = s.Segments[0].Start.Format(time.RFC3339)
	last := s.Segments[len(s.Segments)-1]
	if last.EndMs == nil {
		return from, w.none()
	}
	return from, time.UnixMilli(*last.EndMs).UTC().Format(time.RFC3339)
}

// offsetCell is the offset; of several partitions of a global store their sum
// would mean nothing.
func offsetCell(w *tableWriter, s *inspect.MapStore) string {
	list := s.Offsets.List
	switch {
	case len(list) == 0:
		return w.none()
	case len(list) > 1 && !w.machine():
		return fmt.Sprintf("%d parts", len(list))
	case len(list) > 1:
		var parts []string
		for _, o := range list {
			parts = append(parts, fmt.Sprintf("%d:%d", o.Partition, *o.Offset))
		}
		return strings.Join(parts, " ")
	case *list[0].Offset == streams.OffsetUnknown && !w.machine():
		return "-4 (none)"
	}
	return fmt.Sprint(*list[0].Offset)
}

func statusCell(w *tableWriter, s *inspect.MapStore) string { return textOr(s.Status, w.none()) }

func textOr(s *string, other string) string {
	if s == nil {
		return other
	}
	return *s
}

func newestCell(w *tableWriter, at time.Time, t *time.Time) string {
	if t == nil {
		return w.none()
	}
	if w.machine() {
		return t.Format(time.RFC3339)
	}
	return age(at, t)
}

func clusterCells(w *tableWriter, l *inspect.MapLag) []string {
	if l == nil {
		return []string{w.none(), w.none(), w.none(), w.none(), w.none()}
	}
	partitions, end := w.none(), w.none()
	if l.Partitions != nil {
		partitions = fmt.Sprint(*l.Partitions)
	}
	if len(l.Ends) == 1 {
		end = fmt.Sprint(l.Ends[0].End)
	}
	return []string{l.Topic, partitions, end, optionalCount(w, l.Lag), optionalCount(w, l.Replay)}
}

// renderSums draws what --sum-by asked for.
func renderSums(w *tableWriter, m *inspect.Map, sums []inspect.MapSum, withApp bool) {
	columns := []column{{name: "APP"}, {name: strings.ToUpper(m.SumBy)}, {name: "KIND"}, {name: "STORES", right: true}, {name: "SEGMENTS", right: true, wide: true},
		{name: "LIVE KEYS", short: "KEYS", right: true}, {name: "EXACT", wide: true}, {name: "TOMBSTONES", short: "TOMBS", right: true}, {name: "RANGE DELETES", right: true, wide: true},
		{name: "SIZE", right: true}, {name: "FILES", right: true}, {name: "NEWEST FILE", wide: true}, {name: "LAG", right: true, wide: m.Cluster == nil}, {name: "REMARKS", right: true, wide: true}}
	var rows [][]string
	for i := range sums {
		s := &sums[i]
		kind := w.none()
		if s.Kind != nil {
			kind = *s.Kind
			if w.format == formatTable {
				kind = shortKind(kind)
			}
		}
		rows = append(rows, []string{s.App, s.Name, kind, w.count(int64(s.Stores)), w.count(int64(s.Segments)), keysCell(w, s.Keys, s.KeysExact), fmt.Sprint(s.KeysExact),
			w.count(s.Deletes), w.count(s.RangeDels), w.bytes(s.Size), w.count(int64(s.Files)), newestCell(w, m.At, s.Newest), optionalCount(w, s.Lag), w.count(int64(s.Remarks))})
	}
	columns, rows = without(columns, rows, func(c column, i int) bool {
		return i == 0 && !withApp || i == 1 && m.SumBy == inspect.SumByApp || c.name == "KIND" && m.SumBy != inspect.SumByStore
	})
	fit(w, columns, rows, strings.ToUpper(m.SumBy))
	w.table(columns, rows)
}

// without drops columns.
func without(columns []column, rows [][]string, drop func(column, int) bool) ([]column, [][]string) {
	var keep []int
	var out []column
	for i, c := range columns {
		if !drop(c, i) {
			keep = append(keep, i)
			out = append(out, c)
		}
	}
	for i, r := range rows {
		row := make([]string, len(keep))
		for j, k := range keep {
			row[j] = r[k]
		}
		rows[i] = row
	}
	return out, rows
}

// renderCluster draws what the cluster has beyond the stores.
func renderCluster(w *tableWriter, m *inspect.Map) {
	c := m.Cluster
	if c == nil || w.machine() {
		return
	}
	w.line("")
	if c.Error != "" {
		w.wrapped("", "changelogs unmeasured: "+c.Error)
		return
	}
	w.line("cluster %s", printable(textOr(c.ID, "of unknown id")))
	if len(c.Orphans) == 0 {
		return
	}
	w.line("")
	w.wrapped("", "Changelogs without a store here: of stores in memory, of other hosts, or left over:")
	var rows [][]string
	for _, o := range c.Orphans {
		held := w.unmeasured()
		if o.Records != nil {
			held = w.count(*o.Records)
		}
		rows = append(rows, []string{o.Topic, fmt.Sprint(o.Partitions), held})
	}
	columns := []column{{name: "TOPIC"}, {name: "PARTITIONS", right: true}, {name: "OFFSETS HELD", right: true}}
	fit(w, columns, rows, "TOPIC")
	w.table(columns, rows)
}
