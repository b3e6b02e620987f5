package cmd

import (
	"errors"
	"os"
	"syscall"

	"sstool/internal/op"
)

// checkDir refuses a path that is, or lies below, something that is no
// directory; flag names it. A directory that does not exist yet is fine.
func checkDir(flag, path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return op.Errorf(op.Usage, "%s %s is a file, not a directory", flag, path).WithTry("%s with a directory", flag)
	}
	return nil
}
