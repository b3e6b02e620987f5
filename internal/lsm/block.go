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
	off     int
	key     []byte
	value   []byte
	err     error // why next said no; nil at the end
	ordered bool  // check that internal keys ascend
	any     bool  // key holds an entry
	delta   bool  // an index block whose values carry no length (see index.go)
	shared  int   // bytes this key had in common with the one before

	separated bool
	values    []byte
	restarts  []byte // fixed32 each; only for separated blocks
	valueOff  int
}

// reset starts on a block's uncompressed bytes.
func (e *entries) reset(b []byte) error {
	e.off, e.err, e.separated = 0, nil, false
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
	e.data = b[:p]
	if valuesAt >= 0 {
		if valuesAt > p {
			return fmt.Errorf("values section at %d, expected it before the restart points at %d", valuesAt, p)
		}
		e.separated, e.values, e.valueOff = true, b[valuesAt:p], 0
		e.restarts = b[p : p+int(n)*4]
		e.data = b[:valuesAt]
	}
	return nil
}

// next steps to the next entry; false at the end or on an error, see err.
func (e *entries) next() bool {
	d, o := e.data, e.off
	if o >= len(d) {
		return false
	}
	var shared, unshared, vlen int
	if o+3 <= len(d) && d[o]|d[o+1]|d[o+2] < 0x80 && !e.delta {
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
		if !e.delta {
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
	if e.ordered {
		if shared+unshared < 8 {
			return e.fail("key of %d bytes, expected at least the 8 of its sequence number and type", shared+unshared)
		}
		if e.any && !ascends(e.key, shared, suffix) {
			return e.fail("key order: %x after %x, expected ascending keys", append(e.key[:shared:shared], suffix...), e.key)
		}
	}
	e.key = append(e.key[:shared], suffix...)
	e.any, e.shared = true, shared
	switch {
	case e.separated:
		if vlen > len(e.values)-e.valueOff {
			return e.fail("value of %d bytes at %d, expected it within the %d bytes of the values section", vlen, e.valueOff, len(e.values))
		}
		e.value = e.values[e.valueOff : e.valueOff+vlen]
		e.valueOff += vlen
	case e.delta:
		e.value = d[o:] // self-delimiting: the caller advances off
	default:
		if vlen > len(d)-o {
			return e.fail("value of %d bytes, expected at most %d", vlen, len(d)-o)
		}
		e.value = d[o : o+vlen]
		o += vlen
	}
	e.off = o
	return true
}

// atRestart says whether the entry at off is a restart point, and drops the
// points passed.
func (e *entries) atRestart() bool {
	for len(e.restarts) >= 4 {
		r := int64(binary.LittleEndian.Uint32(e.restarts))
		if r > int64(e.off) {
			return false
		}
		e.restarts = e.restarts[4:]
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
