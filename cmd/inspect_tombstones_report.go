package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/inspect"
)

// tombstoneRow is a row of the table, and a line of -o jsonl.
type tombstoneRow struct {
	inspect.Place
	Family  string     `json:"column_family"`
	Level   *int       `json:"level"`
	File    string     `json:"file"`
	Created *time.Time `json:"created"`
	inspect.TombstoneCounts
}

// tombstoneRows are the counts by store, family, level or file.
func tombstoneRows(r *inspect.Tombstones, by string) (rows []tombstoneRow) {
	if by == "store" {
		for _, s := range r.Stores {
			rows = append(rows, tombstoneRow{
				Place:           inspect.Place{Application: s.Application, Task: s.Task, Store: s.Store, StoreKind: s.StoreKind, Database: s.Database},
				TombstoneCounts: s.TombstoneCounts,
			})
		}
		return rows
	}
	for _, f := range r.Families {
		row := tombstoneRow{Place: f.Place, Family: f.Family, TombstoneCounts: f.TombstoneCounts}
		switch by {
		case "level":
			for _, l := range f.Levels {
				row.Level, row.TombstoneCounts = &l.Level, l.TombstoneCounts
				rows = append(rows, row)
			}
		case "file":
			for _, x := range f.FileList {
				row.Level, row.File, row.Created, row.TombstoneCounts = &x.Level, x.Name, x.Created, x.TombstoneCounts
				rows = append(rows, row)
			}
		default:
			rows = append(rows, row)
		}
	}
	return rows
}

// sortTombstones orders rows, the largest first; "place" is the order they
// come in.
func sortTombstones(rows []tombstoneRow, by string) {
	number := map[string]func(r *tombstoneRow) float64{
		"tombstones": func(r *tombstoneRow) float64 { return float64(r.Tombstones) },
		"share":      func(r *tombstoneRow) float64 { return r.Share },
		"size":       func(r *tombstoneRow) float64 { return float64(r.Size) },
		"reclaim": func(r *tombstoneRow) float64 {
			if r.ReclaimDisk != nil {
				return float64(*r.ReclaimDisk)
			}
			if r.ShadowedBytes != nil {
				return float64(*r.ShadowedBytes + r.TombstoneBytes)
			}
			return -1
		},
	}[by]
	if number != nil {
		slices.SortStableFunc(rows, func(a, b tombstoneRow) int { return cmp.Compare(number(&b), number(&a)) })
	}
}

// renderTombstones draws the rows, the sums, the dense ranges and the advice.
func renderTombstones(w *tableWriter, r *inspect.Tombstones, rows []tombstoneRow, by string) {
	w.tombstoneTable(rows, by)
	if w.machine() {
		return
	}
	w.tombstoneTotal(r)
	w.tombstoneAges(r)
	w.denseRanges(r.Dense)
	w.rangeDeletes(r.Families)
	if len(r.Advice) > 0 {
		w.line("\nWhat would help")
	}
	for _, a := range r.Advice {
		w.line("  %s", a.Option)
		w.wrapped("    ", a.Text)
		if len(a.Stores) > 0 {
			w.wrapped("    ", "first of all: "+strings.Join(a.Stores, ", "))
		}
	}
	notes := r.Notes
	if r.Total.Estimated != "" {
		notes = append([]string{"estimated: " + r.Total.Estimated}, notes...)
	}
	w.fileProblems(r.Problems, notes)
}

func (w *tableWriter) tombstoneTable(rows []tombstoneRow, by string) {
	apps := severalApplications(rows, func(r *tombstoneRow) string { return r.Application })
	columns := []column{{name: "TASK"}, {name: "STORE"}}
	if apps && !w.machine() {
		columns = append([]column{{name: "APPLICATION", short: "APP"}}, columns...)
	}
	if by != "store" {
		columns = append(columns, column{name: "SEGMENT START", wide: true}, column{name: "COLUMN FAMILY", short: "FAMILY"})
	}
	if by == "level" || by == "file" {
		columns = append(columns, column{name: "LEVEL", short: "LV", right: true})
	}
	if by == "file" {
		columns = append(columns, column{name: "FILE"}, column{name: "CREATED", wide: true})
	}
	columns = append(columns, column{name: "ENTRIES", right: true}, column{name: "TOMBSTONES", short: "TOMB", right: true}, column{name: "SHARE", right: true},
		column{name: "AT BOTTOM", right: true, wide: true}, column{name: "HOLDS", right: true})
	if by == "store" || by == "family" {
		columns = append(columns, column{name: "RECLAIM", right: true})
	}
	columns = append(columns, column{name: "DELETES", right: true, wide: true}, column{name: "SINGLE DELETES", right: true, wide: true}, column{name: "TIMESTAMP DELETES", right: true, wide: true},
		column{name: "RANGE DELETES", right: true, wide: true}, column{name: "SHADOWED ROWS", right: true, wide: true}, column{name: "SUPERSEDED ROWS", right: true, wide: true},
		column{name: "FILES", right: true, wide: true}, column{name: "SIZE", right: true, wide: true})
	if w.machine() {
		columns = append(columns, column{name: "APPLICATION", wide: true}, column{name: "STORE KIND", wide: true}, column{name: "DATABASE", wide: true}, column{name: "ESTIMATED", wide: true})
	}
	var out [][]string
	for i := range rows {
		width := map[string]int{"store": 24, "family": 14, "level": 20, "file": 12}[by]
		if apps {
			width = max(10, width-10)
		}
		cells := w.tombstoneCells(&rows[i], by, width)
		if apps && !w.machine() {
			cells = append([]string{w.shortName(rows[i].Application, 8)}, cells...)
		}
		out = append(out, cells)
	}
	w.table(columns, out)
}

// tombstoneCells are the cells of one row; a narrow table gives the store width
// characters.
func (w *tableWriter) tombstoneCells(r *tombstoneRow, by string, width int) []string {
	measured := func(n *int64, show func(int64) string) string {
		if n == nil {
			return w.unmeasured()
		}
		return show(*n)
	}
	store, family := w.shortName(r.Store, width), w.shortName(r.Family, 8)
	if r.Store == "" {
		store = w.shortPath(r.Database, width)
	}
	row := []string{r.Task, store}
	if by != "store" {
		row = append(row, w.when(r.Segment), family)
	}
	if by == "level" || by == "file" {
		row = append(row, levelNumber(r.Level))
	}
	if by == "file" {
		row = append(row, strings.TrimSuffix(r.File, ".sst"), w.when(r.Created))
		if w.format != formatTable {
			row[len(row)-2] = r.File
		}
	}
	share := humanShare(float64(r.Tombstones), float64(r.Entries))
	if w.machine() {
		share = strconv.FormatFloat(r.Share, 'g', 6, 64)
	}
	holds := w.unmeasured()
	if r.ShadowedBytes != nil {
		holds = w.bytes(r.TombstoneBytes + *r.ShadowedBytes)
	}
	row = append(row, w.count(r.Entries), w.count(r.Tombstones), share, measured(r.AtBottom, w.count), holds)
	if by == "store" || by == "family" {
		row = append(row, measured(r.ReclaimDisk, w.bytes))
	}
	row = append(row, w.count(r.Deletes), w.count(r.SingleDeletes), w.count(r.TimestampDeletes), w.count(r.RangeDeletes),
		measured(r.ShadowedRows, w.count), measured(r.SupersededRows, w.count), strconv.Itoa(r.Files), w.bytes(r.Size))
	if w.machine() {
		row = append(row, r.Application, r.StoreKind, r.Database, r.Estimated)
	}
	return row
}

func levelNumber(level *int) string {
	if level == nil || *level < 0 {
		return ""
	}
	return strconv.Itoa(*level)
}

// tombstoneTotal says in sentences what all of it comes to.
func (w *tableWriter) tombstoneTotal(r *inspect.Tombstones) {
	t := &r.Total
	w.line("")
	w.sentence("%s tombstones in %s entries (%s): %s deletes, %s range deletes%s", humanCount(t.Tombstones), humanCount(t.Entries),
		humanShare(float64(t.Tombstones), float64(t.Entries)), humanCount(t.Deletes), humanCount(t.RangeDeletes), rareKinds(t))
	if t.Tombstones == 0 && t.ReclaimBytes != nil && *t.ReclaimBytes == 0 {
		return
	}
	if t.ShadowedRows != nil {
		w.sentence("they take %s and hide %s rows of %s that are still in the files", humanBytes(t.TombstoneBytes), humanCount(*t.ShadowedRows), humanBytes(*t.ShadowedBytes))
	}
	if t.AtBottom != nil {
		w.sentence("in the last sorted run: %s, which hide nothing below and go with its next compaction", humanCount(*t.AtBottom))
	}
	if t.SupersededRows != nil && *t.SupersededRows > 0 {
		w.sentence("besides, %s rows of %s lie under a newer row of their key", humanCount(*t.SupersededRows), humanBytes(*t.SupersededBytes))
	}
	if t.ReclaimDisk != nil {
		about := "about "
		if t.Estimated != "" {
			about = "an estimated "
		}
		w.sentence("compacting everything would drop %s entries and free %s%s of %s (%s)", humanCount(*t.ReclaimEntries), about, humanBytes(*t.ReclaimDisk), humanBytes(t.Size),
			humanShare(float64(*t.ReclaimDisk), float64(t.Size)))
	}
}

// sentence writes one, wrapped.
func (w *tableWriter) sentence(format string, args ...any) {
	w.wrapped("", fmt.Sprintf(format, args...))
}

// rareKinds are the deletes that Kafka Streams never writes, when there are some.
func rareKinds(t *inspect.TombstoneCounts) string {
	text := ""
	if t.SingleDeletes > 0 {
		text += ", " + humanCount(t.SingleDeletes) + " single deletes"
	}
	if t.TimestampDeletes > 0 {
		text += ", " + humanCount(t.TimestampDeletes) + " deletes with a timestamp"
	}
	return text
}

func (w *tableWriter) tombstoneAges(r *inspect.Tombstones) {
	if r.Total.Tombstones == 0 {
		return
	}
	var parts []string
	for _, a := range r.Ages {
		if a.Tombstones == 0 {
			continue
		}
		name := "unknown"
		switch {
		case a.From == nil:
		case a.To == nil:
			name = "over " + humanDuration(time.Duration(*a.From)*time.Second)
		default:
			name = "under " + humanDuration(time.Duration(*a.To)*time.Second)
		}
		parts = append(parts, fmt.Sprintf("%s: %s", name, humanShare(float64(a.Tombstones), float64(r.Total.Tombstones))))
	}
	w.sentence("age of their files: %s", strings.Join(parts, ", "))
}

func (w *tableWriter) denseRanges(ranges []inspect.DenseRange) {
	if len(ranges) == 0 {
		return
	}
	w.line("")
	w.sentence("Densest key ranges: neighbouring keys that are all deleted, which an iterator has to pass")
	var rows [][]string
	for i := range ranges {
		d := &ranges[i]
		store := w.shortName(strings.TrimSpace(d.Task+" "+d.Store), 20)
		if d.Store == "" {
			store = w.shortPath(d.Database, 20)
		}
		rows = append(rows, []string{w.count(d.Keys), w.count(d.Entries), w.bytes(d.Bytes), store, d.Family, w.keySpan(d.First, d.Last, 18)})
	}
	w.table([]column{{name: "KEYS", right: true}, {name: "ENTRIES", right: true}, {name: "BYTES", right: true, wide: true}, {name: "STORE"}, {name: "COLUMN FAMILY", wide: true}, {name: "FROM … TO"}}, rows)
}

// rangesShown bounds the range deletes in a table; the JSON has more.
const rangesShown = 10

func (w *tableWriter) rangeDeletes(families []inspect.FamilyTombstones) {
	var rows [][]string
	all := int64(0)
	for _, f := range families {
		all += f.RangeDeletes
		for _, d := range f.Ranges {
			if len(rows) < rangesShown {
				store := w.shortName(strings.TrimSpace(f.Task+" "+f.Store), 20)
				if f.Store == "" {
					store = w.shortPath(f.Database, 20)
				}
				rows = append(rows, []string{store, d.File, strconv.Itoa(d.Level), strconv.FormatUint(d.Seq, 10), w.keySpan(d.Start, d.End, 14)})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	w.line("\nRange deletes (%d of %s): every key from the first on, before the last", len(rows), humanCount(all))
	w.table([]column{{name: "STORE"}, {name: "FILE"}, {name: "LV", right: true}, {name: "SEQUENCE", right: true}, {name: "FROM … TO"}}, rows)
}
