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
// Digest, an order-independent checksum of rows, lives here too, and KeyCounter,
// which counts keys without keeping rows. What rows mean
// (kinds of stores, timestamps, segments) and writing them to RocksDB does not.
package table

import (
	"cmp"
	"sync/atomic"
	"unsafe"

	"sstool/internal/op"
)

const (
	minMemory    = 1 << 20
	workerMemory = 256 << 10
	defaultMem   = 128 << 20
	maxSeq       = 1<<31 - 1
)

// Sample is one sampled row.
type Sample struct {
	Group uint32
	Key   []byte
}

// Options say how large a table may grow and what its rows look like.
type Options struct {
	// Memory bounds all buffers of the table: kept rows, open chunks of
	// routers, sorters. At least 1 MiB and 256 KiB per worker; 0 means 128 MiB.
	// A single row larger than its share is held nevertheless.
	Memory int64
	// TempDir exists already; spill files live there, removed by Close at the
	// latest.
	TempDir string
	// Workers is how many routers, and later how many sorters, exist at once;
	// Memory is divided among them. 0 means 1.
	Workers int
	// EstimatedBytes is roughly the sum of all keys and values, EstimatedRows
	// the number of rows; where they are wrong, it takes longer.
	EstimatedBytes, EstimatedRows int64
	// Samples are sampled rows: one list per sampled place. Places are in
	// arrival order and evenly spaced, the first and the last at the ends, so
	// that keys that grow with time are understood. 1000 rows in all are enough.
	Samples [][]Sample
	// KeepAll keeps every row of a key, in order, instead of the newest only.
	KeepAll bool
	// KeepTombstones hands out a tombstone that is the newest row of its key,
	// for rows that are laid over older ones elsewhere.
	KeepTombstones bool
}

// Stats counts rows. Rows = Live + Superseded + Dropped + the keys whose newest
// row is a tombstone (KeepAll, KeepTombstones: tombstones are Live).
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
	o    Options
	mem  memory
	plan *plan
	shape
	keepLimit int64 // bytes of full chunks that may stay in memory
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
	o.Workers = max(o.Workers, 1)
	if need := max(minMemory, int64(o.Workers)*workerMemory); o.Memory < need {
		return nil, op.Errorf(op.Usage, "sort rows with %d workers: %d bytes of memory are too little", o.Workers, o.Memory).
			WithTry("give at least %d KiB of memory, or use fewer threads", need>>10)
	}
	return newTable(o, newShape(o)), nil
}

func newTable(o Options, sh shape) *Table {
	t := &Table{o: o, shape: sh, plan: newPlan(o.Samples, sh.buckets)}
	w, n := int64(o.Workers), int64(t.plan.buckets())
	t.keepLimit = o.Memory - w*(t.share+(n+int64(t.batch))*int64(t.chunk)+int64(t.slab)) - t.index
	return t
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

// size is what was added to a bucket: encoded bytes, rows, tombstones.
func (t *Table) size(bucket int) (bytes, rows, nulls int64) {
	for _, r := range t.routers.all() {
		s := &r.open[bucket]
		rows += int64(s.rows)
		nulls += int64(s.nulls)
		bytes += int64(s.bytes) + int64(s.n)
	}
	return bytes, rows, nulls
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
			src := source{off: sg.off, n: int64(sg.n), file: &r.file}
			if sg.off < 0 {
				src.mem = unsafe.Slice(r.kept[-sg.off-1], sg.n)
			}
			out = append(out, src)
		}
		if s := &r.open[bucket]; s.n > 0 {
			out = append(out, source{mem: s.buf[:s.n], n: int64(s.n)})
		}
	}
	return out
}
