package inspect

import (
	"slices"
	"strconv"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// usual says whether the row is of the form that most rows have: nothing in it
// but times, a key and a value.
func (r *Row) usual() bool {
	return !r.decoded && r.List == nil && r.Subscription == nil && r.Buffered == nil && len(r.Headers) == 0 && r.Kind != streams.FKSubscription && r.Side == ""
}

// The names in front of a cell.
type cellNames struct{ cell, data, hex string }

var (
	keyNames   = cellNames{"key", `,"key":`, `,"key_hex":`}
	valueNames = cellNames{"value", `,"value":`, `,"value_hex":`}
)

// AppendJSON appends what Object is as JSON, without making it where the row
// is of the usual form: this is what a scan of millions of rows does.
func (r *Row) AppendJSON(dst []byte) []byte {
	if !r.usual() {
		return serde.AppendJSON(dst, r.Object())
	}
	dst = slices.Grow(dst, 512+4*len(r.Key.Bytes)+4*len(r.Value.Bytes))
	if r.Partition != nil {
		dst = append(dst, `{"partition":`...)
		dst = strconv.AppendInt(dst, int64(*r.Partition), 10)
	} else {
		dst = append(dst, `{"task":`...)
		dst = serde.AppendJSON(dst, r.Task)
	}
	if r.Offset != nil {
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendInt(dst, *r.Offset, 10)
	}
	dst = r.appendCell(dst, &keyNames, &r.rows.key, &r.Key)
	if windows(r.Kind) || sessions(r.Kind) {
		dst = appendTimes(dst, "start", r.Start)
		dst = appendTimes(dst, "end", r.End)
	}
	if windows(r.Kind) {
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendUint(dst, uint64(r.Seq), 10)
	}
	if r.Kind == streams.Versioned {
		dst = appendTimes(dst, "valid_from", r.ValidFrom)
		dst = appendTimes(dst, "valid_to", r.ValidTo)
	} else if r.Time != nil || r.HasTime() {
		dst = appendTimes(dst, "timestamp", r.Time)
	}
	if r.Deleted {
		dst = append(dst, `,"deleted":true`...)
	}
	if !r.KeysOnly {
		dst = r.appendCell(dst, &valueNames, &r.rows.value, &r.Value)
	}
	return append(dst, '}')
}

func appendTimes(dst []byte, name string, t *int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	if t == nil {
		dst = append(dst, "null"...)
	} else {
		dst = serde.Time(*t).AppendJSON(dst)
	}
	dst = append(append(append(dst, `,"`...), name...), `_ms":`...)
	if t == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, *t, 10)
}

// appendCell appends a cell as Object has it.
func (r *Row) appendCell(dst []byte, names *cellNames, c *column, cell *Cell) []byte {
	dst = append(dst, names.data...)
	if cell.Bytes == nil {
		return append(append(append(dst, "null"...), names.hex...), "null"...)
	}
	misfit, digits := cell.Err, -1 // where in dst the digits are
	if misfit == "" && c.serde != nil {
		var err error
		if dst, err = serde.AppendDecoded(dst, c.serde, cell.Bytes); err != nil {
			misfit = c.misfit(err)
			dst, digits = appendHexCell(dst, cell.Bytes)
		}
	} else {
		dst, digits = appendHexCell(dst, cell.Bytes)
	}
	dst = append(append(dst, names.hex...), '"')
	if digits >= 0 {
		dst = append(dst, dst[digits:digits+2*len(cell.Bytes)]...)
	} else {
		dst = serde.AppendHex(dst, cell.Bytes)
	}
	dst = append(dst, '"')
	if misfit != "" {
		r.fail(names.cell, misfit)
		dst = append(append(append(dst, `,"`...), names.cell...), `_error":`...)
		dst = serde.AppendJSON(dst, misfit)
	}
	return dst
}

// appendHexCell appends what is shown of bytes that nothing decodes; it
// returns where their digits are too.
func appendHexCell(dst, b []byte) ([]byte, int) {
	dst = append(dst, `"0x`...)
	at := len(dst)
	return append(serde.AppendHex(dst, b), '"'), at
}

// AppendKey appends the key as a cell of a table, AppendForeignKey and
// AppendValue the other parts: what serde.Text makes of them.
func (r *Row) AppendKey(dst []byte) []byte {
	return r.appendText(dst, keyNames.cell, &r.rows.key, &r.Key)
}

// AppendForeignKey appends the foreign key.
func (r *Row) AppendForeignKey(dst []byte) []byte {
	return r.appendText(dst, "foreign key", &r.rows.foreign, &r.ForeignKey)
}

// AppendValue appends a value that is not List or Subscription.
func (r *Row) AppendValue(dst []byte) []byte {
	return r.appendText(dst, valueNames.cell, &r.rows.value, &r.Value)
}

func (r *Row) appendText(dst []byte, what string, c *column, cell *Cell) []byte {
	if !r.usual() {
		r.Decode()
		return append(dst, serde.Text(cell.Data)...)
	}
	misfit := cell.Err
	switch {
	case cell.Bytes == nil:
		return append(dst, "null"...)
	case misfit == "" && c.serde != nil:
		out, err := serde.AppendDecodedText(dst, c.serde, cell.Bytes)
		if err == nil {
			return out
		}
		misfit = c.misfit(err)
	}
	if misfit != "" {
		r.fail(what, misfit)
	}
	return serde.AppendHex(append(dst, "0x"...), cell.Bytes)
}
