package streams

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// StoreOnDisk is a store as it is on disk in a task's directory.
type StoreOnDisk struct {
	Name      string
	Dir       string
	Segmented bool     // <task>/<store>/<store>.<start>; else <task>/rocksdb/<store>
	Databases []string // segments oldest first, by number: of those that have an offset the newest decides
	Strange   string   // an entry of a segmented store that is no segment
}

// StoresOnDisk lists the stores of a task, those under rocksdb/ first. What has no
// CURRENT there was made for a store that was never opened, and is none.
func StoresOnDisk(taskDir string) ([]StoreOnDisk, error) {
	var out []StoreOnDisk
	names, err := subdirs(filepath.Join(taskDir, RocksDir))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		dir := filepath.Join(taskDir, RocksDir, name)
		if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err == nil {
			out = append(out, StoreOnDisk{Name: name, Dir: dir, Databases: []string{dir}})
		}
	}
	if names, err = subdirs(taskDir); err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == RocksDir {
			continue
		}
		s := StoreOnDisk{Name: name, Dir: filepath.Join(taskDir, name), Segmented: true}
		if err := s.readSegments(); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *StoreOnDisk) readSegments() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	starts := map[string]int64{}
	for _, e := range entries {
		start, ok := ParseSegmentDir(s.Name, e.Name())
		if !ok {
			s.Strange = e.Name()
			continue
		}
		dir := filepath.Join(s.Dir, e.Name())
		starts[dir] = start
		s.Databases = append(s.Databases, dir)
	}
	slices.SortStableFunc(s.Databases, func(a, b string) int { return cmp.Compare(starts[a], starts[b]) })
	return nil
}

// subdirs are the directories in a directory, links to such included; none when
// it does not exist.
func subdirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if i, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && i.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}
