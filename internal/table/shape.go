package table

import (
	"math/bits"
	"unsafe"
)

// Sizes that shape a table. A bucket is small enough to sort within the CPU's
// caches; a chunk is worth a system call, to write and to read back.
const (
	bucketBytes = 8 << 20
	maxBuckets  = 4096
	maxChunk    = 64 << 10
	minChunk    = 8 << 10
	maxShare    = 96 << 20
	maxSlab     = 2 << 20
	maxBatch    = 1 << 20
	// rowBytes is what a sorter needs per row beside the row: itself, two
	// entries to sort, the result and at most three places in the hash table.
	rowBytes    = int64(unsafe.Sizeof(row{}) + 2*unsafe.Sizeof(ent{}) + unsafe.Sizeof(Ref{}))
	perRowBytes = rowBytes + 12
)

// shape is how a table divides its memory.
type shape struct {
	buckets int   // wanted; samples may give fewer
	chunk   int   // bytes of an open chunk, a power of two
	batch   int   // full chunks to write at once
	slab    int   // chunks are cut from slabs of this size
	share   int64 // memory of one sorter
	index   int64 // expected size of all lists of segments
}

// newShape gives a quarter of the memory to open chunks and half to sorters;
// the rest, and what open chunks leave over, keeps rows that need not be spilled.
func newShape(o Options) shape {
	w := int64(o.Workers)
	open := o.Memory / (4 * w)
	s := shape{share: min(o.Memory/(2*w), maxShare)}
	row := averageRow(o)
	// A bucket may turn out twice as large as planned and still fit a sorter.
	sortable := max(s.share*row/(row+perRowBytes)/2, minChunk)
	// Few rows need no buckets for their size, but for all sorters to have some.
	least := min(8*w, o.EstimatedBytes/(256<<10))
	plan := func(per int64) {
		n := min(max(o.EstimatedBytes/per, least, 2), maxBuckets)
		s.buckets, s.chunk = int(n), int(min(floor2(open/(n+2)), maxChunk))
	}
	plan(min(bucketBytes, sortable))
	if s.chunk < maxChunk && sortable > bucketBytes {
		plan(sortable)
	}
	// The lists of segments count as well: they get an eighth at most.
	const perSegment = int64(unsafe.Sizeof(segment{})) * 3 / 2
	if least := max(floor2(2*o.EstimatedBytes*perSegment/(o.Memory/8)), minChunk); int64(s.chunk) < least {
		s.chunk = int(min(least, max(floor2(open/2), minChunk/2)))
		s.buckets = int(min(max(open/int64(s.chunk), 1), maxBuckets))
	}
	s.batch = int(max(min(open/8, maxBatch)/int64(s.chunk), 1))
	s.slab = s.chunk * int(max(min(open/8, maxSlab)/int64(s.chunk), 1))
	s.index = o.EstimatedBytes / int64(s.chunk) * perSegment
	return s
}

// averageRow guesses the size of a row.
func averageRow(o Options) int64 {
	if o.EstimatedRows > 0 {
		return max(o.EstimatedBytes/o.EstimatedRows, 1)
	}
	var n, sum int64
	for _, p := range o.Samples {
		n += int64(len(p))
		for _, s := range p {
			sum += int64(len(s.Key))
		}
	}
	return sum/max(n, 1) + 32
}

// floor2 is the largest power of two that is not greater than n; 1 at least.
func floor2(n int64) int64 { return 1 << (bits.Len64(uint64(max(n, 1))) - 1) }
