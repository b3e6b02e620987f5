package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

// Place is where a database lies, as far as its path tells: outside of a Kafka
// Streams application all but Database are empty.
type Place struct {
	Application string     `json:"application"`
	Task        string     `json:"task"`
	Store       string     `json:"store"`
	StoreKind   string     `json:"store_kind"`    // "" when unknown
	Segment     *time.Time `json:"segment_start"` // of segmented stores
	Database    string     `json:"database"`      // directory

	keys, values serde.Serde
}

// inStreams says whether the place is a store of Kafka Streams.
func (p *Place) inStreams() bool { return p.Task != "" }

// FileProblem is something that is wrong with a file or a directory.
type FileProblem struct {
	Path  string `json:"path"`
	What  string `json:"what"`
	Cure  string `json:"cure"`
	fatal bool   // what was asked for could not be told for this file
	kind  op.Kind
}

// problemOf turns an error about path into a document.
func problemOf(path string, err error) FileProblem {
	p := FileProblem{Path: path, What: strings.TrimPrefix(err.Error(), path+": "), fatal: true, kind: op.KindOf(err)}
	if tries := op.Tries(err); len(tries) > 0 {
		p.Cure = tries[0]
	} else if errors.Is(err, fs.ErrPermission) {
		p.Cure = op.TryRights
	}
	return p
}

// Failed are the problems because of which something that was asked for is
// missing from the result; the others are remarks about a database.
func Failed(problems []FileProblem) []FileProblem {
	return slices.DeleteFunc(slices.Clone(problems), func(p FileProblem) bool { return !p.fatal })
}

// Worst is the kind that stands for all the problems: corrupt before anything
// else, partial when they differ and where the others could be read.
func Worst(problems []FileProblem) op.Kind {
	kind := op.Partial
	for i, p := range problems {
		switch {
		case p.kind == op.Corrupt:
			return op.Corrupt
		case p.kind == op.Failed:
			kind = op.Partial
		case i == 0:
			kind = p.kind
		case p.kind != kind:
			kind = op.Partial
		}
	}
	return kind
}

// corruptAmong says whether a file was found corrupt.
func corruptAmong(problems []FileProblem) bool {
	return Worst(Failed(problems)) == op.Corrupt
}

// Selection says which databases of a path are meant. Empty lists mean all.
type Selection struct {
	Path          string
	Stores, Tasks []string
	Kinds         []streams.Kind
	Key, Value    serde.Serde // of what the application wrote; nil: text or hexadecimal
}

// located is one database below a path.
type located struct {
	Place
	only string // the one file that is meant, or ""
}

// locate finds the databases of a selection, and what of its path could not be
// searched for them.
func (s Selection) locate(ctx context.Context) ([]located, []FileProblem, error) {
	tree, err := Find(ctx, s.Path)
	if err != nil {
		return nil, nil, err
	}
	if err := tree.Keep(s.Stores, s.Tasks); err != nil {
		return nil, nil, err
	}
	var unread []FileProblem
	for _, u := range tree.Unreadable {
		unread = append(unread, FileProblem{Path: u.Path, What: "cannot be read: " + u.What, Cure: op.TryRights, fatal: true, kind: op.Partial})
	}
	kinds := storeKinds(ctx, tree)
	var out []located
	for _, st := range tree.Stores() {
		if len(s.Kinds) > 0 && !slices.Contains(s.Kinds, streams.Kind(kinds[kindKey{st.Task.App, st.Name}])) {
			continue
		}
		for _, d := range st.Databases {
			p := Place{Application: st.Task.App.ID, Task: st.Task.Name, Database: d.Dir, keys: s.Key, values: s.Value}
			if p.inStreams() || st.Segmented {
				p.Store, p.StoreKind = st.Name, kinds[kindKey{st.Task.App, st.Name}]
			}
			if st.Segmented {
				at := time.UnixMilli(d.Start).UTC()
				p.Segment = &at
			}
			out = append(out, located{p, d.Only})
		}
	}
	if len(out) == 0 && len(s.Kinds) > 0 {
		return nil, nil, op.Errorf(op.NotFound, "no store of kind %s there, as far as kinds are certain", strings.Trim(fmt.Sprint(s.Kinds), "[]"))
	}
	return out, unread, nil
}

// kindKey is a store of an application, in all tasks.
type kindKey struct {
	app  *App
	name string
}

// storeKinds tells the kinds of the stores, where they are certain: keys are
// decoded by them.
func storeKinds(ctx context.Context, tree *Tree) map[kindKey]string {
	databases := map[kindKey]*spec.Databases{}
	var order []kindKey
	for _, st := range tree.Stores() {
		if st.Task.Name == "" && !st.Segmented {
			continue // of another system
		}
		key := kindKey{st.Task.App, st.Name}
		d := databases[key]
		if d == nil {
			d = &spec.Databases{Store: st.Name, Segmented: st.Segmented, Rows: 200, Sample: 3}
			databases[key] = d
			order = append(order, key)
		}
		for _, x := range st.Databases {
			d.Dirs = append(d.Dirs, spec.DatabaseDir{Dir: x.Dir, Start: x.Start})
		}
	}
	kinds := make([]string, len(order))
	ForEach(ctx, len(order), runtime.GOMAXPROCS(0), func(i int) {
		st, err := spec.KindOf(*databases[order[i]])
		switch {
		case err == nil:
			kinds[i] = string(st.Kind)
		case op.KindOf(err) == op.Corrupt:
			if told, err := kindFromFiles(ctx, storesOf(tree, order[i])); err == nil {
				kinds[i] = string(told.Kind)
			}
		}
	})
	out := map[kindKey]string{}
	for i, key := range order {
		out[key] = kinds[i]
	}
	return out
}

// storesOf are the stores that a key names.
func storesOf(tree *Tree, key kindKey) []*Store {
	return slices.DeleteFunc(tree.Stores(), func(s *Store) bool { return s.Task.App != key.app || s.Name != key.name })
}

// opened is a located database with what its MANIFEST says.
type opened struct {
	located
	db       *lsm.DB
	vanished atomic.Bool // a live file was gone when it was opened
}

// eachDatabase opens every database, several at a time, and hands each to fn
// with its place in the list; none is kept. What cannot be opened, or is not
// whole, is a problem; a database that a running application removed meanwhile
// is left out. Where a compaction of the application removed files that fn was
// about to read, fn is called anew for the newer state, which retried counts.
func eachDatabase(ctx context.Context, all []located, parallel int, retried *atomic.Int64, fn func(i int, o *opened) []FileProblem) ([]FileProblem, error) {
	found := make([][]FileProblem, len(all))
	ForEach(ctx, len(all), parallel, func(i int) {
		dir := all[i].Database
		for try := 1; ; try++ {
			found[i] = nil
			db, err := openDatabase(dir)
			if err != nil {
				if op.KindOf(err) != op.NotFound {
					found[i] = []FileProblem{problemOf(dir, err)}
				}
				return
			}
			o := &opened{located: all[i], db: db}
			found[i] = append(all[i].problems(db), fn(i, o)...)
			retried.Add(int64(db.Retried))
			if !o.vanished.Load() || try == readTries || ctx.Err() != nil {
				break
			}
			retried.Add(1)
		}
		if corruptAmong(found[i]) && removed(dir) {
			found[i] = nil
		}
	})
	return slices.Concat(found...), ctx.Err()
}

// noFileYet is said where there is nothing to look at.
const noFileYet = "no SST file yet: nothing was flushed to disk"

// retriedNote says that a running application changed files under the reader.
func retriedNote(n int64) string {
	return fmt.Sprintf("the application replaced files while they were read: a MANIFEST was read again, %d times in all", n)
}

// databaseProblems are what is not as it should be in a database's directory.
// Where rows may be missing or wrong for it, no figure is certain.
func databaseProblems(db *lsm.DB, inStreams bool) (out []FileProblem) {
	for _, p := range db.Problems {
		path := filepath.Join(db.Dir, p.File)
		what := strings.TrimPrefix(problemText(db.Dir, p), p.File+" ")
		out = append(out, FileProblem{Path: path, What: what, Cure: p.Cure, fatal: losesRows(db, p, inStreams), kind: damageKind(p)})
	}
	return out
}

// problems are those of the database; of one file in a directory of its own, or
// one of another system, that no MANIFEST is there is none.
func (l *located) problems(db *lsm.DB) []FileProblem {
	if l.only != "" && (db.Bare || db.Foreign) && !l.inStreams() {
		return nil
	}
	return databaseProblems(db, l.inStreams())
}

// losesRows says whether a problem of a database is one of its rows. Files that
// somebody put into a directory, or another system, are no damaged store: that
// no MANIFEST tells which are live is all that is said.
func losesRows(db *lsm.DB, p lsm.Problem, inStreams bool) bool {
	loose := (db.Bare || db.Foreign) && !inStreams
	return p.LosesRows() && !(loose && p.Err == nil)
}

// damageKind is the exit code of a problem that costs rows: what may not be
// read is not damaged.
func damageKind(p lsm.Problem) op.Kind {
	if errors.Is(p.Err, fs.ErrPermission) || p.Cure == op.TryRights {
		return op.Partial
	}
	return op.Corrupt
}

// problemText is a problem in one line that names no path twice.
func problemText(dir string, p lsm.Problem) string {
	return strings.ReplaceAll(p.String(), filepath.Join(dir, p.File)+": ", "")
}

// ForEach calls fn with 0 … n-1 on several goroutines, until the context ends.
func ForEach(ctx context.Context, n, parallel int, fn func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, min(parallel, n)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	wg.Wait()
}

// files are the database's tables to look at, live ones first, then those that
// are on disk only.
func (o *opened) files() []tableFile {
	var out []tableFile
	named := map[string]bool{}
	if v := o.db.Version; v != nil {
		for i := range v.Families {
			fam := &v.Families[i]
			for _, f := range fam.Files {
				named[f.Name()] = true
				if o.only == "" || o.only == f.Name() {
					out = append(out, tableFile{o, v.Path(f), fam, &f})
				}
			}
		}
	}
	tables := o.db.Tables
	if o.only != "" {
		tables = []string{o.only}
	}
	for _, name := range tables {
		if !named[name] {
			out = append(out, tableFile{o, filepath.Join(o.db.Dir, name), nil, nil})
		}
	}
	return out
}

// tableFile is one SST file; family and live are nil when the MANIFEST does
// not name it.
type tableFile struct {
	in     *opened
	path   string
	family *lsm.Family
	live   *lsm.File
}

// open opens the file; one that has gone meanwhile is gone, not an error.
func (f *tableFile) open() (t *lsm.Table, gone bool, err error) {
	t, err = lsm.OpenTableFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, true, err
	}
	if err != nil || f.live == nil {
		return t, false, err
	}
	if err := t.AssumeSeq(f.live.LargestSeq); err != nil {
		_ = t.Close()
		return nil, false, err
	}
	return t, false, nil
}

// unfinished says whether err is only that the file is not whole yet: RocksDB
// writes the footer last and names the file in the MANIFEST after that, so this
// is no damage, unless the file was asked for by name.
func (f *tableFile) unfinished(err error) bool {
	return f.live == nil && f.in.db.Version != nil && f.in.only == "" && isCorrupt(err)
}

// isOffsets says whether a family is Kafka Streams' own bookkeeping.
func isOffsets(family string) bool { return family == streams.OffsetsFamily }
