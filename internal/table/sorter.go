package table

import (
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// Ref is a row inside an Arena. Its layout is known to the C loop that writes
// the rows: six uint32, offsets and lengths first.
type Ref struct {
	KeyOff, KeyLen, ValOff, ValLen uint32
	Group                          uint32
	Order                          uint32 // number of the block × 2, + 1 for a tombstone
}

// Tombstone says that the row deletes its key (only in tables that keep all
// rows, or tombstones).
func (r Ref) Tombstone() bool { return r.Order&1 != 0 }

// Bucket is a sorted piece of the table; it is borrowed.
type Bucket struct {
	Arena []byte
	Rows  []Ref // by group, key, and (KeepAll) order
	// More says that rows of the last key follow in the next piece: KeepAll,
	// and a key with more rows than fit the memory.
	More bool
}

// Key returns the key of a row.
func (b *Bucket) Key(r Ref) []byte { return b.Arena[r.KeyOff : r.KeyOff+r.KeyLen] }

// Value returns the value of a row.
func (b *Bucket) Value(r Ref) []byte { return b.Arena[r.ValOff : r.ValOff+r.ValLen] }

// Sorter loads buckets. Each goroutine has its own.
type Sorter struct {
	t    *Table
	seed maphash.Seed
	runs spillFile

	arena, meta []byte // buffers; meta is cut into the slices below
	rows        []row
	ents, tmp   []ent
	out         []Ref
	table       []uint32

	n        int   // rows in use
	depth    int   // bytes that the keys of the bucket share
	stats    Stats // of the bucket
	maxOrder uint32
	unsorted bool // blocks were met out of order

	queue    [batch]waiting
	queued   int
	touched  byte    // keeps the compiler from dropping early reads
	distinct float64 // share of distinct keys among the rows of the bucket before
}

// row is a row with the 8 key bytes after the shared ones.
type row struct {
	head uint64
	Ref
}

// ent is what gets sorted: 8 key bytes and where the row is.
type ent struct {
	head  uint64
	group uint32
	row   uint32
}

// source is where a segment's n bytes are: in mem, or else at off in a file.
type source struct {
	mem    []byte
	file   *spillFile
	off, n int64
}

// NewSorter returns a sorter; there should be no more than Options.Workers.
func (t *Table) NewSorter() *Sorter {
	s := &Sorter{t: t, seed: maphash.MakeSeed(), distinct: 0.25}
	s.runs.t = t
	t.sorters.add(s)
	return s
}

// Close frees the sorter's memory; the table's Close does it too.
func (s *Sorter) Close() error {
	if err := s.release(); err != nil {
		return err
	}
	return s.close()
}

func (s *Sorter) close() error {
	s.arena, s.meta, s.rows, s.ents, s.tmp, s.out, s.table = nil, nil, nil, nil, nil, nil, nil
	return s.runs.close()
}

func (s *Sorter) release() error {
	a, m := s.arena, s.meta
	s.arena, s.meta = nil, nil
	if err := s.t.mem.put(a); err != nil {
		return err
	}
	return s.t.mem.put(m)
}

// Load calls fn with the rows of a bucket in order: usually once, not at all
// when none is left, several times when the bucket is larger than the sorter's
// memory. Each bucket is loaded once.
func (s *Sorter) Load(bucket int, fn func(*Bucket) error) (Stats, error) {
	t := s.t
	if t.closed.Load() {
		return Stats{}, errClosed()
	}
	size, rows, nulls := t.size(bucket)
	s.stats = Stats{Rows: rows, Tombstones: nulls}
	if rows == 0 {
		return s.stats, nil
	}
	depth, maxGroup := t.plan.known(bucket)
	if maxGroup < t.drop {
		s.stats.Dropped = rows
		return s.stats, nil
	}
	src := t.segments(bucket)
	if size+metaBytes(rows) > t.share {
		err := s.external(src, depth, fn)
		return s.stats, err
	}
	if err := s.reserve(size, rows); err != nil {
		return s.stats, err
	}
	s.start(depth, int(rows))
	off := 0
	for i := range src {
		b := s.arena[off : off+int(src[i].n)]
		if err := src[i].read(b, 0); err != nil {
			return s.stats, err
		}
		var at place
		n, err := s.scan(off, len(b), &at)
		if err != nil {
			return s.stats, err
		}
		if n != len(b) {
			return s.stats, errSpill()
		}
		off += n
	}
	s.distinct = float64(s.n) / float64(rows) * 1.05
	err := s.deliver(&Bucket{Arena: s.arena[:off], Rows: s.sorted(true)}, fn)
	return s.stats, err
}

// deliver hands out a bucket unless it is empty.
func (s *Sorter) deliver(b *Bucket, fn func(*Bucket) error) error {
	if len(b.Rows) == 0 {
		return nil
	}
	s.stats.Live += int64(len(b.Rows))
	for i := range b.Rows {
		s.stats.LiveBytes += int64(b.Rows[i].KeyLen) + int64(b.Rows[i].ValLen)
	}
	return fn(b)
}

// read fills b with the segment's bytes from off on.
func (src *source) read(b []byte, off int64) error {
	if src.mem != nil {
		copy(b, src.mem[off:])
		return nil
	}
	return src.file.readAt(b, src.off+off)
}

// metaBytes is the memory that sorting rows takes beside their bytes.
func metaBytes(rows int64) int64 { return rows*rowBytes + int64(tableSize(int(rows)))*4 }

func tableSize(rows int) int { return 1 << bits.Len(uint(rows+rows/2)) }

// reserve makes the buffers large enough, within the sorter's share.
func (s *Sorter) reserve(size, rows int64) error {
	need := metaBytes(rows)
	if int64(len(s.arena)) < size || int64(len(s.meta)) < need {
		// A quarter more than needed lets the next buckets fit as well.
		a, m := max(size+size/4, int64(len(s.arena))), max(need+need/4, int64(len(s.meta)))
		if a+m > s.t.share {
			a, m = size, need
		}
		if err := s.release(); err != nil {
			return err
		}
		var err error
		if s.arena, err = s.t.mem.get(int(a)); err != nil {
			return err
		}
		if s.meta, err = s.t.mem.get(int(m)); err != nil {
			return err
		}
	}
	n := int(rows)
	rest := s.meta
	s.rows, rest = cut[row](rest, n)
	s.ents, rest = cut[ent](rest, n)
	s.tmp, rest = cut[ent](rest, n)
	s.out, rest = cut[Ref](rest, n)
	s.table, _ = cut[uint32](rest, tableSize(n))
	return nil
}

// cut takes n values of T from the front of b.
func cut[T any](b []byte, n int) ([]T, []byte) {
	var z T
	size := n * int(unsafe.Sizeof(z))
	return view[T](b[:size:size]), b[size:]
}

// start prepares for the rows of a bucket, or of a piece of one.
func (s *Sorter) start(depth, rows int) {
	s.n, s.depth, s.maxOrder, s.unsorted = 0, depth, 0, false
	if !s.t.o.KeepAll {
		// A table no larger than the distinct keys need stays in the cache; how
		// many those are, the bucket before tells.
		s.table = s.table[:tableSize(min(max(int(float64(rows)*s.distinct), 2*batch), rows))]
		clear(s.table)
	}
}

// scan takes in the rows in arena[off:off+n] and returns the bytes consumed:
// fewer when the last row is incomplete or no more rows fit.
func (s *Sorter) scan(off, n int, at *place) (int, error) {
	a := s.arena[:off+n]
	keepAll := s.t.o.KeepAll
	o := off
	for o < len(a) && s.n+s.queued < len(s.rows) {
		var klen, vlen, w int
		var tomb uint32
		if b := a[o:]; len(b) >= 2 && b[0]&0x81 == 0 && b[1]-1 < 0x7f {
			klen, vlen, w = int(b[0]>>1), int(b[1])-1, 2
		} else {
			was := *at
			h, hn, err := parseHeader(b, keepAll, at)
			if err != nil {
				return 0, err
			}
			if hn == 0 || len(b)-hn < int(h.klen)+int(h.vlen) {
				*at = was
				break
			}
			klen, vlen, w = int(h.klen), int(h.vlen), hn
			if h.tombstone {
				tomb = 1
			}
		}
		ko := o + w
		if len(a)-ko < klen+vlen {
			break
		}
		o = ko + klen + vlen
		if at.group < s.t.drop {
			s.stats.Dropped++
			continue
		}
		ref := Ref{uint32(ko), uint32(klen), uint32(ko + klen), uint32(vlen), at.group, at.seq<<1 | tomb}
		if keepAll {
			s.unsorted = s.unsorted || ref.Order>>1 < s.maxOrder>>1
			s.maxOrder = max(s.maxOrder, ref.Order)
			s.rows[s.n] = row{head(a[ko:ko+klen], s.depth), ref}
			s.n++
			continue
		}
		s.wait(a[ko:ko+klen], ref)
	}
	s.put()
	return o - off, nil
}

// sorted returns the rows taken in, in order; with drop without tombstones
// (unless all rows are kept).
func (s *Sorter) sorted(drop bool) []Ref {
	drop = drop && !s.t.o.KeepAll && !s.t.o.KeepTombstones
	ents := s.ents[:0]
	for i := range s.rows[:s.n] {
		r := &s.rows[i]
		if drop && r.Order&1 != 0 {
			continue
		}
		ents = append(ents, ent{r.head, r.Group, uint32(i)})
	}
	ents = s.sort(ents)
	out := s.out[:len(ents)]
	for i := range ents {
		out[i] = s.rows[ents[i].row].Ref
	}
	return out
}
