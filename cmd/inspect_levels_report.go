package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sstool/inspect"
)

// sortLevels orders the shapes, the worst first; "place" is the order they come
// in.
func sortLevels(shapes []inspect.FamilyShape, by string) {
	number := map[string]func(s *inspect.FamilyShape) float64{
		"size":  func(s *inspect.FamilyShape) float64 { return float64(s.Size) },
		"runs":  func(s *inspect.FamilyShape) float64 { return float64(s.ReadRuns) },
		"read":  func(s *inspect.FamilyShape) float64 { return float64(s.OverlapRuns) },
		"space": func(s *inspect.FamilyShape) float64 { return s.SpaceAmp },
		"pending": func(s *inspect.FamilyShape) float64 {
			if s.Pending == nil {
				return -1
			}
			return float64(*s.Pending)
		},
	}[by]
	if number != nil {
		slices.SortStableFunc(shapes, func(a, b inspect.FamilyShape) int { return cmp.Compare(number(&b), number(&a)) })
	}
}

// picturesFit is how many column families are drawn unasked.
const picturesFit = 6

// renderLevels draws pictures of a few shapes, a table of many.
func renderLevels(w *tableWriter, r *inspect.Levels, bars, utf8 bool) {
	if w.machine() {
		w.levelsRows(r.Families)
		return
	}
	if bars || len(r.Families) <= picturesFit {
		for i := range r.Families {
			if i > 0 {
				w.line("")
			}
			w.levelsPicture(&r.Families[i], utf8)
		}
	} else {
		w.levelsRows(r.Families)
	}
	if len(r.Families) > 1 {
		t := r.Total
		w.line("")
		w.sentence("%d column families: %s in %s, %d sorted runs, pending compaction %s", len(r.Families), humanBytes(t.Size), counted(t.Files, "file"), t.Runs, humanBytes(t.Pending))
	}
	notes := r.Notes
	if r.Empty > 0 {
		notes = append(slices.Clone(notes), fmt.Sprintf("%d column famil%s without a file", r.Empty, map[bool]string{true: "y", false: "ies"}[r.Empty == 1]))
	}
	w.fileProblems(r.Problems, notes)
}

// levelsRows draws a table of the shapes.
func (w *tableWriter) levelsRows(shapes []inspect.FamilyShape) {
	columns := []column{
		{name: "TASK"}, {name: "STORE"}, {name: "SEGMENT START", short: "SEGMENT", wide: false}, {name: "COLUMN FAMILY", short: "FAMILY"}, {name: "RUNS", right: true},
		{name: "FILES", right: true, wide: true}, {name: "SIZE", right: true}, {name: "READ", right: true}, {name: "SPACE", right: true}, {name: "PENDING", right: true},
		{name: "TOMBSTONES", right: true, wide: true}, {name: "OVERLAPPING", right: true, wide: true}, {name: "STYLE", wide: true}, {name: "SIZE AMP PERCENT", right: true, wide: true}, {name: "NEXT COMPACTION", wide: true},
	}
	apps := severalApplications(shapes, func(s *inspect.FamilyShape) string { return s.Application })
	if apps && !w.machine() {
		columns[7].wide, columns[8].wide = true, true // make room
		columns = append([]column{{name: "APPLICATION", short: "APP"}}, columns...)
	}
	if w.machine() {
		columns = append(columns, column{name: "APPLICATION", wide: true}, column{name: "DATABASE", wide: true}, column{name: "ENTRIES", wide: true}, column{name: "DB ID", wide: true})
	}
	var rows [][]string
	for i := range shapes {
		s := &shapes[i]
		store, family, segment := s.Store, w.shortName(s.Family, 7), ""
		if store == "" {
			store = w.shortPath(s.Database, 18)
		}
		if s.DBID != "" && !w.machine() {
			store += " " + w.shortName(s.DBID, 9)
		}
		if s.Segment != nil {
			if segment = w.when(s.Segment); w.format == formatTable {
				segment = s.Segment.Format("01-02T15:04")
			}
		}
		row := []string{
			s.Task, store, segment, family, strconv.Itoa(len(s.Runs)), strconv.Itoa(s.Files), w.bytes(s.Size), strconv.Itoa(s.OverlapRuns),
			w.optional(s.LevelsKnown, func() string { return strconv.FormatFloat(s.SpaceAmp, 'f', 2, 64) }), w.pending(s), w.share(s.Tombstones, s.Entries), w.bytes(s.OverlapBytes), s.Style,
			strconv.FormatFloat(s.SizeAmpPercent, 'f', 1, 64), w.nextCompaction(s),
		}
		if w.machine() {
			row = append(row, s.Application, s.Database, w.count(s.Entries), s.DBID)
		} else if apps {
			row = append([]string{w.shortName(s.Application, 10)}, row...)
		}
		rows = append(rows, row)
	}
	fit(w, columns, rows, "STORE")
	w.table(columns, rows)
}

func (w *tableWriter) pending(s *inspect.FamilyShape) string {
	switch {
	case s.Pending == nil:
		return w.unmeasured()
	case *s.Pending == 0 && !w.machine():
		return "-"
	}
	return w.bytes(*s.Pending)
}

// nextCompaction says which runs would be compacted, and which option asks
// for it.
func (w *tableWriter) nextCompaction(s *inspect.FamilyShape) string {
	if s.Next == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d runs, %s: %s", s.Next.Runs, len(s.Runs), humanBytes(s.Next.Bytes), s.Next.Option)
}

// barWidth is the longest bar of a picture.
const barWidth = 36

// levelsPicture draws the runs of one family, newest first, as bars of their
// sizes.
func (w *tableWriter) levelsPicture(s *inspect.FamilyShape, utf8 bool) {
	style := s.Style
	if style == "" {
		style = "compaction style unknown"
	}
	place := placeText(s.Place)
	if s.DBID != "" {
		place += ", files of database " + s.DBID
	}
	w.wrapped("", fmt.Sprintf("%s: %s (%s)", place, s.Family, style))
	var largest int64
	for _, r := range s.Runs {
		largest = max(largest, r.Size)
	}
	compacted := func(i int) string {
		if n := s.Next; n != nil && i >= n.From && i < n.From+n.Runs {
			return "+"
		}
		return " "
	}
	for i, r := range s.Runs {
		what := fmt.Sprintf("%d files", r.Files)
		if r.Files == 1 {
			what = "1 file"
		}
		if r.File != "" {
			what = strings.TrimSuffix(r.File, ".sst")
		}
		tomb := ""
		if r.Tombstones > 0 {
			tomb = "  " + humanShare(float64(r.Tombstones), float64(r.Entries)) + " tomb."
		}
		level := strconv.Itoa(r.Level)
		if r.Level < 0 {
			level = "?"
		}
		w.line("%s L%s %-9s %10s  %s%s", compacted(i), level, w.shortName(what, 9), humanBytes(r.Size), sizeBar(r.Size, largest, barWidth, utf8), tomb)
	}
	w.line("  %s in %s; a read merges %d sorted run%s, a key may be in %d", humanBytes(s.Size), counted(s.Files, "file"), s.ReadRuns, strings.TrimSpace(plural(s.ReadRuns)), s.OverlapRuns)
	if !s.LevelsKnown {
		w.line("  live set unknown, %s", s.PendingReason)
		return
	}
	limit := ""
	if s.SizeAmpLimit != nil {
		limit = fmt.Sprintf("; newer runs are %.0f %% of it, compacted from %.0f %%", s.SizeAmpPercent, *s.SizeAmpLimit)
	}
	times := "×"
	if !utf8 {
		times = "x"
	}
	w.line("  space: %.2f%s the last run%s", s.SpaceAmp, times, limit)
	switch {
	case s.Pending == nil:
		w.line("  pending compaction %s", unmeasured(s.PendingReason))
	case s.Next == nil:
		w.line("  nothing to compact")
	default:
		w.line("  next compaction: %d run%s (+), %s, by %s; in all at most %s", s.Next.Runs, strings.TrimSpace(plural(s.Next.Runs)), humanBytes(s.Next.Bytes), s.Next.Option, humanBytes(*s.Pending))
	}
}
