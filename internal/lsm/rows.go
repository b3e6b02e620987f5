package lsm

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"sstool/internal/op"
)

// Rows calls fn with every row of one column family in key order, as RocksDB
// would show them: the newest entry per key, without what was deleted by key
// or by range. Key and value are valid during the call only; an error of fn
// ends the iteration and is returned.
//
// It reads what is on disk: rows in the memtables of a running application are
// not there yet. A family that does not exist is op.NotFound.
func Rows(dir, family string, fn func(key, value []byte) error) error {
	s, err := openFamily(dir, family)
	if err != nil {
		return err
	}
	defer s.close()
	return s.rows(fn)
}

// familyScan is a family's live files, open: compactions may delete them
// meanwhile, the descriptors keep the data.
type familyScan struct {
	files []*os.File
	runs  mergeHeap
	dels  deletions
}

// runBuffer is what each live file reads at once while a family is merged.
const runBuffer = 128 << 10

// openFamily opens the live files of one family. While the application runs, a
// compaction may remove a file between our reading the MANIFEST and opening
// it: then we start again.
func openFamily(dir, family string) (*familyScan, error) {
	for try := 1; ; try++ {
		v, err := ReadManifest(dir)
		if err != nil {
			return nil, err
		}
		fam, ok := v.Family(family)
		if !ok {
			names := make([]string, len(v.Families))
			for i, f := range v.Families {
				names[i] = f.Name
			}
			return nil, &op.Error{Kind: op.NotFound, What: fmt.Sprintf("column family %q of %s", family, dir), Err: fmt.Errorf("not there; the database has %q", names)}
		}
		if c := fam.ComparatorName; c != "" && c != comparatorName {
			return nil, &op.Error{Kind: op.Failed, What: fmt.Sprintf("column family %q of %s", family, dir), Err: fmt.Errorf("comparator %q orders its keys, expected %q", c, comparatorName)}
		}
		s, err := openRuns(&v, fam)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		if try == manifestTries {
			return nil, corrupt(dir+"/"+v.Manifest, 0, "names a live file that does not exist: %w", err)
		}
	}
}

// openRuns opens every live file of a family, files first so that a vanished
// one is noticed before anything is read.
func openRuns(v *Version, fam *Family) (_ *familyScan, err error) {
	s := &familyScan{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, f := range fam.Files {
		h, err := os.Open(v.Path(f))
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, h)
	}
	for i, f := range fam.Files {
		r, dels, err := openRun(s.files[i], f)
		if err != nil {
			return nil, err
		}
		for _, d := range dels {
			s.dels.add(truncate(d, f))
		}
		s.runs = append(s.runs, r)
	}
	s.dels.build()
	return s, nil
}

func (s *familyScan) close() {
	for _, r := range s.runs {
		r.close()
	}
	for _, f := range s.files {
		_ = f.Close()
	}
}

// run is one live file being merged.
type run struct {
	t      *Table
	s      *blockStream
	e      entries
	at     handle
	global uint64 // sequence number of every entry, when ingested
	isSet  bool
	seq    uint64 // of the current entry
	typ    EntryKind
}

func openRun(file *os.File, f File) (*run, []RangeDelete, error) {
	st, err := file.Stat()
	if err != nil {
		return nil, nil, ioError("read SST file", err)
	}
	t, err := openTable(file.Name(), file, st.Size(), false)
	if err != nil {
		return nil, nil, err
	}
	r := &run{t: t, e: entries{ordered: true}}
	if seq, ok := t.props.globalSeqno(); ok {
		r.global, r.isSet = seq, true
		if seq == 0 {
			r.global = f.LargestSeq
		}
	}
	dels, err := t.RangeDeletes()
	if err != nil {
		return nil, nil, err
	}
	if r.isSet {
		for i := range dels {
			dels[i].Seq = r.global
		}
	}
	r.s, err = t.newStream(nil)
	if err != nil {
		return nil, nil, err
	}
	r.s.w.min, r.s.w.max = runBuffer, runBuffer
	return r, dels, nil
}

func (r *run) close() {
	if r.s != nil {
		r.s.close()
	}
	_ = r.t.Close()
}

// next steps to the file's next entry; false at its end.
func (r *run) next() (bool, error) {
	for !r.e.next() {
		if r.e.err != nil {
			return false, corrupt(r.t.name, int64(r.at.off), "data block: %w", r.e.err)
		}
		b, h, err := r.s.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r.at = h
		if err := r.e.reset(b); err != nil {
			return false, corrupt(r.t.name, int64(h.off), "data block: %w", err)
		}
	}
	r.seq, r.typ = splitTrailer(r.e.key)
	if r.isSet {
		r.seq = r.global
	}
	return true, nil
}

// mergeHeap has the run with the smallest key, the newest entry first.
type mergeHeap []*run

func (h mergeHeap) Len() int      { return len(h) }
func (h mergeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h mergeHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	if c := bytes.Compare(userKey(a.e.key), userKey(b.e.key)); c != 0 {
		return c < 0
	}
	if a.seq != b.seq {
		return a.seq > b.seq
	}
	return a.typ > b.typ
}
func (h *mergeHeap) Push(x any) { *h = append(*h, x.(*run)) }
func (h *mergeHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// rows merges the runs.
func (s *familyScan) rows(fn func(key, value []byte) error) error {
	live := s.runs
	defer func() { s.runs = live }() // close() needs them all
	h := mergeHeap{}
	for _, r := range live {
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	var last []byte
	any := false
	for len(h) > 0 {
		r := h[0]
		key := userKey(r.e.key)
		if !any || !bytes.Equal(key, last) {
			last = append(last[:0], key...)
			any = true
			if show, err := s.shown(r, key); err != nil {
				return err
			} else if show {
				if err := fn(key, r.e.value); err != nil {
					return err
				}
			}
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	return nil
}

// shown says whether the newest entry of a key is a row.
func (s *familyScan) shown(r *run, key []byte) (bool, error) {
	switch r.typ {
	case KindPut:
		return !s.dels.covers(key, r.seq), nil
	case KindDelete, KindSingleDelete:
		return false, nil
	case KindMerge:
		if s.dels.covers(key, r.seq) {
			return false, nil
		}
	}
	kind := map[EntryKind]string{
		KindMerge: "a merge operand", KindBlobIndex: "a blob reference", KindWideColumn: "wide columns",
		KindTimedPut: "a timed put", KindDeleteTimestamp: "a delete with a timestamp",
	}[r.typ]
	if kind == "" {
		return false, corrupt(r.t.name, int64(r.at.off), "entry of type %#02x, expected a point entry", r.typ)
	}
	return false, &op.Error{Kind: op.Failed, What: fmt.Sprintf("%s: key %x", r.t.name, key), Err: fmt.Errorf("holds %s, which Kafka Streams never writes and this reader cannot show as a row", kind)}
}
