package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// indexBlock calls fn with the handle of each entry of an index block, in file
// order. Values are handles, or, when the table says so, differences to the
// handle before; a table with first keys adds one to each
// (table/format.cc:IndexValue, block.cc:DecodeCurrentValue).
func (t *table) indexBlock(kind string, at handle, b []byte, fn func(handle) error) error {
	var e entries
	delta, _ := t.props.Uint(propDeltaIndex)
	e.delta = delta != 0
	kindOf, _ := t.props.fixed32(propIndexType)
	err := e.reset(b)
	var prev handle
	for err == nil && e.next() {
		v := e.value
		var h handle
		if e.delta && e.shared > 0 {
			d, n := binary.Varint(v)
			if n <= 0 {
				err = errors.New("malformed handle difference")
				break
			}
			size := int64(prev.size) + d
			if size < 0 || size > t.size {
				err = fmt.Errorf("block size %d, expected one within the file", size)
				break
			}
			h, v = handle{prev.end(), uint64(size)}, v[n:]
		} else if h, v, err = takeHandle(v); err != nil {
			break
		}
		if kindOf == indexWithKey {
			n, o, ok := varint32(v, 0)
			if !ok || n > len(v)-o {
				err = errors.New("malformed first key")
				break
			}
			v = v[o+n:]
		}
		if e.delta {
			e.off = len(e.data) - len(v)
		}
		prev = h
		err = fn(h)
	}
	if err = errors.Join(err, e.err); err != nil {
		return corrupt(t.name, int64(at.off), "%s block: %w", kind, err)
	}
	return nil
}

// dataBlocks lists the data blocks in key order. Handles are checked to lie
// within the file and to ascend, which every writer's do.
func (t *table) dataBlocks() ([]handle, error) {
	kind, ok := t.props.fixed32(propIndexType)
	if !ok && t.foot.version >= legacyIndexKinds {
		return nil, corrupt(t.name, int64(t.foot.metaIndex.off), "properties without %q", propIndexType)
	}
	if kind > knownIndexTypes {
		return nil, corrupt(t.name, int64(t.foot.metaIndex.off), "index type %d, expected 0 to %d", kind, knownIndexTypes)
	}
	var out []handle
	var end uint64
	add := func(h handle) error {
		if err := t.inBounds("data", h); err != nil {
			return err
		}
		if h.off < end {
			return fmt.Errorf("data block at %d, expected it after the one that ends at %d", h.off, end)
		}
		end = h.end()
		out = append(out, h)
		return nil
	}
	if kind != indexTwoLevel {
		b, err := t.block("index", t.foot.index, nil)
		if err != nil {
			return nil, err
		}
		return out, t.indexBlock("index", t.foot.index, b, add)
	}
	parts, err := t.partitions("index", t.foot.index)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		pb, err := t.block("index partition", p, nil)
		if err != nil {
			return nil, err
		}
		if err := t.indexBlock("index partition", p, pb, add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// partitions lists what the top block of a two-level index or of a partitioned
// filter points at.
func (t *table) partitions(kind string, at handle) ([]handle, error) {
	b, err := t.block(kind, at, nil)
	if err != nil {
		return nil, err
	}
	var out []handle
	err = t.indexBlock(kind, at, b, func(h handle) error {
		out = append(out, h)
		return t.inBounds(kind+" partition", h)
	})
	return out, err
}
