package serde

import (
	"encoding/binary"
	"slices"
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
	return appendString(dst, unsafe.String(unsafe.SliceData(b), len(b))), nil
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

// AppendHex appends the hexadecimal digits of b, four bytes at once.
func AppendHex(dst, b []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 2*len(b))[:at+2*len(b)]
	out := dst[at:]
	for len(b) >= 4 && len(out) >= 8 {
		binary.BigEndian.PutUint64(out, hexDigits(binary.BigEndian.Uint32(b)))
		b, out = b[4:], out[8:]
	}
	if len(b) > 0 {
		var rest [4]byte
		copy(rest[:], b)
		var digits [8]byte
		binary.BigEndian.PutUint64(digits[:], hexDigits(binary.BigEndian.Uint32(rest[:])))
		copy(out, digits[:])
	}
	return dst
}

// hexDigits are the digits of four bytes, the first of them at the top.
func hexDigits(four uint32) uint64 {
	x := uint64(four)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f // a digit per byte
	letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101
	return x + 0x3030303030303030 + letters*('a'-'0'-10)
}
