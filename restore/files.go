package restore

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

// nonEmpty reports whether there is any file at or below path; directories
// alone are what a wiped store leaves behind.
func nonEmpty(path string) (bool, error) {
	found := false
	err := filepath.WalkDir(realPath(path), func(_ string, d fs.DirEntry, err error) error {
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

// realPath follows path itself when it is a symbolic link: people put stores
// on other disks that way.
func realPath(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// fingerprint tells two states of a store apart: the names, sizes and times of
// all its files. RocksDB makes a new MANIFEST whenever it opens a database, so
// a store that anybody has opened since has another one; a rename keeps it.
// Empty: there is no file.
func fingerprint(path string) (string, error) {
	h := sha256.New()
	files := 0
	root := realPath(path)
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

// removeEmpty removes a tree of directories without files; a file in it is an
// error.
func removeEmpty(dir string) error {
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range es {
		if e.IsDir() {
			if err := removeEmpty(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}

// sameFileSystem reports whether a rename from a to b can work; b or its
// nearest existing parent decides.
func sameFileSystem(a, b string) (bool, error) {
	for !fileExists(b) && b != filepath.Dir(b) {
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

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// makeDirs makes the directories of rel below root, durably.
func makeDirs(root, rel string) error {
	at := filepath.Join(root, rel)
	if fileExists(at) {
		return nil
	}
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for at != filepath.Clean(root) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		if err := syncDir(at); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// syncTree makes every file and directory below root durable; nothing there is
// nothing to do.
func syncTree(root string) error {
	if !fileExists(root) {
		return nil
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || (!d.IsDir() && !d.Type().IsRegular()) {
			return err
		}
		return syncDir(path) // opening for reading is enough for fsync
	})
}
