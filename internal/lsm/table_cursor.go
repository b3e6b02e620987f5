package lsm

import (
	"fmt"
	"sort"
)

// blockCursor moves over the entries of one block in both directions. Keys depend
// on the ones before, so going backward it rebuilds the entries between two
// restart points and hands them out from the end.
type blockCursor struct {
	e     entries
	held  []heldEntry // going backward: up to the current one, which is the last
	keys  []byte      // what the held ones point into
	point int         // the restart point before the held ones
}

// heldEntry is an entry with its key at keys[from:to].
type heldEntry struct {
	start    int
	from, to int
	value    []byte
	at       handle
}

// maxHeld bounds the keys between two restart points: prefixes that are shared
// let a hostile block announce far more than it holds.
const maxHeld = 64 << 20

// reset starts on a block; the cursor stands before its first entry.
func (c *blockCursor) reset(b []byte) error {
	c.held = c.held[:0]
	return c.e.reset(b)
}

func (c *blockCursor) err() error { return c.e.err }

func (c *blockCursor) current() *heldEntry { return &c.held[len(c.held)-1] }

// key is the whole key of the current entry, with its trailer.
func (c *blockCursor) key() []byte {
	if len(c.held) > 0 {
		h := c.current()
		return c.keys[h.from:h.to]
	}
	return c.e.key
}

func (c *blockCursor) value() []byte {
	if len(c.held) > 0 {
		return c.current().value
	}
	return c.e.value
}

// at is what an index entry points at.
func (c *blockCursor) at() handle {
	if len(c.held) > 0 {
		return c.current().at
	}
	return c.e.at
}

func (c *blockCursor) first() bool {
	c.held = c.held[:0]
	c.e.restart(0)
	return c.e.next()
}

func (c *blockCursor) last() bool { return c.before(len(c.e.data)) }

func (c *blockCursor) next() bool {
	if len(c.held) > 0 { // turn around: go to the current entry, then on
		at := c.current().start
		c.held = c.held[:0]
		c.e.restart(c.point)
		for c.e.next() && c.e.start < at {
		}
	}
	return c.e.err == nil && c.e.next()
}

// prev needs a current entry.
func (c *blockCursor) prev() bool {
	switch n := len(c.held); n {
	case 0:
		return c.before(c.e.start)
	case 1:
		return c.before(c.held[0].start)
	default:
		c.held = c.held[:n-1]
		return true
	}
}

// seek goes to the first entry whose user key is not before target.
func (c *blockCursor) seek(target []byte, cmp func(a, b []byte) int) bool {
	c.held = c.held[:0]
	if !c.e.bisect(target, cmp) {
		return false
	}
	for c.e.next() {
		if cmp(c.e.user(), target) >= 0 {
			return true
		}
	}
	return false
}

// before goes to the last entry that starts before the offset.
func (c *blockCursor) before(off int) bool {
	c.held, c.keys = c.held[:0], c.keys[:0]
	e := &c.e
	c.point = sort.Search(e.count(), func(i int) bool { return e.point(i) >= off }) - 1
	if c.point < 0 {
		return false
	}
	e.restart(c.point)
	for e.next() && e.start < off {
		if len(c.keys)+len(e.key) > maxHeld {
			c.held = c.held[:0]
			return e.fail("more than %d bytes of keys after restart point %d", maxHeld, c.point)
		}
		from := len(c.keys)
		c.keys = append(c.keys, e.key...)
		c.held = append(c.held, heldEntry{start: e.start, from: from, to: len(c.keys), value: e.value, at: e.at})
	}
	if e.err != nil {
		c.held = c.held[:0]
		return false
	}
	if len(c.held) == 0 {
		e.err = fmt.Errorf("restart point %d at %d, expected an entry there", c.point, e.point(c.point))
		return false
	}
	return true
}

// direction is which way an iterator goes.
type direction bool

const (
	forward  direction = false
	backward direction = true
)

// start goes to the near end of a block.
func (d direction) start(c *blockCursor) bool {
	if d == backward {
		return c.last()
	}
	return c.first()
}

func (d direction) step(c *blockCursor) bool {
	if d == backward {
		return c.prev()
	}
	return c.next()
}
