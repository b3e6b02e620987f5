package table

import "math/bits"

// keyTable counts one bucket after the other: a hash table of the distinct keys
// with the newest record of each.
type keyTable struct {
	KeyStats
	c       *KeyCounter
	tail    int64
	entries []keyEntry // the newest of each key
	seen    []uint8    // records of each key, 3 meaning more
	index   []uint32   // by hash: place in entries + 1
	feeds   []keyFeed
}

// keyFeed hands out a writer's entries of a bucket in order.
type keyFeed struct {
	w    *KeyWriter
	full []int32
	open []keyEntry
	now  []keyEntry
	buf  []keyEntry // a chunk read back from the file
}

// more makes the next entries available; false at the end.
func (f *keyFeed) more(chunk int) (bool, error) {
	switch {
	case len(f.now) > 0:
	case len(f.full) > 0:
		n := f.full[0]
		f.full = f.full[1:]
		if n >= 0 {
			f.now = f.w.kept[n]
			break
		}
		if f.buf == nil {
			f.buf = make([]keyEntry, chunk)
		}
		if err := f.w.file.readAt(entryData(f.buf), int64(^n)*int64(chunk)*entryBytes); err != nil {
			return false, err
		}
		f.now = f.buf
	default:
		f.now, f.open = f.open, nil
	}
	return len(f.now) > 0, nil
}

// bucket counts one bucket. One whose keys may not fit the memory is read
// several times, each time for a part of the keys.
func (k *keyTable) bucket(b int) error {
	entries := 0
	for _, w := range k.c.writers {
		entries += len(w.full[b])*k.c.chunk + len(w.open[b])
	}
	if entries == 0 {
		return nil
	}
	share := k.c.o.Memory / 4 / int64(k.c.o.Workers)
	passes := uint32(1)
	for int64(entries)*perKeyBytes > share*int64(passes) && passes < 1<<16 {
		passes *= 2
	}
	for p := range passes {
		if err := k.pass(b, entries/int(passes), passes-1, p); err != nil {
			return err
		}
	}
	return nil
}

// pass counts the keys of a bucket whose hash has the bits want under mask, in
// order of position: the writers' blocks alternate.
func (k *keyTable) pass(b, expect int, mask, want uint32) error {
	k.reset(expect)
	k.feeds = k.feeds[:0]
	for _, w := range k.c.writers {
		f := keyFeed{w: w, full: w.full[b], open: w.open[b]}
		ok, err := f.more(k.c.chunk)
		if err != nil {
			return err
		}
		if ok {
			k.feeds = append(k.feeds, f)
		}
	}
	for len(k.feeds) > 0 {
		first, until := 0, ^uint64(0)
		for i := range k.feeds {
			if k.feeds[i].now[0].at < k.feeds[first].now[0].at {
				first = i
			}
		}
		for i := range k.feeds {
			if i != first {
				until = min(until, k.feeds[i].now[0].at)
			}
		}
		f := &k.feeds[first]
		n := 0
		for n < len(f.now) && f.now[n].at < until {
			if e := &f.now[n]; e.lo&mask == want {
				k.put(e)
			}
			n++
		}
		f.now = f.now[n:]
		ok, err := f.more(k.c.chunk)
		if err != nil {
			return err
		}
		if !ok {
			k.feeds = append(k.feeds[:first], k.feeds[first+1:]...)
		}
	}
	k.settle()
	return nil
}

// reset empties the table. How many keys there are is not known: it begins
// small and doubles.
func (k *keyTable) reset(expect int) {
	size := 1 << bits.Len(uint(max(min(expect, bucketKeys)*2-1, 1<<10)))
	if len(k.index) < size {
		k.index = make([]uint32, size)
	} else {
		k.index = k.index[:size]
		clear(k.index)
	}
	k.entries, k.seen = k.entries[:0], k.seen[:0]
}

// place is where the index looks for a hash first. The top bits are alike in a
// bucket, the low ones of lo in a pass.
func (k *keyTable) place(e *keyEntry) uint32 { return uint32(e.hi) & uint32(len(k.index)-1) }

func (k *keyTable) put(e *keyEntry) {
	mask := uint32(len(k.index) - 1)
	for i := k.place(e); ; i = (i + 1) & mask {
		n := k.index[i]
		if n == 0 {
			k.entries = append(k.entries, *e)
			k.seen = append(k.seen, 1)
			k.index[i] = uint32(len(k.entries))
			if 2*len(k.entries) > len(k.index) {
				k.grow()
			}
			return
		}
		if old := &k.entries[n-1]; old.hi == e.hi && old.lo == e.lo {
			k.replaced(old, e)
			k.seen[n-1] = min(k.seen[n-1]+1, 3)
			*old = *e
			return
		}
	}
}

// replaced counts a record that another one of its key follows.
func (k *keyTable) replaced(old, by *keyEntry) {
	k.Superseded++
	k.SupersededBytes += int64(old.size)
	if int64(old.at>>2) >= k.tail {
		k.TailSuperseded++
		k.TailBytes += int64(old.size)
	}
	if at := int64(by.at >> 2); k.FirstRepeat < 0 || at < k.FirstRepeat {
		k.FirstRepeat = at
	}
}

func (k *keyTable) grow() {
	k.index = make([]uint32, 2*len(k.index))
	mask := uint32(len(k.index) - 1)
	for n := range k.entries {
		i := k.place(&k.entries[n])
		for k.index[i] != 0 {
			i = (i + 1) & mask
		}
		k.index[i] = uint32(n + 1)
	}
}

// settle counts the newest record of each key.
func (k *keyTable) settle() {
	for i := range k.entries {
		e := &k.entries[i]
		k.Keys++
		switch KeyClass(e.at & 3) {
		case KeyTombstone:
			k.Deleted++
			k.DeletedBytes += int64(e.size)
		case KeyEmpty:
			k.LiveEmpty++
			fallthrough
		default:
			k.Live++
			k.LiveBytes += int64(e.size)
		}
		if int64(e.at>>2) >= k.tail {
			k.TailKeys++
		}
		switch k.seen[i] {
		case 1:
			k.Once++
		case 2:
			k.Twice++
		}
	}
}
