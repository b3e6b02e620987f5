package inspect

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"sstool/internal/lsm"
	"sstool/internal/op"
)

// SSTScanOptions say which files' entries are streamed.
type SSTScanOptions struct {
	Select    []Selection
	Limit     int64 // entries per file; 0: all
	KeepGoing bool  // past corrupt blocks and files, telling each
}

// SSTEntry is one entry of one file, valid during the call.
type SSTEntry struct {
	File   string
	Family string
	Place  *Place
	Kind   lsm.EntryKind
	Seq    uint64
	Key    []byte // of a range delete: the first key
	Value  []byte // of a range delete: the first key that it spares
}

// SSTScan is what a scan came to.
type SSTScan struct {
	Files    int
	Entries  int64
	Problems []FileProblem
}

// ScanSST hands every entry of every file to fn as it is stored: each version
// of a key, tombstones included, file by file, range deletes after a file's
// other entries. It holds one block at a time.
func ScanSST(ctx context.Context, o SSTScanOptions, fn func(*SSTEntry) error) (*SSTScan, error) {
	res := &SSTScan{}
	var retried atomic.Int64
	for _, sel := range o.Select {
		all, unread, err := sel.locate(ctx)
		if err != nil {
			return res, err
		}
		res.Problems = append(res.Problems, unread...)
		var failed error
		problems, err := eachDatabase(ctx, all, 1, &retried, func(_ int, d *opened) []FileProblem {
			for _, f := range d.files() {
				if failed != nil {
					break
				}
				err := res.file(ctx, &f, o.Limit, o.KeepGoing, fn)
				if isCorrupt(err) && o.KeepGoing {
					res.Problems = append(res.Problems, problemOf(f.path, err))
					err = nil
				}
				failed = err
			}
			return nil
		})
		res.Problems = append(res.Problems, problems...)
		if err = cmp.Or(failed, err); err != nil {
			return res, err
		}
	}
	return res, nil
}

var errLimit = errors.New("as many entries as asked for")

// file streams one file.
func (s *SSTScan) file(ctx context.Context, f *tableFile, limit int64, keepGoing bool, fn func(*SSTEntry) error) error {
	t, gone, err := f.open()
	if gone && f.live != nil || f.unfinished(err) {
		return nil // the running application compacts, or writes it
	}
	if gone {
		return &op.Error{Kind: op.NotFound, What: f.path, Err: err}
	}
	if err != nil {
		return err
	}
	defer t.Close()
	s.Files++
	e := &SSTEntry{File: f.path, Family: t.Info().Family, Place: &f.in.Place}
	if f.family != nil {
		e.Family = f.family.Name
	}
	n := int64(0)
	give := func(k lsm.EntryKind, seq uint64, key, value []byte) error {
		if n++; limit > 0 && n > limit {
			return errLimit
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s.Entries++
		e.Kind, e.Seq, e.Key, e.Value = k, seq, key, value
		return fn(e)
	}
	_, errs := t.Scan(lsm.ScanOptions{KeepGoing: keepGoing}, func(x lsm.Entry) error { return give(x.Kind, x.Seq, x.Key, x.Value) })
	for i, err := range errs {
		if !isCorrupt(err) || !keepGoing {
			return unlessLimit(err)
		}
		if i < len(errs)-1 {
			s.Problems = append(s.Problems, problemOf(f.path, err))
			continue
		}
		return err
	}
	dels, err := t.RangeDeletes()
	for _, d := range dels {
		if err := give(lsm.KindRangeDelete, d.Seq, d.Start, d.End); err != nil {
			return unlessLimit(err)
		}
	}
	return err
}

// unlessLimit is nil when the limit ended the file.
func unlessLimit(err error) error {
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// KeyText is the entry's key as a person reads it.
func (e *SSTEntry) KeyText() string { return keyText(e.Place, e.Family, e.Key) }

// ValueText is the entry's value as a person reads it; ok is false for what has
// none. Of a range delete it is where the range ends.
func (e *SSTEntry) ValueText() (text string, ok bool) {
	switch {
	case e.Kind == lsm.KindRangeDelete:
		return keyText(e.Place, e.Family, e.Value), true
	case e.Kind.IsDelete():
		return "", false
	}
	return valueText(e.Place, e.Family, e.Value), true
}
