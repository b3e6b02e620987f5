package inspect

import (
	"strconv"

	"sstool/internal/serde"
	"sstool/internal/streams"
)

// AppendJSON appends what Object is as JSON, without making it where the row
// is of the usual form: this is what a scan of millions of rows does.
func (r *Row) AppendJSON(dst []byte) []byte {
	if r.decoded || r.List != nil || r.Subscription != nil || r.Buffered != nil || len(r.Headers) > 0 || r.Kind == streams.FKSubscription || r.Side != "" {
		return serde.AppendJSON(dst, r.Object())
	}
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
	dst = r.appendCell(dst, "key", &r.rows.key, &r.Key)
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
		dst = r.appendCell(dst, "value", &r.rows.value, &r.Value)
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
func (r *Row) appendCell(dst []byte, name string, c *column, cell *Cell) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	misfit := cell.Err
	switch {
	case cell.Bytes == nil:
		dst = append(dst, "null"...)
	case misfit != "" || c.serde == nil:
		dst = serde.AppendHex(dst, "0x", cell.Bytes)
	default:
		var err error
		if dst, err = serde.AppendDecoded(dst, c.serde, cell.Bytes); err != nil {
			dst, misfit = serde.AppendHex(dst, "0x", cell.Bytes), c.misfit(err)
		}
	}
	dst = append(append(append(dst, `,"`...), name...), `_hex":`...)
	dst = serde.AppendHex(dst, "", cell.Bytes)
	if misfit != "" {
		r.fail(name, misfit)
		dst = append(append(append(dst, `,"`...), name...), `_error":`...)
		dst = serde.AppendJSON(dst, misfit)
	}
	return dst
}
