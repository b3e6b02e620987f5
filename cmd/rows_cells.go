package cmd

import (
	"strconv"
	"strings"

	"sstool/inspect"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

func i64(n int64) string { return strconv.FormatInt(n, 10) }

// rowColumn is a column of rows, and how a row's cell of it is written.
type rowColumn struct {
	column
	cell func(dst []byte, row *inspect.Row) []byte
}

// rowColumns are the columns of rows like this one.
func rowColumns(row *inspect.Row) (out []rowColumn) {
	add := func(name string, cell func([]byte, *inspect.Row) []byte) {
		out = append(out, rowColumn{column{name: name, right: name == "offset" || name == "seq"}, cell})
	}
	at := func(name string, of func(*inspect.Row) *int64) {
		add(name, func(dst []byte, row *inspect.Row) []byte {
			if t := of(row); t != nil {
				return serde.Time(*t).AppendText(dst)
			}
			return dst
		})
	}
	if row.Queried {
		add("result", func(dst []byte, row *inspect.Row) []byte { return appendResult(dst, row.Result) })
		return out
	}
	if row.Partition != nil {
		add("partition", func(dst []byte, row *inspect.Row) []byte { return strconv.AppendInt(dst, int64(*row.Partition), 10) })
		add("offset", func(dst []byte, row *inspect.Row) []byte { return strconv.AppendInt(dst, *row.Offset, 10) })
	} else {
		add("task", func(dst []byte, row *inspect.Row) []byte { return append(dst, row.Task...) })
	}
	if row.Kind == streams.FKSubscription {
		add("foreign_key", func(dst []byte, row *inspect.Row) []byte { return row.AppendForeignKey(dst) })
	}
	add("key", func(dst []byte, row *inspect.Row) []byte { return row.AppendKey(dst) })
	switch row.Kind {
	case streams.Window, streams.TimestampedWindow, streams.TimeOrderedWindow:
		at("start", func(row *inspect.Row) *int64 { return row.Start })
		at("end", func(row *inspect.Row) *int64 { return row.End })
		add("seq", func(dst []byte, row *inspect.Row) []byte { return strconv.AppendUint(dst, uint64(row.Seq), 10) })
	case streams.Session, streams.TimeOrderedSession:
		at("start", func(row *inspect.Row) *int64 { return row.Start })
		at("end", func(row *inspect.Row) *int64 { return row.End })
	case streams.List:
		add("side", func(dst []byte, row *inspect.Row) []byte { return append(dst, row.Side...) })
	case streams.Versioned:
		at("valid_from", func(row *inspect.Row) *int64 { return row.ValidFrom })
		at("valid_to", func(row *inspect.Row) *int64 { return row.ValidTo })
	}
	if row.Kind != streams.Versioned && (row.Partition != nil || row.HasTime()) {
		at("timestamp", func(row *inspect.Row) *int64 { return row.Time })
	}
	if !row.KeysOnly {
		add("value", appendValue)
	}
	return out
}

// appendResult appends what a query gave: strings bare.
func appendResult(dst []byte, v any) []byte {
	if s, ok := v.(string); ok {
		return append(dst, s...)
	}
	return serde.AppendJSON(dst, v)
}

// appendValue appends the value as one cell; a deletion says so.
func appendValue(dst []byte, row *inspect.Row) []byte {
	switch {
	case row.Deleted:
		return append(dst, "(deleted)"...)
	case row.List != nil:
		row.Decode()
		for i := range row.List {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			e := &row.List[i]
			dst = append(dst, strings.TrimSpace(e.Side+" "+serde.Text(e.Data))...)
		}
		return dst
	case row.Subscription != nil:
		return append(dst, row.Subscription.InstructionName()...)
	}
	return row.AppendValue(dst)
}
