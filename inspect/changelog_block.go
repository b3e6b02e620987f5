package inspect

import (
	"math"
	"slices"

	"sstool/internal/kafka"
	"sstool/internal/streams"
	"sstool/internal/table"
)

const (
	// headersParsed is of how many records with headers a block's header keys
	// are looked at.
	headersParsed = 200
	maxHeaderKeys = 50
)

// blockCounts is what one block holds. Blocks are counted by several workers
// and put together in order.
type blockCounts struct {
	LogCounts
	first, next int64
	spanned     int64 // offsets of its batches, those outside of the block included

	gapEnd                 int64 // where the offsets are without gap to the end of the block; -1: no gap in it
	tailRecords, tailBytes int64 // from gapEnd on, or all

	oldest, newest  int64 // timestamps; MaxInt64 and -1 without any
	earlier, latest int64 // of the first and the last record that has one
	lateness        int64
}

// scanner is one worker's way from blocks to counts and keys.
type scanner struct {
	dec    kafka.Decoder
	keys   *table.KeyWriter
	now    int64 // ms, for what delete horizons are compared with
	looks  keyLooks
	codecs []CodecUse
	hdrs   []string

	batches []kafka.BatchInfo // of the block at hand
}

// block counts one block.
func (s *scanner) block(blk *kafka.Block) (blockCounts, error) {
	c := blockCounts{first: blk.First, next: blk.Next, gapEnd: -1, oldest: math.MaxInt64, newest: -1, earlier: -1, latest: -1}
	s.headers(blk, &c)
	at := 0 // batch of the record at hand, followed only where it matters
	parsed := 0
	stats, err := s.dec.Decode(blk, func(r *kafka.Record) error {
		size := int64(len(r.Key) + len(r.Value))
		c.LargestRecord = max(c.LargestRecord, size)
		if r.Offset >= c.gapEnd {
			c.tailRecords++
			c.tailBytes += size
		}
		c.time(r.Timestamp)
		if r.HeaderCount > 0 {
			c.WithHeaders++
			c.HeaderBytes += int64(len(r.Headers))
			if parsed < headersParsed {
				parsed++
				if err := s.headerKeys(r.Headers); err != nil {
					return err
				}
			}
		}
		class := table.KeyValue
		switch {
		case r.Value == nil:
			class = table.KeyTombstone
			c.Tombstones++
			c.TombstoneBytes += size
			for at < len(s.batches) && s.batches[at].Last < r.Offset {
				at++
			}
			c.tombstone(s.horizon(at), s.now)
		case len(r.Value) == 0:
			class = table.KeyEmpty
			c.EmptyValues++
		}
		if r.Key == nil {
			c.NullKeys++
			return nil
		}
		s.looks.see(r.Key)
		return s.keys.Add(r.Key, r.Offset, int(size), class)
	})
	if err != nil {
		return c, err
	}
	c.Records, c.Bytes = stats.Records, stats.Bytes
	c.Control, c.Aborted, c.Transactional = stats.Control, stats.Aborted, stats.TransactionalBatches
	c.LogBytes, c.UncompressedBytes = int64(blk.WireBytes), stats.UncompressedBytes
	c.Offsets = blk.Next - blk.First
	return c, nil
}

// headers walks the headers of a block's batches: codecs, and gaps between
// offsets. A batch that spans more offsets than it has records has been
// compacted, and so has the space between two batches.
func (s *scanner) headers(blk *kafka.Block, c *blockCounts) {
	s.batches = s.batches[:0]
	pos := blk.First
	blk.Batches(func(b kafka.BatchInfo) {
		s.batches = append(s.batches, b)
		c.spanned += b.Last - b.First + 1
		c.LargestBatch = max(c.LargestBatch, int64(b.Size))
		i := slices.IndexFunc(s.codecs, func(u CodecUse) bool { return u.Codec == b.Codec })
		if i < 0 {
			i = len(s.codecs)
			s.codecs = append(s.codecs, CodecUse{Codec: b.Codec})
		}
		s.codecs[i].Batches++
		s.codecs[i].Bytes += int64(b.Size)
		if b.First > pos {
			c.gapEnd = b.First
		}
		if b.First >= blk.First && b.Last < blk.Next && int64(b.Records) < b.Last-b.First+1 {
			c.gapEnd = b.Last + 1
		}
		pos = max(pos, b.Last+1)
	})
	if pos < blk.Next {
		c.gapEnd = blk.Next
	}
}

// horizon is the delete horizon of a batch of the block.
func (s *scanner) horizon(at int) int64 {
	if at < len(s.batches) {
		return s.batches[at].DeleteHorizon
	}
	return -1
}

func (s *scanner) headerKeys(section []byte) error {
	hs, err := streams.ParseHeaders(section)
	if err != nil {
		return err
	}
	for _, h := range hs {
		if len(s.hdrs) < maxHeaderKeys && !slices.Contains(s.hdrs, h.Key) {
			s.hdrs = append(s.hdrs, h.Key)
		}
	}
	return nil
}

// tombstone sorts a tombstone by what the cleaner will do with it.
func (c *blockCounts) tombstone(horizon, now int64) {
	switch {
	case horizon < 0:
		c.TombstonesFresh++
	case horizon > now:
		c.TombstonesKept++
	default:
		c.TombstonesDue++
	}
}

// time notes a timestamp.
func (c *blockCounts) time(ts int64) {
	if ts < 0 {
		c.WithoutTimestamp++
		return
	}
	if ts < c.latest {
		c.OutOfOrder++
		c.lateness = max(c.lateness, c.newest-ts)
	}
	if c.earlier < 0 {
		c.earlier = ts
	}
	c.latest = ts
	c.oldest, c.newest = min(c.oldest, ts), max(c.newest, ts)
}

// fold puts blocks together, in order of their offsets. It returns the counts,
// the times, and the tail: where it begins, and what it holds.
func fold(blocks []blockCounts) (c LogCounts, t ChangelogTimes, tail TailCounts) {
	newest, latest := int64(-1), int64(-1)
	oldest := int64(math.MaxInt64)
	tail.NeverCleaned = true
	for i := range blocks {
		b := &blocks[i]
		c.add(&b.LogCounts)
		if b.gapEnd >= 0 {
			from := b.gapEnd
			tail = TailCounts{From: &from}
		}
		tail.Records += b.tailRecords
		tail.Bytes += b.tailBytes
		if b.newest < 0 {
			continue
		}
		if b.earlier < latest {
			c.OutOfOrder++
		}
		t.MaxLateness = max(t.MaxLateness, b.lateness, newest-b.oldest)
		latest = b.latest
		oldest, newest = min(oldest, b.oldest), max(newest, b.newest)
	}
	c.OffsetGaps = max(0, c.Offsets-c.Records-c.Control-c.Aborted)
	if newest >= 0 {
		t.Oldest, t.Newest = &oldest, &newest
	}
	return c, t, tail
}
