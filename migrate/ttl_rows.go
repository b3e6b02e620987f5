package migrate

import (
	"bytes"
	"cmp"
	"iter"
)

// ttlRow is a row as it is judged; borrowed until the function that received
// it returns.
type ttlRow struct {
	partition int32
	key       []byte
	time      int64  // of the record, ms; -1: not known
	size      int64  // of key and value
	value     []byte // only where queries need it
}

// compare orders rows by partition and key.
func (r *ttlRow) compare(o *ttlRow) int {
	return cmp.Or(cmp.Compare(r.partition, o.partition), bytes.Compare(r.key, o.key))
}

// ttlSource is the rows of a store, cut into units that are in order one after
// the other: within a unit and across them by partition and key.
type ttlSource interface {
	units() int
	// reader is for one goroutine; several read different units at once.
	reader() ttlReader
	close() error
}

type ttlReader interface {
	each(unit int, fn func(*ttlRow) error) error
	close() error
}

// ttlBoth is one source after the other: of different partitions.
type ttlBoth struct{ first, second ttlSource }

func (b *ttlBoth) units() int { return b.first.units() + b.second.units() }
func (b *ttlBoth) close() error {
	return cmp.Or(b.first.close(), b.second.close())
}
func (b *ttlBoth) reader() ttlReader {
	return &ttlBothReader{b.first.reader(), b.second.reader(), b.first.units()}
}

type ttlBothReader struct {
	first, second ttlReader
	border        int
}

func (r *ttlBothReader) each(unit int, fn func(*ttlRow) error) error {
	if unit < r.border {
		return r.first.each(unit, fn)
	}
	return r.second.each(unit-r.border, fn)
}

func (r *ttlBothReader) close() error { return cmp.Or(r.first.close(), r.second.close()) }

// ttlPull hands out the rows of a source one by one, to be joined with those of
// another.
type ttlPull struct {
	next func() (*ttlRow, bool)
	stop func()
	row  *ttlRow // the current one; nil at the end
	used bool    // row was returned by at
	err  error
}

func newTTLPull(src ttlSource) *ttlPull {
	p := &ttlPull{}
	rd := src.reader()
	var seq iter.Seq[*ttlRow] = func(yield func(*ttlRow) bool) {
		for u := range src.units() {
			err := rd.each(u, func(r *ttlRow) error {
				if !yield(r) {
					return errStopRows
				}
				return nil
			})
			if err != nil {
				p.err = err
				return
			}
		}
	}
	next, stop := iter.Pull(seq)
	p.next = next
	p.stop = func() { stop(); rd.close() }
	p.step()
	return p
}

// step goes to the next row.
func (p *ttlPull) step() {
	p.row, _ = p.next()
	p.used = false
}

// at returns the row with the key of r, nil when there is none, and passes
// those before it to skipped (nil: they are of no interest).
func (p *ttlPull) at(r *ttlRow, skipped func(*ttlRow) error) (*ttlRow, error) {
	for p.row != nil {
		switch c := p.row.compare(r); {
		case c > 0:
			return nil, nil
		case c == 0:
			p.used = true
			return p.row, nil
		}
		if skipped != nil && !p.used {
			if err := skipped(p.row); err != nil {
				return nil, err
			}
		}
		p.step()
	}
	return nil, p.err
}

// rest passes what is left.
func (p *ttlPull) rest(skipped func(*ttlRow) error) error {
	for p.row != nil {
		if !p.used {
			if err := skipped(p.row); err != nil {
				return err
			}
		}
		p.step()
	}
	return p.err
}
