package op

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// TryRights is the next step when a reader may not read something.
const TryRights = "run it as the user the application runs as, or as a member of its group"

// ErrNotRegular is the cause when a file is something else: a directory, a pipe.
var ErrNotRegular = errors.New("not a regular file")

// OpenFile opens a regular file for reading and returns its size. Anything else
// is an error at once: opening a named pipe must not wait for a writer.
func OpenFile(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}
