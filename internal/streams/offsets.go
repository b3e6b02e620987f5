package streams

import (
	"encoding/binary"
	"strconv"

	"sstool/internal/op"
)

// Keys of the offsets family beside the "<topic>-<partition>" ones (Kafka
// >= 4.3, SI/AbstractColumnFamilyAccessor). A topic called "status" cannot
// collide: its key ends in a partition.
const (
	StatusKey   = "status"
	PositionKey = "position"
)

// Values of the status row.
const (
	StatusClosed int64 = 0
	StatusOpen   int64 = 1 // under exactly-once the task is wiped
)

// OffsetsKey is the key under which the family holds a changelog's offset.
func OffsetsKey(topic string, partition int32) []byte {
	return append([]byte(topic+"-"), strconv.Itoa(int(partition))...)
}

// ParseOffsetsKey splits an OffsetsKey; ok is false for status and position.
func ParseOffsetsKey(key []byte) (tp TopicPartition, ok bool) {
	for i := len(key) - 1; i > 0; i-- {
		if key[i] == '-' {
			n, isNumber := digits(string(key[i+1:]))
			return TopicPartition{string(key[:i]), int32(n)}, isNumber
		}
	}
	return tp, false
}

// EncodeOffset is the value of an offset or status row.
func EncodeOffset(offset int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(offset))
}

// DecodeOffset reads the value of an offset or status row.
func DecodeOffset(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, op.Errorf(op.Corrupt, "offset row has %d bytes, expected 8", len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// OffsetRows are the rows a cleanly closed database of Kafka >= 4.3 has in the
// offsets family after a restore: the offset (last applied; for global stores
// the next), status closed, and an empty position, since a restore learns
// none. The same rows belong into every segment: the newest segment that has
// one decides.
func OffsetRows(topic string, partition int32, offset int64) []Row {
	return []Row{
		{Key: OffsetsKey(topic, partition), Value: EncodeOffset(offset)},
		{Key: []byte(PositionKey), Value: EncodePosition(nil)},
		{Key: []byte(StatusKey), Value: EncodeOffset(StatusClosed)},
	}
}
