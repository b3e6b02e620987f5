package serde

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// simpleSerde is a serde without arguments.
type simpleSerde struct {
	name   string
	decode func([]byte) (any, error)
	encode func(string) ([]byte, error)
}

func (s simpleSerde) Name() string                       { return s.name }
func (s simpleSerde) Decode(b []byte) (any, error)       { return s.decode(b) }
func (s simpleSerde) Encode(text string) ([]byte, error) { return s.encode(text) }

// simple is the serde of a name, nil when there is none.
func simple(name string) Serde {
	switch name {
	case "string":
		return stringSerde{simpleSerde{name, decodeString, encodeString}}
	case "long":
		return longSerde{simpleSerde{name, number(8, func(b []byte) any { return int64At(b, 0) }), whole(64)}}
	case "int": // IntegerSerializer
		return simpleSerde{name, number(4, func(b []byte) any { return int64(int32(binary.BigEndian.Uint32(b))) }), whole(32)}
	case "short": // ShortSerializer
		return simpleSerde{name, number(2, func(b []byte) any { return int64(int16(binary.BigEndian.Uint16(b))) }), whole(16)}
	case "byte": // none of Kafka's own; one signed byte
		return simpleSerde{name, number(1, func(b []byte) any { return int64(int8(b[0])) }), whole(8)}
	case "double": // DoubleSerializer: Double.doubleToLongBits
		return simpleSerde{name, number(8, func(b []byte) any { return math.Float64frombits(binary.BigEndian.Uint64(b)) }), encodeDouble}
	case "float": // FloatSerializer: Float.floatToRawIntBits
		return simpleSerde{name, number(4, func(b []byte) any { return math.Float32frombits(binary.BigEndian.Uint32(b)) }), encodeFloat}
	case "boolean": // BooleanSerializer: 1 or 0
		return simpleSerde{name, decodeBoolean, encodeBoolean}
	case "uuid": // UUIDSerializer: the text form
		return simpleSerde{name, decodeUUID, encodeUUID}
	case "bytes": // BytesSerializer, ByteArraySerializer; shown as Bytes.toString does
		return simpleSerde{name, func(b []byte) (any, error) { return javaBytes(b), nil }, encodeJavaBytes}
	case "hex":
		return hexSerde{simpleSerde{name, func(b []byte) (any, error) { return hex.EncodeToString(b), nil }, encodeHex}}
	case "base64":
		return simpleSerde{name, func(b []byte) (any, error) { return base64.StdEncoding.EncodeToString(b), nil }, encodeBase64}
	case "json":
		return jsonSerde{simpleSerde{name, decodeJSON, encodeJSON}}
	case "void": // VoidSerializer
		return simpleSerde{name, decodeVoid, encodeVoid}
	}
	return nil
}

// Hex is the serde that fits any bytes.
func Hex() Serde { return simple("hex") }

var errNotUTF8 = errors.New("not UTF-8")

func wrongSize(b []byte, want int) error { return fmt.Errorf("%d bytes, expected %d", len(b), want) }

func decodeString(b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, errNotUTF8
	}
	return string(b), nil
}

func encodeString(s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errNotUTF8
	}
	return []byte(s), nil
}

// number decodes values of a fixed size.
func number(size int, value func([]byte) any) func([]byte) (any, error) {
	return func(b []byte) (any, error) {
		if len(b) != size {
			return nil, wrongSize(b, size)
		}
		return value(b), nil
	}
}

// whole encodes a whole number of so many bits.
func whole(bits int) func(string) ([]byte, error) {
	return func(s string) ([]byte, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, bits)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number of %d bits", s, bits)
		}
		return binary.BigEndian.AppendUint64(nil, uint64(n))[8-bits/8:], nil
	}
}

func encodeDouble(s string) ([]byte, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return binary.BigEndian.AppendUint64(nil, doubleBits(f)), nil
}

// doubleBits is Double.doubleToLongBits, which knows one NaN only.
func doubleBits(f float64) uint64 {
	if math.IsNaN(f) {
		return 0x7ff8000000000000
	}
	return math.Float64bits(f)
}

func encodeFloat(s string) ([]byte, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	if math.IsNaN(f) {
		return []byte{0x7f, 0xc0, 0, 0}, nil
	}
	return binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(f))), nil
}

func decodeBoolean(b []byte) (any, error) {
	if len(b) != 1 {
		return nil, wrongSize(b, 1)
	}
	if b[0] > 1 { // BooleanDeserializer refuses it too
		return nil, fmt.Errorf("byte %#02x, expected 0 or 1", b[0])
	}
	return b[0] == 1, nil
}

func encodeBoolean(s string) ([]byte, error) {
	switch strings.TrimSpace(s) {
	case "true":
		return []byte{1}, nil
	case "false":
		return []byte{0}, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false", s)
}

// isUUID says whether b is a UUID as java.util.UUID.toString writes it, in
// either case.
func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		switch {
		case dash != (c == '-'):
			return false
		case !dash && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'):
			return false
		}
	}
	return true
}

func decodeUUID(b []byte) (any, error) {
	if !isUUID(b) {
		return nil, fmt.Errorf("not the text of a UUID")
	}
	return string(b), nil
}

// encodeUUID writes lower case, as UUIDSerializer does.
func encodeUUID(s string) ([]byte, error) {
	if s = strings.ToLower(strings.TrimSpace(s)); !isUUID([]byte(s)) {
		return nil, fmt.Errorf("%q is not a UUID", s)
	}
	return []byte(s), nil
}

// javaBytes is org.apache.kafka.common.utils.Bytes.toString.
func javaBytes(b []byte) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(b)+8)
	for _, c := range b {
		if c >= ' ' && c <= '~' && c != '\\' {
			out = append(out, c)
			continue
		}
		out = append(out, '\\', 'x', digits[c>>4], digits[c&15])
	}
	return string(out)
}

func encodeJavaBytes(s string) ([]byte, error) {
	var out []byte
	for s != "" {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			break
		}
		out = append(out, s[:at]...)
		n, err := uint64(0), error(nil)
		if len(s) < at+4 || s[at+1] != 'x' {
			err = strconv.ErrSyntax
		} else {
			n, err = strconv.ParseUint(s[at+2:at+4], 16, 8)
		}
		if err != nil {
			return nil, fmt.Errorf(`a \ begins a byte like \x0A`)
		}
		out, s = append(out, byte(n)), s[at+4:]
	}
	return append(out, s...), nil
}

func encodeHex(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(strings.ReplaceAll(s, " ", ""), "0x"))
	if err != nil {
		return nil, fmt.Errorf("%q is not hexadecimal", s)
	}
	return b, nil
}

func encodeBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	if err != nil {
		return nil, fmt.Errorf("%q is not base64", s)
	}
	return b, nil
}

func decodeVoid(b []byte) (any, error) {
	if len(b) > 0 {
		return nil, wrongSize(b, 0)
	}
	return nil, nil
}

func encodeVoid(s string) ([]byte, error) {
	if s != "" {
		return nil, fmt.Errorf("void has no values")
	}
	return []byte{}, nil
}
