package serde

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// appender is a Serde that writes its JSON and its text without a decoded
// value between.
type appender interface {
	appendJSON(dst, b []byte) ([]byte, error)
	appendText(dst, b []byte) ([]byte, error)
}

// AppendDecoded is AppendJSON of what s decodes, the short way where there is
// one. On an error dst is returned as it was.
func AppendDecoded(dst []byte, s Serde, b []byte) ([]byte, error) {
	if a, ok := s.(appender); ok {
		return a.appendJSON(dst, b)
	}
	v, err := s.Decode(b)
	if err != nil {
		return dst, err
	}
	return AppendJSON(dst, v), nil
}

// AppendDecodedText is Text of what s decodes, the short way where there is
// one. On an error dst is returned as it was.
func AppendDecodedText(dst []byte, s Serde, b []byte) ([]byte, error) {
	if a, ok := s.(appender); ok {
		return a.appendText(dst, b)
	}
	v, err := s.Decode(b)
	if err != nil {
		return dst, err
	}
	return append(dst, Text(v)...), nil
}

// stringSerde is StringSerializer: UTF-8.
type stringSerde struct{ simpleSerde }

func (stringSerde) appendJSON(dst, b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		return dst, errNotUTF8
	}
	return AppendString(dst, unsafe.String(unsafe.SliceData(b), len(b))), nil
}

func (stringSerde) appendText(dst, b []byte) ([]byte, error) {
	if !utf8.Valid(b) {
		return dst, errNotUTF8
	}
	return append(dst, b...), nil
}

// longSerde is LongSerializer: 8 bytes, big-endian, as all numbers.
type longSerde struct{ simpleSerde }

func (s longSerde) appendJSON(dst, b []byte) ([]byte, error) { return s.appendText(dst, b) }

func (longSerde) appendText(dst, b []byte) ([]byte, error) {
	if len(b) != 8 {
		return dst, wrongSize(b, 8)
	}
	return strconv.AppendInt(dst, int64At(b, 0), 10), nil
}

// hexSerde shows any bytes by their digits.
type hexSerde struct{ simpleSerde }

func (hexSerde) appendJSON(dst, b []byte) ([]byte, error) {
	return append(AppendHex(append(dst, '"'), b), '"'), nil
}

func (hexSerde) appendText(dst, b []byte) ([]byte, error) { return AppendHex(dst, b), nil }

// jsonSerde is JSON in UTF-8, written by anything.
type jsonSerde struct{ simpleSerde }

func (jsonSerde) appendJSON(dst, b []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if err := json.Compact(out, b); err != nil {
		return dst, notJSON(err)
	}
	if c := out.Bytes()[len(dst):]; !isPlain(c) {
		return appendSafe(dst, bytes.Clone(c)), nil
	}
	return out.Bytes(), nil
}

func (s jsonSerde) appendText(dst, b []byte) ([]byte, error) { return s.appendJSON(dst, b) }

// isPlain says whether appendSafe has nothing to look at.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// IsHex says whether s is Hex.
func IsHex(s Serde) bool {
	_, ok := s.(hexSerde)
	return ok
}
