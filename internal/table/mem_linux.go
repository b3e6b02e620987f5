package table

import "syscall"

// mapMemory asks for huge pages: scattered writes to small pages would miss the
// TLB at every row. Whether the kernel follows is its own business.
func mapMemory(n int) ([]byte, error) {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if n >= 2<<20 {
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	}
	return b, nil
}

func unmapMemory(b []byte) error { return syscall.Munmap(b) }
