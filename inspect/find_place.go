package inspect

import (
	"path/filepath"

	"sstool/internal/streams"
)

// storeOf is the store of one database directory, named by where it lies:
// <task>/rocksdb/<store>, <task>/<store>/<store>.<ms>, or on its own.
func (w *walk) storeOf(dir string) *Store {
	base, parent := filepath.Base(dir), filepath.Dir(dir)
	if filepath.Base(parent) == streams.RocksDir {
		t := w.taskAt(filepath.Dir(parent))
		return w.add(t, &Store{Name: base, Dir: dir, Databases: []Database{{Dir: dir}}})
	}
	if start, ok := segmentStart(filepath.Base(parent), base); ok {
		t := w.taskAt(filepath.Dir(parent))
		return w.add(t, &Store{Name: filepath.Base(parent), Dir: parent, Segmented: true, Databases: []Database{{Dir: dir, Start: start}}})
	}
	t := w.taskAt("")
	return w.add(t, &Store{Name: base, Dir: dir, Databases: []Database{{Dir: dir}}})
}

// taskAt adds the task whose directory is dir, with the application it lies in;
// "" or a name no task has is outside of any.
func (w *walk) taskAt(dir string) *Task {
	base := filepath.Base(dir)
	if dir == "" || !isTaskName(base) {
		t := &Task{App: w.outside(), Dir: dir}
		t.App.Tasks = append(t.App.Tasks, t)
		return t
	}
	parent := filepath.Dir(dir)
	topology, named := topologyName(filepath.Base(parent))
	if named {
		parent = filepath.Dir(parent)
	}
	a := &App{ID: filepath.Base(parent), Dir: parent}
	w.tree.Apps = append(w.tree.Apps, a)
	t := addTask(a, dir, topology)
	w.surroundings(t)
	return t
}

// surroundings notes what a task's directory holds beside the store that was
// asked for: its offsets are kept there, and whose they are follows from all
// stores together.
func (w *walk) surroundings(t *Task) {
	for _, e := range w.list(t.Dir) {
		switch {
		case !e.isDir:
			t.Files = append(t.Files, e.name)
		case e.name == streams.RocksDir:
			for _, s := range w.list(filepath.Join(t.Dir, e.name)) {
				if s.isDir {
					t.names = append(t.names, nameOnDisk{s.name, false})
				}
			}
		default:
			t.names = append(t.names, nameOnDisk{e.name, true})
		}
	}
}

// outside is the App of what lies in no application.
func (w *walk) outside() *App {
	for _, a := range w.tree.Apps {
		if a.ID == "" {
			return a
		}
	}
	a := &App{}
	w.tree.Apps = append(w.tree.Apps, a)
	return a
}

func addTask(a *App, dir, topology string) *Task {
	t := &Task{App: a, Name: filepath.Base(dir), Dir: dir, Topology: topology}
	if id, err := streams.ParseTaskID(t.Name); err == nil {
		t.ID = &id
	}
	if topology != "" {
		t.Name = topology + "__" + t.Name // TaskId.toString
	}
	a.Tasks = append(a.Tasks, t)
	return t
}
