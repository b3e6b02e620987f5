package streams

import (
	"encoding/binary"

	"sstool/internal/op"
)

// AppendHeadersPrefix appends what a headers store puts before a value: the
// size of the header section as a varint, then the section, which has the form
// of a record's headers on the wire (KIP-1271, SI/HeadersSerializer): a
// varint count, then for each header key length, key, value length (-1 for
// null), value. Without headers it is the size 0 alone. wire is the record's
// section, nil or a count of 0 meaning none.
func AppendHeadersPrefix(dst, wire []byte) ([]byte, error) {
	if len(wire) == 0 || len(wire) == 1 && wire[0] == 0 {
		return append(dst, 0), nil
	}
	h, err := checkHeaders(wire)
	if err != nil {
		return dst, err
	}
	if h.count == 0 {
		return append(dst, 0), nil
	}
	dst = binary.AppendVarint(dst, int64(h.size))
	if h.plain {
		return append(dst, wire...), nil
	}
	// Kafka Streams parses headers and writes them anew.
	return appendHeaders(dst, wire), nil
}

// SplitHeadersPrefix takes a headers store's row value apart: the header
// section (nil for none) and what follows it.
func SplitHeadersPrefix(value []byte) (section, rest []byte, err error) {
	size, n := binary.Varint(value)
	if n <= 0 || size < 0 || size > int64(len(value)-n) {
		return nil, nil, op.Errorf(op.Corrupt, "headers: unreadable size in a value of %d bytes", len(value))
	}
	section, rest = value[n:n+int(size)], value[n+int(size):]
	if size == 0 {
		return nil, rest, nil
	}
	if _, err := checkHeaders(section); err != nil {
		return nil, nil, err
	}
	return section, rest, nil
}

// Header is one record header; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// ParseHeaders reads a header section as it is on the wire and in rows.
// Values are slices of it.
func ParseHeaders(section []byte) ([]Header, error) {
	checked, err := checkHeaders(section)
	if err != nil || checked.count == 0 {
		return nil, err
	}
	out := make([]Header, 0, checked.count)
	b := section[varintLen(section):]
	for range checked.count {
		var h Header
		key, rest := takeField(b)
		h.Key = string(key)
		h.Value, b = takeField(rest)
		out = append(out, h)
	}
	return out, nil
}

// headersShape is what checkHeaders found.
type headersShape struct {
	count int
	size  int  // length when written anew
	plain bool // writing it anew would not change it
}

// checkHeaders walks a section to its end.
func checkHeaders(b []byte) (headersShape, error) {
	bad := func(what string) (headersShape, error) {
		return headersShape{}, op.Errorf(op.Corrupt, "record headers: unreadable %s (%d bytes)", what, len(b))
	}
	if len(b) == 0 {
		return headersShape{plain: true}, nil
	}
	count, n := binary.Varint(b)
	if n <= 0 || count < 0 || count > int64(len(b)) {
		return bad("count")
	}
	h := headersShape{count: int(count), size: shortest(count), plain: true}
	at := n
	for range count {
		for part := range 2 {
			length, n := binary.Varint(b[at:])
			at += max(n, 0)
			if n <= 0 || length > int64(len(b)-at) || part == 0 && length < 0 {
				return bad([]string{"key", "value"}[part])
			}
			if length < -1 { // any negative length is null
				length, h.plain = -1, false
			}
			h.size += shortest(length)
			if length > 0 {
				at += int(length)
				h.size += int(length)
			}
		}
	}
	if at != len(b) {
		return bad("end")
	}
	h.plain = h.plain && h.size == len(b)
	return h, nil
}

func appendHeaders(dst, b []byte) []byte {
	count, n := binary.Varint(b)
	dst = binary.AppendVarint(dst, count)
	b = b[n:]
	for range 2 * count {
		var field []byte
		field, b = takeField(b)
		if field == nil {
			dst = binary.AppendVarint(dst, -1)
			continue
		}
		dst = binary.AppendVarint(dst, int64(len(field)))
		dst = append(dst, field...)
	}
	return dst
}

// takeField takes a length and that many bytes off a section already checked;
// a negative length is nil.
func takeField(b []byte) (field, rest []byte) {
	length, n := binary.Varint(b)
	if length < 0 {
		return nil, b[n:]
	}
	end := n + int(length)
	return b[n:end:end], b[end:]
}

func varintLen(b []byte) int {
	_, n := binary.Varint(b)
	return n
}

// shortest is the size of v as a varint.
func shortest(v int64) int {
	u := uint64(v) << 1
	if v < 0 {
		u = ^u
	}
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
