package inspect

import (
	"encoding/hex"
	"math"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// evident decodes a single value that nobody stated a decoder for.
func evident(b []byte) Cell {
	var g serde.Guesser
	g.Add(b)
	c := column{serde: g.Serde(), guess: true}
	cell := Cell{Bytes: b}
	c.decode(&cell)
	return cell
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
	if cell.Data, cell.Raw = nil, false; cell.Bytes == nil {
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
	cell.undecoded()
}

// undecoded shows the bytes as they are.
func (c *Cell) undecoded() { c.Data, c.Raw = "0x"+hex.EncodeToString(c.Bytes), true }

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
		cell.undecoded()
	} else {
		c.decode(cell)
	}
	if cell.Err != "" {
		r.fail(what, cell.Err)
	}
}

// fillKey takes the key of a row or record apart.
func (r *Rows) fillKey(row *Row, k *streams.RowKey) {
	row.Key = Cell{Bytes: k.Key}
	row.ForeignKey = Cell{Bytes: k.ForeignKey}
	row.Seq = k.Seq
	row.Start, row.End, row.Side = nil, nil, ""
	switch {
	case windows(r.kind):
		row.Start = keep(&row.ms.start, k.Start)
		if n := r.o.WindowSize; n > 0 && k.Start <= math.MaxInt64-n {
			row.End = keep(&row.ms.end, k.Start+n)
		}
	case sessions(r.kind):
		row.Start, row.End = keep(&row.ms.start, k.Start), keep(&row.ms.end, k.End)
	case r.kind == streams.List:
		row.Side, row.Time = side(k.Left), keep(&row.ms.time, k.Time)
	case r.kind == streams.GraceBuffer:
		row.Time = keep(&row.ms.time, k.Time)
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
