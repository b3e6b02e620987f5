// Package files is what every writer into a state directory does with files:
// tells whether something has changed, makes things durable, replaces a file at
// once. It knows nothing of stores.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NonEmpty reports whether there is any file at or below path; directories
// alone are what a wiped store leaves behind.
func NonEmpty(path string) (bool, error) {
	found := false
	err := filepath.WalkDir(RealPath(path), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return found, err
}

// RealPath follows path itself when it is a symbolic link: people put stores
// on other disks that way.
func RealPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// Fingerprint tells two states of a store apart: the names, sizes and times of
// all its files. RocksDB makes a new MANIFEST whenever it opens a database, so
// a store that anybody has opened since has another one; a rename keeps it.
// Empty: there is no file.
func Fingerprint(path string) (string, error) {
	h := sha256.New()
	files := 0
	root := RealPath(path)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		files++
		fmt.Fprintf(h, "%s %d %d\n", rel, i.Size(), i.ModTime().UnixNano())
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && files == 0 {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

// RemoveEmpty removes a tree of directories without files; a file in it is an
// error.
func RemoveEmpty(dir string) error {
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range es {
		if e.IsDir() {
			if err := RemoveEmpty(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}

// Same reports whether two paths are the same file or directory; not when one
// is not there.
func Same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// SameFileSystem reports whether a rename from a to b can work; b or its
// nearest existing parent decides.
func SameFileSystem(a, b string) (bool, error) {
	for !Exists(b) && b != filepath.Dir(b) {
		b = filepath.Dir(b)
	}
	var x, y syscall.Stat_t
	if err := syscall.Stat(a, &x); err != nil {
		return false, &fs.PathError{Op: "stat", Path: a, Err: err}
	}
	if err := syscall.Stat(b, &y); err != nil {
		return false, &fs.PathError{Op: "stat", Path: b, Err: err}
	}
	return x.Dev == y.Dev, nil
}

// WriteJSON replaces the file by v as JSON, at once and durably.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return Replace(path, append(data, '\n'))
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Replace replaces the file by data, at once and durably.
func Replace(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Exists reports whether there is anything at path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Subdirs names the directories in dir, links to directories included; none
// when dir does not exist.
func Subdirs(dir string) ([]string, error) {
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range es {
		if i, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && i.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// MakeDirs makes the directories of rel below root, durably.
func MakeDirs(root, rel string) error {
	at := filepath.Join(root, rel)
	if Exists(at) {
		return nil
	}
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for at != filepath.Clean(root) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		if err := SyncDir(at); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir makes a file or the entries of a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncTree makes every file and directory below root durable; nothing there is
// nothing to do.
func SyncTree(root string) error {
	if !Exists(root) {
		return nil
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || (!d.IsDir() && !d.Type().IsRegular()) {
			return err
		}
		return SyncDir(path) // opening for reading is enough for fsync
	})
}
