package migrate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// ttlSpool keeps all rows that qualify in a file until it is known which of
// them are the oldest: memory does not grow with their number, nor with the
// maximum.
type ttlSpool struct {
	others      int   // related stores
	unknown     int64 // the rank of a row whose time is not known: behind all others
	f           *os.File
	w           *bufio.Writer
	rows        int64
	first, last int64 // ranks
	v           ttlVictim
}

func newTTLSpool(dir string, others int, unknown int64) (*ttlSpool, error) {
	f, err := os.CreateTemp(dir, "rows-")
	if err != nil {
		return nil, err
	}
	return &ttlSpool{others: others, unknown: unknown, f: f, w: bufio.NewWriterSize(f, 256<<10)}, nil
}

func (s *ttlSpool) remove() {
	if s != nil {
		_ = s.f.Close()
		_ = os.Remove(s.f.Name())
	}
}

// rank orders rows by age.
func (s *ttlSpool) rank(v *ttlVictim) int64 {
	if v.class == timeKnown {
		return v.time
	}
	return s.unknown
}

// write appends what a worker selected.
func (s *ttlSpool) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	for rest := b; len(rest) > 0; {
		var err error
		if rest, err = s.v.read(rest, s.others); err != nil {
			return err
		}
		r := s.rank(&s.v)
		if s.rows == 0 {
			s.first, s.last = r, r
		}
		s.first, s.last = min(s.first, r), max(s.last, r)
		s.rows++
	}
	if _, err := s.w.Write(binary.AppendUvarint(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err := s.w.Write(b)
	return err
}

// each calls fn with all rows in the order in which they came.
func (s *ttlSpool) each(fn func(*ttlVictim) error) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.f, 256<<10)
	var b []byte
	for {
		n, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if uint64(cap(b)) < n {
			b = make([]byte, n)
		}
		b = b[:n]
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		for rest := b; len(rest) > 0; {
			if rest, err = s.v.read(rest, s.others); err == nil {
				err = fn(&s.v)
			}
			if err != nil {
				return err
			}
		}
	}
}

// oldest calls fn with the n oldest rows, in the order in which they came: of
// those that are equally old the first.
func (s *ttlSpool) oldest(n int64, fn func(*ttlVictim) error) error {
	limit, ties, err := s.limit(n)
	if err != nil {
		return err
	}
	return s.each(func(v *ttlVictim) error {
		switch r := s.rank(v); {
		case r > limit:
			return nil
		case r == limit:
			if ties--; ties < 0 {
				return nil
			}
		}
		return fn(v)
	})
}

// limit is the rank of the n-th oldest row, and how many rows of that rank are
// among the n: a histogram of ever narrower ranges finds it.
func (s *ttlSpool) limit(n int64) (limit, ties int64, err error) {
	if n >= s.rows {
		return s.last, n, nil
	}
	lo, hi, before := s.first, s.last, int64(0)
	counts := make([]int64, 1<<16)
	for lo < hi {
		clear(counts)
		width := (hi-lo)/int64(len(counts)) + 1
		err := s.each(func(v *ttlVictim) error {
			if r := s.rank(v); r >= lo && r <= hi {
				counts[(r-lo)/width]++
			}
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
		i := int64(0)
		for before+counts[i] < n {
			before += counts[i]
			i++
		}
		lo += i * width
		hi = min(hi, lo+width-1)
	}
	return lo, n - before, nil
}
