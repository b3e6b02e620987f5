package streams

import (
	"encoding/binary"
	"math"

	"sstool/internal/op"
)

// Position is how far a store has come in its source topics, for interactive
// queries: next to it in a <store>.position file (a Checkpoint in form), or as
// the "position" row of the offsets family.
type Position = Checkpoint

// EncodePosition writes SI/PositionSerde's bytes, its padding included: Kafka
// adds up sizes in bits and hands out the whole array.
func EncodePosition(p Position) []byte {
	topics := 0
	size := 8 + 32
	keys := p.Keys()
	for i, tp := range keys {
		if i == 0 || keys[i-1].Topic != tp.Topic {
			topics++
			size += 32 + len(tp.Topic) + 32
		}
		size += 96
	}
	b := make([]byte, 0, size)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(topics))
	for i := 0; i < len(keys); {
		topic, n := keys[i].Topic, i
		for n < len(keys) && keys[n].Topic == topic {
			n++
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(topic)))
		b = append(b, topic...)
		b = binary.BigEndian.AppendUint32(b, uint32(n-i))
		for ; i < n; i++ {
			b = binary.BigEndian.AppendUint32(b, uint32(keys[i].Partition))
			b = binary.BigEndian.AppendUint64(b, uint64(p[keys[i]]))
		}
	}
	return b[:size]
}

// DecodePosition reads SI/PositionSerde's bytes and ignores what follows.
func DecodePosition(b []byte) (Position, error) {
	short := func(what string) error {
		return op.Errorf(op.Corrupt, "position ends within %s (%d bytes)", what, len(b))
	}
	if len(b) < 5 {
		return nil, short("its header")
	}
	if b[0] != 0 {
		return nil, op.Errorf(op.Corrupt, "unknown position version %d", b[0])
	}
	p := Position{}
	topics, at := binary.BigEndian.Uint32(b[1:]), 5
	for range topics {
		if len(b)-at < 4 {
			return nil, short("a topic's length")
		}
		n := int64(binary.BigEndian.Uint32(b[at:]))
		at += 4
		if n > math.MaxInt32 || int64(len(b)-at) < n+4 {
			return nil, short("a topic's name")
		}
		topic := string(b[at : at+int(n)])
		at += int(n)
		pairs := binary.BigEndian.Uint32(b[at:])
		at += 4
		for range pairs {
			if len(b)-at < 12 {
				return nil, short("the partitions of " + topic)
			}
			p[TopicPartition{topic, int32(binary.BigEndian.Uint32(b[at:]))}] = int64(binary.BigEndian.Uint64(b[at+4:]))
			at += 12
		}
	}
	return p, nil
}
