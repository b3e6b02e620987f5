package inspect

import (
	"fmt"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// readable is what of a database can be read: without a MANIFEST all its SST
// files, the newest row of a key winning. What is wrong is noted, and where it
// costs rows the reading ends with an error.
func (d *rowsDB) readable(db *lsm.DB) (*lsm.DB, error) {
	r := d.r
	db.Skips = r.skipping()
	if d.only != "" {
		r.note("%s/%s alone is read: other files of the store may replace its rows, or hold what it deletes", d.dir, d.only)
		return db.OnlyTable(d.only)
	}
	for _, p := range db.Problems {
		r.note("%s: %s", d.dir, problemText(d.dir, p))
		if losesRows(db, p, d.inTask) {
			r.damaged(d.dir, p)
		}
	}
	if n := len(db.Newer); n > 0 && !running(d.dir) {
		r.note("%s: %d SST files are newer than all the MANIFEST says, and not read: %s; it lost its end, or the application was killed while it wrote them", d.dir, n, Few(db.Newer))
	}
	if db.Version == nil {
		if len(db.Tables) == 0 {
			_, err := db.Family(streams.DefaultFamily) // says why
			return nil, err
		}
		r.note("%s: no MANIFEST tells which of its %d SST files are live: all are read, the newest row of a key is shown, and rows that were deleted or replaced may show", d.dir, len(db.Tables))
		all, err := lsm.OpenTables(d.dir, db.Tables, db.Skips)
		if err != nil {
			return nil, err
		}
		for _, p := range all.Problems {
			r.note("%s: %s", d.dir, problemText(d.dir, p))
			r.damaged(d.dir, p)
		}
		all.WALBytes = db.WALBytes
		return all, nil
	}
	if r.o.KeepGoing {
		if lost := db.DropDamaged(); len(lost) > 0 {
			r.note("%s: read without %s: rows are missing, and older or deleted ones may show", d.dir, Few(lost))
		}
	}
	return db, nil
}

// damaged notes that not all rows can be read; the first reason is told.
func (r *Rows) damaged(dir string, p lsm.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.damage != nil {
		return
	}
	r.damage = &op.Error{Kind: damageKind(p), What: r.notWhole(), Err: fmt.Errorf("%s: %s", dir, problemText(dir, p)), Try: p.Cure}
}

// passOver says whether reading may go on behind a database in which something
// is corrupt: others are not the worse for it.
func (r *Rows) passOver(err error) bool {
	if op.KindOf(err) != op.Corrupt {
		return false
	}
	r.note("%s", err)
	if r.damage == nil {
		e := &op.Error{Kind: op.Corrupt, What: r.notWhole(), Err: err}
		if len(op.Tries(err)) == 0 {
			e.Try = tryRestoreStore
		}
		r.damage = e
	}
	return true
}

func (r *Rows) notWhole() string {
	return fmt.Sprintf("store %s is damaged, its rows are not certain", r.name)
}

// lookForDamage says what is wrong with the databases: where they are damaged,
// that is why a kind is not known.
func (r *Rows) lookForDamage() error {
	for _, p := range r.parts {
		for _, d := range p.dbs {
			if _, _, err := d.open(); err != nil {
				return err
			}
			if err := r.wrong(); err != nil {
				return err
			}
		}
	}
	return nil
}
