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

// cellNames is a cell's name, and what stands before its data and its bytes.
type cellNames struct{ cell, data, hex string }

// timeNames is what stands before a time and before its milliseconds, and the
// two of a time that is not known.
type timeNames struct{ time, ms, unknown string }

var (
	keyNames   = cellNames{"key", `,"key":`, `,"key_hex":`}
	valueNames = cellNames{"value", `,"value":`, `,"value_hex":`}

	startNames     = timeNames{`,"start":`, `,"start_ms":`, `,"start":null,"start_ms":null`}
	endNames       = timeNames{`,"end":`, `,"end_ms":`, `,"end":null,"end_ms":null`}
	validFromNames = timeNames{`,"valid_from":`, `,"valid_from_ms":`, `,"valid_from":null,"valid_from_ms":null`}
	validToNames   = timeNames{`,"valid_to":`, `,"valid_to_ms":`, `,"valid_to":null,"valid_to_ms":null`}
	timestampNames = timeNames{`,"timestamp":`, `,"timestamp_ms":`, `,"timestamp":null,"timestamp_ms":null`}
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
		dst = serde.AppendString(dst, r.Task)
	}
	if r.Offset != nil {
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendInt(dst, *r.Offset, 10)
	}
	dst = r.appendCell(dst, &keyNames, &r.rows.key, &r.Key)
	if windows(r.Kind) || sessions(r.Kind) {
		dst = appendTimes(dst, &startNames, r.Start)
		dst = appendTimes(dst, &endNames, r.End)
	}
	if windows(r.Kind) {
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendUint(dst, uint64(r.Seq), 10)
	}
	if r.Kind == streams.Versioned {
		dst = appendTimes(dst, &validFromNames, r.ValidFrom)
		dst = appendTimes(dst, &validToNames, r.ValidTo)
	} else if r.Time != nil || r.HasTime() {
		dst = appendTimes(dst, &timestampNames, r.Time)
	}
	if r.Deleted {
		dst = append(dst, `,"deleted":true`...)
	}
	if !r.KeysOnly {
		dst = r.appendCell(dst, &valueNames, &r.rows.value, &r.Value)
	}
	return append(dst, '}')
}

func appendTimes(dst []byte, names *timeNames, t *int64) []byte {
	if t == nil {
		return append(dst, names.unknown...)
	}
	dst = serde.Time(*t).AppendJSON(append(dst, names.time...))
	return strconv.AppendInt(append(dst, names.ms...), *t, 10)
}

// appendCell appends a cell as Object has it.
func (r *Row) appendCell(dst []byte, names *cellNames, c *column, cell *Cell) []byte {
	at, misfit := len(dst), cell.Err
	switch {
	case cell.Bytes == nil:
		return append(append(append(append(dst, names.data...), "null"...), names.hex...), "null"...)
	case misfit == "" && c.serde != nil:
		var err error
		if dst, err = serde.AppendDecoded(append(dst, names.data...), c.serde, cell.Bytes); err == nil {
			dst = append(append(dst, names.hex...), '"')
			if from := at + len(names.data) + 1; serde.IsHex(c.serde) {
				dst = append(dst, dst[from:from+2*len(cell.Bytes)]...) // once more
			} else {
				dst = serde.AppendHex(dst, cell.Bytes)
			}
			return append(dst, '"')
		}
		dst, misfit = dst[:at], c.misfit(err)
	}
	dst = append(serde.AppendHex(append(append(dst, names.hex...), '"'), cell.Bytes), '"')
	if misfit != "" {
		r.fail(names.cell, misfit)
		dst = append(append(append(dst, `,"`...), names.cell...), `_error":`...)
		dst = serde.AppendString(dst, misfit)
	}
	return dst
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
