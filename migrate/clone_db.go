package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// database is one RocksDB as a clone needs to know it.
type database struct {
	dir     string
	files   []dbFile
	offsets bool // it has the offsets family
	open    bool // its status row says that it was not closed
	rows    []offsetRow
}

// offsetRow is a row of the offsets family.
type offsetRow struct{ key, value []byte }

// dbFile is a file of a database that goes along.
type dbFile struct {
	name string
	size int64
	link bool // never changed once written
}

// lookAtDatabase lists what a clone of a database takes; whyNot says why there
// is nothing that could be cloned.
func lookAtDatabase(dir string) (db database, whyNot string, err error) {
	db.dir = dir
	v, err := lsm.ReadManifest(dir)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return db, "", cannotRead(err)
		}
		return db, "the database is damaged: " + err.Error(), nil
	}
	live := map[string]int64{}
	for i := range v.Families {
		f := &v.Families[i]
		db.offsets = db.offsets || f.Name == streams.OffsetsFamily
		for _, x := range f.Files {
			if x.PathID != 0 {
				return db, fmt.Sprintf("%s has files in other directories (cf_paths), which are not followed", dir), nil
			}
			live[x.Name()] = x.Size
		}
		for _, x := range f.Blobs {
			live[x.Name()] = -1
		}
	}
	es, err := os.ReadDir(dir)
	if err != nil {
		return db, "", cannotRead(err)
	}
	for _, e := range es {
		link, take := cloneable(e.Name(), v.Manifest)
		if !take {
			continue
		}
		i, err := e.Info()
		if err != nil {
			return db, "", err
		}
		if !i.Mode().IsRegular() {
			return db, fmt.Sprintf("%s is not a regular file", filepath.Join(dir, e.Name())), nil
		}
		size, isLive := live[e.Name()]
		if link && !isLive {
			continue // RocksDB would delete it when it opens the clone
		}
		if isLive && size >= 0 && size != i.Size() {
			return db, fmt.Sprintf("the database is damaged: %s has %d bytes, its MANIFEST says %d", filepath.Join(dir, e.Name()), i.Size(), size), nil
		}
		delete(live, e.Name())
		db.files = append(db.files, dbFile{e.Name(), i.Size(), link})
	}
	for name := range live {
		return db, fmt.Sprintf("the database is damaged: %s is missing", filepath.Join(dir, name)), nil
	}
	if !db.offsets {
		return db, "", nil
	}
	err = lsm.Rows(dir, streams.OffsetsFamily, func(key, value []byte) error {
		db.rows = append(db.rows, offsetRow{bytes.Clone(key), bytes.Clone(value)})
		if string(key) == streams.StatusKey {
			status, err := streams.DecodeOffset(value)
			db.open = err != nil || status == streams.StatusOpen
		}
		return nil
	})
	if err != nil {
		return db, "the database is damaged: " + err.Error(), nil
	}
	return db, "", nil
}

// cloneable says whether a file of a database goes along, and whether a link
// will do. SST and blob files are written once. LOCK and LOG are RocksDB's own
// of each opening.
func cloneable(name, manifest string) (link, take bool) {
	switch {
	case strings.HasSuffix(name, ".sst"), strings.HasSuffix(name, ".blob"):
		return true, true
	case name == manifest, name == "CURRENT", name == "IDENTITY",
		strings.HasPrefix(name, "OPTIONS-") && !strings.HasSuffix(name, ".dbtmp"), strings.HasSuffix(name, ".log"):
		return false, true
	}
	return false, false
}

// linked says how many of the files are links in a directory on the device.
func (db *database) count(s *CloneStore, device uint64) {
	same := deviceOf(db.dir) == device
	for _, f := range db.files {
		if f.link && same {
			s.Links++
			s.LinkBytes += f.size
		} else {
			s.Copies++
			s.CopyBytes += f.size
		}
	}
}

// clone makes the database's clone in a new directory. What was copied is on
// the disk afterwards; the directory is not yet.
func (db *database) clone(to string) error {
	if err := makeDirLike(to, db.dir); err != nil {
		return err
	}
	for _, f := range db.files {
		from, at := filepath.Join(db.dir, f.name), filepath.Join(to, f.name)
		if f.link {
			err := os.Link(from, at)
			if err == nil {
				continue
			}
			if !noLink(err) {
				return err
			}
		}
		if err := copyFile(from, at); err != nil {
			return err
		}
		if f.link {
			if _, err := lsm.VerifySST(at); err != nil && strings.HasSuffix(at, ".sst") {
				return fmt.Errorf("verify the copy: %w", err)
			}
		}
	}
	return nil
}

// noLink says that a file cannot be linked there, but may well be copied.
func noLink(err error) bool {
	for _, e := range []error{syscall.EXDEV, syscall.EPERM, syscall.EACCES, syscall.EMLINK, syscall.ENOTSUP, syscall.EOPNOTSUPP} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// copyFile copies a file with its mode, times and owner, durably.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := ownLike(to, info); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// makeDirLike makes a directory, and its parents, with the mode and owner of
// another.
func makeDirLike(dir, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	if files.Exists(dir) {
		return nil
	}
	if err := makeDirLike(filepath.Dir(dir), like); err != nil {
		return err
	}
	if err := os.Mkdir(dir, info.Mode().Perm()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // made by another goroutine meanwhile
		}
		return err
	}
	return ownLike(dir, info)
}

// ownLike gives what root has made to the application's user.
func ownLike(path string, like fs.FileInfo) error {
	s, ok := like.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, int(s.Uid), int(s.Gid))
}

func deviceOf(path string) uint64 {
	var s syscall.Stat_t
	if syscall.Stat(path, &s) != nil {
		return 0
	}
	return uint64(s.Dev)
}

// freeSpace is nil when the file system does not tell.
func freeSpace(dir string) *int64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return nil
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	return &free
}

// syncDirs makes the directories below root durable; the files are already.
func syncDirs(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return files.SyncDir(path)
	})
}

// ownAll gives everything in a directory to the application's user, and syncs
// what RocksDB has written.
func ownAll(dir string, like fs.FileInfo) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".sst") || strings.HasSuffix(path, ".blob") {
			if i, err := d.Info(); err == nil && linkCount(i) > 1 {
				return nil // it is the old directory's too
			}
		}
		return errors.Join(ownLike(path, like), files.SyncDir(path))
	})
}

func linkCount(i fs.FileInfo) uint64 {
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
