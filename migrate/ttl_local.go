package migrate

import (
	"bytes"
	"slices"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// ttlLocal are local copies of a store, each with the tail of the changelog
// that it does not have yet.
type ttlLocal struct {
	kind   streams.Kind
	values bool
	wanted func(key []byte) bool
	copies []*ttlCopy
	ranges []ttlRange // the units
	sink   op.Sink
}

// ttlRange is a part of a copy.
type ttlRange struct {
	copy *ttlCopy
	keys lsm.Range
}

// rowFamilies are the families of a key-value store's rows, the one that wins
// first: a store that was upgraded keeps the rows it has not touched since in
// an older family.
func rowFamilies() []string {
	return []string{streams.TimestampHeadersFamily, streams.TimestampFamily, streams.DefaultFamily}
}

// rangeBytes is the size of a range on disk: the keys of one that is to go
// whole fit into what a worker holds while it waits for its turn.
const rangeBytes = 8 << 20

// divide cuts the copies into ranges of keys, so that several workers have
// something to do.
func (l *ttlLocal) divide(workers int) error {
	for _, c := range l.copies {
		var from []byte
		if workers > 1 {
			db, err := lsm.OpenDB(c.dir)
			if err != nil {
				return err
			}
			for _, to := range db.Split(rowFamilies(), rangeBytes) {
				l.ranges = append(l.ranges, ttlRange{c, lsm.Range{From: from, To: to}})
				from = to
			}
		}
		l.ranges = append(l.ranges, ttlRange{c, lsm.Range{From: from}})
	}
	return nil
}

func (l *ttlLocal) units() int { return len(l.ranges) }

func (l *ttlLocal) close() error { return nil }

func (l *ttlLocal) reader() ttlReader { return &ttlLocalReader{l: l} }

// ttlLocalReader reads ranges of copies.
type ttlLocalReader struct {
	l   *ttlLocal
	row ttlRow
}

func (r *ttlLocalReader) close() error { return nil }

func (r *ttlLocalReader) each(unit int, fn func(*ttlRow) error) error {
	rg := r.l.ranges[unit]
	tail := rg.copy.tail
	find := func(key []byte) int {
		i, _ := slices.BinarySearchFunc(tail, key, func(a ttlTailRow, k []byte) int { return bytes.Compare(a.key, k) })
		return i
	}
	if rg.keys.To != nil {
		tail = tail[:find(rg.keys.To)]
	}
	if rg.keys.From != nil {
		tail = tail[find(rg.keys.From):]
	}
	db, err := lsm.OpenDB(rg.copy.dir)
	if err != nil {
		return err
	}
	emit := func(t *ttlTailRow) error {
		if t.deleted {
			return nil
		}
		r.row = ttlRow{partition: rg.copy.partition, key: t.key, time: t.time, size: t.size, value: t.value}
		return fn(&r.row)
	}
	var v streams.RowValue
	r.row.partition = rg.copy.partition
	_, err = db.EachRow(db.Having(rowFamilies()), rg.keys, false, func(family string, key, value []byte) error {
		for len(tail) > 0 {
			c := bytes.Compare(tail[0].key, key)
			if c > 0 {
				break
			}
			t := &tail[0]
			tail = tail[1:]
			if err := emit(t); err != nil {
				return err
			}
			if c == 0 {
				return nil
			}
		}
		if r.l.wanted != nil && !r.l.wanted(key) {
			return nil
		}
		if err := v.Split(r.l.kind, family, value); err != nil {
			return &op.Error{Kind: op.Corrupt, What: rg.copy.dir, Err: err}
		}
		row := &r.row // set part by part: this is done for every row
		row.key, row.value, row.size, row.time = key, v.Value, int64(len(key)+len(v.Value)), -1
		if v.HasTime {
			row.time = v.Time
		}
		return fn(row)
	})
	for i := range tail {
		if err != nil {
			return err
		}
		err = emit(&tail[i])
	}
	return err
}
