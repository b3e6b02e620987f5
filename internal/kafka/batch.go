package kafka

import (
	"encoding/binary"
	"hash/crc32"
)

// Record batch v2 (KIP-98; org.apache.kafka.common.record.DefaultRecordBatch):
//
//	 0 base offset i64   8 length i32 (of what follows)  12 leader epoch i32
//	16 magic i8         17 CRC32C u32 (of 21…)           21 attributes i16
//	23 last offset delta i32   27 base timestamp i64     35 max timestamp i64
//	43 producer id i64  51 producer epoch i16            53 base sequence i32
//	57 record count i32 61 records
const (
	batchOverhead = 12 // base offset and length, not counted in length
	magicAt       = 16
	batchHeader   = 61

	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is one whole v2 batch, header included.
type batch []byte

func (b batch) baseOffset() int64 { return int64(binary.BigEndian.Uint64(b)) }
func (b batch) lastOffset() int64 {
	return b.baseOffset() + int64(int32(binary.BigEndian.Uint32(b[23:])))
}
func (b batch) leaderEpoch() int32   { return int32(binary.BigEndian.Uint32(b[12:])) }
func (b batch) attributes() uint16   { return binary.BigEndian.Uint16(b[21:]) }
func (b batch) baseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[27:])) }
func (b batch) maxTimestamp() int64  { return int64(binary.BigEndian.Uint64(b[35:])) }
func (b batch) producerID() int64    { return int64(binary.BigEndian.Uint64(b[43:])) }
func (b batch) count() int32         { return int32(binary.BigEndian.Uint32(b[57:])) }
func (b batch) crcOK() bool {
	return crc32.Checksum(b[21:], castagnoli) == binary.BigEndian.Uint32(b[17:])
}

// batchSize is the whole size of the batch that p begins with; ok is false
// when p is too short to say.
func batchSize(p []byte) (size int64, ok bool) {
	if len(p) < batchOverhead {
		return 0, false
	}
	return batchOverhead + int64(int32(binary.BigEndian.Uint32(p[8:]))), true
}
