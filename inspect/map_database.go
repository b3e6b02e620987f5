package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// dbFacts is what the map needs of one database; the files' keys are let go.
type dbFacts struct {
	Database
	empty    bool // a directory without a database in it
	gone     bool // the application dropped the segment while we looked
	err      error
	known    bool // the live set
	families []familyFacts
	levels   map[int]MapLevel
	formats  map[int]bool
	sums     map[string]bool
	size     int64
	newest   time.Time
	library  string // RocksDB version of OPTIONS
	problems []lsm.Problem
	remarks  []string
	orphans  int
	logSize  int64           // of RocksDB's LOG; -1: there is none
	log      *lsm.LogSummary // nil: empty, or not read
	newer    int             // of the orphans: written after the MANIFEST's last record
	bare     bool            // SST files alone
	foreign  bool            // the files have names of another system
	wal      int64

	offsets  map[streams.TopicPartition]int64
	status   *int64
	position streams.Position
	unread   error // of the offsets family
}

// untold is why nothing is known of the database's rows, "" when something is.
func (f *dbFacts) untold() string {
	switch {
	case f.err != nil:
		return f.err.Error()
	case !f.known && !f.empty && len(f.families) == 0:
		return "which files are live is not known, and none can be read"
	}
	return ""
}

// damage is the first problem because of which rows may be lost; nil when
// there is none.
func (f *dbFacts) damage(inStreams bool) *lsm.Problem {
	for i, p := range f.problems {
		loose := (f.bare || f.foreign) && !inStreams
		if p.LosesRows() && damageKind(p) == op.Corrupt && !(loose && p.Err == nil) {
			return &f.problems[i]
		}
	}
	return nil
}

// familyFacts is one column family of a database.
type familyFacts struct {
	MapFamily
	merges int64
	keys   MapKeys
	sample string // path of the file to look at for the kind of the store
}

// data says whether the family holds the store's rows.
func (f *familyFacts) data() bool { return f.Name != streams.OffsetsFamily }

// dbReader reads databases; several goroutines may use it.
type dbReader struct {
	scanned atomic.Int64 // bytes read to count keys exactly
	logs    atomic.Int64 // bytes of LOG files
}

// How much is read to count the keys of small families whose files overlap:
// per family, and in all.
const (
	countFamily = 256 << 10
	countFiles  = 8
	countAll    = 16 << 20
)

// readTries is how often a database is read again when a running application
// removes files meanwhile.
const readTries = 4

func (r *dbReader) read(ctx context.Context, d Database) *dbFacts {
	for try := 1; ; try++ {
		f := &dbFacts{Database: d, logSize: -1, levels: map[int]MapLevel{}, formats: map[int]bool{}, sums: map[string]bool{}}
		vanished := r.readOnce(ctx, f)
		if f.unread != nil && again(d.Dir, try) {
			continue
		}
		if !vanished || try >= readTries || ctx.Err() != nil {
			r.readLog(f)
			return f
		}
	}
}

// readOnce reads the database; vanished says that a file the MANIFEST named
// was gone when it was opened.
func (r *dbReader) readOnce(ctx context.Context, f *dbFacts) (vanished bool) {
	db, err := openDatabase(f.Dir)
	if err != nil {
		f.empty = op.KindOf(err) == op.NotFound
		_, serr := os.Stat(f.Dir)
		f.gone = errors.Is(serr, fs.ErrNotExist)
		if !f.empty {
			f.err = err
		}
		f.listing()
		return false
	}
	f.listing()
	f.size = db.Size
	f.problems, f.remarks, f.orphans, f.wal = db.Problems, db.Remarks, len(db.Orphans), db.WALBytes
	f.newer, f.bare, f.foreign = len(db.Newer), db.Bare, db.Foreign
	f.known = db.Version != nil
	if db.Options != nil {
		f.library = db.Options.RocksDBVersion
	}
	if f.Only != "" {
		f.onlyFile(db)
		return false
	}
	if !f.known {
		f.allFiles(ctx, db)
		return false
	}
	missing := map[uint64]bool{}
	for _, m := range db.Missing {
		missing[m.Number] = true
	}
	for i := range db.Version.Families {
		if r.family(ctx, f, db, &db.Version.Families[i], missing) {
			return true
		}
	}
	f.readOffsets(db)
	return false
}

// listing takes the newest file's time, and the size of a directory that is no
// database.
func (f *dbFacts) listing() {
	es, err := os.ReadDir(f.Dir)
	if err != nil {
		return
	}
	for _, e := range es {
		st, err := e.Info()
		if err != nil || e.IsDir() {
			continue
		}
		f.size += st.Size()
		if e.Name() == "LOG" && st.Mode().IsRegular() {
			f.logSize = st.Size()
		}
		if st.ModTime().After(f.newest) {
			f.newest = st.ModTime()
		}
	}
}

// family reads the properties of a family's live files.
func (r *dbReader) family(ctx context.Context, f *dbFacts, db *lsm.DB, fam *lsm.Family, missing map[uint64]bool) (vanished bool) {
	ff := familyFacts{MapFamily: MapFamily{Name: fam.Name}}
	whole := true
	for _, file := range fam.Files {
		if ctx.Err() != nil {
			return false
		}
		l := f.levels[file.Level]
		if ff.data() {
			l.Level, l.Files, l.Size = file.Level, l.Files+1, l.Size+file.Size
			f.levels[file.Level] = l
		}
		if missing[file.Number] {
			whole = false
			continue
		}
		err := f.table(&ff, db.Version.Path(file))
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		whole = whole && err == nil
	}
	ff.keys = countKeys(&ff, fam.Files, whole)
	if ff.data() && !ff.keys.Exact && whole && ff.merges == 0 && ff.Size <= countFamily && ff.Files <= countFiles && r.scanned.Add(ff.Size) <= countAll {
		n := int64(0)
		if err := lsm.Rows(f.Dir, fam.Name, func(_, _ []byte) error { n++; return nil }); err == nil {
			ff.keys = MapKeys{Count: &n, Exact: true, Why: "rows counted"}
		}
	}
	f.families = append(f.families, ff)
	return false
}

// table adds one SST file to its family.
func (f *dbFacts) table(ff *familyFacts, path string) error {
	t, err := lsm.OpenTableFile(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !f.said(filepath.Base(path)) {
			cure := "restore the store from its changelog"
			if errors.Is(err, fs.ErrPermission) {
				cure = op.TryRights
			}
			f.problems = append(f.problems, lsm.Problem{File: filepath.Base(path), What: "cannot be read", Err: err, Cure: cure})
		}
		return err
	}
	defer t.Close()
	i := t.Info()
	if ff.Name == "" {
		ff.Name = i.Family
	}
	ff.Files++
	ff.Size += i.Size
	ff.Entries += i.Entries
	ff.RangeDels += i.RangeDels
	ff.Deletes += max(0, i.Deletes-i.RangeDels) // range deletes are among them
	ff.merges += i.Merges
	if ff.sample == "" && i.Entries > 0 {
		ff.sample = path
	}
	f.formats[i.FormatVersion] = true
	f.sums[i.Checksum] = true
	return nil
}

// said reports whether a problem of the file is told already.
func (f *dbFacts) said(file string) bool {
	return slices.ContainsFunc(f.problems, func(p lsm.Problem) bool { return p.File == file })
}

// allFiles takes every SST file, of a database whose live set is not known.
func (f *dbFacts) allFiles(ctx context.Context, db *lsm.DB) {
	if n := lsm.Databases(f.Dir, db.Tables); n > 1 {
		f.problems = append(f.problems, lsm.Problem{What: fmt.Sprintf("has SST files of %d databases: they are not one store, and what is told of it is of all together", n), Cure: "give each database a directory of its own"})
	}
	byName := map[string]*familyFacts{}
	var names []string
	for _, name := range db.Tables {
		if ctx.Err() != nil {
			return
		}
		one := familyFacts{}
		if f.table(&one, filepath.Join(f.Dir, name)) != nil {
			continue
		}
		ff := byName[one.Name]
		if ff == nil {
			ff = &familyFacts{MapFamily: MapFamily{Name: one.Name}, sample: one.sample}
			byName[one.Name] = ff
			names = append(names, one.Name)
		}
		ff.Files, ff.Size, ff.Entries, ff.merges = ff.Files+1, ff.Size+one.Size, ff.Entries+one.Entries, ff.merges+one.merges
		ff.Deletes, ff.RangeDels = ff.Deletes+one.Deletes, ff.RangeDels+one.RangeDels
	}
	slices.Sort(names)
	for _, n := range names {
		ff := byName[n]
		ff.keys = countKeys(ff, nil, false)
		f.families = append(f.families, *ff)
	}
}

// onlyFile takes the one file that the path named.
func (f *dbFacts) onlyFile(db *lsm.DB) {
	ff := familyFacts{}
	path := filepath.Join(f.Dir, f.Only)
	f.size, f.newest = 0, time.Time{}
	if st, err := os.Stat(path); err == nil {
		f.size, f.newest = st.Size(), st.ModTime()
	}
	f.problems, f.remarks = nil, nil
	if err := f.table(&ff, path); err != nil {
		f.err = err
		return
	}
	live := false
	if db.Version != nil {
		for _, fam := range db.Version.Families {
			for _, file := range fam.Files {
				if file.Name() == f.Only {
					live, ff.Name = true, fam.Name
					f.levels[file.Level] = MapLevel{file.Level, 1, file.Size}
				}
			}
		}
	}
	if db.Version != nil && !live {
		f.remarks = append(f.remarks, "the MANIFEST does not name the file: it is being written, or to be deleted")
	}
	ff.keys = exactly(max(0, ff.Entries-ff.Deletes-ff.RangeDels), "of this file alone: what other files hide or add is not asked")
	f.known = f.known && live
	f.families = []familyFacts{ff}
}
