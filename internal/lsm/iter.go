package lsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sstool/internal/op"
)

// IterOptions says what an iterator shows.
type IterOptions struct {
	// All shows every entry of the live files, newest first per key, deletes
	// and superseded rows included; range tombstones are entries at their
	// start, with their end as value, once for each file that holds them and
	// cut to its key range. Otherwise the rows are shown that a reader of
	// RocksDB would see, as puts.
	All bool
}

// Iter moves over a column family in key order. It belongs to one goroutine.
// A step that returns false has reached an end, or failed: see Err. Memory is
// bounded: files are opened as they are reached, one per sorted run.
//
// The live files of a family of up to maxPinned files are opened beforehand,
// so that the iterator shows one state although an application goes on
// writing. Of larger families a compaction may remove files before they are
// reached: then the MANIFEST is read again and the iteration goes on from
// where it was in the newer state, which Retried counts.
type Iter struct {
	db     *DB
	family string
	all    bool
	concat bool // an unknown order: file after file

	// Retried is how often the live files changed under the iterator.
	Retried int

	m         merger
	pins      []*os.File
	active    []*part // those whose range tombstones may cover what comes next
	readahead int
	prefix    int // bytes that all keys of the family have in common

	cur     Entry  // shown
	key     []byte // of cur, ours
	value   []byte // of cur, when it had to be copied
	valid   bool
	pending bool // the top run still stands on cur: step it first
	settled bool // key is where the iteration is
	undone  bool // key is not shown yet, nor known to be deleted
	blobs   blobFiles
	err     error
}

const (
	maxPinned    = 128      // files opened beforehand; more are opened when reached
	iterMemory   = 48 << 20 // bytes that all runs read ahead together
	minReadahead = 16 << 10
	maxReadahead = 512 << 10
)

// Iter starts on a column family; it stands nowhere yet. A family whose order
// is the application's own can only be shown with All: file by file, First,
// Next, Last and Prev alone. Close it.
func (d *DB) Iter(family string, o IterOptions) (*Iter, error) {
	it := &Iter{db: d, family: family, all: o.All}
	fam, err := d.Family(family)
	if err != nil {
		return nil, err
	}
	for {
		if err = it.open(d.Version, fam); err == nil {
			return it, nil
		}
		if fam, err = it.again(err); err != nil {
			return nil, err
		}
	}
}

// Close lets go of all files.
func (it *Iter) Close() {
	for _, r := range it.m.runs {
		r.parts[r.at].close()
	}
	for _, f := range it.pins {
		_ = f.Close()
	}
	it.blobs.close()
	it.m.runs, it.pins, it.active, it.valid = nil, nil, nil, false
}

// Entry is the current entry, borrowed until the next step.
func (it *Iter) Entry() Entry { return it.cur }

// Row is the key and the value of the current entry, borrowed until the next
// step.
func (it *Iter) Row() (key, value []byte) { return it.cur.Key, it.cur.Value }

// Valid says whether the iterator stands on an entry.
func (it *Iter) Valid() bool { return it.valid }

// Err is why a step returned false; nil at the ends.
func (it *Iter) Err() error { return it.err }

// open lays out the runs of a family's live files.
func (it *Iter) open(v *Version, fam *Family) error {
	it.concat = false
	if c := fam.ComparatorName; c != "" && c != comparatorName {
		if !it.all {
			return &op.Error{
				Kind: op.Failed, What: fmt.Sprintf("column family %q of %s", fam.Name, v.Dir),
				Err: fmt.Errorf("its rows are ordered by the comparator %q, expected %q: they cannot be merged without the application's code", c, comparatorName),
				Try: "show its entries file by file",
			}
		}
		it.concat = true
	}
	it.prefix = commonPrefix(fam.Files)
	parts := map[uint64]*part{}
	for _, f := range fam.Files {
		p := &part{file: f, path: v.Path(f)}
		parts[f.Number] = p
		if f.PathID != 0 {
			return op.Errorf(op.Failed, "%s lies in another directory (path %d of db_paths), expected it in %s", f.Name(), f.PathID, v.Dir)
		}
		if len(fam.Files) > maxPinned {
			continue
		}
		h, _, err := openFile(p.path)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", errVanished, err)
		}
		if err != nil {
			return ioError("read SST file", err)
		}
		it.pins = append(it.pins, h)
		p.pin = h
	}
	lists := layout(fam.Files)
	switch {
	case !it.concat && it.db.collected && v.Manifest == "":
		lists = oneRunEach(fam.Files)
	case it.concat:
		lists = nil
		if len(fam.Files) > 0 {
			lists = [][]File{fam.Files}
		}
	}
	for _, files := range lists {
		points, tombs := &run{it: it}, &run{it: it}
		for _, f := range files {
			p := parts[f.Number]
			points.parts = append(points.parts, p)
			if it.all {
				tombs.parts = append(tombs.parts, &part{file: f, path: p.path, pin: p.pin, tomb: true})
			}
		}
		if it.concat {
			points.parts = append(points.parts, tombs.parts...)
			tombs.parts = nil
		}
		it.m.runs = append(it.m.runs, points)
		if len(tombs.parts) > 0 {
			it.m.runs = append(it.m.runs, tombs)
		}
	}
	it.readahead = min(maxReadahead, max(minReadahead, iterMemory/max(1, len(it.m.runs))))
	return nil
}

// again prepares a retry after err: when a file vanished and the MANIFEST is a
// newer one by now, it returns the family anew.
func (it *Iter) again(err error) (*Family, error) {
	it.Close()
	if !errors.Is(err, errVanished) {
		return nil, err
	}
	if it.db.collected {
		return nil, op.Errorf(op.Failed, "%w", err)
	}
	old := it.db.Version
	gone := corrupt(filepath.Join(old.Dir, old.Manifest), 0, "names a live file of column family %q that does not exist: %w", it.family, err).WithTry("%s", cureRestore)
	if it.Retried++; it.Retried > maxRetries {
		return nil, gone
	}
	d, err := OpenDB(old.Dir)
	if err != nil {
		return nil, err
	}
	d.Skips = it.db.Skips
	if len(d.Missing) > 0 {
		return nil, gone
	}
	fam, err := d.Family(it.family)
	if err != nil {
		return nil, err
	}
	it.db = d
	return fam, nil
}

// maxRetries bounds how often one iterator starts on a newer state. Each time
// it has made progress, or the application replaced all its files meanwhile.
const maxRetries = 1000

// commonPrefix is how many bytes all keys of the files have in common.
func commonPrefix(files []File) int {
	if len(files) == 0 {
		return 0
	}
	lo, hi := files[0].Smallest, files[0].Largest
	for _, f := range files[1:] {
		if bytes.Compare(f.Smallest, lo) < 0 {
			lo = f.Smallest
		}
		if bytes.Compare(f.Largest, hi) > 0 {
			hi = f.Largest
		}
	}
	n := 0
	for n < len(lo) && n < len(hi) && lo[n] == hi[n] {
		n++
	}
	return n
}

// headOf is the part of a key that most comparisons need: the eight bytes
// after the common prefix, zeros where there are none.
func (it *Iter) headOf(key []byte) uint64 {
	if len(key) >= it.prefix+8 {
		return binary.BigEndian.Uint64(key[it.prefix:])
	}
	if len(key) <= it.prefix {
		return 0
	}
	var b [8]byte
	copy(b[:], key[it.prefix:])
	return binary.BigEndian.Uint64(b[:])
}
