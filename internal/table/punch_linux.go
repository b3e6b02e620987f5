package table

import (
	"os"
	"syscall"
)

// punchHole frees the blocks inside a range; the file keeps its size. Failing
// costs only disk space, so errors do not matter.
func punchHole(f *os.File, off, n int64) error {
	const keepSize, punch = 0x1, 0x2 // FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE (linux/falloc.h)
	return syscall.Fallocate(int(f.Fd()), keepSize|punch, off, n)
}
