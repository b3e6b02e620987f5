package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Flags in the top bits of a block's last word (table/block_based/
// data_block_footer.cc); the rest of the word counts the restart points.
const (
	blockSeparated = 1 << 28 // values in a section of their own (RocksDB 11.0)
	blockUniform   = 1 << 29 // a hint for searches (11.1)
	blockReserved  = 1 << 30
	blockHashed    = 1 << 31 // a hash index for point lookups follows the restarts
	blockCountMask = 1<<28 - 1
)

// entries walks the entries of one block: keys rebuilt from their shared
// prefixes. The key and value are valid until the next step. The key buffer
// survives reset, so that order is checked across blocks too.
type entries struct {
	data    []byte // entries only
	start   int    // of the current entry
	off     int    // of the next one
	key     []byte
	value   []byte
	err     error  // why next said no; nil at the end
	trailer int    // bytes of every key that are not of its user key
	ordered bool   // check that internal keys ascend
	any     bool   // key holds an entry
	points  []byte // the restart points, fixed32 each

	index *indexForm // of an index block, nil for others
	at    handle     // of the block that an index entry points at

	separated bool
	values    []byte
	ahead     []byte // restart points not passed yet; only for separated blocks
	valueOff  int
}

// reset starts on a block's uncompressed bytes.
func (e *entries) reset(b []byte) error {
	e.start, e.off, e.err, e.separated, e.at = 0, 0, nil, false, handle{}
	e.data, e.points = nil, nil
	if e.ordered {
		e.trailer = keyTrailer
	}
	if len(b) < 4 {
		return fmt.Errorf("block of %d bytes, expected at least 4", len(b))
	}
	p := len(b) - 4
	word := binary.LittleEndian.Uint32(b[p:])
	if word&blockReserved != 0 {
		return errors.New("block uses a reserved flag, expected a format up to version 7")
	}
	valuesAt := -1
	if word&blockSeparated != 0 {
		if p < 4 {
			return errors.New("block too short for its values section")
		}
		p -= 4
		v := binary.LittleEndian.Uint32(b[p:])
		if uint64(v) > uint64(p) {
			return fmt.Errorf("values section at %d of a block of %d bytes", v, len(b))
		}
		valuesAt = int(v)
	}
	if word&blockHashed != 0 {
		if p < 2 {
			return errors.New("block too short for its hash index")
		}
		n := int(binary.LittleEndian.Uint16(b[p-2:])) + 2
		if p < n {
			return fmt.Errorf("hash index of %d bytes in a block of %d", n, len(b))
		}
		p -= n
	}
	n := int64(word & blockCountMask)
	if n*4 > int64(p) {
		return fmt.Errorf("%d restart points, expected no more than fit in %d bytes", n, p)
	}
	p -= int(n) * 4
	e.data, e.points = b[:p], b[p:p+int(n)*4]
	if e.point(0) != 0 {
		return fmt.Errorf("first restart point at %d, expected 0", e.point(0))
	}
	if valuesAt >= 0 {
		if valuesAt > p {
			return fmt.Errorf("values section at %d, expected it before the restart points at %d", valuesAt, p)
		}
		e.separated, e.values, e.valueOff = true, b[valuesAt:p], 0
		e.ahead = e.points
		e.data = b[:valuesAt]
	}
	return nil
}

// next steps to the next entry; false at the end or on an error, see err.
func (e *entries) next() bool { return e.quick() || e.step() }

// step is next for entries of every form.
func (e *entries) step() bool {
	d, o := e.data, e.off
	if o >= len(d) {
		return false
	}
	e.start = o
	delta := e.index != nil && e.index.delta // the values carry no length
	var shared, unshared, vlen int
	if o+3 <= len(d) && d[o]|d[o+1]|d[o+2] < 0x80 && !delta {
		shared, unshared, vlen = int(d[o]), int(d[o+1]), int(d[o+2])
		o += 3
	} else {
		var ok bool
		if shared, o, ok = varint32(d, o); !ok {
			return e.fail("shared length")
		}
		if unshared, o, ok = varint32(d, o); !ok {
			return e.fail("key length")
		}
		if !delta {
			if vlen, o, ok = varint32(d, o); !ok {
				return e.fail("value length")
			}
		}
	}
	restart := e.separated && e.atRestart()
	if restart {
		var ok bool
		if e.valueOff, o, ok = varint32(d, o); !ok {
			return e.fail("value offset")
		}
	}
	if shared > len(e.key) || shared > 0 && e.off == 0 {
		return e.fail("shared length %d, expected at most the %d bytes of the key before", shared, len(e.key))
	}
	if unshared > len(d)-o {
		return e.fail("key of %d bytes, expected at most %d", unshared, len(d)-o)
	}
	suffix := d[o : o+unshared]
	o += unshared
	if shared+unshared < e.trailer {
		return e.fail("key of %d bytes, expected at least the %d of its sequence number and type", shared+unshared, e.trailer)
	}
	if e.ordered && e.any && !ascends(e.key, shared, suffix) {
		return e.fail("key order: %x after %x, expected ascending keys", append(e.key[:shared:shared], suffix...), e.key)
	}
	switch {
	case e.separated:
		if vlen > len(e.values)-e.valueOff {
			return e.fail("value of %d bytes at %d, expected it within the %d bytes of the values section", vlen, e.valueOff, len(e.values))
		}
		e.value = e.values[e.valueOff : e.valueOff+vlen]
		e.valueOff += vlen
	case delta:
		n, err := e.index.take(e, d[o:], shared > 0)
		if err != nil {
			return e.fail("%w", err)
		}
		e.value = d[o : o+n]
		o += n
	default:
		if vlen > len(d)-o {
			return e.fail("value of %d bytes, expected at most %d", vlen, len(d)-o)
		}
		e.value = d[o : o+vlen]
		o += vlen
		if e.index != nil {
			if _, err := e.index.take(e, e.value, false); err != nil {
				return e.fail("%w", err)
			}
		}
	}
	e.key = append(e.key[:shared], suffix...)
	e.any = true
	e.off = o
	return true
}

// user is the current key without its trailer.
func (e *entries) user() []byte { return e.key[:len(e.key)-e.trailer] }

// point is the offset of restart point i; a block without any has one at 0.
func (e *entries) point(i int) int {
	if len(e.points) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(e.points[4*i:]))
}

// count is the number of restart points.
func (e *entries) count() int { return max(1, len(e.points)/4) }

// restart goes to restart point i: next steps to the entry there.
func (e *entries) restart(i int) {
	e.off, e.key, e.any, e.err = e.point(i), e.key[:0], false, nil
	if e.separated {
		e.ahead = e.points[min(4*i, len(e.points)):]
	}
}

// bisect goes to the last restart point whose key is before target, or the
// first; false on an error. With a table's restart points in order, the first
// entry not before target is reached from there with next.
func (e *entries) bisect(target []byte, cmp func(a, b []byte) int) bool {
	lo, hi := 0, e.count()-1
	for lo < hi {
		mid := (lo + hi + 1) / 2
		e.restart(mid)
		if !e.next() {
			if e.err == nil {
				e.off = len(e.data)
				e.fail("restart point %d at %d, expected an entry there", mid, e.point(mid))
			}
			return false
		}
		if cmp(e.user(), target) < 0 {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	e.restart(lo)
	return true
}

// atRestart says whether the entry at off is a restart point, and drops the
// points passed.
func (e *entries) atRestart() bool {
	for len(e.ahead) >= 4 {
		r := int64(binary.LittleEndian.Uint32(e.ahead))
		if r > int64(e.off) {
			return false
		}
		e.ahead = e.ahead[4:]
		if r == int64(e.off) {
			return true
		}
	}
	return false
}

func (e *entries) fail(format string, args ...any) bool {
	e.err = fmt.Errorf("entry at byte %d of the block: "+format, append([]any{e.off}, args...)...)
	return false
}

// ascends says whether the internal key made of prev[:shared] and suffix sorts
// after prev: user key ascending, then sequence number descending.
func ascends(prev []byte, shared int, suffix []byte) bool {
	pu, nu := len(prev)-8, shared+len(suffix)-8
	if shared < pu && shared < nu && prev[shared] != suffix[0] {
		return prev[shared] < suffix[0] // as a rule the shared prefix is as long as it can be
	}
	if shared <= pu && shared <= nu {
		if c := bytes.Compare(prev[shared:pu], suffix[:nu-shared]); c != 0 {
			return c < 0
		}
		return binary.LittleEndian.Uint64(prev[pu:]) > binary.LittleEndian.Uint64(suffix[nu-shared:])
	}
	// The shared prefix reaches into a sequence number: rare, rebuild.
	key := append(prev[:shared:shared], suffix...)
	return compareInternal(prev, key) < 0
}

// compareInternal orders internal keys as dbformat.h:InternalKeyComparator
// does over the bytewise comparator.
func compareInternal(a, b []byte) int {
	if c := bytes.Compare(a[:len(a)-8], b[:len(b)-8]); c != 0 {
		return c
	}
	x, y := binary.LittleEndian.Uint64(a[len(a)-8:]), binary.LittleEndian.Uint64(b[len(b)-8:])
	switch {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return 0
}

// varint32 reads a varint that must fit 32 bits at b[o:].
func varint32(b []byte, o int) (v, next int, ok bool) {
	u, n := binary.Uvarint(b[o:])
	if n <= 0 || u > math.MaxUint32 || u > math.MaxInt {
		return 0, o, false
	}
	return int(u), o + n, true
}
