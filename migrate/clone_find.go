package migrate

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// tasksFound are the task directories of an application.
type tasksFound struct {
	tasks   []taskFound
	strange []string
}

// taskFound is a task's directory and the stores in it; task is nil for global.
type taskFound struct {
	name, dir string
	task      *streams.TaskID
	stores    []storeFound
}

// storeFound is a store's directory as it is on disk.
type storeFound struct {
	name      string
	dir       string
	segmented bool
	dbs       []string // directories, segments oldest first
	strange   string   // an entry of a segmented store that is no segment
}

func (t *taskFound) store(name string) *storeFound {
	for i := range t.stores {
		if t.stores[i].name == name {
			return &t.stores[i]
		}
	}
	return nil
}

// findTasks looks at an application's directory, tasks in order.
func findTasks(appDir string) (*tasksFound, error) {
	out := &tasksFound{}
	names, err := dirsIn(appDir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		t := taskFound{name: name, dir: filepath.Join(appDir, name)}
		if name != streams.GlobalDir {
			id, err := streams.ParseTaskID(name)
			if err != nil {
				out.strange = append(out.strange, name)
				continue
			}
			t.task = &id
		}
		if t.stores, err = findStores(t.dir); err != nil {
			return nil, err
		}
		out.tasks = append(out.tasks, t)
	}
	slices.SortFunc(out.tasks, func(a, b taskFound) int {
		if a.task == nil || b.task == nil {
			return strings.Compare(a.name, b.name)
		}
		return a.task.Compare(*b.task)
	})
	return out, nil
}

// findStores lists the stores of a task: databases under rocksdb/, and
// directories of segments beside it.
func findStores(taskDir string) ([]storeFound, error) {
	var out []storeFound
	names, err := dirsIn(filepath.Join(taskDir, streams.RocksDir))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		dir := filepath.Join(taskDir, streams.RocksDir, name)
		if files.Exists(filepath.Join(dir, "CURRENT")) {
			out = append(out, storeFound{name: name, dir: dir, dbs: []string{dir}})
		}
	}
	if names, err = dirsIn(taskDir); err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == streams.RocksDir {
			continue
		}
		s := storeFound{name: name, dir: filepath.Join(taskDir, name), segmented: true}
		inner, err := os.ReadDir(s.dir)
		if err != nil {
			return nil, cannotRead(err)
		}
		type segment struct {
			start int64
			dir   string
		}
		var segments []segment
		for _, e := range inner {
			start, ok := streams.ParseSegmentDir(name, e.Name())
			if !ok {
				s.strange = e.Name()
				continue
			}
			segments = append(segments, segment{start, filepath.Join(s.dir, e.Name())})
		}
		slices.SortFunc(segments, func(a, b segment) int { return cmp.Compare(a.start, b.start) })
		for _, x := range segments {
			s.dbs = append(s.dbs, x.dir)
		}
		out = append(out, s)
	}
	return out, nil
}

// dirsIn is files.Subdirs with a next step in its error.
func dirsIn(dir string) ([]string, error) {
	names, err := files.Subdirs(dir)
	if err != nil {
		return nil, cannotRead(err)
	}
	return names, nil
}

// cannotRead gives a failure to read a directory its next step.
func cannotRead(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &op.Error{Kind: op.Failed, Err: err, Try: op.TryRights}
	}
	return err
}
