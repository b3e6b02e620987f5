package table

import (
	"bytes"
	"cmp"
	"slices"
)

// sort orders ents by group, key and, for equal keys, order. Everything is a
// stable radix sort, the least significant part first.
func (s *Sorter) sort(e []ent) []ent {
	if len(e) < 2 {
		return e
	}
	tmp := s.tmp[:len(e)]
	if s.unsorted { // several routers filled the bucket
		slices.SortStableFunc(e, func(a, b ent) int {
			return cmp.Compare(s.rows[a.row].Order>>1, s.rows[b.row].Order>>1)
		})
	}
	e, tmp = radix(e, tmp)
	s.ties(e, tmp, s.depth+8)
	return byGroup(e, tmp)
}

// ties sorts each run of equal heads by the key bytes from depth on.
func (s *Sorter) ties(e, tmp []ent, depth int) {
	for i := 0; i < len(e); {
		j := i + 1
		for j < len(e) && e[j].head == e[i].head {
			j++
		}
		if j-i > 1 {
			s.tie(e[i:j], tmp[i:j], depth)
		}
		i = j
	}
}

// tie sorts rows whose keys, padded with zeros, are equal up to depth.
func (s *Sorter) tie(e, tmp []ent, depth int) {
	key := func(x ent) []byte { r := &s.rows[x.row]; return s.arena[r.KeyOff : r.KeyOff+r.KeyLen] }
	if len(e) <= 12 {
		for i := 1; i < len(e); i++ {
			x := e[i]
			k := key(x)
			j := i
			for ; j > 0 && bytes.Compare(key(e[j-1]), k) > 0; j-- {
				e[j] = e[j-1]
			}
			e[j] = x
		}
		return
	}
	// Keys that end before depth are prefixes of the others: by length, first.
	// (Their padding is zeros, and so are the bytes there of longer keys.)
	ended, n := 0, 0
	for _, x := range e {
		if int(s.rows[x.row].KeyLen) <= depth {
			e[ended] = x
			ended++
		} else {
			tmp[n] = x
			n++
		}
	}
	copy(e[ended:], tmp[:n])
	slices.SortStableFunc(e[:ended], func(a, b ent) int {
		return cmp.Compare(s.rows[a.row].KeyLen, s.rows[b.row].KeyLen)
	})
	if e = e[ended:]; len(e) < 2 {
		return
	}
	// The rest: skip what all share, then as above with the next 8 bytes.
	shared := key(e[0])[depth:]
	for _, x := range e[1:] {
		shared = commonPrefix(shared, key(x)[depth:])
		if len(shared) == 0 {
			break
		}
	}
	depth += len(shared)
	for i := range e {
		e[i].head = head(key(e[i]), depth)
	}
	tmp = tmp[:len(e)]
	if out, _ := radix(e, tmp); &out[0] != &e[0] {
		copy(e, out)
	}
	s.ties(e, tmp, depth+8)
}

// radix sorts by head, stably, and returns the sorted slice and the other one.
func radix(e, tmp []ent) (sorted, other []ent) {
	or, and := uint64(0), ^uint64(0)
	ordered := true
	for i := range e {
		or |= e[i].head
		and &= e[i].head
		ordered = ordered && (i == 0 || e[i-1].head <= e[i].head)
	}
	if ordered {
		return e, tmp
	}
	if len(e) < 64 {
		slices.SortStableFunc(e, func(a, b ent) int { return cmp.Compare(a.head, b.head) })
		return e, tmp
	}
	for shift, vary := 0, or^and; shift < 64; shift += 8 {
		if vary>>shift&0xff == 0 {
			continue
		}
		var pos [256]uint32
		for i := range e {
			pos[uint8(e[i].head>>shift)]++
		}
		sum := uint32(0)
		for i, n := range pos {
			pos[i] = sum
			sum += n
		}
		for _, x := range e {
			p := &pos[uint8(x.head>>shift)]
			tmp[*p] = x
			*p++
		}
		e, tmp = tmp, e
	}
	return e, tmp
}

// byGroup sorts by group, stably.
func byGroup(e, tmp []ent) []ent {
	mixed := false
	for i := range e {
		mixed = mixed || e[i].group != e[0].group
	}
	if !mixed {
		return e
	}
	for i := range e {
		e[i].head = uint64(e[i].group)
	}
	e, _ = radix(e, tmp)
	return e
}
