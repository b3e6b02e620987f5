package streams

import (
	"encoding/binary"

	"sstool/internal/op"
)

// AppendHeadersPrefix appends what a headers store puts before a value: a
// varint with the size of the header section, then the section (KIP-1271,
// SI/HeadersSerializer). No headers is a size of 0 with no section. The
// section of a store is byte for byte that of the record on the wire.
func AppendHeadersPrefix(dst, wire []byte) ([]byte, error) {
	section, err := headerSection(wire)
	if err != nil {
		return dst, err
	}
	dst = binary.AppendVarint(dst, int64(len(section)))
	return append(dst, section...), nil
}

// headerSection checks a wire section and returns the part a store keeps:
// nothing when there are no headers.
func headerSection(wire []byte) ([]byte, error) {
	if len(wire) == 0 {
		return nil, nil
	}
	count, n := binary.Varint(wire)
	if n <= 0 || count < 0 || count > int64(len(wire)) {
		return nil, op.Errorf(op.Corrupt, "record headers: unreadable count")
	}
	if count == 0 {
		return nil, nil
	}
	return wire, nil
}
