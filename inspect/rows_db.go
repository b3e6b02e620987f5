package inspect

import (
	"bytes"
	"slices"
	"strings"

	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// rowsDB is one database of a store.
type rowsDB struct {
	r         *Rows
	dir       string
	only      string // the SST file that the path named; "" for all
	start     int64  // of the segment, ms
	segmented bool
	inTask    bool // lies in a task's directory
}

// open takes a snapshot of the database's files. gone says that the
// application removed the segment meanwhile.
func (d *rowsDB) open() (db *lsm.DB, gone bool, err error) {
	if db, err = openDatabase(d.dir); err == nil {
		db, err = d.readable(db)
	}
	if err != nil {
		err = d.vanished(err)
		return nil, err == nil, err
	}
	return db, false, nil
}

// families are the families of db with rows, the one that wins first: a store
// that was upgraded keeps the rows it has not touched since in an older family
// (SI/RocksDBTimestampedStore, and the WithHeaders stores).
func families(db *lsm.DB) []string {
	var out []string
	for _, name := range []string{streams.SessionHeadersFamily, streams.WindowHeadersFamily, streams.TimestampHeadersFamily, streams.TimestampFamily, streams.DefaultFamily} {
		if db.Version == nil {
			break
		}
		if _, ok := db.Version.Family(name); ok {
			out = append(out, name)
		}
	}
	return out
}

// unknownFamilies are families that no store of Kafka Streams has.
func unknownFamilies(db *lsm.DB) []string {
	var out []string
	known := families(db)
	if db.Version != nil {
		for _, f := range db.Version.Families {
			if f.Name != streams.OffsetsFamily && !slices.Contains(known, f.Name) {
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// rowRange is from <= key < to; nil is open.
type rowRange struct{ from, to []byte }

// prefixRange has the keys that begin with p.
func prefixRange(p []byte) rowRange { return rowRange{p, successor(p)} }

// successor is the first key after all that begin with p; nil when there is
// none.
func successor(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			out := bytes.Clone(p[:i+1])
			out[i]++
			return out
		}
	}
	return nil
}

// cursor goes through the rows of several families as one.
type cursor struct {
	its     []*lsm.Iter
	names   []string
	reverse bool
}

// newCursor opens an iterator per family.
func newCursor(db *lsm.DB, names []string, reverse bool) (*cursor, error) {
	c := &cursor{names: names, reverse: reverse}
	for _, n := range names {
		it, err := db.Iter(n, lsm.IterOptions{})
		if err != nil {
			c.close()
			return nil, err
		}
		c.its = append(c.its, it)
	}
	return c, nil
}

func (c *cursor) close() {
	for _, it := range c.its {
		it.Close()
	}
}

// retried is how often the application changed the files meanwhile.
func (c *cursor) retried() (n int) {
	for _, it := range c.its {
		n += it.Retried
	}
	return n
}

// each calls fn with the rows of the range; of families that have the same key
// the first wins. Key and value are valid during the call.
func (c *cursor) each(rg rowRange, fn func(family string, key, value []byte) error) error {
	for _, it := range c.its {
		switch {
		case !c.reverse && rg.from != nil:
			it.SeekGE(rg.from)
		case !c.reverse:
			it.First()
		case rg.to != nil:
			it.SeekLT(rg.to)
		default:
			it.Last()
		}
	}
	for {
		best := -1
		var key, value []byte
		for i, it := range c.its {
			if !it.Valid() {
				if err := it.Err(); err != nil {
					return err
				}
				continue
			}
			if k, v := it.Row(); best < 0 || c.before(k, key) {
				best, key, value = i, k, v
			}
		}
		if best < 0 {
			return nil
		}
		if !c.reverse && rg.to != nil && bytes.Compare(key, rg.to) >= 0 || c.reverse && rg.from != nil && bytes.Compare(key, rg.from) < 0 {
			return nil
		}
		if err := fn(c.names[best], key, value); err != nil {
			return err
		}
		for i, it := range c.its {
			if i == best || !it.Valid() {
				continue
			}
			if k, _ := it.Row(); bytes.Equal(k, key) {
				c.step(it)
			}
		}
		c.step(c.its[best])
	}
}

func (c *cursor) before(a, b []byte) bool {
	if c.reverse {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}

func (c *cursor) step(it *lsm.Iter) {
	if c.reverse {
		it.Prev()
	} else {
		it.Next()
	}
}

// each calls fn with the rows of a range of the database's key space.
func (d *rowsDB) each(rg rowRange, reverse bool, fn func(family string, key, value []byte) error) error {
	db, gone, err := d.open()
	if gone || err != nil {
		return err
	}
	if d.r.raw {
		return d.eachFamily(db, rg, reverse, fn)
	}
	for _, u := range unknownFamilies(db) {
		d.r.note("%s has a column family %q that no store of Kafka Streams has: its rows are not shown", d.dir, u)
	}
	d.r.retried += db.Retried
	return d.eachOf(db, families(db), rg, reverse, fn)
}

// eachOf goes through the rows of several families as one.
func (d *rowsDB) eachOf(db *lsm.DB, names []string, rg rowRange, reverse bool, fn func(family string, key, value []byte) error) error {
	c, err := newCursor(db, names, reverse)
	if err != nil {
		return d.vanished(err)
	}
	defer func() { d.r.retried += c.retried(); c.close() }()
	if db.WALBytes > 0 {
		d.r.note("%s: write-ahead logs hold %d bytes of rows that are in no SST file yet; they are not shown", d.dir, db.WALBytes)
	}
	return d.vanished(c.each(rg, fn))
}

// eachFamily goes through a database that is none of Kafka Streams': every
// family is one for itself.
func (d *rowsDB) eachFamily(db *lsm.DB, rg rowRange, reverse bool, fn func(family string, key, value []byte) error) error {
	var names []string
	for _, f := range db.Version.Families {
		names = append(names, f.Name)
	}
	if len(names) > 1 {
		d.r.note("%s: the rows of its column families follow one another: %s", d.dir, strings.Join(names, ", "))
	}
	if reverse {
		slices.Reverse(names)
	}
	for _, n := range names {
		if err := d.eachOf(db, []string{n}, rg, reverse, fn); err != nil {
			return err
		}
	}
	return nil
}
