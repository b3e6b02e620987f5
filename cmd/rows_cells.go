package cmd

import (
	"strconv"
	"strings"

	"sstool/inspect"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

func i64(n int64) string { return strconv.FormatInt(n, 10) }

// rowColumns are the columns of rows like this one.
func rowColumns(row *inspect.Row) []column {
	if row.Queried {
		return []column{{name: "result"}}
	}
	var out []column
	eachCell(row, func(name, _ string) { out = append(out, column{name: name, right: name == "offset" || name == "seq"}) })
	return out
}

// rowCells are the row's cells.
func rowCells(row *inspect.Row) []string {
	if row.Queried {
		return []string{resultText(row.Result)}
	}
	out := make([]string, 0, 8)
	eachCell(row, func(_, text string) { out = append(out, text) })
	return out
}

func resultText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(serde.AppendJSON(nil, v))
}

// eachCell calls fn with every column of the row's kind and what the row has
// in it.
func eachCell(row *inspect.Row, fn func(name, text string)) {
	at := func(name string, t *int64) {
		if t == nil {
			fn(name, "")
			return
		}
		fn(name, serde.Time(*t).String())
	}
	if row.Partition != nil {
		fn("partition", strconv.Itoa(int(*row.Partition)))
		fn("offset", i64(*row.Offset))
	} else {
		fn("task", row.Task)
	}
	if row.Kind == streams.FKSubscription {
		fn("foreign_key", serde.Text(row.ForeignKey.Data))
	}
	fn("key", serde.Text(row.Key.Data))
	switch row.Kind {
	case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow:
		at("start", row.Start)
		at("end", row.End)
		fn("seq", strconv.FormatUint(uint64(row.Seq), 10))
	case streams.Session, streams.TimeOrderedSession:
		at("start", row.Start)
		at("end", row.End)
	case streams.List:
		fn("side", row.Side)
	case streams.Versioned:
		at("valid_from", row.ValidFrom)
		at("valid_to", row.ValidTo)
	}
	if row.Kind != streams.Versioned && (row.Partition != nil || row.HasTime()) {
		at("timestamp", row.Time)
	}
	if !row.KeysOnly {
		fn("value", valueText(row))
	}
}

// valueText is the value as one cell; a deletion says so.
func valueText(row *inspect.Row) string {
	switch {
	case row.Deleted:
		return "(deleted)"
	case row.List != nil:
		var parts []string
		for i := range row.List {
			e := &row.List[i]
			parts = append(parts, strings.TrimSpace(e.Side+" "+serde.Text(e.Data)))
		}
		return strings.Join(parts, ", ")
	case row.Subscription != nil:
		return row.Subscription.InstructionName()
	}
	return serde.Text(row.Value.Data)
}
