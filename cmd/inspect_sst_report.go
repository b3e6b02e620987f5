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

// sortSST orders files; "place" is the order they come in. Large things come
// first, and so do the newest files.
func sortSST(files []inspect.SSTFile, by string) {
	number := map[string]func(f *inspect.SSTFile) float64{
		"size":       func(f *inspect.SSTFile) float64 { return float64(f.Size) },
		"entries":    func(f *inspect.SSTFile) float64 { return float64(f.Entries) },
		"tombstones": func(f *inspect.SSTFile) float64 { return float64(f.Tombstones) },
		"share":      func(f *inspect.SSTFile) float64 { return f.TombstoneShare },
		"created": func(f *inspect.SSTFile) float64 {
			if f.Created == nil {
				return 0
			}
			return float64(f.Created.Unix())
		},
	}[by]
	if number != nil {
		slices.SortStableFunc(files, func(a, b inspect.SSTFile) int { return cmp.Compare(number(&b), number(&a)) })
	}
}

// renderSST draws the files: below a heading per column family, or everything
// about one file.
func renderSST(w *tableWriter, r *inspect.SSTFiles, detail bool) {
	switch {
	case w.machine():
		w.sstRows(r.Files, false)
		return
	case detail:
		w.sstDetail(&r.Files[0])
	default:
		w.sstGroups(r)
	}
	w.fileProblems(r.Problems, r.Notes)
}

// sstGroups draws a table per database and family, in the order in which the
// first file of each comes.
func (w *tableWriter) sstGroups(r *inspect.SSTFiles) {
	groups := map[string][]inspect.SSTFile{}
	var order []string
	for _, f := range r.Files {
		key := f.Database + "\x00" + f.Family
		if _, ok := groups[key]; !ok {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
	}
	apps := severalApplications(r.Files, func(f *inspect.SSTFile) string { return f.Application })
	if len(order) > headingsFit {
		w.sstRows(r.Files, true)
		for _, f := range r.Files {
			w.sstProperties(&f, f.Path)
		}
		order = nil
	}
	for i, key := range order {
		files := groups[key]
		if i > 0 {
			w.line("")
		}
		family := files[0].Family
		if family == "" {
			family = "column family unknown"
		}
		place := placeText(files[0].Place)
		if apps {
			place = files[0].Application + " " + place
		}
		w.wrapped("", place+": "+family)
		w.sstRows(files, false)
		for _, f := range files {
			w.sstProperties(&f, f.Name)
		}
	}
	if slices.ContainsFunc(r.Files, func(f inspect.SSTFile) bool { return f.Live != nil && !*f.Live }) {
		w.line("* not live: RocksDB is writing the file, or will delete it")
	}
	if len(r.Files) > 0 {
		t := r.Total
		w.line("")
		w.sentence("%d file%s, %s, %s entries, %s tombstones (%s)", t.Files, strings.TrimSpace(plural(t.Files)), humanBytes(t.Size),
			humanCount(t.Entries), humanCount(t.Tombstones), humanShare(float64(t.Tombstones), float64(t.Entries)))
	}
}

// headingsFit is how many column families get a table of their own.
const headingsFit = 40

// sstRows draws files as rows, with their place when no heading tells it;
// programs get every column.
func (w *tableWriter) sstRows(files []inspect.SSTFile, places bool) {
	columns := []column{
		{name: "FILE"}, {name: "LEVEL", short: "LV", right: true}, {name: "SIZE", right: true}, {name: "ENTRIES", right: true},
		{name: "TOMBSTONES", short: "TOMB", right: true}, {name: "CREATED"}, {name: "KEYS"},
		{name: "PUTS", right: true, wide: true}, {name: "DELETES", right: true, wide: true}, {name: "MERGES", right: true, wide: true},
		{name: "RANGE DELETES", right: true, wide: true}, {name: "KEY BYTES", right: true, wide: true}, {name: "VALUE BYTES", right: true, wide: true},
		{name: "DATA", right: true, wide: true}, {name: "INDEX", right: true, wide: true}, {name: "FILTER", right: true, wide: true},
		{name: "RATIO", right: true, wide: true}, {name: "FORMAT", right: true, wide: true}, {name: "COMPRESSION", wide: true},
		{name: "WRITTEN BY", wide: true}, {name: "OLDEST KEY", wide: true},
	}
	programs := []column{{name: "APPLICATION", wide: true}, {name: "TASK", wide: true}, {name: "STORE", wide: true}, {name: "STORE KIND", wide: true}, {name: "SEGMENT START", wide: true},
		{name: "COLUMN FAMILY", wide: true}, {name: "PATH", wide: true}, {name: "LIVE", wide: true}, {name: "SMALLEST KEY HEX", wide: true}, {name: "LARGEST KEY HEX", wide: true},
		{name: "VERIFIED", wide: true}, {name: "ERROR", wide: true}}
	if w.machine() {
		columns = append(columns, programs...)
	} else if slices.ContainsFunc(files, func(f inspect.SSTFile) bool { return f.Verified != nil }) {
		columns[5].wide = true // the time makes room
		columns = append(columns, column{name: "VERIFIED"})
	}
	if places {
		columns[5].wide, columns[6].wide = true, true
		columns = append([]column{{name: "TASK"}, {name: "STORE"}, {name: "SEGMENT START", wide: true}, {name: "COLUMN FAMILY", wide: true}}, columns...)
	}
	apps := severalApplications(files, func(f *inspect.SSTFile) string { return f.Application })
	var rows [][]string
	for i := range files {
		f := &files[i]
		row := []string{
			w.sstName(f), w.optional(f.Level != nil, func() string { return strconv.Itoa(*f.Level) }), w.bytes(f.Size), w.count(f.Entries),
			w.share(f.Tombstones, f.Entries), w.when(f.Created), w.keySpan(f.Smallest, f.Largest, 9),
			w.count(f.Puts), w.count(f.Deletes), w.count(f.Merges), w.count(f.RangeDeletes), w.bytes(f.RawKeySize), w.bytes(f.RawValueSize),
			w.bytes(f.DataSize), w.bytes(f.IndexSize), w.bytes(f.FilterSize),
			w.optional(f.CompressionRate != nil, func() string { return strconv.FormatFloat(*f.CompressionRate, 'f', 2, 64) }),
			strconv.Itoa(f.FormatVersion), f.Compression, f.WrittenBy, w.when(f.OldestKey),
		}
		if f.Error != "" && !w.machine() {
			row = append([]string{w.sstName(f), w.none(), w.bytes(f.Size), unreadable(f)}, slices.Repeat([]string{w.none()}, len(row)-4)...)
		}
		if places {
			task, width := f.Task, 22
			if apps {
				task, width = w.shortName(f.Application, 10)+" "+task, 12
			}
			store := w.shortName(f.Store, width)
			if f.Store == "" {
				store = w.shortPath(f.Database, width)
			}
			row = append([]string{task, store, w.when(f.Segment), f.Family}, row...)
		}
		switch {
		case w.machine():
			row = append(row, f.Application, f.Task, f.Store, f.StoreKind, w.when(f.Segment), f.Family, f.Path,
				w.optional(f.Live != nil, func() string { return strconv.FormatBool(*f.Live) }), keyHex(f.Smallest), keyHex(f.Largest), verifiedText(f), f.Error)
		case len(columns) > len(row):
			row = append(row, verifiedText(f))
		}
		rows = append(rows, row)
	}
	w.table(columns, rows)
}

// sstName is the file's name; a star says that it is not live.
func (w *tableWriter) sstName(f *inspect.SSTFile) string {
	name := f.Name
	if w.format == formatTable {
		name = cut(name, 13)
	}
	if f.Live != nil && !*f.Live && !w.machine() {
		return name + "*"
	}
	return name
}

// unreadable stands in a row of which nothing is known.
func unreadable(f *inspect.SSTFile) string {
	if f.Live != nil && !*f.Live {
		return "not whole"
	}
	return "unreadable"
}

func keyHex(k *inspect.Key) string {
	if k == nil {
		return ""
	}
	return k.Hex
}

func verifiedText(f *inspect.SSTFile) string {
	switch {
	case f.Verified == nil:
		return ""
	case f.Verified.OK:
		return "ok"
	}
	return "corrupt"
}

// when is a time: the day in a narrow table, in full for programs.
func (w *tableWriter) when(t *time.Time) string {
	switch {
	case t == nil:
		return w.none()
	case w.format == formatTable:
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T15:04:05.999Z07:00")
}

// sstDetail tells everything about one file.
func (w *tableWriter) sstDetail(f *inspect.SSTFile) {
	rows := [][2]string{{"file", f.Path}}
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if f.Store != "" {
		add("store", "%s", placeText(f.Place))
	}
	if f.Error != "" {
		add("unreadable", "%s", f.Error)
		w.pairs(rows)
		return
	}
	add("column family", "%s", f.Family)
	add("level", "%s", levelText(f))
	add("size", "%s: data %s, index %s, filter %s", humanBytes(f.Size), humanBytes(f.DataSize), humanBytes(f.IndexSize), humanBytes(f.FilterSize))
	add("entries", "%s: %s puts, %s deletes, %s merges, %s range deletes", humanCount(f.Entries), humanCount(f.Puts), humanCount(f.Deletes), humanCount(f.Merges), humanCount(f.RangeDeletes))
	add("tombstones", "%s (%s): RocksDB deletes, not null records and not a versioned store's deleted rows", humanCount(f.Tombstones), humanShare(float64(f.Tombstones), float64(f.Entries)))
	ratio := "-"
	if f.CompressionRate != nil {
		ratio = strconv.FormatFloat(*f.CompressionRate, 'f', 2, 64)
	}
	add("bytes", "keys %s, values %s; %s times the data blocks", humanBytes(f.RawKeySize), humanBytes(f.RawValueSize), ratio)
	for _, k := range []struct {
		name string
		key  *inspect.Key
	}{{"smallest key", f.Smallest}, {"largest key", f.Largest}} {
		if k.key != nil {
			add(k.name, "%s (hex %s)", k.key.Text, k.key.Hex)
		}
	}
	if f.SmallestSeq != nil {
		add("sequence", "%d to %d", *f.SmallestSeq, *f.LargestSeq)
	}
	add("format", "version %d, checksum %s, compression %s", f.FormatVersion, f.Checksum, f.Compression)
	filter := f.Filter
	if filter == "" {
		filter = "none"
	}
	add("index, filter", "%s, %s", f.Index, filter)
	order := f.Comparator
	if f.MergeOperator != "" {
		order += ", merge operator " + f.MergeOperator
	}
	add("comparator", "%s", order)
	add("created", "%s; oldest entry %s", w.when2(f.Created), w.when2(f.OldestKey))
	writer := f.WrittenBy
	if writer == "" {
		writer = "unknown"
	}
	if f.External {
		writer += ", outside of the database (ingested)"
	}
	add("written by", "RocksDB %s", writer)
	if v := f.Verified; v != nil {
		if v.OK {
			add("verified", "whole: %s entries in %s blocks", humanCount(v.Entries), humanCount(v.Blocks))
		} else {
			add("verified", "corrupt: %s bad blocks, %s entries in %s good ones", humanCount(v.BadBlocks), humanCount(v.Entries), humanCount(v.Blocks))
		}
	}
	w.pairs(rows)
	w.sstProperties(f, "properties")
}

// when2 is a time or what stands for none in a sentence.
func (w *tableWriter) when2(t *time.Time) string {
	if t == nil {
		return "unknown"
	}
	return t.Format(time.RFC3339)
}

func levelText(f *inspect.SSTFile) string {
	switch {
	case f.Level != nil:
		return strconv.Itoa(*f.Level)
	case f.Live != nil:
		return "not live: no MANIFEST names the file; RocksDB is writing it, or will delete it"
	}
	return "unknown: no MANIFEST here"
}

// sstProperties lists the raw properties, when they were asked for.
func (w *tableWriter) sstProperties(f *inspect.SSTFile, title string) {
	if len(f.Properties) == 0 {
		return
	}
	w.line("\n%s", printable(title))
	var rows [][2]string
	for _, p := range f.Properties {
		rows = append(rows, [2]string{"  " + printable(p.Name), p.Value})
	}
	w.pairs(rows)
}
