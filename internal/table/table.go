// Package table answers "which row is the newest of its key" over any number
// of rows in bounded memory.
//
// Rows arrive unordered, from several goroutines, in numbered blocks. A Router
// scatters them once into key ranges (buckets), keeping what fits the memory
// budget and appending the rest to a spill file. Afterwards a Sorter loads one
// bucket at a time, keeps the newest row of each key and sorts. Buckets are
// consecutive key ranges, so their rows one after the other are the whole
// table in order: no merge, and several sorters can work side by side.
//
// The ranges come from sampled rows. Samples may mislead (see plan.go); a
// bucket that turns out too large is sorted in pieces and merged (merge.go), so
// memory stays bounded whatever the data looks like.
//
// Digest, an order-independent checksum of rows, lives here too. What rows mean
// (kinds of stores, timestamps, segments) and writing them to RocksDB does not.
package table

import (
	"cmp"
	"math/bits"
	"sync/atomic"

	"sstool/internal/op"
)

// Sizes that shape a table. The bucket size is small enough to sort inside the
// CPU's caches and large enough that its segments are worth a read each.
const (
	bucketBytes  = 8 << 20
	maxBuckets   = 4096
	maxChunk     = 64 << 10
	wantedChunk  = 32 << 10 // below this, larger buckets are preferred
	minChunk     = 16 << 10
	tinyChunk    = 4 << 10
	maxSorter    = 96 << 20
	maxSeq       = 1<<31 - 1
	minMemory    = 1 << 20
	defaultMem   = 128 << 20
	rowOverhead  = 32 + 2*16 + 24 + 8 // per row in a sorter; the hash table's power of two is counted apart
	sampleWeight = 16                 // interpolated samples per bucket
)

// Sample is one sampled row.
type Sample struct {
	Group uint32
	Key   []byte
}

// Options say how large a table may grow and what its rows look like.
type Options struct {
	// Memory bounds all buffers of the table: kept rows, open chunks of
	// routers, sorters. At least 1 MiB; 0 means 128 MiB. A single row larger
	// than its share is held nevertheless.
	Memory int64
	// TempDir exists already; spill files live there, removed by Close at the
	// latest.
	TempDir string
	// Workers is how many routers, and later how many sorters, exist at once;
	// Memory is divided among them. 0 means 1.
	Workers int
	// EstimatedBytes is roughly the sum of all keys and values.
	EstimatedBytes int64
	// Samples are sampled rows: one list per sampled place, the places in
	// arrival order (so that keys that grow with time are understood).
	Samples [][]Sample
	// KeepAll keeps every row of a key, in order, instead of the newest only.
	KeepAll bool
}

// Stats counts rows. Rows = Live + Superseded + Dropped + the keys whose newest
// row is a tombstone (KeepAll: tombstones are Live).
type Stats struct {
	Rows       int64 // rows added
	Live       int64 // rows handed out
	Superseded int64 // rows replaced by a newer one of the same key
	Tombstones int64 // null rows seen, whatever became of them
	Dropped    int64 // rows of dropped groups
	LiveBytes  int64 // key and value bytes of live rows
}

// Add adds o to s.
func (s *Stats) Add(o Stats) {
	s.Rows += o.Rows
	s.Live += o.Live
	s.Superseded += o.Superseded
	s.Tombstones += o.Tombstones
	s.Dropped += o.Dropped
	s.LiveBytes += o.LiveBytes
}

// Table is made by New, filled through Routers, sealed by Finish and emptied
// through Sorters.
type Table struct {
	o         Options
	mem       memory
	plan      *plan
	chunk     int   // bytes of one open chunk
	slab      int   // chunks are cut from slabs of this size
	share     int64 // memory of one sorter
	keepLimit int64
	kept      atomic.Int64
	disk      gauge // bytes in temporary files
	routers   registry[*Router]
	sorters   registry[*Sorter]
	done      bool
	closed    atomic.Bool
	drop      uint32
}

// New makes an empty table.
func New(o Options) (*Table, error) {
	if o.Memory == 0 {
		o.Memory = defaultMem
	}
	if o.Memory < minMemory {
		return nil, op.Errorf(op.Usage, "memory for sorting: %d bytes is too little", o.Memory).WithTry("give at least 1 MiB")
	}
	o.Workers = max(o.Workers, 1)
	t := &Table{o: o}
	w := int64(o.Workers)
	// A quarter of the memory for open chunks, half for sorters, the rest (and
	// what open chunks leave over) keeps rows that need not be spilled.
	open := max(o.Memory/(4*w), 2*tinyChunk)
	t.share = min(max(o.Memory/(2*w), 128<<10), maxSorter)
	buckets, chunk := shape(o.EstimatedBytes, open, t.share, o.Workers)
	t.plan = newPlan(o.Samples, buckets)
	t.chunk = chunk
	t.slab = chunk * int(min(max(open/8, int64(chunk)), 2<<20)/int64(chunk))
	t.keepLimit = o.Memory - w*(t.share+int64(t.plan.buckets())*int64(chunk)+int64(t.slab))
	return t, nil
}

// shape chooses the number of buckets and the size of an open chunk for a
// router that may hold open bytes and sorters that may hold share bytes.
func shape(estimate, open, share int64, workers int) (buckets, chunk int) {
	sortable := max(share/3, 32<<10) // leaves room for row overhead and uneven buckets
	want := func(per int64) int64 { return max(estimate/min(per, sortable), 2, int64(2*workers)) }
	n := want(bucketBytes)
	if open/n < wantedChunk {
		n = want(sortable)
	}
	n = min(n, maxBuckets, max(open/minChunk, 2))
	c := min(open/n, maxChunk)
	return int(n), max(1<<(bits.Len64(uint64(c))-1), tinyChunk)
}

// Buckets is the number of key ranges.
func (t *Table) Buckets() int { return t.plan.buckets() }

// DiskPeak is the most that lay in temporary files at once, in bytes.
func (t *Table) DiskPeak() int64 { return t.disk.peak.Load() }

// MemoryPeak is the most the table's buffers held at once, in bytes.
func (t *Table) MemoryPeak() int64 { return t.mem.gauge.peak.Load() + t.indexBytes() }

func (t *Table) indexBytes() int64 {
	var n int64
	for _, r := range t.routers.all() {
		n += r.indexBytes()
	}
	return n
}

// DropGroup lets Load discard (and count) the rows of all groups below before.
// It is called before the first Load.
func (t *Table) DropGroup(before uint32) { t.drop = before }

// Finish seals the table: no block may follow. All routers have ended theirs.
func (t *Table) Finish() { t.done = true }

// size is what was added to a bucket.
func (t *Table) size(bucket int) (bytes, rows int64) {
	for _, r := range t.routers.all() {
		s := &r.open[bucket]
		rows += int64(s.rows)
		bytes += int64(s.bytes) + int64(s.n)
	}
	return bytes, rows
}

// Close frees all memory and removes the spill files. It may be called at any
// stage and again, once no goroutine is inside a Router or Sorter.
func (t *Table) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	var first error
	for _, r := range t.routers.all() {
		r.abandon()
		first = cmp.Or(first, r.file.close())
	}
	for _, s := range t.sorters.all() {
		first = cmp.Or(first, s.close())
	}
	return cmp.Or(first, t.mem.close())
}

func errClosed() error { return op.Errorf(op.Failed, "sort rows: the table is closed") }

// segments returns the segments of a bucket, router by router; a router's
// are in the order they were filled.
func (t *Table) segments(bucket int) []source {
	var out []source
	for _, r := range t.routers.all() {
		for _, sg := range r.segs[bucket] {
			out = append(out, source{segment: sg, file: &r.file})
		}
		if s := &r.open[bucket]; s.n > 0 {
			out = append(out, source{segment: segment{mem: s.buf[:s.n], n: uint32(s.n)}})
		}
	}
	return out
}
