package lsm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"sstool/internal/op"
)

// Get looks up one key in a column family. Only files whose range has the key
// are opened, those with the newest entries first, until nothing newer can be
// in the rest; their filters are asked before a block is read. The value is
// the caller's.
func (d *DB) Get(family string, key []byte) (value []byte, ok bool, err error) {
	for try := 1; ; try++ {
		fam, err := d.Family(family)
		if err != nil {
			return nil, false, err
		}
		value, ok, err = d.get(fam, key)
		if !errors.Is(err, errVanished) || try == manifestTries || d.collected {
			return value, ok, err
		}
		newer, err2 := OpenDB(d.Dir)
		if err2 != nil || newer.Version == nil || len(newer.Missing) > 0 {
			return nil, false, corrupt(d.Dir+"/"+d.Version.Manifest, 0, "names a live file of column family %q that does not exist: %w", family, err).WithTry("%s", cureRestore)
		}
		newer.Retried, newer.Skips = d.Retried+1, d.Skips
		*d = *newer
	}
}

func (d *DB) get(fam *Family, key []byte) ([]byte, bool, error) {
	if c := fam.ComparatorName; c != "" && c != comparatorName {
		return nil, false, &op.Error{
			Kind: op.Failed, What: fmt.Sprintf("column family %q of %s", fam.Name, d.Dir),
			Err: fmt.Errorf("its rows are ordered by the comparator %q, expected %q: nothing can be looked up", c, comparatorName),
		}
	}
	var files []File
	for _, f := range fam.Files {
		if f.covers(key) {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(b.LargestSeq, a.LargestSeq), cmp.Compare(a.Level, b.Level))
	})
	var best Entry
	var deleted uint64 // the newest range tombstone over key
	found := false
	for _, f := range files {
		if newest := max(best.Seq, deleted); (found || deleted > 0) && f.LargestSeq < newest {
			break
		}
		e, has, tomb, err := getIn(d.Version.Path(f), f, key, d.Skips)
		if err != nil {
			return nil, false, err
		}
		deleted = max(deleted, tomb)
		if has && (!found || newer(&e, &best) < 0) {
			best, found = e, true
		}
	}
	if !found || deleted > best.Seq || best.Kind.IsDelete() {
		return nil, false, nil
	}
	if best.Kind == KindPut {
		return best.Value, true, nil
	}
	blobs := blobFiles{dir: d.Dir}
	defer blobs.close()
	v, err := plainValue(best, &blobs)
	if errors.Is(err, errVanished) {
		return nil, false, err
	}
	if err != nil {
		return nil, false, &op.Error{Kind: op.KindOf(err), What: fmt.Sprintf("column family %q of %s: key %x", fam.Name, d.Dir, key), Err: err}
	}
	return v, true, nil
}

// getIn is the newest entry of key in one live file, its value copied, and the
// sequence number of the newest range tombstone over it, 0 when there is none.
func getIn(path string, f File, key []byte, skips *Skips) (e Entry, ok bool, tomb uint64, err error) {
	h, _, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, 0, fmt.Errorf("%w: %w", errVanished, err)
	}
	if err != nil {
		return e, false, 0, ioError("read SST file", err)
	}
	defer h.Close()
	t, dels, err := openLive(h, f, skips)
	if err != nil && skips.past(Skip{File: path, What: SkipFile, Err: err}) {
		return e, false, 0, nil
	}
	if err != nil {
		return e, false, 0, err
	}
	defer t.Close()
	for _, r := range dels {
		r = truncate(r, f)
		if bytes.Compare(r.Start, key) <= 0 && bytes.Compare(key, r.End) < 0 {
			tomb = max(tomb, r.Seq)
		}
	}
	if !t.MayContain(key) {
		return e, false, tomb, nil
	}
	it := t.Iter()
	defer it.Close()
	it.Readahead(0)
	it.Skip(skips)
	if it.SeekGE(key) && bytes.Equal(it.Entry().Key, key) {
		e = it.Entry()
		e.Key, e.Value = key, bytes.Clone(e.Value)
		if e.Value == nil {
			e.Value = []byte{}
		}
		return e, true, tomb, nil
	}
	return e, false, tomb, it.Err()
}
