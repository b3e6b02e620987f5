package inspect

import (
	"encoding/hex"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// Row is one row, taken apart and decoded. It, its bytes and its times are
// borrowed until the function that received it returns.
type Row struct {
	Kind      streams.Kind
	Task      string
	Partition *int32 // of a topic
	Offset    *int64 // of a topic's record

	Key        Cell
	ForeignKey Cell   // FKSubscription
	Start, End *int64 // of a window or a session, ms; nil: none, or not known
	Seq        uint32 // of a window that keeps duplicates
	Side       string // List: left or right
	Time       *int64 // the record's timestamp, ms; nil: none, or not known

	ValidFrom, ValidTo *int64 // Versioned; ValidTo nil: until now
	Deleted            bool   // a tombstone: a version that says so, or a record with a null value
	Headers            []streams.Header
	Value              Cell
	List               []ListCell            // List, instead of Value
	Subscription       *streams.Subscription // FKSubscription, instead of Value
	Buffered           *streams.Buffered     // GraceBuffer: where Value comes from

	KeysOnly bool // the value is left out
	Queried  bool // a query was asked for: Result is what it gave
	Result   any

	rows    *Rows
	ms      rowTimes // what the times above point to
	decoded bool     // Data of all cells is filled
	failed  string   // the first part that its decoder does not fit
}

// rowTimes keeps times within the row: a scan sees millions of them.
type rowTimes struct{ start, end, time, from int64 }

func keep(at *int64, ms int64) *int64 {
	*at = ms
	return at
}

// Cell is a key or a value: bytes and what they mean.
type Cell struct {
	Bytes []byte // nil is null
	Data  any    // decoded, see serde.Serde, or as hexadecimal text; after Row.Decode
	Err   string // why the decoder does not fit
	Raw   bool   // Data is hexadecimal: no decoder is known, or it does not fit
}

// addTo appends the cell's members: what it means, where that is known, its
// bytes, and why they could not be decoded.
func (c *Cell) addTo(o serde.Object, name string) serde.Object {
	if !c.Raw {
		o = append(o, serde.Field{Name: name, Value: c.Data})
	}
	if c.Bytes == nil {
		o = append(o, serde.Field{Name: name + "_hex", Value: nil})
	} else {
		o = append(o, serde.Field{Name: name + "_hex", Value: hex.EncodeToString(c.Bytes)})
	}
	if c.Err != "" {
		o = append(o, serde.Field{Name: name + "_error", Value: c.Err})
	}
	return o
}

// ListCell is one value of a join's shared store.
type ListCell struct {
	Side string
	Cell
}

// side names the side of a join.
func side(left bool) string {
	if left {
		return "left"
	}
	return "right"
}

// fail notes that a part of the row could not be decoded.
func (r *Row) fail(what, why string) {
	if r.failed != "" {
		return
	}
	if what != "key" {
		what += " of key"
	}
	r.failed = what + " " + hex.EncodeToString(r.Key.Bytes) + ": " + why
}

// Object is the row as JSON has it: the bytes of each part as hex, beside what
// they mean where that is known.
func (r *Row) Object() serde.Object {
	r.Decode()
	o := make(serde.Object, 0, 16)
	add := func(name string, v any) { o = append(o, serde.Field{Name: name, Value: v}) }
	times := func(name string, t *int64) {
		if t == nil {
			add(name, nil)
			add(name+"_ms", nil)
			return
		}
		add(name, serde.Time(*t))
		add(name+"_ms", *t)
	}
	cell := func(name string, c *Cell) { o = c.addTo(o, name) }
	if r.Partition != nil {
		add("partition", int64(*r.Partition))
	} else {
		add("task", r.Task)
	}
	if r.Offset != nil {
		add("offset", *r.Offset)
	}
	if r.Kind == streams.FKSubscription {
		cell("foreign_key", &r.ForeignKey)
	}
	cell("key", &r.Key)
	if windows(r.Kind) || sessions(r.Kind) {
		times("start", r.Start)
		times("end", r.End)
	}
	if windows(r.Kind) {
		add("seq", int64(r.Seq))
	}
	if r.Side != "" {
		add("side", r.Side)
	}
	if r.Kind == streams.Versioned {
		times("valid_from", r.ValidFrom)
		times("valid_to", r.ValidTo)
	} else if r.Time != nil || r.HasTime() {
		times("timestamp", r.Time)
	}
	if r.Deleted {
		add("deleted", true)
	}
	if len(r.Headers) > 0 {
		add("headers", headerObjects(r.Headers))
	}
	switch {
	case r.KeysOnly:
	case r.List != nil:
		add("value", r.listValue())
	case r.Subscription != nil:
		add("value", r.subscriptionValue())
		if r.Value.Bytes != nil {
			add("value_hex", hex.EncodeToString(r.Value.Bytes))
		}
	default:
		cell("value", &r.Value)
	}
	if b := r.Buffered; b != nil {
		add("record", serde.Object{{Name: "topic", Value: b.Topic}, {Name: "partition", Value: int64(b.Partition)}, {Name: "offset", Value: b.Offset},
			{Name: "timestamp", Value: serde.Time(b.Time)}, {Name: "timestamp_ms", Value: b.Time}})
	}
	return o
}

// HasTime says whether rows of the kind say the record's timestamp, unless it
// is not known.
func (r *Row) HasTime() bool {
	switch r.Kind {
	case streams.TimestampedKV, streams.TimestampedWindow, streams.TimeOrderedWindow, streams.FKSubscription, streams.List, streams.GraceBuffer:
		return true
	}
	return false
}

func (r *Row) listValue() []any {
	out := make([]any, 0, len(r.List))
	for i := range r.List {
		e := &r.List[i]
		o := e.addTo(serde.Object{{Name: "side", Value: e.Side}}, "value")
		out = append(out, o)
	}
	return out
}

func (r *Row) subscriptionValue() serde.Object {
	s := r.Subscription
	o := serde.Object{{Name: "instruction", Value: s.InstructionName()}, {Name: "version", Value: int64(s.Version)}, {Name: "hash", Value: nil}, {Name: "primary_partition", Value: nil}}
	if s.Hash != nil {
		o[2].Value = hex.EncodeToString(s.Hash)
	}
	if s.Partition >= 0 {
		o[3].Value = int64(s.Partition)
	}
	return o
}

func headerObjects(hs []streams.Header) []any {
	out := make([]any, len(hs))
	for i, h := range hs {
		cell := evident(h.Value)
		out[i] = cell.addTo(serde.Object{{Name: "key", Value: h.Key}}, "value")
	}
	return out
}
