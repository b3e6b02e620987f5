package verify

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"sstool/internal/streams"
	"sstool/internal/table"
)

// finding is a difference as it is found: what it looks like is fetched later.
type finding struct {
	what, part, why string
	key             []byte // of the table
	local           *entry // the row; nil: none
	record          *entry // what it should be, or what deleted it; nil: the changelog has nothing
	last            *entry // the last record behind the store's offset; nil: none
}

// found is what all keys together gave.
type found struct {
	Counts
	digest table.Digest // of the rows that the changelog makes
	first  []finding    // by key
}

// judge judges all keys, several workers a range of keys each.
func (u *unit) judge(ctx context.Context, tab *table.Table) (*found, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu   sync.Mutex
		next int
		wg   sync.WaitGroup
		all  found
	)
	for range u.workers {
		s := tab.NewSorter()
		wg.Go(func() {
			defer s.Close()
			j := &judge{u: u}
			for ctx.Err() == nil {
				mu.Lock()
				b := next
				next++
				mu.Unlock()
				if b >= tab.Buckets() {
					break
				}
				_, err := s.Load(b, j.bucket)
				if err == nil {
					err = j.end()
				}
				if err != nil {
					cancel(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(&j.Counts)
			all.digest.Merge(j.digest)
			all.first = append(all.first, j.first...)
		})
	}
	wg.Wait()
	slices.SortFunc(all.first, func(a, b finding) int { return bytes.Compare(a.key, b.key) })
	all.first = all.first[:min(len(all.first), u.o.Limit)]
	all.Rows = u.rowCount
	return &all, context.Cause(ctx)
}

// judge takes the entries of one key after the other: rows first, then records
// by offset.
type judge struct {
	u *unit
	found
	key  []byte
	open bool
	rest []byte
	slot         // kinds with one row for a key
	list []entry // the others
	e    entry
}

// slot is what is kept of a key with one row.
type slot struct {
	local, best, last          entry
	hasLocal, hasBest, hasLast bool
	ahead                      bool // the row is that of a record behind the offset, or gone by one
}

func (j *judge) bucket(bk *table.Bucket) error {
	many := j.u.manyRows()
	for i, ref := range bk.Rows {
		if i%(1<<16) == 0 {
			j.u.progress.add(int64(min(1<<16, len(bk.Rows)-i)), 0)
		}
		key := bk.Key(ref)
		if !j.open || !bytes.Equal(key, j.key) {
			if err := j.end(); err != nil {
				return err
			}
			j.key, j.open = append(j.key[:0], key...), true
			j.slot, j.list = slot{}, j.list[:0]
		}
		if err := j.e.parse(bk.Value(ref)); err != nil {
			return err
		}
		if many {
			j.list = append(j.list, j.e)
		} else {
			j.slot.add(j.u, &j.e)
		}
	}
	return nil
}

// manyRows says whether a key of the table may stand for many rows.
func (u *unit) manyRows() bool { return u.store.Kind == streams.Versioned || numbered(u.store.Kind) }

// end judges the key whose entries have all been seen.
func (j *judge) end() error {
	if !j.open {
		return nil
	}
	j.open = false
	switch {
	case j.u.store.Kind == streams.Versioned:
		return j.versions()
	case numbered(j.u.store.Kind):
		j.windows()
		return nil
	}
	j.one(&j.slot)
	return nil
}

func (s *slot) add(u *unit, e *entry) {
	switch {
	case e.local:
		s.local, s.hasLocal = *e, true
	case !e.later:
		if !s.hasBest || e.part != s.best.part || e.offset > s.best.offset {
			s.best, s.hasBest = *e, true
		}
	default:
		if !s.hasLast || e.part != s.last.part || e.offset > s.last.offset {
			s.last, s.hasLast = *e, true
		}
		gone := e.null && !s.hasLocal
		same := !e.null && s.hasLocal && s.local.differs(e, u.times()) == ""
		s.ahead = s.ahead || gone || same
	}
}

// times says whether the times of rows are those of records.
func (u *unit) times() bool { return !u.appendTime }

// one judges a key with one row.
func (j *judge) one(s *slot) {
	u := j.u
	live := s.hasBest && !s.best.null
	if live {
		j.rest = s.best.rest(j.rest)
		j.digest.Add(0, j.key, j.rest)
	}
	f := finding{key: j.key}
	if s.hasLast {
		f.last = &s.last
	}
	if s.hasBest {
		f.record = &s.best
	}
	if s.hasLocal {
		f.local = &s.local
	}
	switch {
	case live && s.hasLocal:
		part := s.local.differs(&s.best, u.times())
		switch {
		case part == "":
			j.Same++
		case s.ahead:
			j.Ahead++
		default:
			f.what, f.part, f.why = Different, part, fmt.Sprintf("the record at offset %d has another %s", s.best.offset, part)
			j.report(f)
		}
	case live && s.ahead:
		j.Ahead++
	case live:
		f.what, f.why = Missing, fmt.Sprintf("the record at offset %d has no row", s.best.offset)
		j.report(f)
	case s.hasLocal && s.ahead:
		j.Ahead++
	case s.hasLocal && s.hasBest:
		f.what, f.why = Extra, fmt.Sprintf("deleted by the tombstone at offset %d", s.best.offset)
		j.report(f)
	case s.hasLocal && s.hasLast:
		j.Unverifiable++ // what was there at the offset is compacted
	case s.hasLocal:
		j.unknown(f)
	case s.hasBest:
		j.Deleted++
	default:
		j.LaterKeys++
	}
}

// unknown judges a row of whose key the changelog holds nothing.
func (j *judge) unknown(f finding) {
	if j.u.mayBeGone() {
		if j.u.expired(f.key, nil) {
			j.Expired++
		} else {
			j.Unverifiable++
		}
		return
	}
	f.what, f.why = Extra, "the changelog holds nothing for the key"
	if j.u.compacted {
		f.why += ": it was deleted, and its tombstone is gone since (delete.retention.ms), or it was written while the store was not logged"
	} else {
		f.why += ", and nothing was deleted from it by time: it was written while the store was not logged"
	}
	j.report(f)
}

// mayBeGone says whether the newest record of a key may have been removed by
// something other than a tombstone: retention, or DeleteRecords.
func (u *unit) mayBeGone() bool {
	return slices.ContainsFunc(u.parts, func(p *part) bool { return p.LogStart > 0 })
}

// report counts a finding, unless it is of a row that has expired.
func (j *judge) report(f finding) {
	if j.u.expired(f.key, f.record) {
		j.Expired++
		return
	}
	if j.u.unflushed(f.key, f.record) {
		j.Unflushed++
		return
	}
	switch f.what {
	case Missing:
		j.Missing++
	case Extra:
		j.Extra++
	case Different:
		j.Different++
	}
	if f.last != nil {
		j.Replaced++
	}
	j.keep(f)
}

// unflushed says whether a record may have changed a segment's rows in the
// memory of an application that runs, and not on disk yet. The store's offset is
// that of its newest segment, which may have been flushed before an older one
// (SI/AbstractSegments, KIP-1035). When the application does not run any more,
// that is not how it should be: Kafka Streams goes on from the store's offset.
func (u *unit) unflushed(key []byte, record *entry) bool {
	if !u.running || record == nil || !u.store.Kind.Windowed() {
		return false
	}
	at, ok := keyTime(u.store.Kind, key)
	if !ok {
		return false
	}
	own, there := u.own[u.store.SegmentID(at)*u.store.SegmentInterval.Milliseconds()]
	return u.own != nil && (!there || record.offset > own)
}

// keep remembers the first findings by key.
func (j *judge) keep(f finding) {
	n, limit := len(j.first), j.u.o.Limit
	if n == limit && bytes.Compare(f.key, j.first[n-1].key) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(j.first, f.key, func(a finding, key []byte) int {
		if bytes.Compare(a.key, key) <= 0 {
			return -1
		}
		return 1
	})
	f.key = bytes.Clone(f.key)
	for _, e := range []**entry{&f.local, &f.record, &f.last} {
		if *e != nil {
			c := **e
			*e = &c
		}
	}
	j.first = slices.Insert(j.first, at, f)
	j.first = j.first[:min(len(j.first), limit)]
}
