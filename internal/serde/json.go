package serde

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// RawJSON is valid JSON as it was found: order of fields and digits of numbers
// are kept.
type RawJSON []byte

// Field is one field of an Object.
type Field struct {
	Name  string
	Value any
}

// Object is a JSON object whose fields have an order.
type Object []Field

func decodeJSON(b []byte) (any, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil, notJSON(err)
	}
	return RawJSON(out.Bytes()), nil
}

func notJSON(err error) error { return fmt.Errorf("not JSON: %w", err) }

func encodeJSON(text string) ([]byte, error) {
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	return []byte(text), nil
}

// AppendJSON appends a decoded value as JSON on one line. What must not reach a
// terminal raw (control characters, escape sequences, characters that reorder
// text) is escaped. Numbers that JSON does not have are strings: "NaN".
func AppendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		return appendFloat(dst, v, 64)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case string:
		return AppendString(dst, v)
	case Time:
		return v.AppendJSON(dst)
	case RawJSON:
		return appendSafe(dst, v)
	case Object:
		dst = append(dst, '{')
		for i, f := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, f.Name), ':')
			dst = AppendJSON(dst, f.Value)
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	}
	// Results of a query: maps, big numbers.
	b, err := json.Marshal(v)
	if err != nil {
		return AppendString(dst, fmt.Sprint(v))
	}
	return appendSafe(dst, b)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, bits)
}

// AppendString quotes s; bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	clean := 0
	for i := 0; i < len(s); {
		if i += PlainRun(s[i:], '"', '\\'); i == len(s) {
			break
		}
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError && r >= 0x80 && unicode.IsPrint(r) {
			i += n
			continue
		}
		dst = append(dst, s[clean:i]...)
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', byte(r))
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = appendEscape(dst, r)
		}
		i += n
		clean = i
	}
	return append(append(dst, s[clean:]...), '"')
}

// PlainRun is how many bytes of s, in eights from its start, are ASCII from the
// space to the tilde and neither of two.
func PlainRun(s string, a, b byte) int {
	n := 0
	for n+8 <= len(s) && plain8(s[n:n+8], a, b) {
		n += 8
	}
	return n
}

// plain8 compares eight bytes at once; a byte above may make the answer no,
// never yes.
func plain8(s string, a, b byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	x := binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), 8))
	below := (x - ones*' ') | x
	zero := func(y uint64) uint64 { return (y - ones) &^ y }
	return (below|zero(x^ones*uint64(a))|zero(x^ones*uint64(b))|zero(x^ones*0x7f))&high == 0
}

// AppendSafe appends JSON that somebody else made, so that it may be shown on a
// terminal: what AppendJSON escapes is escaped.
func AppendSafe(dst, b []byte) []byte { return appendSafe(dst, b) }

// appendSafe appends JSON, escaping within its strings what is not printable:
// outside of strings JSON has ASCII only, and no control characters but space.
func appendSafe(dst, b []byte) []byte {
	clean := 0
	for i := 0; i < len(b); {
		if b[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r != utf8.RuneError && unicode.IsPrint(r) {
			i += n
			continue
		}
		dst = appendEscape(append(dst, b[clean:i]...), r)
		i += n
		clean = i
	}
	return append(dst, b[clean:]...)
}

func appendEscape(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	if r > 0xffff {
		r -= 0x10000
		dst = appendEscape(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// Text is a decoded value for a cell of a table: strings bare, what is made of
// parts as JSON. It may hold characters that a terminal must not get raw.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case Time:
		return v.String()
	case float64, float32: // JSON has NaN as a string
		return strings.Trim(string(AppendJSON(nil, v)), `"`)
	}
	return string(AppendJSON(nil, v))
}
