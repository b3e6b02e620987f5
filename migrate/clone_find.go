package migrate

import (
	"errors"
	"io/fs"
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
	stores    []streams.StoreOnDisk
}

func (t *taskFound) store(name string) *streams.StoreOnDisk {
	for i := range t.stores {
		if t.stores[i].Name == name {
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
		if t.stores, err = streams.StoresOnDisk(t.dir); err != nil {
			return nil, cannotRead(err)
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
