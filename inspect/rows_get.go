package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// RowsGet says which key is looked up.
type RowsGet struct {
	// Key is what a person typed: the key's serde makes bytes of it. Of a
	// foreign-key subscription it is the foreign key.
	Key string
	// Partitions is the number of partitions of the store's topic: then only the
	// task is looked at that Kafka's default partitioner gives the key. 0: all.
	Partitions int32
	Times      TimeRange
	AsOf       *int64 // Versioned: the version that is valid then, ms
	History    bool   // Versioned: all versions, oldest first
	Limit      int64
	Query      *serde.Query
	Deleted    bool // of a topic: also when the key is deleted
}

// KeyBytes encodes a key that a person typed, with the serde that was stated
// or that the store's keys make evident.
func (r *Rows) KeyBytes(ctx context.Context, text string) ([]byte, error) {
	if r.keyColumn().serde == nil {
		if err := r.guess(ctx); err != nil {
			return nil, err
		}
		if err := r.wrong(); err != nil && r.keyColumn().serde == nil {
			return nil, err // why nothing is evident
		}
	}
	return r.encodeKey(text)
}

// keyColumn is the column that people look things up by.
func (r *Rows) keyColumn() *column {
	if r.kind == streams.FKSubscription {
		return &r.foreign
	}
	return &r.key
}

func (r *Rows) encodeKey(text string) ([]byte, error) {
	c, flag := r.keyColumn(), "--key"
	if c == &r.foreign {
		flag = "--foreign-key"
	}
	if c.serde == nil {
		return nil, op.Errorf(op.Usage, "how the keys of %s are written is not evident", r.name).
			WithTry("%s with one of string, long, int, uuid, …; %s hex takes bytes", flag, flag)
	}
	b, err := c.serde.Encode(text)
	if err != nil {
		guess := ""
		if c.guess {
			guess = " (a guess: the keys look so)"
		}
		return nil, op.Errorf(op.Usage, "key as %s%s: %w", c.serde.Name(), guess, err).WithTry("%s DECODER states how keys are written", flag)
	}
	return b, nil
}

// Get calls fn with the rows of one key: one at most for key-value stores, one
// per window, session or subscription for others.
func (r *Rows) Get(ctx context.Context, o RowsGet, fn func(*Row) error) (*RowsResult, error) {
	if (o.AsOf != nil || o.History) && r.kind != streams.Versioned {
		return nil, op.Errorf(op.Usage, "store %s has no history: it is not versioned", r.name)
	}
	if r.kind == "" {
		if err := r.lookForDamage(); err != nil {
			return nil, err
		}
		return nil, op.Errorf(op.Usage, "the kind of store %s is not certain, so its keys cannot be looked up (%s)", r.name, r.kindWhy).WithTry("--kind KIND")
	}
	key, err := r.KeyBytes(ctx, o.Key)
	if err != nil {
		return nil, err
	}
	if o.Partitions > 0 {
		if err := r.only(serde.Partition(key, o.Partitions), o.Partitions); err != nil {
			return nil, err
		}
	}
	if err := r.guess(ctx); err != nil {
		return nil, err
	}
	p := &pass{ctx: ctx, r: r, res: r.result(), limit: o.Limit, query: o.Query, fn: fn}
	for i, part := range r.parts {
		p.src = &p.res.Sources[i]
		f := &filter{r: r, pass: p, o: RowsScan{From: key, To: key, Times: o.Times}, row: Row{Kind: r.kind, Task: part.task}}
		for _, db := range part.dbs {
			if !r.segmentHas(db, o.Times) {
				continue
			}
			if err := r.getFrom(db, key, o, f); err != nil && !r.passOver(err) {
				return p.finish(err)
			}
		}
	}
	return p.finish(nil)
}

// only keeps the task of one partition.
func (r *Rows) only(partition, of int32) error {
	kept := slices.DeleteFunc(slices.Clone(r.parts), func(p *rowsPart) bool { return p.part == nil || *p.part != partition })
	if len(kept) == 0 {
		return op.Errorf(op.NotFound, "store %s: the key belongs to partition %d of %d, whose task is not here", r.name, partition, of).
			WithTry("look in the state directory of the instance that has the task, or read the changelog with --topic")
	}
	r.parts = kept
	return nil
}

// getFrom shows the rows of a key in one database.
func (r *Rows) getFrom(db *rowsDB, key []byte, o RowsGet, f *filter) error {
	switch r.kind {
	case streams.KV, streams.TimestampedKV:
		return db.get(key, f.take)
	case streams.Versioned:
		if !o.History && o.AsOf == nil {
			return db.get(append(binary.BigEndian.AppendUint64(nil, 1<<64-1), key...), f.take)
		}
		versions, err := db.versions(key)
		if err != nil {
			return err
		}
		if o.AsOf != nil {
			v := asOf(versions, *o.AsOf)
			if v == nil {
				return nil
			}
			versions = []version{*v}
		}
		for i := range versions {
			r.fillKey(&f.row, &streams.RowKey{Key: key})
			versions[i].fill(r, &f.row)
			if f.row.Deleted && !o.History {
				continue
			}
			if err := f.pass.show(&f.row); err != nil {
				return err
			}
		}
		return nil
	case streams.Window, streams.TimestampedWindow, streams.Session:
		return db.each(r.timesOf(db, key, o.Times), false, f.take)
	case streams.FKSubscription:
		prefix := binary.BigEndian.AppendUint32(nil, uint32(len(key)))
		return db.each(prefixRange(append(prefix, key...)), false, f.take)
	}
	return db.each(lsm.Range{}, false, f.take)
}

// timesOf is where the windows or sessions of a key lie in a segment: key |
// time8 …, the time being one of the segment's.
func (r *Rows) timesOf(db *rowsDB, key []byte, t TimeRange) lsm.Range {
	at := func(ms int64) []byte { return binary.BigEndian.AppendUint64(bytes.Clone(key), uint64(ms)) }
	rg := prefixRange(key)
	if db.start >= 0 {
		from := db.start
		if t.From != nil {
			from = max(from, *t.From)
		}
		rg.From = at(from)
	}
	if end := db.start + r.span; r.span > 0 && end > 0 {
		rg.To = at(end)
	}
	return rg
}

// get looks one row up, through the filters of the files.
func (d *rowsDB) get(key []byte, fn func(family string, key, value []byte) error) error {
	db, gone, err := d.open()
	if gone || err != nil {
		return err
	}
	for _, family := range families(db) {
		value, ok, err := db.Get(family, key)
		if err != nil {
			return d.vanished(err)
		}
		if ok {
			return fn(family, key, value)
		}
	}
	return nil
}

// vanished is nil when a segment was removed while it was read.
func (d *rowsDB) vanished(err error) error {
	if kind := op.KindOf(err); d.segmented && (kind == op.NotFound || kind == op.Corrupt && removed(d.dir)) {
		return nil
	}
	return err
}
