package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// indexForm is how the index blocks of a table are written: the block itself,
// partitions, and the top block of a partitioned filter alike.
type indexForm struct {
	delta    bool  // values carry no length, and mostly a difference to the handle before
	firstKey bool  // each value ends with the first key of its block
	trailer  int   // 8 when the keys are internal keys, 0 when they are user keys
	size     int64 // of the file, which bounds a block's size
}

// indexForm reads the form from the properties.
func (t *Table) indexForm() *indexForm {
	delta, _ := t.props.Uint(propDeltaIndex)
	user, _ := t.props.Uint(propUserIndex)
	f := &indexForm{delta: delta != 0, size: t.size}
	if kind, _ := t.props.fixed32(propIndexType); kind == indexWithKey {
		f.firstKey = true
	}
	if user == 0 {
		f.trailer = keyTrailer
	}
	return f
}

// take decodes the handle at the front of v into e.at and returns how many
// bytes the value has. An entry whose key shares nothing with the one before
// has a whole handle, any other of the delta form the difference in size to
// the block that ends where this one begins (table/format.cc:IndexValue,
// block.cc:DecodeCurrentValue).
func (f *indexForm) take(e *entries, v []byte, shared bool) (int, error) {
	rest := v
	if shared {
		d, n := binary.Varint(v)
		if n <= 0 {
			return 0, errors.New("malformed handle difference")
		}
		size := int64(e.at.size) + d
		if size < 0 || size > f.size {
			return 0, fmt.Errorf("block size %d, expected one within the file", size)
		}
		e.at, rest = handle{e.at.end(), uint64(size)}, v[n:]
		if e.at.off > uint64(f.size) {
			return 0, fmt.Errorf("block at %d, expected one within the file", e.at.off)
		}
	} else {
		var err error
		if e.at, rest, err = takeHandle(v); err != nil {
			return 0, err
		}
	}
	if f.firstKey {
		n, o, ok := varint32(rest, 0)
		if !ok || n > len(rest)-o {
			return 0, errors.New("malformed first key")
		}
		rest = rest[o+n:]
	}
	return len(v) - len(rest), nil
}

// indexIter moves over the data blocks of a table in key order, holding no
// more than the index block and one partition. A step that fails on a damaged
// partition may be repeated and goes on behind it.
type indexIter struct {
	t        *Table
	twoLevel bool
	top      blockCursor
	part     blockCursor // only when twoLevel
	err      error
	lost     bool // the top block is damaged: there is no going on
}

// newIndex reads the index, of a two-level one its top block.
func (t *Table) newIndex() (*indexIter, error) {
	kind, ok := t.props.fixed32(propIndexType)
	if !ok && t.foot.version >= legacyIndexKinds {
		return nil, corrupt(t.name, int64(t.foot.metaIndex.off), "properties without %q", propIndexType)
	}
	if kind > knownIndexTypes {
		return nil, corrupt(t.name, int64(t.foot.metaIndex.off), "index type %d, expected 0 to %d", kind, knownIndexTypes)
	}
	x := &indexIter{t: t, twoLevel: kind == indexTwoLevel}
	return x, x.load(&x.top, "index", t.foot.index, t.indexForm())
}

func (x *indexIter) load(c *blockCursor, kind string, at handle, form *indexForm) error {
	b, err := x.t.block(kind, at)
	if err != nil {
		return err
	}
	c.e.index, c.e.trailer = form, form.trailer
	if err := c.reset(b); err != nil {
		return corrupt(x.t.name, int64(at.off), "%s block: %w", kind, err)
	}
	return nil
}

// at is the data block the iterator stands on.
func (x *indexIter) at() handle {
	if x.twoLevel {
		return x.part.at()
	}
	return x.top.at()
}

// begin goes to the first data block, or backward to the last.
func (x *indexIter) begin(d direction) bool {
	x.err = nil
	ok := d.start(&x.top)
	if !x.twoLevel {
		return x.result(ok, &x.top, "index", x.t.foot.index)
	}
	return x.enter(d, ok)
}

// move goes to the next data block in a direction.
func (x *indexIter) move(d direction) bool {
	x.err = nil
	if !x.twoLevel {
		return x.result(d.step(&x.top), &x.top, "index", x.t.foot.index)
	}
	if d.step(&x.part) {
		return x.result(true, &x.part, "", handle{})
	}
	if x.part.err() != nil {
		x.result(false, &x.part, "index partition", x.top.at())
		x.part = blockCursor{}
		return false
	}
	return x.enter(d, d.step(&x.top))
}

// enter goes to the near end of the partition that top stands on (ok), or of
// the next one that is not empty.
func (x *indexIter) enter(d direction, ok bool) bool {
	for ; ok; ok = d.step(&x.top) {
		x.part = blockCursor{}
		if x.err = x.load(&x.part, "index partition", x.top.at(), x.top.e.index); x.err != nil {
			x.part = blockCursor{}
			return false
		}
		if d.start(&x.part) {
			return x.result(true, &x.part, "", handle{})
		}
		if x.part.err() != nil {
			x.result(false, &x.part, "index partition", x.top.at())
			x.part = blockCursor{}
			return false
		}
	}
	return x.result(false, &x.top, "index", x.t.foot.index)
}

// seek goes to the first block that may hold keys not before target: the
// first whose separator is not before it.
func (x *indexIter) seek(target []byte) bool {
	x.err = nil
	ok := x.top.seek(target, x.t.order.cmp)
	if !x.twoLevel || !ok {
		return x.result(ok, &x.top, "index", x.t.foot.index)
	}
	x.part = blockCursor{}
	if x.err = x.load(&x.part, "index partition", x.top.at(), x.top.e.index); x.err != nil {
		return false
	}
	if x.part.seek(target, x.t.order.cmp) {
		return x.result(true, &x.part, "", handle{})
	}
	if x.part.err() != nil {
		return x.result(false, &x.part, "index partition", x.top.at())
	}
	return x.enter(forward, x.top.next())
}

// result checks the block that a step led to, and gives an error its place.
func (x *indexIter) result(ok bool, c *blockCursor, kind string, at handle) bool {
	if !ok {
		if err := c.err(); err != nil {
			x.err = corrupt(x.t.name, int64(at.off), "%s block: %w", kind, err)
			x.lost = x.lost || c == &x.top
		}
		return false
	}
	if err := x.t.inBounds("data", x.at()); err != nil {
		x.err = corrupt(x.t.name, int64(x.at().off), "%w", err)
		return false
	}
	return true
}

// partitions lists what the top block of a partitioned filter points at.
func (t *Table) partitions(kind string, at handle) ([]handle, error) {
	x := &indexIter{t: t}
	if err := x.load(&x.top, kind, at, t.filterForm()); err != nil {
		return nil, err
	}
	var out []handle
	for ok := x.top.first(); ok; ok = x.top.next() {
		h := x.top.at()
		if err := t.inBounds(kind+" partition", h); err != nil {
			return out, corrupt(t.name, int64(h.off), "%w", err)
		}
		out = append(out, h)
	}
	if err := x.top.err(); err != nil {
		return out, corrupt(t.name, int64(at.off), "%s block: %w", kind, err)
	}
	return out, nil
}
