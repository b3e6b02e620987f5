package inspect

import (
	"encoding/hex"
	"math"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// Row is one row, taken apart and decoded. It and its bytes are borrowed until
// the function that received it returns.
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
	decoded bool   // Data of all cells is filled
	failed  string // the first part that its decoder does not fit
}

// Cell is a key or a value: bytes and what they mean.
type Cell struct {
	Bytes []byte // nil is null
	Data  any    // decoded, see serde.Serde; after Row.Decode
	Err   string // why the decoder does not fit; Data is hexadecimal then
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

// Object is the row as JSON has it: decoded parts with their bytes as hex
// beside them.
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
	cell := func(name string, c *Cell) {
		add(name, c.Data)
		if c.Bytes == nil {
			add(name+"_hex", nil)
		} else {
			add(name+"_hex", hex.EncodeToString(c.Bytes))
		}
		if c.Err != "" {
			add(name+"_error", c.Err)
		}
	}
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
		o := serde.Object{{Name: "side", Value: e.Side}, {Name: "value", Value: e.Data}, {Name: "value_hex", Value: nil}}
		if e.Bytes != nil {
			o[2].Value = hex.EncodeToString(e.Bytes)
		}
		if e.Err != "" {
			o = append(o, serde.Field{Name: "value_error", Value: e.Err})
		}
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
		o := serde.Object{{Name: "key", Value: h.Key}, {Name: "value", Value: nil}, {Name: "value_hex", Value: nil}}
		if h.Value != nil {
			o[1].Value, o[2].Value = evident(h.Value), hex.EncodeToString(h.Value)
		}
		out[i] = o
	}
	return out
}

// evident decodes a single value that nobody stated a decoder for.
func evident(b []byte) any {
	var g serde.Guesser
	g.Add(b)
	c := column{serde: g.Serde(), guess: true}
	cell := Cell{Bytes: b}
	c.decode(&cell)
	return cell.Data
}

// column is how a column is decoded: as stated, or as its first rows look.
type column struct {
	serde serde.Serde // nil: not known yet, or nothing is evident
	guess bool
}

func (c *column) decoder() Decoder {
	if c.serde == nil {
		return Decoder{serde.Hex().Name(), true}
	}
	return Decoder{c.serde.Name(), c.guess}
}

// decode fills a cell. A guess that does not fit is no error: it was one.
func (c *column) decode(cell *Cell) {
	if cell.Data = nil; cell.Bytes == nil {
		return
	}
	if c.serde != nil {
		v, err := c.serde.Decode(cell.Bytes)
		if err == nil {
			cell.Data = v
			return
		}
		cell.Err = c.misfit(err)
	}
	cell.Data = "0x" + hex.EncodeToString(cell.Bytes)
}

// misfit is what a cell says whose decoder does not fit.
func (c *column) misfit(err error) string {
	if c.guess {
		return ""
	}
	return c.serde.Name() + ": " + err.Error()
}

// Decode fills the Data of all cells.
func (r *Row) Decode() {
	if r.decoded {
		return
	}
	r.decoded = true
	r.decodeCell("key", &r.rows.key, &r.Key)
	if r.Kind == streams.FKSubscription {
		r.decodeCell("foreign key", &r.rows.foreign, &r.ForeignKey)
	}
	if r.Subscription != nil || r.KeysOnly {
		return
	}
	if r.List == nil {
		r.decodeCell("value", &r.rows.value, &r.Value)
		return
	}
	for i := range r.List {
		r.decodeCell("value", &r.rows.value, &r.List[i].Cell)
	}
}

// decodeCell decodes a cell, unless it is known already that it is not what
// the kind of the store says.
func (r *Row) decodeCell(what string, c *column, cell *Cell) {
	if cell.Err != "" {
		cell.Data = "0x" + hex.EncodeToString(cell.Bytes)
	} else {
		c.decode(cell)
	}
	if cell.Err != "" {
		r.fail(what, cell.Err)
	}
}

// fillKey takes the key of a row or record apart.
func (r *Rows) fillKey(row *Row, k streams.RowKey) {
	row.Key = Cell{Bytes: k.Key}
	row.ForeignKey = Cell{Bytes: k.ForeignKey}
	row.Seq = k.Seq
	row.Start, row.End, row.Side = nil, nil, ""
	switch {
	case windows(r.kind):
		row.Start = pointer(k.Start)
		if n := r.o.WindowSize; n > 0 && k.Start <= math.MaxInt64-n {
			row.End = pointer(k.Start + n)
		}
	case sessions(r.kind):
		row.Start, row.End = pointer(k.Start), pointer(k.End)
	case r.kind == streams.List:
		row.Side, row.Time = side(k.Left), pointer(k.Time)
	case r.kind == streams.GraceBuffer:
		row.Time = pointer(k.Time)
	}
}

// fillValue takes the application's value of a row or record apart.
func (r *Rows) fillValue(row *Row, value []byte) {
	row.Value, row.List, row.Subscription, row.Buffered = Cell{Bytes: value}, nil, nil, nil
	if value == nil {
		return
	}
	var err error
	switch r.kind {
	case streams.List:
		var list []streams.ListEntry
		if list, err = streams.ParseListValue(value); err == nil {
			row.List = make([]ListCell, len(list))
		}
		for i, e := range list {
			row.List[i].Bytes = e.Value
			if e.Value != nil {
				row.List[i].Side = side(e.Left)
			}
		}
	case streams.FKSubscription:
		var s streams.Subscription
		if s, err = streams.ParseSubscription(value); err == nil {
			row.Subscription = &s
		}
	case streams.GraceBuffer:
		var b streams.Buffered
		if b, err = streams.ParseBuffered(value); err == nil {
			row.Buffered, row.Value = &b, Cell{Bytes: b.Value}
		}
	}
	if err != nil {
		row.Value.Err = err.Error()
	}
}
