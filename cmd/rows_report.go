package cmd

import (
	"fmt"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/op"
)

// sourceName names a task or a partition.
func sourceName(s inspect.RowsSource) string {
	switch {
	case s.Task != "":
		return s.Task
	case s.Partition != nil:
		return i64(int64(*s.Partition))
	}
	return s.Dir
}

// report writes what a person should know of the rows above it.
func (w *rowsOutput) report(t *tableWriter, res *inspect.RowsResult) {
	if w.rows > 0 {
		t.line("")
	}
	isTopic := res.Topic != nil
	var rows [][]string
	for _, s := range res.Sources {
		cells := []string{sourceName(s), t.count(s.Rows)}
		switch {
		case isTopic:
			cells = append(cells, fmt.Sprintf("%s to %s", humanCount(*s.From), humanCount(*s.To)))
		default:
			cells = append(cells, offsetText(s.Freshness), behindText(s.Freshness), positionText(s.Freshness))
		}
		rows = append(rows, cells)
	}
	if isTopic {
		t.table([]column{{name: "PARTITION"}, {name: "ROWS", right: true}, {name: "OFFSETS READ"}}, rows)
	} else {
		t.table([]column{{name: "TASK"}, {name: "ROWS", right: true}, {name: "OFFSET", right: true}, {name: "BEHIND", right: true}, {name: "POSITION"}}, rows)
	}
	t.line("")
	kind := "of an unknown kind"
	if res.StoreKind != nil {
		kind = *res.StoreKind
	}
	what := "store " + res.Store
	if isTopic {
		what = "topic " + *res.Topic
	}
	n := humanCount(res.Count) + " rows"
	if res.Count == 1 {
		n = "1 row"
	}
	if w.count {
		t.line("%s of %s, %s", n, printable(what), kind)
		return
	}
	t.line("%s of %s, %s; %s", n, printable(what), kind, decoders(res))
	if res.Limited {
		t.line("the limit ended it: there may be more")
	}
}

// decoders says how keys and values were decoded, and what of it is a guess.
func decoders(res *inspect.RowsResult) string {
	one := func(what string, d inspect.Decoder) string {
		s := what + " as " + d.Name
		if d.Guessed {
			s += " (a guess)"
		}
		return s
	}
	parts := []string{one("keys", res.Key)}
	if res.ForeignKey != nil {
		parts = append([]string{one("foreign keys", *res.ForeignKey)}, parts...)
	} else {
		parts = append(parts, one("values", res.Value))
	}
	return strings.Join(parts, ", ")
}

// offsetText is how far a store has come in its changelog.
func offsetText(f *inspect.Freshness) string {
	var parts []string
	for _, o := range f.Offsets.List {
		if o.Offset != nil {
			parts = append(parts, i64(*o.Offset))
		}
	}
	return strings.Join(parts, " ")
}

func behindText(f *inspect.Freshness) string {
	if f.Behind == nil {
		return ""
	}
	return humanCount(*f.Behind)
}

// positionText is the position of interactive queries: topic-partition:offset.
func positionText(f *inspect.Freshness) string {
	var parts []string
	for _, o := range f.Position {
		parts = append(parts, fmt.Sprintf("%s-%d:%d", o.Topic, o.Partition, *o.Offset))
	}
	return strings.Join(parts, " ")
}

// rowNotes are what has to be said beside the rows.
func rowNotes(res *inspect.RowsResult, f format, count bool) []string {
	var out []string
	if f != formatJSON {
		out = append(out, unknownWindowEnd(res)...)
		for _, s := range res.Sources {
			if s.Freshness != nil && s.Freshness.Behind == nil && s.Freshness.Asked {
				out = append(out, "task "+sourceName(s)+": how far it is behind was not measured: "+s.Freshness.Why)
			}
		}
	}
	if f == formatCSV || f == formatJSONL {
		if !count && (res.Key.Guessed || res.Value.Guessed) {
			out = append(out, decoders(res)+"; --key and --value state it")
		}
		for _, s := range res.Sources {
			if s.Freshness != nil {
				out = append(out, freshnessNote(s))
			}
		}
	}
	return out
}

// unknownWindowEnd says that ends of windows are missing or a guess, and why.
func unknownWindowEnd(res *inspect.RowsResult) []string {
	switch {
	case res.StoreKind == nil || !strings.HasSuffix(*res.StoreKind, "window") || res.WindowWhy == "":
		return nil
	case res.WindowSize == nil:
		return []string{"where the windows end is not known: " + res.WindowWhy + "; --window-size states it"}
	case res.WindowGuess:
		return []string{fmt.Sprintf("windows of %s, %s; --window-size states it", humanDuration(time.Duration(*res.WindowSize)*time.Millisecond), res.WindowWhy)}
	}
	return nil
}

func freshnessNote(s inspect.RowsSource) string {
	f := s.Freshness
	text := "task " + sourceName(s) + ": "
	if o := offsetText(f); o != "" {
		text += "changelog offset " + o
	} else {
		text += "changelog offset not known (" + f.Offsets.Why + ")"
	}
	if f.Behind != nil {
		text += ", " + humanCount(*f.Behind) + " behind"
	}
	if p := positionText(f); p != "" {
		text += ", position " + p
	}
	return text
}

// undecodedError is the exit code of rows that a stated decoder does not fit.
func undecodedError(res *inspect.RowsResult) error {
	if res.Undecoded == 0 {
		return nil
	}
	if res.Undecoded > res.Count { // a query passed over them
		return op.Errorf(op.Partial, "%s rows have a part that is not as stated: %s", humanCount(res.Undecoded), res.FirstError)
	}
	return op.Errorf(op.Partial, "%s of %s rows have a part that is not as stated, shown as hex: %s", humanCount(res.Undecoded), humanCount(res.Count), res.FirstError)
}
