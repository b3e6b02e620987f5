package inspect

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// searchDepth is how far below a directory that is nothing in particular stores
// are looked for.
const searchDepth = 8

// ownDir is where sstool itself works, in a state directory (restore).
const ownDir = ".sstool"

// walk fills a Tree.
type walk struct {
	ctx  context.Context
	tree *Tree
	seen []os.FileInfo // directories above, against loops of symbolic links

	sniffed int // directories in which files were looked at
}

// entry is a directory entry with symbolic links followed.
type entry struct {
	name  string
	isDir bool
}

// list reads a directory; what cannot be read is noted and empty.
func (w *walk) list(dir string) []entry {
	es, err := os.ReadDir(dir)
	if err != nil {
		w.unreadable(dir, err)
	}
	out := make([]entry, 0, len(es))
	for _, e := range es {
		isDir := e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			st, err := os.Stat(filepath.Join(dir, e.Name()))
			isDir = err == nil && st.IsDir()
		}
		out = append(out, entry{e.Name(), isDir})
	}
	return out
}

func (w *walk) unreadable(path string, err error) {
	if os.IsNotExist(err) {
		return // removed while we looked: a running application does that
	}
	if odd := (Odd{path, bare(err).Error()}); !slices.Contains(w.tree.Unreadable, odd) {
		w.tree.Unreadable = append(w.tree.Unreadable, odd)
	}
}

// bare is an error of the operating system without the path.
func bare(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

// directory decides what the path itself is. Its place above is told from the
// names of the directories it lies in.
func (w *walk) directory(dir string) {
	list := w.list(dir)
	base, parent := filepath.Base(dir), filepath.Dir(dir)
	switch {
	case isDatabase(list):
		w.tree.Is = IsDatabase
		if s := w.storeOf(dir); filepath.Clean(s.Dir) == dir {
			w.tree.Is = IsStore
		}
	case base == streams.RocksDir && hasDatabases(w, dir, list):
		w.tree.Is = IsTask
		t := w.taskAt(parent)
		w.rocks(t, dir)
	case isTaskName(base) || looksLikeTask(list):
		w.tree.Is = IsTask
		w.task(w.taskAt(dir), list)
	case segmentsOf(base, list):
		w.tree.Is = IsStore
		t := w.taskAt(parent)
		w.segments(t, base, dir)
	case isApplication(list):
		w.tree.Is = IsApplication
		w.app(dir, list)
	default:
		w.tree.Is = IsDirectory
		w.search(dir, list, 0)
		if slices.ContainsFunc(w.tree.Apps, func(a *App) bool { return a.ID != "" && filepath.Dir(a.Dir) == dir }) {
			w.tree.Is = IsStateDir
		}
	}
}

// file takes a path to an SST file: one that is called so, or is one whatever
// its name.
func (w *walk) file(path string, regular bool) error {
	if ext := filepath.Ext(path); !regular || ext != ".sst" && ext != ".ldb" && !isTableFile(path) {
		return op.Errorf(op.Usage, "%s is no SST file", path).WithTry("give a directory, or an SST file")
	}
	w.tree.Is = IsFile
	s := w.storeOf(filepath.Dir(path))
	s.Databases[0].Only = filepath.Base(path)
	return nil
}

func (w *walk) add(t *Task, s *Store) *Store {
	s.Task = t
	t.Stores = append(t.Stores, s)
	return s
}

// search looks for applications, tasks and databases below a directory that is
// none itself.
func (w *walk) search(dir string, list []entry, depth int) {
	st, err := os.Stat(dir)
	if err != nil || w.ctx.Err() != nil || slices.ContainsFunc(w.seen, func(o os.FileInfo) bool { return os.SameFile(o, st) }) {
		return
	}
	w.seen = append(w.seen, st)
	defer func() { w.seen = w.seen[:len(w.seen)-1] }()
	for _, e := range list {
		path := filepath.Join(dir, e.name)
		if !e.isDir {
			continue
		}
		if e.name == ownDir {
			w.tree.Odd = append(w.tree.Odd, Odd{path, "what sstool is building or has moved aside"})
			continue
		}
		below := w.list(path)
		switch {
		case isDatabase(below):
			w.storeOf(path)
		case isApplication(below):
			w.app(path, below)
		case looksLikeTask(below):
			w.task(w.taskAt(path), below)
		case segmentsOf(e.name, below):
			w.segments(w.taskAt(""), e.name, path)
		case depth < searchDepth:
			w.search(path, below, depth+1)
		}
	}
}

// app reads an application's directory.
func (w *walk) app(dir string, list []entry) {
	a := &App{ID: filepath.Base(dir), Dir: dir}
	w.tree.Apps = append(w.tree.Apps, a)
	for _, e := range list {
		path := filepath.Join(dir, e.name)
		topology, named := topologyName(e.name)
		switch {
		case !e.isDir:
			if e.name != streams.ProcessFile && !strings.HasSuffix(e.name, streams.LockFile) {
				a.Odd = append(a.Odd, Odd{path, "file in an application's directory: Kafka Streams 4.4 may not start on it"})
			}
		case isTaskName(e.name):
			w.task(addTask(a, path, ""), w.list(path))
		case named:
			for _, t := range w.list(path) {
				if t.isDir && isTaskName(t.name) {
					sub := filepath.Join(path, t.name)
					w.task(addTask(a, sub, topology), w.list(sub))
				} else {
					a.Odd = append(a.Odd, Odd{filepath.Join(path, t.name), "no task of the named topology"})
				}
			}
		default:
			a.Odd = append(a.Odd, Odd{path, "directory that is no task"})
			w.search(path, w.list(path), 1)
		}
	}
}

// task reads a task's directory.
func (w *walk) task(t *Task, list []entry) {
	t.Files, t.names = nil, nil
	defer func() {
		for _, s := range t.Stores {
			t.names = append(t.names, nameOnDisk{s.Name, s.Segmented})
		}
	}()
	for _, e := range list {
		path := filepath.Join(t.Dir, e.name)
		switch {
		case !e.isDir:
			t.Files = append(t.Files, e.name)
			if !isTaskFile(e.name) {
				t.Odd = append(t.Odd, Odd{path, "file that Kafka Streams does not know"})
			}
		case e.name == streams.RocksDir:
			w.rocks(t, path)
		default:
			below := w.list(path)
			if isDatabase(below) {
				w.add(t, &Store{Name: e.name, Dir: path, Databases: []Database{{Dir: path}},
					Odd: []Odd{{path, "database outside of " + streams.RocksDir + "/: Kafka Streams does not open it"}}})
				continue
			}
			w.segments(t, e.name, path)
		}
	}
}

// rocks reads <task>/rocksdb, which holds a database per store.
func (w *walk) rocks(t *Task, dir string) {
	for _, e := range w.list(dir) {
		path := filepath.Join(dir, e.name)
		if !e.isDir {
			t.Odd = append(t.Odd, Odd{path, "file that Kafka Streams does not know"})
			continue
		}
		w.add(t, &Store{Name: e.name, Dir: path, Databases: []Database{{Dir: path}}})
	}
}

// segments reads the directory of a segmented store.
func (w *walk) segments(t *Task, name, dir string) {
	s := w.add(t, &Store{Name: name, Dir: dir, Segmented: true})
	for _, e := range w.list(dir) {
		path := filepath.Join(dir, e.name)
		start, ok := segmentStart(name, e.name)
		if ok && e.isDir {
			s.Databases = append(s.Databases, Database{Dir: path, Start: start})
			continue
		}
		s.Odd = append(s.Odd, Odd{path, "not a segment: Kafka Streams up to 4.2 then silently opens no segment of the store, 4.4 does not start"})
	}
	slices.SortFunc(s.Databases, func(a, b Database) int { return cmp.Compare(a.Start, b.Start) })
}
