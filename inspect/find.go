package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Tree is what Find found: applications with their tasks, stores and
// databases. What lies outside of any application hangs below an App without
// an ID and a Task without a name.
type Tree struct {
	Path string // absolute
	Is   string // what Path is: IsStateDir, IsApplication, …
	Apps []*App
	Odd  []Odd // what is of no application
	// Unreadable are directories that could not be listed, with the cause. The
	// rest is told all the same.
	Unreadable []Odd
}

// What a path can be.
const (
	IsStateDir    = "state directory"
	IsApplication = "application"
	IsTask        = "task"
	IsStore       = "store"
	IsDatabase    = "database" // of one segment, or of no application at all
	IsFile        = "file"
	IsDirectory   = "directory" // of anything; what lies below it was searched
)

// App is an application's directory, <state.dir>/<application.id>.
type App struct {
	ID    string // the directory's name; "" for what lies outside of any application
	Dir   string
	Tasks []*Task
	Odd   []Odd // what does not belong there
}

// Task is a task's directory, or global/.
type Task struct {
	App      *App
	Name     string          // "0_1", "global", "topology__0_1"; "" outside of any task
	ID       *streams.TaskID // nil: global, or outside of any task
	Topology string          // of named topologies
	Dir      string
	Stores   []*Store
	Files    []string // plain files in the directory: .checkpoint, *.position, …
	Odd      []Odd

	unread bool // part of it may not be read

	names []nameOnDisk // of all stores in the directory, those that were not asked for too
}

// nameOnDisk is a store in a task's directory.
type nameOnDisk struct {
	name      string
	segmented bool
}

// holds says whether what is odd lies in the task's directory.
func (t *Task) holds(o Odd) bool {
	return t.Dir != "" && (o.Path == t.Dir || strings.HasPrefix(o.Path, t.Dir+string(filepath.Separator)))
}

// Global says whether the task is global/.
func (t *Task) Global() bool { return t.Name == streams.GlobalDir }

// Store is a store of one task: a database, or for segmented kinds a directory
// of databases.
type Store struct {
	Task      *Task
	Name      string
	Dir       string
	Segmented bool
	Databases []Database // by segment start
	Odd       []Odd
}

// Database is one RocksDB directory.
type Database struct {
	Dir   string
	Start int64  // of the segment, in ms; 0 when the store has one database
	Only  string // the file that Path named; "" for all
}

// Odd is a file or directory that does not belong where it is, or could not be
// read.
type Odd struct {
	Path string
	What string
}

// Stores calls fn with every store, in the order of the tree.
func (t *Tree) Stores() []*Store {
	var out []*Store
	for _, a := range t.Apps {
		for _, k := range a.Tasks {
			out = append(out, k.Stores...)
		}
	}
	return out
}

// Find walks from path, which may be a state directory, an application's, a
// task's, a store's, a segment's, one SST file, or any directory that has such
// things somewhere below it (a backup). It reads directories only, and files
// only where no name is one of RocksDB's: SST files may have those of another
// system. Symbolic links are followed. Nothing found is op.NotFound.
func Find(ctx context.Context, path string) (*Tree, error) {
	if path == "" {
		return nil, op.Errorf(op.Usage, "the path is empty").WithTry(". is the directory you are in")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: path, Err: err}
	}
	st, err := os.Stat(abs)
	if err != nil {
		kind := op.Failed
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			kind = op.NotFound
		}
		return nil, &op.Error{Kind: kind, What: path, Err: bare(err)}
	}
	w := &walk{ctx: ctx, tree: &Tree{Path: abs}}
	if !st.IsDir() {
		err = w.file(abs, st.Mode().IsRegular())
	} else {
		w.directory(abs)
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if len(w.tree.Apps) == 0 && len(w.tree.Odd) == 0 && st.IsDir() {
		w.foreign(abs, 0)
	}
	w.tree.sort()
	for _, a := range w.tree.Apps {
		for _, t := range a.Tasks {
			t.unread = slices.ContainsFunc(w.tree.Unreadable, t.holds)
		}
	}
	if len(w.tree.Apps) == 0 {
		if len(w.tree.Unreadable) > 0 {
			return nil, op.Errorf(op.Failed, "nothing readable under %s: %s: %s", path, w.tree.Unreadable[0].Path, w.tree.Unreadable[0].What).
				WithTry(op.TryRights)
		}
		return nil, op.Errorf(op.NotFound, "no store and no application under %s", path).
			WithTry("give a state directory, an application's or a task's directory, a store, or an .sst file")
	}
	return w.tree, nil
}

// Readable is an error when directories could not be read, so that there may be
// more than the tree has.
func (t *Tree) Readable() error {
	if len(t.Unreadable) == 0 {
		return nil
	}
	first := t.Unreadable[0]
	return op.Errorf(op.Failed, "%s: cannot be read: %s", first.Path, first.What).WithTry(op.TryRights)
}

func (t *Tree) sort() {
	slices.SortFunc(t.Apps, func(a, b *App) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Dir, b.Dir))
	})
	for _, a := range t.Apps {
		slices.SortFunc(a.Tasks, compareTasks)
		for _, k := range a.Tasks {
			slices.SortFunc(k.Stores, func(x, y *Store) int {
				return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Dir, y.Dir))
			})
		}
	}
}

// compareTasks orders tasks by topology, sub-topology and partition, global/
// last.
func compareTasks(a, b *Task) int {
	if n := cmp.Compare(a.Topology, b.Topology); n != 0 {
		return n
	}
	switch {
	case a.ID != nil && b.ID != nil:
		return a.ID.Compare(*b.ID)
	case a.ID != nil:
		return -1
	case b.ID != nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Dir, b.Dir))
}

// Keep drops every store that is not one of the names and tasks; an empty list
// keeps all. A name that nothing has is op.NotFound, with what there is.
func (t *Tree) Keep(stores, tasks []string) error {
	if err := known("store", stores, t.names(func(s *Store) string { return s.Name })); err != nil {
		return err
	}
	if err := known("task", tasks, t.names(func(s *Store) string { return s.Task.Name })); err != nil {
		return err
	}
	left := 0
	for _, a := range t.Apps {
		for _, k := range a.Tasks {
			if len(tasks) > 0 && !slices.Contains(tasks, k.Name) {
				t.Unreadable = slices.DeleteFunc(t.Unreadable, k.holds)
			}
			k.Stores = slices.DeleteFunc(k.Stores, func(s *Store) bool {
				return len(stores) > 0 && !slices.Contains(stores, s.Name) || len(tasks) > 0 && !slices.Contains(tasks, k.Name)
			})
			left += len(k.Stores)
		}
		if len(stores) > 0 || len(tasks) > 0 {
			a.Tasks = slices.DeleteFunc(a.Tasks, func(k *Task) bool { return len(k.Stores) == 0 })
		}
	}
	if len(stores) > 0 || len(tasks) > 0 {
		t.Apps = slices.DeleteFunc(t.Apps, func(a *App) bool { return len(a.Tasks) == 0 })
	}
	if left == 0 && len(stores) > 0 && len(tasks) > 0 {
		return op.Errorf(op.NotFound, "no store %s in task %s", strings.Join(stores, ", "), strings.Join(tasks, ", "))
	}
	return nil
}

func (t *Tree) names(of func(*Store) string) []string {
	var out []string
	for _, s := range t.Stores() {
		out = append(out, of(s))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func known(what string, wanted, have []string) error {
	for _, w := range wanted {
		if !slices.Contains(have, w) {
			e := op.Errorf(op.NotFound, "no %s %q there", what, w)
			if len(have) > 0 {
				e = e.WithTry("one of %s", Few(have))
			}
			return e
		}
	}
	return nil
}

// Few names at most six of many.
func Few(names []string) string {
	if len(names) > 6 {
		return fmt.Sprintf("%s, … (%d)", strings.Join(names[:6], ", "), len(names))
	}
	return strings.Join(names, ", ")
}
