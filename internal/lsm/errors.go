package lsm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sstool/internal/op"
)

// corrupt says that file, at offset, does not hold what the format demands.
// The text names what was expected.
func corrupt(file string, offset int64, format string, args ...any) *op.Error {
	return &op.Error{
		Kind: op.Corrupt,
		What: fmt.Sprintf("%s: offset %d", file, offset),
		Err:  fmt.Errorf(format, args...),
	}
}

// ioError classifies an error of the file system: a missing file is NotFound, a
// pipe in the place of a file Corrupt.
func ioError(what string, err error) *op.Error {
	kind := op.Failed
	if errors.Is(err, fs.ErrNotExist) {
		kind = op.NotFound
	}
	if errors.Is(err, op.ErrNotRegular) {
		kind = op.Corrupt
	}
	return &op.Error{Kind: kind, What: what, Err: err}
}

// unsearchable says that nothing can be looked up in keys of an order that is
// not ours.
func unsearchable(what, comparator string) *op.Error {
	return &op.Error{Kind: op.Failed, What: what, Err: fmt.Errorf("comparator %q orders its keys, expected %q or %q", comparator, comparatorName, reverseName)}
}

// openFile opens path for reading and returns its size.
func openFile(path string) (*os.File, int64, error) {
	return op.OpenFile(path)
}
