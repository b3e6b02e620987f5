package inspect

import (
	"context"

	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// RawTask is a store in one task, for who compares rows as the bytes they are.
type RawTask struct {
	Task      string
	Partition *int32 // nil: global, or outside of any task
	Dir       string

	r *Rows
	p *rowsPart
}

// RawTasks are the tasks of the store, in order.
func (r *Rows) RawTasks() []*RawTask {
	var out []*RawTask
	for _, p := range r.parts {
		out = append(out, &RawTask{Task: p.task, Partition: p.part, Dir: p.store.Dir, r: r, p: p})
	}
	return out
}

// RawPiece is a part of a task's rows, for one goroutine.
type RawPiece struct {
	db   *rowsDB
	keys lsm.Range
}

// Pieces cut the task's rows into parts of about so many bytes on disk, oldest
// segment first, by key; keys are where they were cut.
func (t *RawTask) Pieces(size int64) (pieces []RawPiece, keys [][]byte, err error) {
	for _, d := range t.p.dbs {
		db, gone, err := d.open()
		if err != nil {
			return nil, nil, err
		}
		if gone {
			continue
		}
		var from []byte
		for _, to := range db.Split(families(db), size) {
			pieces = append(pieces, RawPiece{d, lsm.Range{From: from, To: to}})
			keys = append(keys, to)
			from = to
		}
		pieces = append(pieces, RawPiece{d, lsm.Range{From: from}})
	}
	return pieces, keys, nil
}

// Each calls fn with the rows of the piece. Pieces may be read side by side.
func (p RawPiece) Each(fn func(family string, key, value []byte) error) error {
	return p.db.each(p.keys, false, fn)
}

// Start is the start of the piece's segment, in ms.
func (p RawPiece) Start() int64 { return p.db.start }

// RawDB is one database of a task, opened for many lookups. It is for one
// goroutine.
type RawDB struct {
	d     *rowsDB
	db    *lsm.DB
	names []string
	its   []*lsm.Iter
}

// Open opens the task's databases, oldest segment first.
func (t *RawTask) Open() (out []*RawDB, err error) {
	for _, d := range t.p.dbs {
		db, gone, err := d.open()
		if err != nil {
			return out, err
		}
		if gone {
			continue
		}
		x := &RawDB{d: d, db: db, names: families(db)}
		out = append(out, x)
		for _, name := range x.names {
			it, err := db.Iter(name, lsm.IterOptions{})
			if err != nil {
				return out, err
			}
			x.its = append(x.its, it)
		}
	}
	return out, nil
}

// Close lets go of the database's files.
func (x *RawDB) Close() {
	for _, it := range x.its {
		it.Close()
	}
}

// Split are keys between which about so many bytes lie.
func (x *RawDB) Split(size int64) [][]byte { return x.db.Split(x.names, size) }

// Seek calls fn with the rows from a key on, until it says that it has enough:
// family by family, so that of a key that is in two the first is the newer.
func (x *RawDB) Seek(from []byte, fn func(family string, key, value []byte) (more bool, err error)) error {
	for i, it := range x.its {
		for ok := it.SeekGE(from); ok; ok = it.Next() {
			key, value := it.Row()
			if more, err := fn(x.names[i], key, value); err != nil {
				return err
			} else if !more {
				break
			}
		}
		if err := x.d.vanished(it.Err()); err != nil {
			return err
		}
	}
	return nil
}

// Get looks a row up by its whole key.
func (t *RawTask) Get(key []byte) (family string, value []byte, ok bool, err error) {
	for i := len(t.p.dbs) - 1; i >= 0 && !ok; i-- {
		err = t.p.dbs[i].get(key, func(f string, _, v []byte) error {
			family, value, ok = f, v, true
			return nil
		})
		if err != nil {
			return "", nil, false, err
		}
	}
	return family, value, ok, nil
}

// Guess tells how columns are decoded that nobody stated, from the first rows.
func (r *Rows) Guess(ctx context.Context) error { return r.guess(ctx) }

// Wrong is why not all rows were read, or are not certain; nil when nothing is
// known to be wrong.
func (r *Rows) Wrong() error { return r.wrong() }

// Notes are what was met while rows were read and is worth knowing.
func (r *Rows) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.retried > 0 {
		return append(r.warn[:len(r.warn):len(r.warn)], retriedNote(int64(r.retried)))
	}
	return r.warn
}

// Lock is who has the application open; nil outside of any.
func (r *Rows) Lock() *MapLock { return r.lock() }

// RowOf takes a row's bytes apart, for showing it; a nil value is none. The row
// borrows them. A history row of a versioned store is shown as bytes.
func (r *Rows) RowOf(task, family string, key, value []byte) *Row {
	row := &Row{Kind: r.kind, Task: task, rows: r}
	k, err := streams.SplitRowKey(r.kind, key)
	if err != nil {
		row.Key = Cell{Bytes: key, Err: err.Error()}
		row.Value = Cell{Bytes: value}
		return row
	}
	r.fillKey(row, &k)
	switch {
	case value == nil:
		row.Deleted = true
	case k.Index, r.kind == streams.Versioned && k.Segment != streams.LatestSegment:
		row.Value = Cell{Bytes: value}
	default:
		r.fillRow(row, family, value)
	}
	return row
}

// Decoders are how keys and values are shown.
func (r *Rows) Decoders() (key, value Decoder) { return r.key.decoder(), r.value.decoder() }

// OwnOffsets are what the offsets families of the store's databases say of one
// changelog (Kafka >= 4.3), by the start of the segment. Each database is
// flushed by itself, so those of an application that runs differ. A database
// that says nothing is left out.
func (t *RawTask) OwnOffsets(topic string, partition int32) (map[int64]int64, error) {
	out := map[int64]int64{}
	key := streams.OffsetsKey(topic, partition)
	for _, d := range t.p.dbs {
		db, gone, err := d.open()
		if err != nil {
			return nil, err
		}
		if gone || db.Version == nil || len(db.Having([]string{streams.OffsetsFamily})) == 0 {
			continue
		}
		value, ok, err := db.Get(streams.OffsetsFamily, key)
		if err = d.vanished(err); err != nil {
			return nil, err
		}
		if n, err := streams.DecodeOffset(value); ok && err == nil {
			out[d.start] = n
		}
	}
	return out, nil
}
