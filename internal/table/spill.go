package table

import (
	"errors"
	"io"
	"os"
	"syscall"

	"sstool/internal/op"
)

// diskBlock is the unit in which file systems give space back.
const diskBlock = 4096

// spillFile is a temporary file that is appended to by one goroutine and read
// by many. It is created at the first append.
type spillFile struct {
	t   *Table
	f   *os.File
	end int64
}

// append writes the parts one after the other, from the next multiple of align
// on, and returns where they start. The gap before takes no space.
func (s *spillFile) append(align int64, parts ...[]byte) (int64, error) {
	if s.f == nil {
		if err := s.create(); err != nil {
			return 0, err
		}
	}
	s.align(align)
	at := s.end
	if len(parts) > 1 {
		done := writeAll(s.f, parts, at)
		s.wrote(done)
		for len(parts) > 0 && done >= int64(len(parts[0])) {
			done -= int64(len(parts[0]))
			parts = parts[1:]
		}
		if len(parts) > 0 {
			parts = append([][]byte{parts[0][done:]}, parts[1:]...)
		}
	}
	for _, p := range parts {
		n, err := s.f.WriteAt(p, s.end)
		s.wrote(int64(n))
		if err != nil {
			return 0, s.fail("write rows to", err)
		}
	}
	return at, nil
}

// align moves the end to the next multiple of n.
func (s *spillFile) align(n int64) { s.end = (s.end + n - 1) / n * n }

func (s *spillFile) wrote(n int64) {
	s.end += n
	s.t.disk.add(n)
}

func (s *spillFile) create() error {
	if s.t.closed.Load() {
		return errClosed()
	}
	f, err := os.CreateTemp(s.t.o.TempDir, "rows-*.spill")
	if err != nil {
		return s.fail("create a temporary file in", err)
	}
	// Without a name the file goes away with the process, however it ends.
	// Where that is impossible, close removes it.
	_ = os.Remove(f.Name())
	s.f = f
	return nil
}

// readAt fills b from the file.
func (s *spillFile) readAt(b []byte, off int64) error {
	if s.f == nil {
		return errClosed()
	}
	if _, err := s.f.ReadAt(b, off); err != nil {
		if errors.Is(err, io.EOF) {
			return errSpill()
		}
		return s.fail("read rows from", err)
	}
	return nil
}

func (s *spillFile) fail(what string, err error) error {
	e := &op.Error{Kind: op.Failed, What: what + " " + s.t.o.TempDir, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		e.Try = "free space there, use another directory (--scratch), or give more --memory so that less is spilled"
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		e.Try = "use a directory that exists and may be written"
	}
	return e
}

// free gives the disk blocks of a range back where the file system can.
func (s *spillFile) free(off, n int64) {
	if s.f != nil && punchHole(s.f, off, n) == nil {
		s.t.disk.add(-n)
	}
}

func (s *spillFile) close() error {
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	err := f.Close()
	if e := os.Remove(f.Name()); err == nil && e != nil && !errors.Is(e, os.ErrNotExist) {
		err = e
	}
	if err != nil {
		return s.fail("remove a temporary file in", err)
	}
	return nil
}
