package table

import (
	"encoding/binary"
	"unsafe"

	"sstool/internal/op"
)

// Router scatters rows into buckets. Each goroutine has its own. The blocks
// given to one router have ascending numbers; routers take turns as they like.
type Router struct {
	t     *Table
	open  []stream    // by bucket
	segs  [][]segment // by bucket: what is full
	kept  []*byte     // full chunks that stay in memory
	full  [][]byte    // full chunks to be written together, to where file ends
	spare [][]byte    // chunks to use again
	free  []byte      // the rest of the slab that chunks are cut from
	file  spillFile
	at    place      // group of the last row, number of the current block
	group *groupPlan // of at.group; nil when one bucket holds the whole group
	whole int        // that bucket
	began bool
	err   error // first failure; End returns it
}

// stream is the open chunk of a bucket.
type stream struct {
	buf   []byte
	n     int   // filled
	last  place // of the row before
	rows  uint64
	nulls uint64 // tombstones among them
	bytes uint64 // in full segments
}

// segment is a piece of a bucket: n bytes at off in the router's file or, when
// off is negative, in its chunk number -off-1. Each starts with place{0, 0}.
type segment struct {
	off int64
	n   uint32
}

// NewRouter returns a router; there should be no more than Options.Workers.
func (t *Table) NewRouter() *Router {
	r := &Router{t: t, open: make([]stream, t.Buckets()), segs: make([][]segment, t.Buckets())}
	r.file.t = t
	r.group, r.whole = t.plan.find(0)
	t.routers.add(r)
	return r
}

func (r *Router) indexBytes() int64 {
	n := len(r.open) * int(unsafe.Sizeof(stream{})+unsafe.Sizeof([]segment{}))
	for _, s := range r.segs {
		n += cap(s) * int(unsafe.Sizeof(segment{}))
	}
	n += cap(r.kept) * int(unsafe.Sizeof(&r.t))
	return int64(n)
}

// Begin starts a block. Of equal keys, the row of the block with the highest
// number is the newest, then the last added. Numbers count from 0.
func (r *Router) Begin(seq int64) {
	switch {
	case r.err != nil:
	case r.t.closed.Load():
		r.err = errClosed()
	case r.t.done || r.began || seq < int64(r.at.seq) || seq > maxSeq:
		r.err = op.Errorf(op.Failed, "sort rows: block %d begun out of order (last %d, open %t, sealed %t)", seq, r.at.seq, r.began, r.t.done)
	default:
		r.at.seq, r.began = uint32(seq), true
	}
}

// End ends a block and reports the first failure of this router.
func (r *Router) End() error {
	r.write()
	r.began = false
	return r.err
}

// Add copies a row. A tombstone says that the key is deleted; its value is kept
// only by a table that keeps all rows.
func (r *Router) Add(group uint32, key, value []byte, tombstone bool) {
	if tombstone && !r.t.o.KeepAll {
		value = nil
	}
	b := r.row(group, key, len(value), tombstone)
	if b != nil {
		copy(b, value)
	} else if r.err == nil {
		r.large(group, key, nil, value, tombstone)
	}
}

// AddTimestamped copies a row whose value is the big-endian timestamp, then value.
func (r *Router) AddTimestamped(group uint32, key []byte, ts int64, value []byte, tombstone bool) {
	if tombstone && !r.t.o.KeepAll {
		r.Add(group, key, nil, true)
		return
	}
	b := r.row(group, key, 8+len(value), tombstone)
	if b != nil {
		binary.BigEndian.PutUint64(b, uint64(ts))
		copy(b[8:], value)
	} else if r.err == nil {
		var p [8]byte
		binary.BigEndian.PutUint64(p[:], uint64(ts))
		r.large(group, key, p[:], value, tombstone)
	}
}

// bucket returns where a row belongs.
func (r *Router) bucket(group uint32, key []byte) int {
	if group != r.at.group {
		r.at.group = group
		r.group, r.whole = r.t.plan.find(group)
	}
	if r.group == nil {
		return r.whole
	}
	return r.group.bucket(key)
}

// row writes header and key to the open chunk of the row's bucket and returns
// the place of the value; nil when the row is larger than a chunk, or after a
// failure.
func (r *Router) row(group uint32, key []byte, vlen int, tombstone bool) []byte {
	bk := r.bucket(group, key)
	s := &r.open[bk]
	need := maxHeader + len(key) + vlen
	if len(s.buf)-s.n < need {
		if s = r.roll(bk, need); s == nil {
			return nil
		}
	}
	b := s.buf[s.n : s.n+need]
	var n int
	if s.last == r.at && len(key) < 64 && !tombstone && vlen < 127 {
		b[0], b[1], n = byte(len(key)<<1), byte(vlen+1), 2
	} else {
		n = putHeader(b, uint32(len(key)), uint32(vlen), tombstone, r.t.o.KeepAll, &s.last, r.at)
		if tombstone {
			s.nulls++
		}
	}
	n += copy(b[n:], key)
	s.n += n + vlen
	s.rows++
	return b[n : n+vlen]
}

// roll makes room for need bytes in the open chunk of a bucket; nil when a
// chunk is too small for them, or after a failure.
func (r *Router) roll(bk, need int) *stream {
	s := &r.open[bk]
	if !r.began || r.err != nil {
		r.fail(errClosed())
		return nil
	}
	if need > r.t.chunk {
		return nil
	}
	switch {
	case s.buf == nil: // chunks that are open are accounted for from the start
		s.buf = r.newChunk()
	case r.t.kept.Add(int64(r.t.chunk)) <= r.t.keepLimit:
		r.kept = append(r.kept, &s.buf[0])
		r.seal(bk, segment{off: -int64(len(r.kept)), n: uint32(s.n)})
		s.buf = r.newChunk()
	default:
		r.t.kept.Add(-int64(r.t.chunk))
		r.spill(bk)
	}
	if r.err != nil {
		return nil
	}
	return s
}

// spill empties the open chunk of a bucket into the file.
func (r *Router) spill(bk int) {
	s := &r.open[bk]
	if s.n == 0 {
		return
	}
	// Whole chunks, several at a time and at multiples of their size, cost the
	// kernel half as much as odd ones, so the unused end of a chunk goes along.
	if len(s.buf)-s.n <= len(s.buf)/32 {
		if len(r.full) == r.t.batch {
			r.write()
		}
		r.file.align(int64(r.t.chunk))
		r.seal(bk, segment{off: r.file.end + int64(len(r.full)*r.t.chunk), n: uint32(s.n)})
		r.full = append(r.full, s.buf)
		if n := len(r.spare); n > 0 {
			s.buf, r.spare = r.spare[n-1], r.spare[:n-1]
		} else {
			s.buf = r.newChunk()
		}
		return
	}
	r.write()
	off, err := r.file.append(1, s.buf[:s.n])
	if err != nil {
		r.fail(err)
		return
	}
	r.seal(bk, segment{off: off, n: uint32(s.n)})
}

// write brings the full chunks to the file.
func (r *Router) write() {
	if len(r.full) == 0 || r.err != nil {
		return
	}
	if _, err := r.file.append(1, r.full...); err != nil {
		r.fail(err)
	}
	r.spare = append(r.spare, r.full...)
	r.full = r.full[:0]
}

// seal records what the open chunk holds as a segment.
func (r *Router) seal(bk int, sg segment) {
	s := &r.open[bk]
	r.segs[bk] = append(r.segs[bk], sg)
	s.bytes += uint64(s.n)
	s.n, s.last = 0, place{}
}

// large writes a row that no chunk can hold as a segment of its own.
func (r *Router) large(group uint32, key, ts, value []byte, tombstone bool) {
	bk := r.bucket(group, key)
	r.spill(bk)
	if r.write(); r.err != nil {
		return
	}
	var hd [maxHeader]byte
	vlen := len(ts) + len(value)
	n := putHeader(hd[:], uint32(len(key)), uint32(vlen), tombstone, r.t.o.KeepAll, &place{}, r.at)
	off, err := r.file.append(1, hd[:n], key, ts, value)
	if err != nil {
		r.fail(err)
		return
	}
	n += len(key) + vlen
	r.segs[bk] = append(r.segs[bk], segment{off: off, n: uint32(n)})
	s := &r.open[bk]
	s.bytes += uint64(n)
	s.rows++
	if tombstone {
		s.nulls++
	}
}

// newChunk cuts a chunk from the slab.
func (r *Router) newChunk() []byte {
	c := r.t.chunk
	if len(r.free) < c {
		b, err := r.t.mem.get(r.t.slab)
		if err != nil {
			r.fail(err)
			return nil
		}
		r.free = b
	}
	b := r.free[:c:c]
	r.free = r.free[c:]
	return b
}

func (r *Router) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// abandon forgets all rows: their memory is about to go.
func (r *Router) abandon() {
	r.began = false
	r.fail(errClosed())
	clear(r.open)
	clear(r.segs)
	r.kept, r.full, r.spare, r.free = nil, nil, nil, nil
}
