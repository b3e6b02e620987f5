package lsm

import (
	"bytes"
	"encoding/binary"
)

// quick steps over what nearly every entry of a data block is: short lengths,
// and a key that fits the buffer and sorts after the one before by its first
// byte that is not shared. It does nothing when anything else is there.
func (e *entries) quick() bool {
	d, o := e.data, e.off
	if o+4 > len(d) || d[o]|d[o+1] >= 0x80 || !e.ordered || !e.any || e.separated || e.index != nil {
		return false
	}
	shared, unshared, vlen := int(d[o]), int(d[o+1]), int(d[o+2])
	k := o + 3
	if vlen >= 0x80 {
		if d[k] >= 0x80 {
			return false
		}
		vlen += int(d[k])<<7 - 0x80
		k++
	}
	v, n := k+unshared, shared+unshared
	switch {
	case v+vlen > len(d) || n > cap(e.key) || o == 0 && shared > 0,
		unshared <= keyTrailer || shared >= len(e.key)-keyTrailer, // the byte that tells is not of both user keys
		d[k] <= e.key[shared]:
		return false
	}
	e.key = e.key[:n]
	copy(e.key[shared:], d[k:v])
	e.value = d[v : v+vlen]
	e.start, e.off = o, v+vlen
	return true
}

// quickKey is room for the keys of which a walk over a whole table is quick.
const quickKey = 256

// tally steps over entries as quick does, and over those at restart points
// too, and counts them. It says whether there were any; what it leaves, the
// first entry of a table included, is for next. It sets no value.
func (e *entries) tally(info *SSTInfo) bool {
	d, o := e.data, e.off
	if !e.ordered || !e.any || e.separated || e.index != nil || o == 0 && len(d) > 0 && d[0] > 0 {
		return false
	}
	// Of the entry before: its key, the size of its user key, what follows that.
	buf, last := e.key[:cap(e.key)], len(e.key)-keyTrailer
	trailer := binary.LittleEndian.Uint64(e.key[last:])
	kind := EntryKind(trailer)
	if !kind.isPoint() {
		return false
	}
	var n, keys, values int // of the kind
	for o+4 <= len(d) {
		w := binary.LittleEndian.Uint32(d[o : o+4 : o+4])
		if w&0x8080 != 0 || w&0x80800000 == 0x80800000 {
			break
		}
		shared, k, v, vlen := int(w&0xff), o+3, o+3+int(w>>8&0xff), int(w>>16&0xff)
		if vlen >= 0x80 {
			k, v, vlen = k+1, v+1, vlen+int(w>>24)<<7-0x80
		}
		size := shared + v - k
		if v+vlen > len(d) || v-k <= keyTrailer || size > len(buf) || shared >= last || d[k] < buf[shared] {
			break
		}
		if d[k] == buf[shared] && bytes.Compare(d[k:v-keyTrailer], buf[shared:last]) <= 0 {
			break
		}
		if t := binary.LittleEndian.Uint64(d[v-keyTrailer : v : v]); t != trailer {
			if EntryKind(t) != kind {
				if !EntryKind(t).isPoint() {
					break
				}
				info.add(kind, n, keys, values)
				n, keys, values, kind = 0, 0, 0, EntryKind(t)
			}
			info.SmallestSeq, info.LargestSeq = min(info.SmallestSeq, t>>8), max(info.LargestSeq, t>>8)
			trailer = t
		}
		copy(buf[shared:size], d[k:v])
		last = size - keyTrailer
		n, keys, values, o = n+1, keys+last, values+vlen, v+vlen
	}
	info.add(kind, n, keys, values)
	stepped := o > e.off
	e.off, e.key = o, buf[:last+keyTrailer]
	return stepped
}
