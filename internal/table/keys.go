package table

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zeebo/xxh3"

	"sstool/internal/op"
)

// KeyClass is what a record does to its key.
type KeyClass uint8

// The classes of records.
const (
	KeyValue     KeyClass = iota // a value with bytes
	KeyEmpty                     // a value without
	KeyTombstone                 // null
)

// KeyOptions say how large a KeyCounter may grow.
type KeyOptions struct {
	Memory  int64  // for all its buffers; at least 1 MiB and 256 KiB per worker, 0 means 128 MiB
	TempDir string // exists already; the spill files have no names where that is possible
	Workers int    // writers, and later counters, at once; 0 means 1
	Records int64  // about how many will be added
}

// KeyStats is what is known of the keys of a sequence of records.
type KeyStats struct {
	Keys            int64 // distinct keys
	Live            int64 // keys whose newest record has a value, an empty one included
	LiveBytes       int64 // size of those records
	LiveEmpty       int64 // those of them with an empty value
	Deleted         int64 // keys whose newest record is a tombstone
	DeletedBytes    int64
	Superseded      int64 // records that a later one of the same key follows
	SupersededBytes int64
	TailKeys        int64 // keys whose newest record is in the tail
	TailSuperseded  int64 // superseded records that are in the tail themselves
	TailBytes       int64 // their bytes
	FirstRepeat     int64 // position of the first record whose key was there before, -1 when none was
	Once, Twice     int64 // keys with exactly one record, and with two
}

// KeyBits is the size of the hash that stands for a key: among n keys the odds
// that any two are taken for one are n²/2^(KeyBits+1), for a billion keys one
// in 10^11.
const KeyBits = 96

// keyEntry is a record: hash of the key, size, and position with class. The
// hash is seeded at random, so that keys cannot be made to collide.
type keyEntry struct {
	hi   uint64
	lo   uint32
	size uint32
	at   uint64 // position<<2 | class
}

const (
	entryBytes   = int64(unsafe.Sizeof(keyEntry{}))
	bucketKeys   = 32 << 10 // entries of a bucket, so that counting stays within the CPU's caches
	maxKeyBucket = 2048
	perKeyBytes  = entryBytes + 1 + 2*4*2 // a distinct key: entry, number of records, and its place in the index
)

// KeyCounter counts distinct keys in bounded memory. Records are scattered by a
// hash of their key into buckets, which are spilled when memory ends, and
// counted bucket by bucket. What is stored of a record are 24 bytes, whatever
// its key and value.
type KeyCounter struct {
	t       *Table // lends its memory, spill files and gauges; it has no rows
	o       KeyOptions
	shift   int // of a hash, to its bucket
	chunk   int // entries of a chunk
	limit   int64
	taken   atomic.Int64
	seed    uint64
	writers []*KeyWriter
}

// NewKeyCounter makes an empty counter.
func NewKeyCounter(o KeyOptions) (*KeyCounter, error) {
	if o.Memory == 0 {
		o.Memory = defaultMem
	}
	o.Workers = max(o.Workers, 1)
	if need := max(minMemory, int64(o.Workers)*workerMemory); o.Memory < need {
		return nil, op.Errorf(op.Usage, "count keys with %d workers: %d bytes of memory are too little", o.Workers, o.Memory).
			WithTry("give at least %d KiB of memory, or use fewer threads", need>>10)
	}
	// A quarter is for counting; at most half of the rest for open chunks.
	limit := o.Memory - o.Memory/4
	buckets := min(max(floor2(2*o.Records/bucketKeys), 16), maxKeyBucket)
	open := func() int64 { return limit / 2 / (buckets * int64(o.Workers)) }
	for buckets > 16 && open() < minChunk {
		buckets /= 2
	}
	chunk := min(max(floor2(open()), 1<<10), maxChunk)
	return &KeyCounter{
		t: &Table{o: Options{TempDir: o.TempDir}}, o: o, limit: limit, seed: rand.Uint64(),
		shift: 64 - bits.Len64(uint64(buckets-1)), chunk: int(chunk / entryBytes),
	}, nil
}

func (c *KeyCounter) buckets() int { return 1 << (64 - c.shift) }

// DiskPeak is the most that lay in temporary files at once, in bytes.
func (c *KeyCounter) DiskPeak() int64 { return c.t.DiskPeak() }

// Close frees all memory and removes the spill files, once no goroutine is
// inside a writer or Count.
func (c *KeyCounter) Close() error {
	if c.t.closed.Swap(true) {
		return nil
	}
	var first error
	for _, w := range c.writers {
		if err := w.file.close(); err != nil && first == nil {
			first = err
		}
	}
	if err := c.t.mem.close(); err != nil && first == nil {
		first = err
	}
	return first
}

// KeyWriter is one goroutine's way into the counter.
type KeyWriter struct {
	c    *KeyCounter
	open [][]keyEntry // by bucket; chunks that are being filled
	full [][]int32    // by bucket: kept chunks, or ^n of the n-th chunk in the file
	kept [][]keyEntry
	slab []keyEntry // new chunks are cut from it
	file spillFile
}

// NewWriter adds a writer; there are at most KeyOptions.Workers. It is not for
// several goroutines at once, and neither is NewWriter.
func (c *KeyCounter) NewWriter() *KeyWriter {
	w := &KeyWriter{c: c, open: make([][]keyEntry, c.buckets()), full: make([][]int32, c.buckets()), file: spillFile{t: c.t}}
	c.writers = append(c.writers, w)
	return w
}

// Add adds a record. The positions (not negative) that a writer adds ascend,
// and each is added once. The key is not kept.
func (w *KeyWriter) Add(key []byte, position int64, size int, class KeyClass) error {
	h := xxh3.Hash128Seed(key, w.c.seed)
	b := h.Hi >> w.c.shift
	o := w.open[b]
	if len(o) == cap(o) {
		var err error
		if o, err = w.next(int(b)); err != nil {
			return err
		}
	}
	w.open[b] = append(o, keyEntry{hi: h.Hi, lo: uint32(h.Lo), size: uint32(size), at: uint64(position)<<2 | uint64(class)})
	return nil
}

// next puts a bucket's full chunk away and returns an empty one: the full one
// stays in memory while there is some left, and is written to the file after.
func (w *KeyWriter) next(b int) ([]keyEntry, error) {
	o := w.open[b]
	fresh, err := w.cut(o == nil)
	if err != nil {
		return nil, err
	}
	switch {
	case o == nil:
	case fresh != nil:
		w.full[b] = append(w.full[b], int32(len(w.kept)))
		w.kept = append(w.kept, o)
	default:
		size := int64(len(o)) * entryBytes
		at, err := w.file.append(size, entryData(o))
		if err != nil {
			return nil, err
		}
		w.full[b] = append(w.full[b], ^int32(at/size))
		fresh = o[:0]
	}
	return fresh, nil
}

// cut makes a chunk; without memory left only when it must.
func (w *KeyWriter) cut(must bool) ([]keyEntry, error) {
	n := w.c.chunk
	if len(w.slab) < n {
		size := max(maxSlab/int64(n)/entryBytes, 1) * int64(n) * entryBytes
		size = min(size, max(w.c.limit/int64(16*w.c.o.Workers)/(int64(n)*entryBytes), 1)*int64(n)*entryBytes)
		if w.c.taken.Add(size) > w.c.limit-w.c.openBytes() && !must {
			w.c.taken.Add(-size)
			return nil, nil
		}
		b, err := w.c.t.mem.get(int(size))
		if err != nil {
			return nil, err
		}
		w.slab = view[keyEntry](b)
	}
	chunk := w.slab[:0:n]
	w.slab = w.slab[n:]
	return chunk, nil
}

// openBytes is held back for chunks that must be had: one of every bucket.
func (c *KeyCounter) openBytes() int64 {
	return int64(c.buckets()*c.o.Workers*c.chunk) * entryBytes
}

func entryData(e []keyEntry) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(e))), int64(len(e))*entryBytes)
}

// Count counts the keys of all records, those at positions from tail on also
// apart, with all workers. No record may be added afterwards.
func (c *KeyCounter) Count(ctx context.Context, tail int64) (KeyStats, error) {
	total := KeyStats{FirstRepeat: -1}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first error
		wg    sync.WaitGroup
	)
	for range c.o.Workers {
		wg.Go(func() {
			k := &keyTable{c: c, tail: tail, KeyStats: KeyStats{FirstRepeat: -1}}
			var err error
			for err == nil {
				b := int(next.Add(1)) - 1
				if b >= c.buckets() {
					break
				}
				if err = ctx.Err(); err == nil {
					err = k.bucket(b)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(k.KeyStats)
			if first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return total, first
}

func (s *KeyStats) add(o KeyStats) {
	s.Keys += o.Keys
	s.Live += o.Live
	s.LiveBytes += o.LiveBytes
	s.LiveEmpty += o.LiveEmpty
	s.Deleted += o.Deleted
	s.DeletedBytes += o.DeletedBytes
	s.Superseded += o.Superseded
	s.SupersededBytes += o.SupersededBytes
	s.TailKeys += o.TailKeys
	s.TailSuperseded += o.TailSuperseded
	s.TailBytes += o.TailBytes
	if o.FirstRepeat >= 0 && (s.FirstRepeat < 0 || o.FirstRepeat < s.FirstRepeat) {
		s.FirstRepeat = o.FirstRepeat
	}
	s.Once += o.Once
	s.Twice += o.Twice
}
