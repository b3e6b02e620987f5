package table

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// punchHole frees the blocks inside a range; the file keeps its size. Failing
// costs only disk space.
func punchHole(f *os.File, off, n int64) error {
	const keepSize, punch = 0x1, 0x2 // FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE (linux/falloc.h)
	return syscall.Fallocate(int(f.Fd()), keepSize|punch, off, n)
}

// writeAll writes the buffers one after the other with one system call, which
// lets the page cache take them in larger pieces. It may write less than all
// and say nothing of why; the rest is for WriteAt.
func writeAll(f *os.File, bufs [][]byte, off int64) int64 {
	iov := make([]syscall.Iovec, len(bufs))
	for i, b := range bufs {
		iov[i].Base = unsafe.SliceData(b)
		iov[i].SetLen(len(b))
	}
	n, _, errno := syscall.Syscall6(syscall.SYS_PWRITEV, f.Fd(), uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)),
		uintptr(off), uintptr(uint64(off)>>32), 0) // the high half counts where a word has 32 bits
	runtime.KeepAlive(f)
	runtime.KeepAlive(bufs)
	if errno != 0 {
		return 0
	}
	return int64(n)
}
