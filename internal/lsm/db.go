package lsm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sstool/internal/op"
)

// DB is a snapshot of a database's directory. It tells whatever can be told:
// what is missing, damaged or of another database is in Problems. It belongs to
// one goroutine, and so does each of its iterators.
type DB struct {
	Dir      string
	Version  *Version // nil: which files are live is unknown
	Options  *Options // nil: unreadable, or there is none
	Identity string   // the database's id, from IDENTITY or the MANIFEST; "" when unknown
	Problems []Problem
	Remarks  []string // what is unusual without being wrong

	// Bare says that there are SST files and nothing else of a database: no
	// CURRENT, MANIFEST, OPTIONS or IDENTITY.
	Bare bool
	// Foreign says that the files have names of another system; what each is
	// follows from its content.
	Foreign bool
	Tables  []string // names of all SST files on disk
	Orphans []string // SST files on disk that the MANIFEST does not name: being written, or to be deleted; empty when Version is nil
	Newer   []string // those of Orphans with a number that the MANIFEST has not given out: written after its last record
	Missing []File   // files the MANIFEST names that are not on disk
	Logs    []LogFile

	Size     int64 // bytes of all files in the directory
	LiveSize int64 // bytes of the live SST files that are there; of all SST files when Version is nil
	WALBytes int64 // bytes of Logs: rows that are in no SST file yet

	// Retried is how often a running application changed the files under the
	// reader so that it had to look again.
	Retried int

	// Skips, when not nil, lets Get and iterators go past what is corrupt.
	Skips *Skips

	differ    bool // OPTIONS and MANIFEST have other families
	collected bool // Version is no MANIFEST's: see OpenTables and DropDamaged
}

// LogFile is a write-ahead log that may hold rows of no SST file.
type LogFile struct {
	Name string
	Size int64
}

// Problem is something wrong with a database's files.
type Problem struct {
	File string // its name, or "" for the directory as a whole
	What string // and what that means for a reader
	Err  error  // the cause with file and offset; may be nil
	Cure string // what a person can do
}

// String is the problem in one line, without the cure.
func (p Problem) String() string {
	s := p.What
	if p.File != "" {
		s = p.File + " " + s
	}
	if p.Err != nil {
		s += ": " + p.Err.Error()
	}
	return s
}

// Cures of the problems.
const (
	cureRestore = "restore the store from its changelog: RocksDB refuses it or shows wrong rows as it is"
	cureBare    = "look for the CURRENT and MANIFEST that belong to these files; a store without them is restored from its changelog"
	cureNone    = "nothing needs to be done for the rows: they are whole"
)

// OpenDB looks at the database in dir. It fails only when dir cannot be read
// or holds no RocksDB file at all (op.NotFound). No SST file is opened, except
// where files have names of another system. The database may be in use.
func OpenDB(dir string) (*DB, error) {
	for try := 1; ; try++ {
		// The MANIFEST first: what it names is then on disk, whole, or was
		// deleted because there is a newer state by now.
		v, verr := ReadManifest(dir)
		l, err := listDir(dir)
		if err != nil {
			return nil, err
		}
		d := &DB{Dir: dir, Tables: l.tables, Bare: l.bare(), Foreign: l.foreign, Size: l.size, Retried: try - 1}
		switch {
		case l.foreign:
			d.readForeign(l)
		case d.Bare:
			d.report("MANIFEST", "is missing: "+l.unknownLive(), nil, cureBare)
		default:
			d.takeManifest(l, v, verr)
			d.readOptions(l)
			d.readIdentity(l)
		}
		if d.Version != nil && d.matchFiles(l) && try < manifestTries {
			continue // a compaction: look again
		}
		d.finish(l)
		return d, nil
	}
}

// report adds a problem. What may not be read is not damaged.
func (d *DB) report(file, what string, err error, cure string) {
	if errors.Is(err, fs.ErrPermission) {
		cure = op.TryRights
	}
	if errors.Is(err, op.ErrNotRegular) {
		err = nil // said
	}
	d.Problems = append(d.Problems, Problem{File: file, What: what, Err: err, Cure: cure})
}

// Family finds a live column family; the error says which there are.
func (d *DB) Family(name string) (*Family, error) {
	what := fmt.Sprintf("column family %q of %s", name, d.Dir)
	if d.Version == nil {
		e := &op.Error{Kind: op.Corrupt, What: what, Err: fmt.Errorf("which files are live is not known")}
		for _, p := range d.Problems {
			if p.Err != nil {
				e.Err = p.Err
				break
			}
		}
		return nil, e.WithTry("%s", cureRestore)
	}
	f, ok := d.Version.Family(name)
	if !ok {
		return nil, &op.Error{Kind: op.NotFound, What: what, Err: fmt.Errorf("not there; the database has %q", d.Version.names())}
	}
	return f, nil
}

// names are the names of the families.
func (v *Version) names() []string {
	out := make([]string, len(v.Families))
	for i, f := range v.Families {
		out[i] = f.Name
	}
	return out
}

// matchFiles compares the live version with the files on disk. again says that
// the MANIFEST changed since it was read, so that a missing file may only be
// the work of a compaction.
func (d *DB) matchFiles(l *listing) (again bool) {
	d.Orphans, d.Newer, d.Missing, d.LiveSize = []string{}, nil, nil, 0
	live := map[string]bool{}
	for i := range d.Version.Families {
		fam := &d.Version.Families[i]
		for j := range fam.Files {
			f := &fam.Files[j]
			if f.PathID != 0 {
				continue
			}
			if _, ok := l.sizes[f.Name()]; !ok {
				if old := fmt.Sprintf("%06d.ldb", f.Number); l.has(old) {
					f.name = old // the suffix of RocksDB's first years
				}
			}
			if size, ok := l.sizes[f.Name()]; ok {
				live[f.Name()] = true
				d.LiveSize += size
			} else {
				d.Missing = append(d.Missing, *f)
			}
		}
	}
	for _, t := range l.tables {
		if !live[t] {
			d.Orphans = append(d.Orphans, t)
			if n, ok := fileNumber(t, filepath.Ext(t)); ok && !l.foreign && d.Version.NextFile > 0 && n >= d.Version.NextFile {
				d.Newer = append(d.Newer, t)
			}
		}
	}
	if len(d.Missing) == 0 && !d.differ || l.foreign {
		return false
	}
	v, err := ReadManifest(d.Dir)
	return err == nil && (v.Manifest != d.Version.Manifest || v.NextFile != d.Version.NextFile || !slices.EqualFunc(v.Families, d.Version.Families, sameFiles))
}

func sameFiles(a, b Family) bool {
	return a.ID == b.ID && slices.EqualFunc(a.Files, b.Files, func(x, y File) bool { return x.Number == y.Number && x.Level == y.Level })
}

// finish adds what follows from all files together.
func (d *DB) finish(l *listing) {
	if d.Version == nil {
		for _, t := range l.tables {
			d.LiveSize += l.sizes[t]
			if l.sizes[t] == 0 {
				d.report(t, "is empty: its rows are lost if it was live", nil, cureRestore)
			}
		}
		d.Logs = l.logs
	} else {
		d.checkTorn()
		d.checkEnd()
		d.checkFiles(l)
		d.remark()
		oldest := d.Version.oldestLog()
		for _, f := range l.logs {
			if n, ok := fileNumber(f.Name, ".log"); ok && n >= oldest {
				d.Logs = append(d.Logs, f)
			}
		}
	}
	for _, f := range d.Logs {
		d.WALBytes += f.Size
	}
	if d.WALBytes > 0 {
		d.Remarks = append(d.Remarks, fmt.Sprintf("write-ahead logs hold %d bytes of rows that are in no SST file yet; they are not shown", d.WALBytes))
	}
}

// checkFiles reports live files that are missing or have another size than the
// MANIFEST says.
func (d *DB) checkFiles(l *listing) {
	v := d.Version
	files, bad := 0, 0
	for _, fam := range v.Families {
		of := fmt.Sprintf(" of column family %q", fam.Name)
		for _, f := range fam.Files {
			files++
			size, ok := l.sizes[f.Name()]
			switch {
			case f.PathID != 0:
				d.report(f.Name(), fmt.Sprintf("%s lies in another directory (path %d of db_paths) and is not read", of[1:], f.PathID), nil, "look at the directories of the option db_paths in OPTIONS")
			case l.irregular[f.Name()]:
				bad++
				d.report(f.Name(), fmt.Sprintf("is not a regular file: level %d%s loses its rows, and older ones may show", f.Level, of), nil, cureRestore)
			case !ok:
				bad++
				d.report(f.Name(), fmt.Sprintf("is missing: level %d%s loses its rows, and older ones may show", f.Level, of), nil, cureRestore)
			case size == 0:
				bad++
				d.report(f.Name(), fmt.Sprintf("is empty: level %d%s loses its rows", f.Level, of),
					corrupt(filepath.Join(d.Dir, f.Name()), 0, "the file ends here, expected %d bytes as the MANIFEST says", f.Size), cureRestore)
			case size != f.Size:
				bad++
				d.report(f.Name(), fmt.Sprintf("has %d bytes: cut off, or of another database", size),
					corrupt(filepath.Join(d.Dir, f.Name()), min(size, f.Size), "%d bytes, expected %d as the MANIFEST says", size, f.Size), cureRestore)
			}
		}
		for _, b := range fam.Blobs {
			if !l.has(b.Name()) {
				d.report(b.Name(), fmt.Sprintf("is missing: %d values%s are lost", b.Count-b.GarbageCount, of), nil, cureRestore)
			}
		}
	}
	if files > 0 && files == bad && len(l.tables) > 0 {
		d.report(v.Manifest, "fits none of the SST files here: it may be of another database", nil, cureRestore)
	}
}

// remark says what a reader has to know about how the rows are ordered.
func (d *DB) remark() {
	for _, f := range d.Version.Families {
		if c := f.ComparatorName; c != "" && c != comparatorName {
			d.Remarks = append(d.Remarks, fmt.Sprintf("column family %q is ordered by the application's comparator %q: its entries are shown file by file, not merged", f.Name, c))
		}
		if d.Options == nil {
			continue
		}
		if o, ok := d.Options.Family(f.Name); ok && o.MergeOperator != "" {
			d.Remarks = append(d.Remarks, fmt.Sprintf("column family %q has the merge operator %q: rows with merge operands cannot be computed here", f.Name, o.MergeOperator))
		}
	}
}

// oldestLog is the number from which on write-ahead logs may hold rows that
// are in no SST file.
func (v *Version) oldestLog() uint64 {
	oldest := v.MinLogToKeep
	for i, f := range v.Families {
		if i == 0 || f.LogNumber < oldest {
			oldest = max(f.LogNumber, v.MinLogToKeep)
		}
	}
	return oldest
}

// walBytes sums the write-ahead logs that may hold rows of no SST file.
func walBytes(v *Version) int64 {
	list, err := os.ReadDir(v.Dir)
	if err != nil {
		return 0
	}
	var n int64
	for _, e := range list {
		if id, ok := fileNumber(e.Name(), ".log"); !ok || id < v.oldestLog() {
			continue
		}
		if st, err := e.Info(); err == nil {
			n += st.Size()
		}
	}
	return n
}
