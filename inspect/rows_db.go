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
	return db.Having([]string{streams.SessionHeadersFamily, streams.WindowHeadersFamily, streams.TimestampHeadersFamily, streams.TimestampFamily, streams.DefaultFamily})
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

// prefixRange has the keys that begin with p.
func prefixRange(p []byte) lsm.Range { return lsm.Range{From: p, To: successor(p)} }

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

// each calls fn with the rows of a range of the database's key space.
func (d *rowsDB) each(rg lsm.Range, reverse bool, fn func(family string, key, value []byte) error) error {
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
	d.r.again(db.Retried)
	return d.eachOf(db, families(db), rg, reverse, fn)
}

// eachOf goes through the rows of several families as one.
func (d *rowsDB) eachOf(db *lsm.DB, names []string, rg lsm.Range, reverse bool, fn func(family string, key, value []byte) error) error {
	if db.WALBytes > 0 {
		d.r.note("%s: write-ahead logs hold %d bytes of rows that are in no SST file yet; they are not shown", d.dir, db.WALBytes)
	}
	retried, err := db.EachRow(names, rg, reverse, fn)
	d.r.again(retried)
	return d.vanished(err)
}

// eachFamily goes through a database that is none of Kafka Streams': every
// family is one for itself.
func (d *rowsDB) eachFamily(db *lsm.DB, rg lsm.Range, reverse bool, fn func(family string, key, value []byte) error) error {
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
