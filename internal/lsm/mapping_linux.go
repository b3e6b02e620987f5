package lsm

import (
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// mapSpan is how much of a file is mapped at a time: what is mapped counts as
// memory of the process.
const mapSpan = 8 << 20

// populateRead is MADV_POPULATE_READ of linux/mman.h, since Linux 5.14. Pages
// that cannot be read are an error of the call in place of a signal later.
const populateRead = 22

// mapping shows a file's bytes where the page cache has them: copying them
// takes a third of the time of verifying a file. Only one goroutine may look
// at what it shows, and only below guard.
type mapping struct {
	f   *os.File
	mem []byte
}

// mappingOf is nil when the reader is no file.
func mappingOf(r io.ReaderAt) *mapping {
	if f, ok := r.(*os.File); ok {
		return &mapping{f: f}
	}
	return nil
}

// view is a range of the file, valid until the next view; nil when it cannot
// be had this way.
func (m *mapping) view(lo, hi uint64) []byte {
	m.unmap()
	from := lo - lo%uint64(os.Getpagesize())
	mem, err := syscall.Mmap(int(m.f.Fd()), int64(from), int(hi-from), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	m.mem = mem
	_ = syscall.Madvise(mem, syscall.MADV_SEQUENTIAL) // for the disk: read ahead as for reads
	if syscall.Madvise(mem, populateRead) != nil {
		m.unmap()
		return nil
	}
	return mem[lo-from:]
}

func (m *mapping) unmap() {
	if m.mem != nil {
		_ = syscall.Munmap(m.mem)
		m.mem = nil
	}
}

// guard runs fn, unmaps, and says whether all that fn looked at was there.
// Memory vanishes when somebody cuts the file short, or when a page has to be
// read a second time and the disk fails.
func (m *mapping) guard(fn func()) (ok bool) {
	defer m.unmap()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil && !m.holds(r) {
			panic(r)
		}
	}()
	fn()
	return true
}

// holds says whether a panic is a fault in the mapped memory.
func (m *mapping) holds(r any) bool {
	fault, ok := r.(interface{ Addr() uintptr })
	return ok && m.mem != nil && fault.Addr()-uintptr(unsafe.Pointer(unsafe.SliceData(m.mem))) < uintptr(len(m.mem))
}
