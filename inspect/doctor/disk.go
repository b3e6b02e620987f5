package doctor

import (
	"io/fs"
	"path/filepath"
	"time"
)

// disk is a file system's room.
type disk struct {
	free, size        int64 // bytes, free for a user who is not root
	inodes, allInodes int64 // 0 of 0 where there are none to count
}

// owners is who owns the files below a directory.
type owners struct {
	owners   []owner
	self     int      // of this process
	readOnly []string // what its own user may not write
	open     []string // what everybody may write
}

type owner struct {
	id      int
	name    string
	files   int
	example string
}

// heldByUs sums what sstool keeps in its directory, nothing when it is not
// there: not the ledgers directly in it, which say what was done.
func heldByUs(dir string) (size int64, files int) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Dir(path) == filepath.Clean(dir) {
			return nil
		}
		if st, err := d.Info(); err == nil {
			size, files = size+st.Size(), files+1
		}
		return nil
	})
	return size, files
}

// sizeSince sums the files below a directory that are younger than a time.
func sizeSince(dir string, since time.Time) (size int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if st, err := d.Info(); err == nil && st.ModTime().After(since) {
			size += st.Size()
		}
		return nil
	})
	return size
}
