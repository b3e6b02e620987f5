package table

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// batch is how many rows wait for the hash table together: their cache misses
// overlap, where one row after the other would wait for each.
const batch = 16

// waiting is a row on its way into the hash table.
type waiting struct {
	row
	hash  uint64
	short bool   // head and length say all about the key
	guess uint32 // what the table held at its place a moment ago
}

// wait queues a row for put.
func (s *Sorter) wait(key []byte, ref Ref) {
	w := &s.queue[s.queued]
	w.row = row{head(key, s.depth), ref}
	w.short = len(key) <= s.depth+8
	w.hash = s.hash(&w.row, key)
	if s.queued++; s.queued == batch {
		s.put()
	}
}

// hash is of group, length and key; short keys are told by their head.
func (s *Sorter) hash(r *row, key []byte) uint64 {
	x := r.head
	if len(key) > s.depth+8 {
		x = maphash.Bytes(s.seed, key)
	}
	hi, lo := bits.Mul64(x^uint64(r.Group)<<32^uint64(r.KeyLen), 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// put keeps, of each queued row and the one of the same key met before, the newer.
func (s *Sorter) put() {
	if (s.n+batch)*3 > len(s.table)*2 && len(s.table) < cap(s.table) {
		s.growTable()
	}
	queue := s.queue[:s.queued]
	s.queued = 0
	table, rows := s.table, s.rows
	mask := uint64(len(table) - 1)
	for i := range queue {
		queue[i].guess = table[queue[i].hash&mask]
	}
	touched := byte(0)
	for i := range queue {
		w := &queue[i]
		if w.guess == 0 {
			continue
		}
		if r := &rows[w.guess-1]; r.head == w.head && !w.short {
			touched |= s.arena[r.KeyOff]
		}
	}
	s.touched = touched
	for i := range queue {
		w := &queue[i]
		at := w.hash & mask
		for ; ; at = (at + 1) & mask {
			j := table[at]
			if j == 0 {
				rows[s.n] = w.row
				s.n++
				table[at] = uint32(s.n)
				break
			}
			r := &rows[j-1]
			if r.head != w.head || r.KeyLen != w.KeyLen || r.Group != w.Group {
				continue
			}
			if !w.short && !bytes.Equal(s.arena[r.KeyOff:r.KeyOff+r.KeyLen], s.arena[w.KeyOff:w.KeyOff+w.KeyLen]) {
				continue
			}
			s.stats.Superseded++
			if w.Order>>1 >= r.Order>>1 {
				r.Ref = w.Ref
			}
			break
		}
	}
}

// growTable doubles the hash table, within the room reserved for it.
func (s *Sorter) growTable() {
	s.table = s.table[:2*len(s.table)]
	clear(s.table)
	mask := uint64(len(s.table) - 1)
	for i := range s.rows[:s.n] {
		r := &s.rows[i]
		at := s.hash(r, s.arena[r.KeyOff:r.KeyOff+r.KeyLen]) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(i + 1)
	}
}
