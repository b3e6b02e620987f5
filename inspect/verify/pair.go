package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"sstool/inspect"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/table"
)

// pair is a store of one task in two places.
type pair struct {
	u, w         *unit
	mine, theirs *inspect.MapStore
	found        found
	touched      map[uint64]bool // keys with records behind the lower offset; nil: not known
	theirRows    int64
	digest       table.Digest
}

// row is one row on its way through the comparison.
type row struct {
	start    int64  // of the segment
	key, raw []byte // of the table; as it is
	e        entry
}

func (p *pair) compare(ctx context.Context) (*Task, error) {
	p.u.progress.phase("rows")
	if err := p.explain(ctx); err != nil {
		return nil, err
	}
	mine, stopMine := pull(ctx, p.u)
	defer stopMine()
	theirs, stopTheirs := pull(ctx, p.w)
	defer stopTheirs()
	a, err := group(mine)
	if err != nil {
		return nil, err
	}
	b, err := group(theirs)
	for err == nil && (a != nil || b != nil) {
		order := -1
		if a == nil {
			order = 1
		} else if b != nil {
			order = cmp.Or(cmp.Compare(a[0].start, b[0].start), bytes.Compare(a[0].key, b[0].key))
		}
		x, y := a, b
		if order < 0 {
			y = nil
		} else if order > 0 {
			x = nil
		}
		p.judge(x, y)
		if order <= 0 {
			a, err = group(mine)
		}
		if err == nil && order >= 0 {
			b, err = group(theirs)
		}
	}
	for _, r := range []*inspect.Rows{p.u.rows, p.w.rows} {
		err = cmp.Or(err, r.Wrong())
	}
	if err != nil {
		return nil, err
	}
	return p.result()
}

// puller hands out rows one by one.
type puller struct {
	next func() (*row, error, bool)
	row  *row // read, and of the next group
}

// pull iterates over a task's rows in order; what it hands out is the receiver's.
func pull(ctx context.Context, u *unit) (*puller, func()) {
	seq := func(yield func(*row, error) bool) {
		c, err := newCanon(u.store)
		if err != nil {
			yield(nil, err)
			return
		}
		pieces, _, err := u.task.Pieces(1 << 62)
		if err != nil {
			yield(nil, err)
			return
		}
		n := 0
		for _, piece := range pieces {
			err := piece.Each(func(family string, key, value []byte) error {
				if n++; n%blockRows == 0 {
					u.progress.add(blockRows, 0)
					if err := ctx.Err(); err != nil {
						return err
					}
				}
				r := &row{start: piece.Start(), raw: slices.Clone(key)}
				if u.store.Kind == streams.Versioned {
					r.key = r.raw
					r.e = entry{local: true, value: hashOf(value)}
				} else if err := c.row(family, r.raw, value, func(k []byte, e *entry) error { r.key, r.e = k, *e; return nil }); err != nil {
					return &op.Error{Kind: op.Corrupt, What: u.task.Dir, Err: fmt.Errorf("row %x: %w", key, err), Try: "check --kind"}
				}
				if !yield(r, nil) {
					return errEnough
				}
				return nil
			})
			if err == errEnough {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
	next, stop := iter.Pull2[*row, error](seq)
	return &puller{next: func() (*row, error, bool) { return next() }}, stop
}

// group is the next rows with the same key of the table: one, unless duplicates
// are kept. nil at the end.
func group(p *puller) ([]*row, error) {
	var out []*row
	for {
		if p.row == nil {
			r, err, ok := p.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				return out, nil
			}
			p.row = r
		}
		if len(out) > 0 && (p.row.start != out[0].start || !bytes.Equal(p.row.key, out[0].key)) {
			return out, nil
		}
		out = append(out, p.row)
		p.row = nil
	}
}

// judge compares the rows of one key; either may be nil.
func (p *pair) judge(mine, theirs []*row) {
	p.found.Rows += int64(len(mine))
	p.theirRows += int64(len(theirs))
	add := func(d *table.Digest, list []*row) {
		for _, r := range list {
			d.Add(0, r.key, r.e.rest(nil))
		}
	}
	add(&p.u.local, mine)
	add(&p.digest, theirs)
	if len(mine) == 1 && len(theirs) == 1 {
		if part := mine[0].e.differs(&theirs[0].e, true); part != "" {
			p.differs(Different, part, mine[0], theirs[0])
		} else {
			p.found.Same++
		}
		return
	}
	for _, m := range mine {
		i := slices.IndexFunc(theirs, func(t *row) bool { return m.e.differs(&t.e, true) == "" })
		if i < 0 {
			p.differs(Extra, "", m, nil)
			continue
		}
		p.found.Same++
		theirs = slices.Delete(slices.Clone(theirs), i, i+1)
	}
	for _, t := range theirs {
		p.differs(Missing, "", nil, t)
	}
}

// differs counts a difference, unless a record explains it.
func (p *pair) differs(what, part string, mine, theirs *row) {
	r := cmp.Or(mine, theirs)
	if p.touched[xxh3.Hash(p.tableKey(r))] {
		p.found.Ahead++
		return
	}
	if p.u.store.Kind == streams.Versioned && !strings.HasPrefix(string(r.raw), latestPrefix) {
		p.found.Expired++ // of history it depends on where restore batches ended
		return
	}
	switch what {
	case Missing:
		p.found.Missing++
	case Extra:
		p.found.Extra++
	default:
		p.found.Different++
	}
	if len(p.found.first) < p.u.o.Limit {
		f := finding{what: what, part: part, key: r.raw}
		if mine != nil {
			f.local = &entry{}
		}
		if theirs != nil {
			f.record = &entry{}
		}
		p.found.first = append(p.found.first, f)
	}
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// latestPrefix begins the latest rows of a versioned store.
const latestPrefix = "\xff\xff\xff\xff\xff\xff\xff\xff"

func (p *pair) tableKey(r *row) []byte {
	if p.u.store.Kind == streams.Versioned && len(r.raw) >= 8 {
		return r.raw[8:]
	}
	return r.key
}

// mostTouched bounds the keys that explain.
const mostTouched = 2 << 20
