package kafka

// BatchInfo is what the header of a record batch says.
type BatchInfo struct {
	First, Last   int64 // offsets it spans; compaction leaves gaps inside
	Records       int32
	Size          int // bytes on the wire, header included
	Codec         string
	Transactional bool
	Control       bool
	LogAppendTime bool
	// DeleteHorizon is when the cleaner may drop the batch's tombstones and
	// markers, in ms since 1970; -1 while it has not cleaned the batch (KIP-534:
	// it takes the place of the base timestamp).
	DeleteHorizon int64
}

const attrDeleteHorizon = 0x40

var codecNames = [8]string{"none", "gzip", "snappy", "lz4", "zstd", "codec 5", "codec 6", "codec 7"}

// Batches calls fn for the header of every batch in the block, in offset order.
// It checks nothing: Decode does.
func (b *Block) Batches(fn func(BatchInfo)) {
	for raw := b.raw; ; {
		size, ok := batchSize(raw)
		if !ok || size < batchHeader || size > int64(len(raw)) {
			return
		}
		bt := batch(raw[:size])
		raw = raw[size:]
		if bt[magicAt] != 2 {
			continue
		}
		attr := bt.attributes()
		info := BatchInfo{
			First: bt.baseOffset(), Last: bt.lastOffset(), Records: bt.count(), Size: int(size), Codec: codecNames[attr&attrCodec],
			Transactional: attr&attrTransactional != 0, Control: attr&attrControl != 0, LogAppendTime: attr&attrLogAppendTime != 0,
			DeleteHorizon: -1,
		}
		if attr&attrDeleteHorizon != 0 {
			info.DeleteHorizon = bt.baseTimestamp()
		}
		fn(info)
	}
}
