package serde

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

func int64At(b []byte, at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// windowedSerde is TimeWindowedSerializer: key | start8. The end of the window
// is not there.
type windowedSerde struct{ key Serde }

func (s windowedSerde) Name() string { return "windowed(" + s.key.Name() + ")" }

func (s windowedSerde) Decode(b []byte) (any, error) {
	n := len(b) - 8
	if n < 0 {
		return nil, fmt.Errorf("%d bytes, expected at least 8", len(b))
	}
	key, err := s.key.Decode(b[:n])
	if err != nil {
		return nil, fmt.Errorf("key of the window: %w", err)
	}
	start := int64At(b, n)
	return Object{{"key", key}, {"start", Time(start)}, {"start_ms", start}}, nil
}

// Encode reads KEY@START.
func (s windowedSerde) Encode(text string) ([]byte, error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return nil, fmt.Errorf("a windowed key is written KEY@START")
	}
	key, err := s.key.Encode(text[:at])
	if err != nil {
		return nil, err
	}
	start, err := parseMillis(text[at+1:])
	return binary.BigEndian.AppendUint64(key, uint64(start)), err
}

// sessionSerde is SessionWindowedSerializer: key | end8 | start8.
type sessionSerde struct{ key Serde }

func (s sessionSerde) Name() string { return "session(" + s.key.Name() + ")" }

func (s sessionSerde) Decode(b []byte) (any, error) {
	n := len(b) - 16
	if n < 0 {
		return nil, fmt.Errorf("%d bytes, expected at least 16", len(b))
	}
	key, err := s.key.Decode(b[:n])
	if err != nil {
		return nil, fmt.Errorf("key of the session: %w", err)
	}
	end, start := int64At(b, n), int64At(b, n+8)
	return Object{{"key", key}, {"start", Time(start)}, {"end", Time(end)}, {"start_ms", start}, {"end_ms", end}}, nil
}

// Encode reads KEY@START/END.
func (s sessionSerde) Encode(text string) ([]byte, error) {
	at := strings.LastIndexByte(text, '@')
	from, to, ok := strings.Cut(text[at+1:], "/")
	if at < 0 || !ok {
		return nil, fmt.Errorf("a session key is written KEY@START/END")
	}
	key, err := s.key.Encode(text[:at])
	if err != nil {
		return nil, err
	}
	start, err := parseMillis(from)
	if err != nil {
		return nil, err
	}
	end, err := parseMillis(to)
	key = binary.BigEndian.AppendUint64(key, uint64(end))
	return binary.BigEndian.AppendUint64(key, uint64(start)), err
}

// parseMillis reads RFC 3339 or milliseconds since 1970.
func parseMillis(s string) (int64, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, fmt.Errorf("%q is neither RFC 3339 (2026-11-29T16:00:00Z) nor milliseconds since 1970", s)
	}
	return t.UnixMilli(), nil
}

// listSerde is ListSerializer: strategy1, then for variable sizes (1) count4 |
// { length4 | element }, a null's length being -1; for constant sizes (0)
// nulls4 | { index4 } | count4 | { element }.
type listSerde struct{ of Serde }

func (s listSerde) Name() string { return "list(" + s.of.Name() + ")" }

// fixedSize is the size for which ListSerializer chooses constant sizes, 0 for
// others.
func (s listSerde) fixedSize() int {
	switch s.of.Name() {
	case "short":
		return 2
	case "int", "float":
		return 4
	case "long", "double":
		return 8
	case "uuid":
		return 36
	}
	return 0
}

func (s listSerde) Decode(b []byte) (any, error) {
	elements, err := s.split(b)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(elements))
	for i, e := range elements {
		if e == nil {
			continue
		}
		if out[i], err = s.of.Decode(e); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return out, nil
}

func (s listSerde) split(b []byte) ([][]byte, error) {
	size := s.fixedSize()
	switch {
	case len(b) < 5:
		return nil, fmt.Errorf("%d bytes are no list", len(b))
	case b[0] == 1:
		return SplitList(b)
	case b[0] != 0:
		return nil, fmt.Errorf("a list of an unknown strategy %d", b[0])
	case size == 0:
		return nil, fmt.Errorf("a list of constant sizes, but the size of %s is not", s.of.Name())
	}
	nulls, at := int64(binary.BigEndian.Uint32(b[1:])), 5
	if nulls > int64(len(b)-at)/4 {
		return nil, fmt.Errorf("a list with %d nulls in %d bytes", nulls, len(b))
	}
	isNull := make(map[uint32]bool, nulls)
	for range nulls {
		isNull[binary.BigEndian.Uint32(b[at:])] = true
		at += 4
	}
	if len(b)-at < 4 {
		return nil, fmt.Errorf("a list that ends before its count")
	}
	count := int64(binary.BigEndian.Uint32(b[at:]))
	at += 4
	if int64(len(b)-at) != (count-int64(len(isNull)))*int64(size) {
		return nil, fmt.Errorf("a list of %d elements of %d bytes has %d bytes", count, size, len(b)-at)
	}
	var out [][]byte
	for i := range count {
		if isNull[uint32(i)] {
			out = append(out, nil)
			continue
		}
		if len(b)-at < size {
			return nil, fmt.Errorf("a list that ends before its element %d", i)
		}
		out = append(out, b[at:at+size])
		at += size
	}
	return out, nil
}

// SplitList takes a list of variable sizes apart; nil elements are null.
func SplitList(b []byte) ([][]byte, error) {
	if len(b) < 5 || b[0] != 1 {
		return nil, fmt.Errorf("%d bytes are no list of variable sizes", len(b))
	}
	count := int64(binary.BigEndian.Uint32(b[1:]))
	b = b[5:]
	if count > int64(len(b))/4 {
		return nil, fmt.Errorf("a list of %d elements in %d bytes", count, len(b))
	}
	out := make([][]byte, 0, count)
	for i := range count {
		if len(b) < 4 {
			return nil, fmt.Errorf("a list that ends before its element %d", i)
		}
		n := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if n == -1 {
			out = append(out, nil)
			continue
		}
		if n < 0 || int(n) > len(b) {
			return nil, fmt.Errorf("element %d of a list has %d bytes, %d are left", i, n, len(b))
		}
		out, b = append(out, b[:n:n]), b[n:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes after the last element of a list", len(b))
	}
	return out, nil
}

// Encode reads a JSON array; its strings, or the text of its other values, are
// the elements.
func (s listSerde) Encode(text string) ([]byte, error) {
	var in []json.RawMessage
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, fmt.Errorf("a list is written as a JSON array: %w", err)
	}
	size := s.fixedSize()
	var nulls, body []byte
	for i, raw := range in {
		element := string(raw)
		if bytes.Equal(raw, []byte("null")) {
			nulls = binary.BigEndian.AppendUint32(nulls, uint32(i))
			if size == 0 {
				body = binary.BigEndian.AppendUint32(body, 1<<32-1)
			}
			continue
		}
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &element); err != nil {
				return nil, err
			}
		}
		b, err := s.of.Encode(element)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		if size == 0 {
			body = binary.BigEndian.AppendUint32(body, uint32(len(b)))
		}
		body = append(body, b...)
	}
	out := []byte{1}
	if size > 0 {
		out = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(nulls)/4)), nulls...)
	}
	return append(binary.BigEndian.AppendUint32(out, uint32(len(in))), body...), nil
}
